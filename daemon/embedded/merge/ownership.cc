#include "embedded/merge/ownership.h"

#include <algorithm>
#include <map>

#include "base/time.h"
#include "embedded/schema/decode.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kAncient = "ancient-changes";

// The oldest Update entries of each version become one until there are few enough.
void cap_updates(ManagedEntries& entries) {
  std::vector<ManagedEntry> updates;
  for (const auto& entry : entries)
    if (!entry.applied) updates.push_back(entry);
  if (updates.size() <= kMaxUpdateEntries) return;
  std::ranges::sort(updates, [](const ManagedEntry& a, const ManagedEntry& b) {
    return a.time != b.time ? a.time < b.time : a.owner_text() < b.owner_text();
  });
  const auto drop = [&entries](const ManagedEntry& owner) {
    std::erase_if(entries, [&owner](const ManagedEntry& entry) { return entry.same_owner(owner); });
  };
  std::map<std::string, ManagedEntry> first_of_version;
  size_t count = updates.size();
  for (const auto& update : updates) {
    if (count <= kMaxUpdateEntries) break;
    const auto [first, fresh] = first_of_version.emplace(update.api_version, update);
    if (fresh) continue;
    ManagedEntry bucket{std::string(kAncient), false, update.api_version, {}, {}, {}};
    if (find_owner(entries, bucket) == nullptr) {
      bucket.set = first->second.set;
      drop(first->second);
      entries.push_back(bucket);
    }
    const ManagedEntry* current = find_owner(entries, update);
    FieldSet merged = current == nullptr ? update.set : current->set;
    if (!update.same_owner(bucket)) drop(update);
    ManagedEntry* target = find_owner(entries, bucket);
    target->set = set_union(merged, target->set);
    target->time = update.time;
    target->changed = true;
    --count;
  }
}

}  // namespace

Limits::Limits(const Writer& writer, const json::object& reset_fields) {
  if (!reset_fields.empty())
    if (auto set = parse_field_set(reset_fields)) reset = *std::move(set);
  if (!writer.only_fields.empty()) only = &writer.only_fields;
}

void Limits::apply_to(FieldSet& set) const {
  if (set.empty()) return;
  if (!reset.empty()) subtract_recursively(set, reset);
  if (only != nullptr) set = keep_matching(set, *only);
}

const FieldSet& never_owned() {
  static const FieldSet set = [] {
    FieldSet out;
    const auto path = [](std::initializer_list<std::string_view> names) {
      std::vector<PathElement> elements;
      for (const auto name : names) elements.push_back(PathElement::of_field(name));
      return elements;
    };
    for (const auto name : {"apiVersion", "kind", "metadata"}) out.insert(path({name}));
    for (const auto name : {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
                            "managedFields", "resourceVersion"})
      out.insert(path({"metadata", name}));
    return out;
  }();
  return set;
}

std::string entry_time(const Writer& writer) {
  return writer.subresource == "scale" ? std::string() : format_rfc3339(writer.now);
}

json::object zero_object(const Schema& schema) {
  json::object out;
  complete(out, schema);
  return out;
}

json::value without_managed_fields(const json::object& in) {
  json::object out;
  out.reserve(in.size());
  for (const auto& [key, value] : in) {
    const auto* metadata = key == "metadata" ? value.if_object() : nullptr;
    if (metadata == nullptr || !metadata->contains("managedFields")) {
      out.emplace(key, value);
      continue;
    }
    json::object rest;
    rest.reserve(metadata->size());
    for (const auto& [name, field] : *metadata)
      if (name != "managedFields") rest.emplace(name, field);
    out.emplace(key, std::move(rest));
  }
  return out;
}

std::vector<ManagedConflict> take_from_others(ManagedEntries& entries, const ManagedEntry* writer,
                                              const Comparison& changes, bool force) {
  const FieldSet set = set_union(changes.modified, changes.added);
  const auto is_writer = [writer](const ManagedEntry& entry) { return writer != nullptr && entry.same_owner(*writer); };
  if (!force && !set.empty()) {
    std::vector<ManagedConflict> conflicts;
    for (const auto& entry : entries) {
      if (is_writer(entry)) continue;
      const FieldSet shared = set_intersection(entry.set, set);
      if (shared.empty()) continue;
      ManagedConflict conflict{entry, {}};
      conflict.owner.set = {};
      shared.visit([&conflict](const auto& path) { conflict.paths.push_back(path); });
      conflicts.push_back(std::move(conflict));
    }
    std::ranges::sort(conflicts, {}, [](const ManagedConflict& conflict) { return conflict.owner.owner_text(); });
    if (!conflicts.empty()) return conflicts;
  }
  for (auto& entry : entries) {
    if (is_writer(entry)) continue;
    const bool lost = subtract(entry.set, set);
    const bool gone = subtract(entry.set, changes.removed);
    entry.changed = entry.changed || lost || gone;
  }
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.set.empty(); });
  return {};
}

bool record_update(ManagedEntries& entries, Comparison changes, const Writer& writer, const Limits& limits) {
  if (!changes.ok) return false;
  for (FieldSet* set : {&changes.removed, &changes.modified, &changes.added}) limits.apply_to(*set);
  take_from_others(entries, nullptr, changes, true);
  FieldSet own = set_union(changes.modified, changes.added);
  subtract(own, never_owned());
  if (!own.empty()) {
    ManagedEntry entry{writer.manager.empty() ? "unknown" : writer.manager,
                       false,
                       writer.api_version,
                       writer.subresource,
                       entry_time(writer),
                       std::move(own)};
    if (ManagedEntry* previous = find_owner(entries, entry)) {
      entry.set = set_union(entry.set, previous->set);
      *previous = std::move(entry);
    } else {
      entries.push_back(std::move(entry));
    }
  }
  cap_updates(entries);
  return true;
}

}  // namespace hookd::embedded
