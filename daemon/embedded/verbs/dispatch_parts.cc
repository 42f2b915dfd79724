// Requests to parts of objects whose bodies are of another kind: Scale, Binding, Eviction, TokenRequest.
#include <fmt/format.h>

#include "embedded/merge/managed_fields.h"
#include "embedded/merge/patch.h"
#include "embedded/schema/builtin.h"
#include "embedded/schema/decode.h"
#include "embedded/verbs/decode_object.h"
#include "embedded/verbs/serving.h"
#include "embedded/verbs/subresources.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

// A body of another kind than the path's resource: Scale, Binding, Eviction, TokenRequest.
Answer<json::object> Serving::decode_as(std::string_view group, std::string_view version, std::string_view kind,
                                        const WriteOptions& options) {
  Resource other;
  other.group = group;
  other.version = version;
  other.kind = kind;
  other.plural = kind;
  other.schema = builtin_schema(group, version, kind);
  static const Strategy kPlain;
  other.strategy = &kPlain;
  other.storage_key = kind;
  other.storage_version = other.api_version();
  return decode_request(request_, other, world_.registry, options.validation, reply_.warnings);
}

// The config's replicas, applied to the object that is scaled.
Answer<json::object> Serving::apply_scale(const WriteCall& call, const json::object& live,
                                          const WriteOptions& options) const {
  auto body = read_body(request_.body, Format::kYaml);
  if (!body) return refuse(bad_request("error decoding YAML: error converting YAML to JSON: " + body.error()));
  if (!body->value.is_object()) return refuse(bad_request("error decoding YAML: an object was expected"));
  const auto& scale = body->value.get_object();
  if (string_at(scale, {"kind"}) != "Scale" || string_at(scale, {"apiVersion"}) != "autoscaling/v1")
    return refuse(bad_request(
        fmt::format("invalid object type: {}, Kind={}", string_at(scale, {"apiVersion"}), string_at(scale, {"kind"}))));
  json::object config{{"apiVersion", resource_->api_version()}, {"kind", resource_->kind}};
  metadata_of(config)["name"] = name_;
  if (has(scale, {"spec", "replicas"})) {
    auto with = with_scale(std::move(config), scale, call);
    if (!with) return refuse(with.error());
    config = *std::move(with);
  }
  return apply_patch(with_scale_owner(live, call), config, *resource_->schema, writer_of(call),
                     options.force.value_or(false), {});
}

Answer<void> Serving::scale() {
  const auto method = request_.method;
  if (auto done = method_allowed({"GET", "PUT", "PATCH"}); !done) return done;
  std::optional<PatchType> type;
  if (method == "PATCH") {
    const auto found = patch_type(request_, resource_->custom);
    if (!found) return refuse(found.error());
    type = *found;
  }
  if (auto done = negotiate(false); !done) return done;
  Resource shown;  // for tables and the like
  shown.group = "autoscaling";
  shown.version = "v1";
  shown.kind = "Scale";
  shown.list_kind = "ScaleList";
  shown.plural = "scales";
  shown.schema = builtin_schema("autoscaling", "v1", "Scale");
  shown.strategy = resource_->strategy;
  if (method == "GET") {
    auto object = get_object(read_call(), request_.parameter("resourceVersion"));
    if (!object) return refuse(object.error());
    return send_object(reply_, 200, shown, scale_of(*object, *resource_), now());
  }
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, !type                        ? WriteKind::kUpdate
                                               : *type == PatchType::kApply ? WriteKind::kApply
                                                                            : WriteKind::kPatch);
  if (!options) return refuse(options.error());
  json::object wanted;
  Change change;
  auto call = write_call("scale", *options);
  if (!type) {
    auto decoded = decode_as("autoscaling", "v1", "Scale", *options);
    if (!decoded) return refuse(decoded.error());
    wanted = *std::move(decoded);
    if (const auto name = string_at(wanted, {"metadata", "name"}); name != name_)
      return refuse(bad_request(
          name.empty()
              ? fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", name_)
              : fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, name_)));
    change.uid = string_at(wanted, {"metadata", "uid"});
    change.make = [&](const json::object& live) -> Answer<json::object> {
      if (live.empty()) return refuse(not_found(call.about()));
      return with_scale(live, wanted, call);
    };
  } else {
    change.owns_fields = *type == PatchType::kApply;
    change.make = [&](const json::object& live) -> Answer<json::object> {
      if (live.empty()) return refuse(not_found(call.about()));
      if (*type == PatchType::kApply) return apply_scale(call, live, *options);
      auto scale = scale_of(live, *resource_);
      auto body = read_body(request_.body, Format::kJson);
      if (!body) return refuse(bad_request("error decoding patch: " + body.error()));
      if (*type == PatchType::kJson) {
        auto done = json_patch(json::value(scale), body->value);
        if (!done) return refuse(done.error());
        if (!done->is_object()) return refuse(bad_request("the patch makes the scale no object"));
        scale = std::move(done->get_object());
      } else {
        if (!body->value.is_object())
          return refuse(
              bad_request("error decoding patch: json: cannot unmarshal array into Go value of type "
                          "map[string]interface {}"));
        // A Scale has no lists: strategic patches merge as RFC 7386 does.
        scale = merge_patch(json::value(scale), body->value).as_object();
      }
      std::vector<std::string> unknown;
      auto report = decode(scale, *shown.schema);
      if (!report)
        return refuse(
            invalid({}, {{FieldError::Type::kInvalid, "patch", report.error(), json::value(to_text(scale))}}));
      return with_scale(live, scale, call);
    };
  }
  auto updated = update_object(call, change);
  if (!updated) return refuse(updated.error());
  return send_object(reply_, 200, shown, scale_of(updated->object, *resource_), now());
}

Answer<void> Serving::success(int code) {
  reply_.object(
      code,
      {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::object{}}, {"status", "Success"}, {"code", code}});
  return {};
}

Answer<void> Serving::post_part() {
  if (auto done = negotiate(false); !done) return done;
  if (auto done = check_size(request_.body); !done) return done;
  const auto options = write_options(request_, WriteKind::kCreate);
  if (!options) return refuse(options.error());
  const auto& part = target_.subresource;
  if (part == "token") {
    auto body = decode_as("authentication.k8s.io", "v1", "TokenRequest", *options);
    if (!body) return refuse(body.error());
    auto answer = request_token(write_call("", *options), *std::move(body));
    if (!answer) return refuse(answer.error());
    reply_.object(201, *answer);
    return {};
  }
  if (part == "eviction") {
    auto body = decode_as("policy", "v1", "Eviction", *options);
    if (!body) return refuse(body.error());
    if (string_at(*body, {"metadata", "name"}) != name_)
      return refuse(bad_request("name in URL does not match name in Eviction object"));
    if (auto done = ensure_namespace(*body, *resource_, target_.ns); !done) return done;
    Request no_query;
    const auto& wanted = object_at(*body, {"deleteOptions"});
    auto remove_options = delete_options(no_query, &wanted);
    if (!remove_options) return refuse(remove_options.error());
    auto call = write_call("", *options);
    call.dry_run |= remove_options->dry_run;
    remove_options->dry_run = call.dry_run;
    if (auto done = evict_pod(call, *remove_options); !done) return done;
    return success(201);
  }
  auto body = decode_as("", "v1", "Binding", *options);
  if (!body) return refuse(body.error());
  if (auto done = ensure_namespace(*body, *world_.registry.find("", "v1", "pods"), target_.ns); !done) return done;
  auto call = write_call("", *options);
  call.resource = world_.registry.find("", "v1", "pods");
  if (name_.empty()) call.name = string_at(*body, {"metadata", "name"});
  if (auto done = bind_pod(call, *body); !done) return done;
  return success(201);
}

}  // namespace hookd::embedded
