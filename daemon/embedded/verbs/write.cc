#include "embedded/verbs/write.h"

#include <fmt/format.h>

#include <span>

#include "base/json_read.h"
#include "embedded/merge/managed_fields.h"
#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/metadata.h"
#include "embedded/schema/check.h"
#include "embedded/schema/decode.h"
#include "embedded/verbs/subresources.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {
namespace {

About kind_of(const WriteCall& call, const json::object& object) {
  auto about = call.about();
  about.name = string_at(object, {"metadata", "name"});
  if (about.kind == "Event") about.group.clear();  // in either group: inside the real server it is one type
  return about;
}

// Errors: 400, if the object has another name than the URL.
Answer<void> check_name(const json::object& object, const WriteCall& call) {
  const auto name = string_at(object, {"metadata", "name"});
  if (name == call.name) return {};
  return refuse(bad_request(
      name.empty()
          ? fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", call.name)
          : fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.name)));
}

WriteContext context_of(const WriteCall& call, const Lookup& lookup) {
  return {call.world.scheduler, call.world.random, call.dry_run, call.user, call.subresource, &lookup, call.groups};
}

// Metadata that a write of the status leaves alone; of most kinds it may change labels and the like.
std::span<const std::string_view> kept_by_status(std::string_view kind) {
  static constexpr std::string_view kAll[] = {"labels", "annotations", "finalizers", "ownerReferences"};
  if (kind == "Deployment") return std::span(kAll).first(1);
  if (kind == "Pod") return std::span(kAll).last(1);
  for (const std::string_view one : {"VolumeAttachment", "CustomResourceDefinition", "ServiceCIDR", "ResourceClaim",
                                     "ValidatingAdmissionPolicy", "PodCertificateRequest"})
    if (kind == one) return kAll;
  return {};
}

// What another write than that of the whole object must leave alone.
void keep_other_parts(json::object& next, const json::object& live, const WriteCall& call) {
  const auto restore = [&](std::string_view key) {
    if (const auto* value = live.if_contains(key))
      next[key] = *value;
    else
      next.erase(key);
  };
  if (call.subresource == "status") {
    std::vector<std::string> keys;
    for (const auto& [key, value] : next) keys.emplace_back(key);
    for (const auto& [key, value] : live) keys.emplace_back(key);
    for (const auto& key : keys)
      if (key != "status" && key != "metadata" && key != "kind" && key != "apiVersion") restore(key);
    if (call.resource->custom) {
      auto metadata = object_at(live, {"metadata"});
      if (const auto* fields = value_at(next, {"metadata", "managedFields"}))
        metadata["managedFields"] = *fields;
      else
        metadata.erase("managedFields");
      if (const auto* version = value_at(next, {"metadata", "resourceVersion"})) metadata["resourceVersion"] = *version;
      next["metadata"] = std::move(metadata);
    } else {
      for (const auto key : kept_by_status(call.resource->kind)) {
        auto& metadata = metadata_of(next);
        if (const auto* value = value_at(live, {"metadata", key}))
          metadata[key] = *value;
        else
          metadata.erase(key);
      }
    }
  } else if (call.subresource.empty() && call.resource->status) {
    restore("status");
  }
}

bool same_but_metadata(const json::object& a, const json::object& b, bool status) {
  const auto differs = [status](const json::object& from, const json::object& to) {
    for (const auto& [key, value] : from) {
      if (key == "metadata" || (status && key == "status")) continue;
      const auto* other = to.if_contains(key);
      if (!same(&value, other)) return true;
    }
    return false;
  };
  return !differs(a, b) && !differs(b, a);
}

bool update_warns(const Strategy& strategy, const json::object& live, const json::object& next) {
  switch (strategy.update_warns) {
    case Strategy::UpdateWarns::kAlways:
      return true;
    case Strategy::UpdateWarns::kNewGeneration:
      return integer_at(live, {"metadata", "generation"}) != integer_at(next, {"metadata", "generation"});
    case Strategy::UpdateWarns::kNever:
      return false;
  }
  return true;
}

bool unchanged(json::object live, json::object next) {
  metadata_of(live).erase("resourceVersion");
  metadata_of(next).erase("resourceVersion");
  return live == next;
}

// The answer of a create that found a namesake.
StatusError exists_error(const WriteCall& call, const json::object& object, const Stored& there, bool generated) {
  auto error = generated ? generate_name_conflict(kind_of(call, object)) : already_exists(kind_of(call, object));
  if (json_raw_at(there.text, {"metadata", "deletionTimestamp"}))
    error.message = "object is being deleted: " + error.message;
  return error;
}

// From admission to the store.
Answer<json::object> finish_create(const WriteCall& call, json::object object) {
  const auto& resource = *call.resource;
  const auto& strategy = *resource.strategy;
  if (auto done = check_namespace(call); !done) return refuse(done.error());
  const StoreLookup lookup(call.world.store);
  const auto context = context_of(call, lookup);
  if (strategy.admit)
    if (auto done = strategy.admit(object, context); !done) return refuse(done.error());
  auto& metadata = metadata_of(object);
  metadata["creationTimestamp"] = call.world.now_text();
  metadata["uid"] = call.world.uuid();
  const auto base = std::string(string_at(object, {"metadata", "generateName"}));
  const bool generate = !base.empty() && string_at(object, {"metadata", "name"}).empty();
  if (generate) {
    for (int attempt = 0; attempt < 8; ++attempt) {  // as often as the real server tries
      metadata["name"] = generated_name(base, call.world.random);
      if (!call.world.store.get(resource.storage_key, string_at(object, {"metadata", "namespace"}),
                                string_at(object, {"metadata", "name"})))
        break;
    }
  }
  if (resource.status && !strategy.status_on_create) object.erase("status");
  if (strategy.generation) metadata_of(object)["generation"] = 1;
  if (strategy.prepare_create) strategy.prepare_create(object, context);
  FieldErrors errors;
  validate_metadata(object, resource, errors);
  if (resource.custom) check_custom(json::value(object), *resource.schema, errors);
  if (strategy.validate) strategy.validate(object, errors);
  if (!errors.empty()) return refuse(invalid(kind_of(call, object), errors));
  if (strategy.warnings)
    for (auto& text : strategy.warnings(object)) call.warn(std::move(text));
  if (const auto version = string_at(object, {"metadata", "resourceVersion"}); !version.empty() && version != "0")
    return refuse(plain_error(500, "resourceVersion should not be set on objects to be created"));
  if (const auto there = call.world.store.get(resource.storage_key, string_at(object, {"metadata", "namespace"}),
                                              string_at(object, {"metadata", "name"})))
    return refuse(exists_error(call, object, *there, !base.empty()));
  if (auto done = pass_through_storage(object, resource); !done) return refuse(done.error());
  return commit(call, std::move(object));
}

}  // namespace

Writer writer_of(const WriteCall& call) {
  Writer writer;
  writer.manager = call.manager;
  writer.api_version = call.resource->api_version();
  writer.subresource = call.subresource;
  writer.now = call.world.scheduler.wall_now();
  writer.kind = call.resource->kind;
  for (const auto& other : call.world.registry.all())
    if (other->storage_key == call.resource->storage_key) writer.served_versions.push_back(other->api_version());
  return writer;
}

std::optional<std::string> StoreLookup::find(std::string_view storage_key, std::string_view ns,
                                             std::string_view name) const {
  const auto stored = store_.get(storage_key, ns, name);
  if (!stored) return std::nullopt;
  return stored->text;
}

void StoreLookup::each(std::string_view storage_key, std::string_view ns,
                       const std::function<bool(std::string_view text)>& visit) const {
  store_.scan(storage_key, ns, "", [&](const StoredPtr& stored) { return visit(stored->text); });
}

void wipe_system_fields(json::object& object) {
  auto& metadata = metadata_of(object);
  for (const std::string_view key :
       {"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
    metadata.erase(key);
}

Answer<void> ensure_namespace(json::object& object, const Resource& resource, std::string_view ns) {
  auto& metadata = metadata_of(object);
  const auto has = string_at(object, {"metadata", "namespace"});
  if (!resource.namespaced) {
    metadata.erase("namespace");
    return {};
  }
  if (has.empty()) {
    metadata["namespace"] = ns;
    return {};
  }
  if (has == ns) return {};
  return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
}

Answer<void> check_namespace(const WriteCall& call) {
  if (!call.resource->namespaced || call.resource->create_only) return {};
  const auto stored = call.world.store.get("namespaces", "", call.ns);
  if (!stored) return refuse(not_found({"", "namespaces", "Namespace", call.ns}));
  const auto phase = json_string_at(stored->text, {"status", "phase"});
  const bool ending = phase == "Terminating" || json_raw_at(stored->text, {"metadata", "deletionTimestamp"});
  if (!ending) return {};
  const auto why = fmt::format("unable to create new content in namespace {} because it is being terminated", call.ns);
  auto error = forbidden(call.about(), why);
  error.details["causes"] =
      json::array{json::object{{"reason", "NamespaceTerminating"},
                               {"message", fmt::format("namespace {} is being terminated", call.ns)},
                               {"field", "metadata.namespace"}}};
  return refuse(std::move(error));
}

json::object reset_fields(const Resource& resource, std::string_view subresource) {
  if (subresource == "status") {
    if (resource.custom) {
      json::object all;
      if (resource.schema)
        for (const auto& field : resource.schema->fields)
          if (field.name != "status" && field.name != "metadata" && field.name != "apiVersion" && field.name != "kind")
            all["f:" + field.name] = json::object{};
      all["f:spec"] = json::object{};
      all["f:metadata"] = json::object{};
      return all;
    }
    if (resource.kind == "CertificateSigningRequest")
      return {{"f:spec", json::object{}}, {"f:status", {{"f:conditions", json::object{}}}}};
    json::object reset{{"f:spec", json::object{}}}, metadata;
    for (const auto key : kept_by_status(resource.kind)) metadata["f:" + std::string(key)] = json::object{};
    if (!metadata.empty()) reset["f:metadata"] = std::move(metadata);
    return reset;
  }
  if (resource.kind == "CertificateSigningRequest") {
    if (subresource == "approval")
      return {{"f:spec", json::object{}}, {"f:status", {{"f:certificate", json::object{}}}}};
    return {{"f:spec", json::object{}}, {"f:status", json::object{}}};
  }
  if (resource.status) return {{"f:status", json::object{}}};
  return {};
}

Answer<json::object> commit(const WriteCall& call, json::object object) {
  if (!call.resource->custom && call.resource->schema) complete(object, *call.resource->schema);
  order_keys(object);
  if (call.dry_run) return object;
  auto& store = call.world.store;
  const auto revision = store.next_revision();
  auto stored = to_stored(object, *call.resource, revision);
  if (!stored) return refuse(stored.error());
  if (stored->text.size() > (3u << 19))
    return refuse(plain_error(500, "etcdserver: request is too large"));  // 1.5 MiB, etcd's bound
  set_revision(object, revision);
  store.put(call.resource->storage_key, *std::move(stored));
  if (call.resource->storage_key == kCrdStorageKey && call.world.crds_changed) call.world.crds_changed();
  return object;
}

Answer<json::object> create_object(const WriteCall& call, json::object object) {
  const auto& resource = *call.resource;
  wipe_system_fields(object);
  if (auto done = ensure_namespace(object, resource, call.ns); !done) return refuse(done.error());
  if (resource.terminating)
    return refuse(forbidden(
        {resource.group, resource.plural, resource.kind, std::string(string_at(object, {"metadata", "name"}))},
        "create not allowed while custom resource definition is terminating"));
  if (resource.schema)
    update_managed_fields({}, object, *resource.schema, writer_of(call), reset_fields(resource, call.subresource));
  return finish_create(call, std::move(object));
}

Answer<Updated> update_object(const WriteCall& call, const Change& change) {
  const auto& resource = *call.resource;
  const auto& strategy = *resource.strategy;
  auto& store = call.world.store;
  const auto stored = store.get(resource.storage_key, resource.namespaced ? call.ns : "", call.name);
  if (!stored) {
    if (!change.allow_create && !strategy.allow_create_on_update) return refuse(not_found(call.about()));
    auto made = change.make({});
    if (!made) return refuse(made.error());
    if (!change.uid.empty())
      return refuse(conflict(
          call.about(), fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: ", change.uid)));
    if (const auto uid = string_at(*made, {"metadata", "uid"}); !uid.empty() && change.owns_fields)
      return refuse(conflict(call.about(), fmt::format("uid mismatch: the provided object specified uid {}, and no "
                                                       "existing object was found",
                                                       uid)));
    if (auto done = ensure_namespace(*made, resource, call.ns); !done) return refuse(done.error());
    if (auto done = check_name(*made, call); !done) return refuse(done.error());
    // Only a POST may not name a version.
    for (const std::string_view key : {"resourceVersion", "selfLink"}) metadata_of(*made).erase(key);
    if (!change.owns_fields && resource.schema)
      update_managed_fields({}, *made, *resource.schema, writer_of(call), reset_fields(resource, call.subresource));
    auto created = finish_create(call, *std::move(made));
    if (!created) return refuse(created.error());
    return Updated{*std::move(created), true};
  }
  auto loaded = load(*stored, resource);
  if (!loaded) return refuse(loaded.error());
  const auto& live = *loaded;
  if (!change.uid.empty() && change.uid != stored->uid)
    return refuse(
        conflict(call.about(),
                 fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}{}{}, ResourceVersion: 0, "
                             "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             resource.group.empty() ? resource.plural
                             : resource.custom      ? resource.group + "/" + resource.plural
                                                    : resource.plural,
                             stored->ns, stored->ns.empty() ? "" : "/", stored->name, change.uid, stored->uid)));
  auto made = change.make(live);
  if (!made) return refuse(made.error());
  auto next = *std::move(made);
  if (auto done = ensure_namespace(next, resource, call.ns); !done) return refuse(done.error());
  if (auto done = check_name(next, call); !done) return refuse(done.error());
  metadata_of(next).erase("selfLink");
  if (!change.owns_fields && call.subresource == "scale")
    update_scale_owners(live, next, call);
  else if (!change.owns_fields && resource.schema)
    update_managed_fields(live, next, *resource.schema, writer_of(call), reset_fields(resource, call.subresource));

  const StoreLookup lookup(store);
  const auto context = context_of(call, lookup);
  if (strategy.admit_update && call.subresource.empty())
    if (auto done = strategy.admit_update(next, live, context); !done) return refuse(done.error());

  auto& metadata = metadata_of(next);
  const std::string version(string_at(next, {"metadata", "resourceVersion"}));
  uint64_t wanted = 0;
  if (!version.empty()) {
    const auto number = go_parse_uint(version);
    if (!number) return refuse(plain_error(500, number.error()));
    wanted = *number;
  }
  if (wanted == 0 && !strategy.allow_unconditional_update) {
    About about{resource.group, resource.plural, resource.plural, call.name};
    return refuse(invalid(
        about, {{FieldError::Type::kInvalid, "metadata.resourceVersion", "must be specified for an update", 0}}));
  }
  if (wanted != 0 && wanted != stored->revision)
    return refuse(conflict(call.about(),
                           "the object has been modified; please apply your changes to the latest version and try "
                           "again"));
  metadata["resourceVersion"] = std::to_string(stored->revision);
  const auto keep = [&](std::string_view key, bool if_missing_only = false) {
    if (const auto* value = object_at(live, {"metadata"}).if_contains(key)) {
      if (!if_missing_only || !metadata.if_contains(key)) metadata[key] = *value;
    } else if (!if_missing_only) {
      metadata.erase(key);
    }
  };
  keep("generation");
  keep_other_parts(next, live, call);
  if (strategy.prepare_update) strategy.prepare_update(next, live, context);
  auto& meta = metadata_of(next);  // prepare may have replaced it
  const auto keep_now = [&](std::string_view key, bool only_if_there, bool if_missing_only) {
    const auto* value = object_at(live, {"metadata"}).if_contains(key);
    if (!value) {
      if (!only_if_there) meta.erase(key);
      return;
    }
    if (!if_missing_only || !meta.if_contains(key)) meta[key] = *value;
  };
  keep_now("uid", true, !string_at(next, {"metadata", "uid"}).empty());
  keep_now("creationTimestamp", true, false);
  keep_now("deletionTimestamp", true, false);
  keep_now("deletionGracePeriodSeconds", true, true);
  if (strategy.generation && !same_but_metadata(live, next, resource.status))
    meta["generation"] = integer_at(live, {"metadata", "generation"}).value_or(0) + 1;

  FieldErrors errors;
  validate_metadata(next, resource, errors);
  validate_metadata_update(next, live, errors);
  validate_metadata_update(next, live, errors);  // the real server's strategies check it again: each cause comes twice
  if (call.subresource == "status") {
    if (resource.custom) check_custom_status(json::value(next), json::value(live), *resource.schema, errors);
    if (strategy.validate_status) strategy.validate_status(next, live, errors);
  } else if (const auto own = strategy.validate_subresource.find(call.subresource);
             own != strategy.validate_subresource.end()) {
    own->second(next, live, errors);
  } else {
    if (resource.custom) check_custom_update(json::value(next), json::value(live), *resource.schema, errors);
    if (strategy.validate) strategy.validate(next, errors);
    if (strategy.validate_update) strategy.validate_update(next, live, errors);
  }
  if (!errors.empty()) return refuse(invalid(kind_of(call, next), errors));
  if (strategy.warnings && call.subresource.empty() && update_warns(strategy, live, next))
    for (auto& text : strategy.warnings(next)) call.warn(std::move(text));
  if (!resource.custom && resource.schema) complete(next, *resource.schema);
  keep_managed_times_if_unchanged(live, next);
  if (auto done = pass_through_storage(next, resource); !done) return refuse(done.error());

  // The last finalizer is gone from what is being deleted.
  const bool ending = has(live, {"metadata", "deletionTimestamp"}) &&
                      integer_at(live, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0 &&
                      array_at(next, {"metadata", "finalizers"}).empty() &&
                      (resource.storage_key != "namespaces" || array_at(next, {"spec", "finalizers"}).empty());
  if (ending) {
    if (!call.dry_run) {
      store.remove(resource.storage_key, stored->ns, stored->name, with_revision(stored->text, store.next_revision()));
      if (resource.storage_key == kCrdStorageKey && call.world.crds_changed) call.world.crds_changed();
    }
    return Updated{std::move(next), false};
  }
  if (unchanged(live, next)) return Updated{live, false};
  auto written = commit(call, std::move(next));
  if (!written) return refuse(written.error());
  return Updated{*std::move(written), false};
}

}  // namespace hookd::embedded
