// The steps that updates and applies share: a write takes fields from others and owns what it changed. Thread: any.
// Source: KEP-555; API docs "Server-Side Apply".
#pragma once

#include <string_view>
#include <vector>

#include "embedded/merge/managed_entries.h"
#include "embedded/merge/managed_fields.h"
#include "embedded/merge/typed.h"

namespace hookd::embedded {

// At most this many Update entries; older ones of a version become one, of the manager "ancient-changes".
inline constexpr size_t kMaxUpdateEntries = 10;

// What this writer never owns, and the paths that nobody ever owns (metadata.name and the like).
struct Limits {
  FieldSet reset;
  const json::object* only = nullptr;  // null = everything else

  Limits(const Writer& writer, const json::object& reset_fields);
  void apply_to(FieldSet& set) const;
};
const FieldSet& never_owned();

// What the real server compares a new object with: the Go type's zero, which has its structs already (so that nobody
// owns a bare `spec`). {} for CRDs.
json::object zero_object(const Schema& schema);

// When this writer's entry was written: now; writes through scale have no time, as in the real server.
std::string entry_time(const Writer& writer);

// An object without managedFields. `in` outlives the result.
json::value without_managed_fields(const json::object& in);

struct ManagedConflict {
  ManagedEntry owner;
  std::vector<std::vector<PathElement>> paths;
};

// Everybody but `writer` (null = nobody is left out) loses what `changes` removed, added or modified. Without `force`
// the added and modified ones of others are told instead, sorted by owner, and nothing is changed.
std::vector<ManagedConflict> take_from_others(ManagedEntries& entries, const ManagedEntry* writer,
                                              const Comparison& changes, bool force);

// Update with the objects free of managedFields. `changes` is what happened between them. False = it cannot be tracked.
bool record_update(ManagedEntries& entries, Comparison changes, const Writer& writer, const Limits& limits);

}  // namespace hookd::embedded
