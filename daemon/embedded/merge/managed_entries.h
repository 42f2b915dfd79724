// metadata.managedFields as values, and back. Thread: any.
// Source: API docs "Server-Side Apply: field management"; KEP-555.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "embedded/merge/field_set.h"

namespace hookd::embedded {

struct ManagedEntry {
  std::string manager;
  bool applied = false;     // operation Apply, else Update
  std::string api_version;  // of the fields
  std::string subresource;
  std::string time;  // RFC 3339 in UTC with seconds, "" = none
  FieldSet set;
  json::object fields_v1{};  // `set` as it was read; only as long as `changed` is false
  bool changed = true;

  // Do the two name the same entry? Appliers are the same in every version.
  bool same_owner(const ManagedEntry& other) const {
    return applied == other.applied && manager == other.manager && subresource == other.subresource &&
           (applied || api_version == other.api_version);
  }
  // By which owners are sorted in messages.
  std::string owner_text() const;
  // `"kubectl" using v1`, `"x" with subresource "status"`
  std::string people_text() const;
};
using ManagedEntries = std::vector<ManagedEntry>;

// Errors: what is wrong, if an operation, an API version or a set cannot be read. Null or absent = none.
std::expected<ManagedEntries, std::string> read_managed_entries(const json::value* managed_fields);
// The same, and the sets move out of `managed_fields`, which is of no use afterwards.
std::expected<ManagedEntries, std::string> take_managed_entries(json::value& managed_fields);
// Appliers first, then by time, manager, version and subresource.
json::array write_managed_entries(ManagedEntries entries);

ManagedEntry* find_owner(ManagedEntries& entries, const ManagedEntry& owner);

}  // namespace hookd::embedded
