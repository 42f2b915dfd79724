// What a hook is called with: events, and snapshots of one moment. Plain values. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::hook {

struct SnapshotEntry {
  cache::ObjectPtr object;                   // text empty: only the identity is kept
  std::shared_ptr<const std::string> value;  // JSON text; null = the binding has no `value`
};

struct Snapshot {
  std::shared_ptr<const kube::ResourceType> type;
  std::vector<SnapshotEntry> entries;  // by key
};

// Why a key is reconciled: what happened to what.
struct ReconcileCause {
  std::string binding;  // "for", "children", a name of `related` or of a source, "resync", "requeue", "start"
  std::string type;     // "Added", "Modified", "Deleted", "Source", "Resync", "Requeue", "Start"
  std::string kind;     // "Deployment.apps/v1" with an object
  std::string ns, name;
  bool operator==(const ReconcileCause&) const = default;
};

struct Event {
  enum class Type { kAdded, kModified, kDeleted, kSync, kSchedule, kStartup, kSource, kReconcile };
  Type type = Type::kAdded;
  std::string binding;
  std::shared_ptr<const kube::ResourceType> resource;  // of the object; null without one
  cache::ObjectPtr object;                             // null for kSync, kSchedule, kStartup, kSource
  cache::ObjectPtr old;                                // kModified
  std::vector<std::string> passed;  // resource versions of its object that were merged into it, at most kMaxPassed
  std::shared_ptr<const std::string> value;  // JSON text
  std::shared_ptr<const std::string> old_value;
  std::shared_ptr<const std::string> data;      // kSource: JSON text of what came in
  std::shared_ptr<const std::string> old_data;  // kSource of a file: what stood there before
  std::shared_ptr<void> ticket;  // kSource: gone when no copy waits or runs any more, which lets the source go on
  // kSource: told once whether it was handled (else it was given up). Null: nobody waits for that.
  std::shared_ptr<const std::function<void(bool handled)>> answer;
  std::vector<ReconcileCause> causes;  // kReconcile: of everything that was merged, the last kMaxCauses
  cache::ObjectPtr gone;               // kReconcile: the last state of a parent that is no more
  bool background = false;             // may stand behind what is live: the first list, a resync
  bool final_state_unknown = false;    // kDeleted: the last state was not seen
  bool coalesce = true;
  bool again = false;      // the hook asked to be called again: the object is brought up to date when the call is made
  bool overtaken = false;  // it was parked, and what came later may be handled: brought up to date in the same way
  SteadyTime seen{};       // when it came in

  static constexpr size_t kMaxCauses = 64;
  static constexpr size_t kMaxPassed = 17;  // so many: there may have been more
};

std::string_view to_string(Event::Type type);  // as hooks see it: "Added"

// Puts `next` behind what waits for the same key: events of one binding about one object (by uid) become one, with the
// first `old` and the last object; a deletion and a new namesake stay two. (product.md `coalesce: latest`)
void merge(std::vector<Event>& waiting, Event next);

}  // namespace hookd::hook
