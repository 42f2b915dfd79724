#include "reconcile/write_memory.h"

#include <fmt/format.h>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "reconcile/child_match.h"
#include "reconcile/content.h"

namespace hookd::reconcile {
namespace {

constexpr std::string_view kTable = "written";

std::string name_of(const std::string& resource, const std::string& child) { return resource + " " + child; }

// In hex: JSON numbers of 64 bits are not safe everywhere.
std::string row_of(uint64_t manifest, uint64_t essence, std::string_view uid) {
  JsonWriter out;
  out.begin_object().key("kind").string(kContentKind).key("uid").string(uid);
  out.key("manifest").string(fmt::format("{:x}", manifest)).key("essence").string(fmt::format("{:x}", essence));
  return std::move(out.end_object()).take();
}

}  // namespace

uint64_t essence_of(std::string_view object, bool with_status) { return object_content(object, with_status); }

WriteMemory::WriteMemory(state::Store* store, std::string_view hook)
    : store_(store && store->durable() && store->keeps(kTable) ? store : nullptr), prefix_(fmt::format("{}\n", hook)) {}

const WriteMemory::Entry* WriteMemory::find(const Key& key, const std::string& uid) const {
  const auto found = entries_.find(name_of(key.resource, key.child));
  return found != entries_.end() && found->second.uid == uid ? &found->second : nullptr;
}

void WriteMemory::wrote(const Key& key, const std::string& uid, std::string_view object) {
  if (key.child.empty()) return;
  const std::string name = name_of(key.resource, key.child);
  if (object.empty() || uid.empty()) return forget(key.resource, key.child);
  if (entries_.size() >= kMaxEntries && !entries_.contains(name)) return;
  Entry& entry = entries_[name];
  const Entry before = entry;
  entry.manifest = key.manifest;
  entry.essence = essence_of(object, key.with_status);
  entry.wanted = key.wanted.empty() ? 0 : what_is_set(key.wanted, object).value_or(0);
  entry.uid = uid;
  entry.version = json_string_at(object, {"metadata", "resourceVersion"}).value_or("");
  const bool same = before.manifest == entry.manifest && before.essence == entry.essence && before.uid == entry.uid;
  if (!store_ || !key.wanted.empty() || same) return;
  if (const std::string row = row_of(entry.manifest, entry.essence, uid); store_->get(kTable, prefix_ + name) != row)
    store_->put(kTable, prefix_ + name, row);
}

bool WriteMemory::as_written(const Key& key, const std::string& uid, std::string_view object) const {
  if (const Entry* entry = find(key, uid))
    return entry->manifest == key.manifest && entry->essence == essence_of(object, key.with_status);
  // Before a restart. One that does not fit says nothing: others may have written since, without keeping it.
  const auto row = store_ ? store_->get(kTable, prefix_ + name_of(key.resource, key.child)) : std::nullopt;
  return row && *row == row_of(key.manifest, essence_of(object, key.with_status), uid);
}

bool WriteMemory::as_written(const Key& key, const cache::Identity& object) const {
  const Entry* entry = find(key, object.uid);
  return entry && entry->manifest == key.manifest && !entry->version.empty() &&
         entry->version == object.resource_version;
}

std::optional<bool> WriteMemory::from_this(const Key& key, const std::string& uid) const {
  const Entry* entry = find(key, uid);
  if (!entry) return std::nullopt;
  return entry->manifest == key.manifest;
}

WriteMemory::Drift WriteMemory::drifted(const Key& key, const std::string& uid, std::string_view object) const {
  const Entry* entry = find(key, uid);
  if (!entry || entry->manifest != key.manifest || entry->wanted == 0 || key.wanted.empty()) return Drift::kUnknown;
  const auto now = what_is_set(key.wanted, object);
  if (!now) return Drift::kUnknown;
  return *now == entry->wanted ? Drift::kNone : Drift::kDrifted;
}

void WriteMemory::forget(const std::string& resource, const std::string& child) {
  const std::string name = name_of(resource, child);
  entries_.erase(name);
  if (store_) store_->erase(kTable, prefix_ + name);
}

void WriteMemory::sweep(Scheduler& scheduler, std::function<bool(const std::string&)> there) {
  if (!store_) return;
  sweep_.start(
      *store_, scheduler, std::string(kTable), prefix_,
      [this, there = std::move(there)](const std::string& name) { return entries_.contains(name) || there(name); });
}

}  // namespace hookd::reconcile
