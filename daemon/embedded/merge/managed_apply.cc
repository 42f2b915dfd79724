// Server-side apply.
#include <algorithm>

#include "embedded/merge/go_text.h"
#include "embedded/merge/managed_fields.h"
#include "embedded/merge/ownership.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kKubectl = "kubectl";
constexpr size_t kAnnotationsLimit = 256u << 10;

const json::object* metadata_of(const json::object& object) {
  const json::value* metadata = object.if_contains("metadata");
  return metadata == nullptr ? nullptr : metadata->if_object();
}

std::string text_of(const json::object* object, std::string_view key) {
  const json::value* value = object == nullptr ? nullptr : object->if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod"
std::string kind_text(std::string_view api_version, std::string_view kind) {
  std::string out(api_version);
  if (out.find('/') == std::string::npos) out.insert(0, "/");
  return out + ", Kind=" + std::string(kind);
}

// "default/web; apps/v1, Kind=Deployment"
std::string about(const json::object& object) {
  const json::object* metadata = metadata_of(object);
  return text_of(metadata, "namespace") + "/" + text_of(metadata, "name") + "; " +
         kind_text(text_of(&object, "apiVersion"), text_of(&object, "kind"));
}

// An error that is no Status of its own: the real server answers 500 with the text and no reason.
Refusal plain(std::string message) { return refuse({500, "", std::move(message)}); }

// The client-side apply annotation of an object, "" = none.
std::string last_applied_of(const json::object& object) {
  const json::object* metadata = metadata_of(object);
  const json::value* annotations = metadata == nullptr ? nullptr : metadata->if_contains("annotations");
  return annotations == nullptr ? std::string() : text_of(annotations->if_object(), kLastApplied);
}

StatusError conflict_error(const std::vector<ManagedConflict>& conflicts) {
  json::array causes;
  std::string message;
  size_t count = 0;
  for (const auto& conflict : conflicts) {
    const std::string who = conflict.owner.people_text();
    if (!message.empty()) message += '\n';
    message += "conflicts with " + who + ":";
    for (const auto& path : conflict.paths) {
      ++count;
      message += "\n- " + path_text(path);
      json::object cause;
      cause["reason"] = "FieldManagerConflict";
      cause["message"] = "conflict with " + who;
      cause["field"] = path_text(path);
      causes.push_back(std::move(cause));
    }
  }
  if (count == 1)
    message = "Apply failed with 1 conflict: conflict with " + conflicts[0].owner.people_text() + ": " +
              path_text(conflicts[0].paths[0]);
  else
    message = "Apply failed with " + std::to_string(count) + " conflicts: " + message;
  json::object details;
  details["causes"] = std::move(causes);
  return {409, "Conflict", std::move(message), std::move(details)};
}

// What nobody owns any more of what the manager owned before goes, where it stood in `merged`.
json::value prune(const Schema& schema, json::value merged, const FieldSet& last, const ManagedEntries& entries) {
  if (last.empty()) return merged;
  const FieldSet last_named = with_named_fields(last, schema);
  const FieldSet merged_set = with_named_fields(to_field_set(schema, merged), schema);

  // without all that was owned, and with what others (and this manager, now) own
  FieldSet owned;
  for (const auto& entry : entries) owned = set_union(owned, entry.set);
  json::value pruned = remove_items(schema, merged, last_named);
  FieldSet gone = merged_set;
  subtract(gone, set_union(with_named_fields(to_field_set(schema, pruned), schema), with_named_fields(owned, schema)));
  pruned = remove_items(schema, merged, gone);

  // what the manager never owned stays, though its parent went
  FieldSet lost = merged_set;
  subtract(lost, with_named_fields(to_field_set(schema, pruned), schema));
  return remove_items(schema, merged, set_intersection(lost, last_named));
}

struct Applying {
  const json::object& live;  // without managedFields
  const json::object& config;
  const Schema& schema;
  const Writer& writer;
  const Limits& limits;
  ManagedEntry self;
};

struct Applied {
  json::value object;
  ManagedEntries entries;
  std::vector<ManagedConflict> conflicts;
};

Applied apply_once(const Applying& request, ManagedEntries entries, bool force) {
  json::value merged = merge_typed(request.schema, request.live, request.config);
  ManagedEntry self = request.self;
  self.set = to_field_set(request.schema, request.config);
  request.limits.apply_to(self.set);
  FieldSet last;
  if (ManagedEntry* previous = find_owner(entries, self)) {
    last = std::move(previous->set);
    self.time = previous->time;
    *previous = self;
  } else {
    entries.push_back(self);
  }
  merged = prune(request.schema, std::move(merged), last, entries);
  if (!merged.is_object()) merged = json::object();

  Comparison changes = compare_typed(request.schema, request.live, merged.get_object());
  for (FieldSet* set : {&changes.removed, &changes.modified, &changes.added}) request.limits.apply_to(*set);
  auto conflicts = take_from_others(entries, &self, changes, force);
  if (!conflicts.empty()) return {nullptr, {}, std::move(conflicts)};
  if (!same_value(request.live, merged))
    if (ManagedEntry* mine = find_owner(entries, self)) mine->time = entry_time(request.writer);
  if (ManagedEntry* mine = find_owner(entries, self)) subtract(mine->set, never_owned());
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.set.empty(); });
  return {std::move(merged), std::move(entries), {}};
}

// The fields in conflict that kubectl's client-side apply set and that still are as it left them: they are its own.
FieldSet owned_by_client_side_apply(const Applying& request) {
  const std::string text = last_applied_of(request.live);
  json::error_code error;
  json::parse_options options;
  options.max_depth = 256;
  const json::value last = json::parse(text, error, {}, options);
  if (text.empty() || error || !last.is_object()) return {};
  const json::object& object = last.get_object();
  if (text_of(&object, "apiVersion") != request.writer.api_version) return {};
  if (!type_errors(request.schema, last, true).empty()) return {};
  FieldSet out = to_field_set(request.schema, last);
  const Comparison changes = compare_typed(request.schema, object, request.live);
  for (const FieldSet* set : {&changes.modified, &changes.added, &changes.removed}) subtract(out, *set);
  return out;
}

// kubectl's annotation follows what it applies, as long as the object has it.
void update_last_applied(json::object& object, const json::object& config) {
  if (last_applied_of(object).empty()) return;
  json::object copy = config;
  if (json::value* metadata = copy.if_contains("metadata"))
    if (json::value* annotations = metadata->is_object() ? metadata->get_object().if_contains("annotations") : nullptr;
        annotations != nullptr && annotations->is_object())
      annotations->get_object().erase(kLastApplied);
  json::object& annotations = object["metadata"].as_object()["annotations"].as_object();
  annotations[kLastApplied] = go_json(copy) + "\n";
  size_t size = 0;
  for (const auto& [key, value] : annotations) size += key.size() + (value.is_string() ? value.get_string().size() : 0);
  if (size > kAnnotationsLimit) annotations.erase(kLastApplied);
}

// The same manager, from before server-side apply was there: owns all that is set, as an update.
void own_what_is_there(const Applying& request, ManagedEntries& entries) {
  Writer before = request.writer;
  before.manager = "before-first-apply";
  const json::object nothing = zero_object(request.schema);
  record_update(entries, compare_typed(request.schema, nothing, request.live), before, request.limits);
}

}  // namespace

Answer<json::object> apply_patch(const json::object& live, const json::object& config, const Schema& schema,
                                 const Writer& writer, bool force, const json::object& reset_fields) {
  const std::string version = text_of(&config, "apiVersion");
  const std::string kind = text_of(&config, "kind");
  if (version != writer.api_version || (!writer.kind.empty() && kind != writer.kind))
    return refuse(bad_request("invalid object type: " + kind_text(version, kind)));
  const json::object* metadata = metadata_of(config);
  if (metadata != nullptr && metadata->contains("managedFields") && !metadata->at("managedFields").is_null())
    return refuse(bad_request("metadata.managedFields must be nil"));
  if (const auto errors = type_errors(schema, config, true); !errors.empty())
    return plain("failed to create typed patch object (" + about(config) + "): " + join_type_errors(errors));

  const json::object* live_metadata = metadata_of(live);
  auto entries = read_managed_entries(live_metadata == nullptr ? nullptr : live_metadata->if_contains("managedFields"));
  if (!entries) return plain("failed to decode managed fields: " + entries.error());
  if (!writer.served_versions.empty())
    std::erase_if(*entries, [&writer](const ManagedEntry& entry) {
      return std::ranges::find(writer.served_versions, entry.api_version) == writer.served_versions.end();
    });
  const json::value bare = without_managed_fields(live);
  const Limits limits(writer, reset_fields);
  const Applying request{
      bare.get_object(),
      config,
      schema,
      writer,
      limits,
      {writer.manager.empty() ? "unknown" : writer.manager, true, writer.api_version, writer.subresource, {}, {}}};
  if (entries->empty() && writer.subresource != "scale") own_what_is_there(request, *entries);

  Applied applied = apply_once(request, *entries, force);
  if (!applied.conflicts.empty() && writer.manager == kKubectl) {
    const FieldSet allowed = owned_by_client_side_apply(request);
    for (auto& conflict : applied.conflicts)
      std::erase_if(conflict.paths, [&allowed](const auto& path) { return allowed.has(path); });
    std::erase_if(applied.conflicts, [](const ManagedConflict& conflict) { return conflict.paths.empty(); });
    if (applied.conflicts.empty()) applied = apply_once(request, *std::move(entries), true);
  }
  if (!applied.conflicts.empty()) {
    if (writer.subresource == "scale")  // there the kind is Scale, and everybody's entry with it
      for (auto& conflict : applied.conflicts) conflict.owner.api_version = "autoscaling/v1";
    return refuse(conflict_error(applied.conflicts));
  }

  json::object out = std::move(applied.object.get_object());
  if (writer.manager == kKubectl) update_last_applied(out, config);
  if (!applied.entries.empty()) {
    json::value& out_metadata = out["metadata"];
    if (!out_metadata.is_object()) out_metadata.emplace_object();
    out_metadata.get_object()["managedFields"] = write_managed_entries(std::move(applied.entries));
  }
  return out;
}

}  // namespace hookd::embedded
