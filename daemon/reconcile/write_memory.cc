#include "reconcile/write_memory.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "reconcile/child_match.h"
#include "reconcile/content.h"

namespace hookd::reconcile {
namespace {

std::string name_of(const std::string& resource, const std::string& child) { return resource + " " + child; }

// Texts carry them in hex: JSON numbers of 64 bits are not safe everywhere.
std::string hex(uint64_t value) { return fmt::format("{:x}", value); }
bool from_hex(std::string_view saved, std::string_view key, uint64_t& out) {
  const auto text = json_string_at(saved, {key});
  if (!text) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out, 16);
  return error == std::errc{} && end == text->data() + text->size();
}

}  // namespace

uint64_t essence_of(std::string_view object, bool with_status) { return object_content(object, with_status); }

const WriteMemory::Entry* WriteMemory::find(const Key& key, const std::string& uid) const {
  const auto found = entries_.find(name_of(key.resource, key.child));
  return found != entries_.end() && found->second.uid == uid ? &found->second : nullptr;
}

void WriteMemory::wrote(const Key& key, const std::string& uid, std::string_view object) {
  if (key.child.empty()) return;
  const std::string name = name_of(key.resource, key.child);
  if (object.empty() || uid.empty()) {
    entries_.erase(name);
    return;
  }
  if (entries_.size() >= kMaxEntries && !entries_.contains(name)) return;
  Entry& entry = entries_[name];
  entry.manifest = key.manifest;
  entry.essence = essence_of(object, key.with_status);
  entry.wanted = key.wanted.empty() ? 0 : what_is_set(key.wanted, object).value_or(0);
  entry.uid = uid;
  entry.version = json_string_at(object, {"metadata", "resourceVersion"}).value_or("");
}

bool WriteMemory::as_written(const Key& key, const std::string& uid, std::string_view object) const {
  const Entry* entry = find(key, uid);
  return entry && entry->manifest == key.manifest && entry->essence == essence_of(object, key.with_status);
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
  entries_.erase(name_of(resource, child));
}

std::optional<std::string> WriteMemory::saved(const std::string& resource, const std::string& child) const {
  const auto found = entries_.find(name_of(resource, child));
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  JsonWriter out;
  out.begin_object().key("kind").string(kContentKind).key("manifest").string(hex(entry.manifest));
  out.key("essence").string(hex(entry.essence)).key("wanted").string(hex(entry.wanted));
  out.key("uid").string(entry.uid).key("version").string(entry.version).end_object();
  return std::move(out).take();
}

bool WriteMemory::restore(const std::string& resource, const std::string& child, std::string_view saved) {
  Entry entry;
  if (child.empty() || json_string_at(saved, {"kind"}) != kContentKind) return false;
  if (!from_hex(saved, "manifest", entry.manifest) || !from_hex(saved, "essence", entry.essence) ||
      !from_hex(saved, "wanted", entry.wanted))
    return false;
  entry.uid = json_string_at(saved, {"uid"}).value_or("");
  entry.version = json_string_at(saved, {"version"}).value_or("");
  const std::string name = name_of(resource, child);
  if (entry.uid.empty() || (entries_.size() >= kMaxEntries && !entries_.contains(name))) return false;
  entries_.insert_or_assign(name, std::move(entry));
  return true;
}

}  // namespace hookd::reconcile
