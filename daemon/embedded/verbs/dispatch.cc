#include "embedded/verbs/dispatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "embedded/verbs/decode_object.h"
#include "embedded/verbs/patching.h"
#include "embedded/verbs/remove.h"
#include "embedded/verbs/review.h"
#include "embedded/verbs/serving.h"
#include "embedded/verbs/subresources.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
Answer<void> Serving::negotiate(bool watch) {
  auto media = accepted(request_, resource_->custom, watch, request_.method == "GET" && name_.empty());
  if (!media) {
    if (watch && request_.header("accept").starts_with("application/yaml")) reply_.media.format = Format::kYaml;
    return refuse(media.error());
  }
  reply_.media = *media;
  return {};
}

WriteCall Serving::write_call(std::string_view subresource, const WriteOptions& options) {
  WriteCall call{world_, resource_, target_.ns, name_};
  call.subresource = subresource;
  call.user = request_.user.name;
  call.groups = request_.user.groups;
  call.manager = to_utf8(options.field_manager.empty() ? manager_of_user_agent(request_.header("user-agent"))
                                                       : options.field_manager);
  call.dry_run = options.dry_run;
  call.warnings = &reply_.warnings;
  return call;
}

Answer<std::unique_ptr<Exchange>> Serving::run() {
  name_ = target_.path_name;
  const bool wants_watch = target_.watch_prefix || (request_.method == "GET" && name_.empty() && is_watch(request_));
  if (target_.watch_prefix || wants_watch) {
    if (auto done = method_allowed({"GET"}); !done) return refuse(done.error());
    if (!target_.subresource.empty()) return refuse(path_not_found());
    return watch();
  }
  // A single object is not watched by ?watch on its path; the parameter is ignored there.
  auto done = !target_.subresource.empty() ? part() : name_.empty() ? collection() : whole();
  if (!done) return refuse(done.error());
  return nullptr;
}

Answer<void> Serving::collection() {
  if (resource_->create_only) {
    if (auto done = method_allowed({"POST"}); !done) return done;
    if (resource_->namespaced && !target_.in_namespace) return refuse(method_not_allowed());
    return resource_->plural == "bindings" ? post_part() : review();
  }
  const bool all_namespaces = resource_->namespaced && !target_.in_namespace;
  if (request_.method == "GET" && can("list")) return list();
  if (all_namespaces) return refuse(method_not_allowed());
  if (request_.method == "POST" && can("create")) return create();
  if (request_.method == "DELETE" && can("deletecollection")) return remove_collection();
  return refuse(method_not_allowed());
}

Answer<void> Serving::whole() {
  if (resource_->create_only) return refuse(path_not_found());
  if (request_.method == "GET" && can("get")) return get();
  if (request_.method == "PUT" && can("update")) return update("");
  if (request_.method == "PATCH" && can("patch")) return patch("");
  if (request_.method == "DELETE" && can("delete")) return remove();
  return refuse(method_not_allowed());
}

Answer<void> Serving::part() {
  const auto& part = target_.subresource;
  const auto known = [&](std::string_view name) {
    return std::find(resource_->other_subresources.begin(), resource_->other_subresources.end(), name) !=
           resource_->other_subresources.end();
  };
  const bool runs = part == "log" || part == "exec" || part == "attach" || part == "portforward" || part == "proxy";
  if (!target_.below.empty() && part != "proxy") return refuse(path_not_found());
  if ((part == "status" && resource_->status) ||
      (known(part) && (part == "approval" || part == "ephemeralcontainers" || part == "resize"))) {
    if (request_.method == "GET") return get();
    if (request_.method == "PUT") return update(part);
    if (request_.method == "PATCH") return patch(part);
    return refuse(method_not_allowed());
  }
  if (part == "scale" && resource_->scale) return scale();
  if (part == "finalize" && resource_->plural == "namespaces") {
    if (auto done = method_allowed({"PUT"}); !done) return done;
    return update(part);
  }
  if (known(part) && (part == "binding" || part == "eviction" || part == "token")) {
    if (auto done = method_allowed({"POST"}); !done) return done;
    return post_part();
  }
  const bool proxied = resource_->plural == "pods" || resource_->plural == "services" || resource_->plural == "nodes";
  if (runs &&
      (known(part) || resource_->plural == "pods" || (part == "proxy" && resource_->group.empty() && proxied))) {
    auto why = runs_nothing(world_, *resource_, target_.ns, name_, part);
    if (why.code != 204) return refuse(std::move(why));
    reply_.sink->whole({204, "", {}}, "");
    return {};
  }
  if (resource_->custom) return refuse(not_found({resource_->group, resource_->plural, resource_->kind, name_}));
  return refuse(path_not_found());
}

Answer<std::unique_ptr<Exchange>> Serving::watch() {
  if (!can("watch")) return refuse(method_not_allowed());
  if (auto done = negotiate(true); !done) return refuse(done.error());
  auto options = list_options(request_, true);
  if (!options) return refuse(options.error());
  return watch_objects(read_call(), *std::move(options), reply_, request_, faults_);
}

Answer<void> Serving::list() {
  if (auto done = negotiate(false); !done) return done;
  auto options = list_options(request_, false);
  if (!options) return refuse(options.error());
  auto listed = list_objects(read_call(), *options);
  if (!listed) return refuse(listed.error());
  return send_list(reply_, *resource_, listed->items(), std::move(listed->metadata), now());
}

Answer<void> Serving::get() {
  if (auto done = negotiate(false); !done) return done;
  if (request_.has_parameter("export") && request_.parameter("export") != "0" &&
      request_.parameter("export") != "false" && !resource_->custom)
    return refuse(bad_request("the export parameter, deprecated since v1.14, is no longer supported"));
  auto object = get_object(read_call(), request_.parameter("resourceVersion"));
  if (!object) return refuse(object.error());
  return send_object(reply_, 200, *resource_, *std::move(object), now());
}

Answer<void> Serving::create() {
  if (auto done = negotiate(false); !done) return done;
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, WriteKind::kCreate);
  if (!options) return refuse(options.error());
  auto object = decode_request(request_, *resource_, world_.registry, options->validation, reply_.warnings);
  if (!object) return refuse(object.error());
  auto call = write_call("", *options);
  call.name = string_at(*object, {"metadata", "name"});
  auto created = create_object(call, *std::move(object));
  if (!created) return refuse(created.error());
  return send_object(reply_, 201, *resource_, *std::move(created), now());
}

Answer<void> Serving::review() {
  if (auto done = negotiate(false); !done) return done;
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, WriteKind::kCreate);
  if (!options) return refuse(options.error());
  auto object = decode_request(request_, *resource_, world_.registry, options->validation, reply_.warnings);
  if (!object) return refuse(object.error());
  const ReviewContext context{request_.user, world_.authorize ? &world_.rbac : nullptr, world_.authenticate, target_.ns,
                              world_.now_text()};
  auto answer = answer_review(*resource_, *std::move(object), context);
  if (!answer) return refuse(answer.error());
  return send_object(reply_, 201, *resource_, *std::move(answer), now());
}

Answer<void> Serving::update(std::string_view subresource) {
  if (auto done = negotiate(false); !done) return done;
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, WriteKind::kUpdate);
  if (!options) return refuse(options.error());
  auto object = decode_request(request_, *resource_, world_.registry, options->validation, reply_.warnings);
  if (!object) return refuse(object.error());
  if (auto done = ensure_namespace(*object, *resource_, target_.ns); !done) return done;
  const auto name = string_at(*object, {"metadata", "name"});
  if (name.empty())
    return refuse(bad_request(
        fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", name_)));
  if (name != name_)
    return refuse(
        bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, name_)));
  const auto call = write_call(subresource, *options);
  Change change;
  change.uid = string_at(*object, {"metadata", "uid"});
  change.make = [&](const json::object& live) -> Answer<json::object> {
    if (subresource != "finalize" || live.empty()) return *object;
    auto next = live;  // nothing but spec.finalizers
    auto& spec = ensure_object(next, {"spec"});
    if (const auto& wanted = array_at(*object, {"spec", "finalizers"}); !wanted.empty())
      spec["finalizers"] = wanted;
    else
      spec.erase("finalizers");
    if (const auto* version = value_at(*object, {"metadata", "resourceVersion"}))
      metadata_of(next)["resourceVersion"] = *version;
    return next;
  };
  auto updated = update_object(call, change);
  if (!updated) return refuse(updated.error());
  return send_object(reply_, updated->created ? 201 : 200, *resource_, std::move(updated->object), now());
}

Answer<void> Serving::patch(std::string_view subresource) {
  const auto type = patch_type(request_, resource_->custom);
  if (!type) return refuse(type.error());
  if (auto done = negotiate(false); !done) return done;
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, *type == PatchType::kApply ? WriteKind::kApply : WriteKind::kPatch);
  if (!options) return refuse(options.error());
  const auto call = write_call(subresource, *options);
  auto updated = update_object(call, patch_change(call, {*type, request_.body, *options}));
  if (!updated) return refuse(updated.error());
  return send_object(reply_, updated->created ? 201 : 200, *resource_, std::move(updated->object), now());
}

Answer<DeleteOptions> Serving::read_delete_options(bool& had_body) {
  had_body = !request_.body.empty();
  if (!had_body) return delete_options(request_, nullptr);
  if (auto done = check_size(request_.body); !done) return refuse(done.error());
  if (is_protobuf(request_)) {
    const auto decoded = decode_protobuf_delete_options(request_.body);
    if (!decoded) return refuse(decoded.error());
    return delete_options(request_, &*decoded);
  }
  const auto format = body_format(request_);
  if (!format) return refuse(format.error());
  auto body = read_body(request_.body, *format);
  if (!body) return refuse(bad_request("couldn't get version/kind; json parse error: " + body.error()));
  if (body->value.is_null()) body->value = json::object();
  if (!body->value.is_object())
    return refuse(bad_request(fmt::format(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct "
        "{{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
        "\"json:\\\"kind,omitempty\\\"\" }}",
        body->value.is_array()    ? "array"
        : body->value.is_string() ? "string"
                                  : "number")));
  const auto& object = body->value.get_object();
  const auto kind = string_at(object, {"kind"}), version = string_at(object, {"apiVersion"});
  if (!kind.empty() && kind != "DeleteOptions")
    return refuse(
        bad_request(fmt::format("no kind {} is registered for version {} in scheme "
                                "\"pkg/runtime/scheme.go:111\"",
                                go_quote(kind), go_quote(version.empty() ? "v1" : version))));
  return delete_options(request_, &object);
}

Answer<void> Serving::remove() {
  if (auto done = negotiate(false); !done) return done;
  bool had_body = false;
  const auto options = read_delete_options(had_body);
  if (!options) return refuse(options.error());
  auto call = write_call("", {});
  call.dry_run = options->dry_run;
  auto removed = remove_object(call, *options);
  if (!removed) return refuse(removed.error());
  const bool accepted = !removed->gone && options->orphan_dependents && !*options->orphan_dependents;
  auto answer = removed_reply(call, *std::move(removed));
  return send_object(reply_, accepted ? 202 : 200, *resource_, std::move(answer), now());
}

Answer<void> Serving::remove_collection() {
  if (auto done = negotiate(false); !done) return done;
  auto which = list_options(request_, false);
  if (!which) return refuse(which.error());
  bool had_body = false;
  const auto options = read_delete_options(had_body);
  if (!options) return refuse(options.error());
  auto listed = list_objects(read_call(), *which);
  if (!listed) return refuse(listed.error());
  for (const auto& stored : listed->objects) {
    auto call = write_call("", {});
    call.ns = stored->ns;
    call.name = stored->name;
    call.dry_run = options->dry_run;
    auto removed = remove_object(call, *options);
    if (!removed && removed.error().code != 404) return refuse(removed.error());
  }
  return send_list(reply_, *resource_, listed->items(), std::move(listed->metadata), now());
}

namespace {

// Nothing at this path: a Status where the built-in groups are, else plain text.
void nothing_here(const World& world, const Target& target, Reply& reply) {
  const bool builtin = target.core || std::any_of(world.registry.all().begin(), world.registry.all().end(),
                                                  [&](const ResourcePtr& resource) {
                                                    return resource->group == target.group && !resource->custom;
                                                  });
  if (builtin)
    reply.error(path_not_found());
  else
    reply.plain(404, "404 page not found\n");
}

}  // namespace

std::unique_ptr<Exchange> serve_resource(World& world, const Request& request, const Target& target,
                                         std::shared_ptr<ReplySink> sink, const WatchFaults& faults) {
  Reply reply{request, std::move(sink)};
  const auto resource = world.registry.find(target.group, target.version, target.resource);
  const bool fits = resource && (resource->namespaced
                                     ? target.in_namespace || (target.path_name.empty() && target.subresource.empty())
                                     : !target.in_namespace);
  if (!fits || target.verb == "proxy") {
    nothing_here(world, target, reply);
    return nullptr;
  }
  if (!resource->deprecation_warning.empty()) reply.warnings.push_back(resource->deprecation_warning);
  Serving serving(world, request, target, resource, reply, faults);
  auto done = serving.run();
  if (done) return *std::move(done);
  reply.error(done.error());
  return nullptr;
}

}  // namespace hookd::embedded
