// Who wrote which version of an object: every write of this daemon's hooks, remembered by uid and resource version.
// Two ask: `ownWrites: ignore` (events that only a hook's own write caused are not delivered; needs proof) and the loop
// detector (calls that calls caused; may guess). Thread: loop only. Source: issue 5 point 10.
//
//   the version in a write's answer   means
//   differs from the one that the     this write made it: proof. (Create, PUT, PATCH with the version as precondition)
//   write was made on
//   is the same                       nothing changed, somebody else made that version
//   the base is not known             either: no proof, good enough for the loop detector only if no event told of that
//                                     version before the write was sent
//
// An event may come before the answer of the write that caused it: while a write to its object is under way nothing
// can be said (kUndecided). A write whose answer was lost made nothing that is known: its event is delivered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apply/operation.h"
#include "apply/outcome.h"
#include "base/scheduler.h"
#include "hook/event.h"
#include "kube/resource_type.h"

namespace hookd::hook {

// Calls that followed from calls: this one's event was caused by a write of a call whose event … . 0 = from outside.
struct Chain {
  int depth = 0;
  std::vector<SteadyTime> starts;  // of its last calls, at most kRemembered, this one's last
  std::vector<std::string> hooks;  // that take part, at most kRemembered
  static constexpr size_t kRemembered = 16;
};

enum class Cause { kOurs, kOthers, kUndecided };

// "pods.", "deployments.apps": the same in every version.
std::string resource_of(const kube::ResourceType& type);

// Events without the texts of their objects: to be kept for a while.
std::vector<Event> bare_events(const std::vector<Event>& events);

class OwnWrites {
 public:
  explicit OwnWrites(Scheduler& scheduler) : scheduler_(scheduler) {}

  struct Write {
    std::string hook;
    std::string resource;
    std::string ns, name;  // name "" = not known yet: `prefix` is what it begins with
    std::string prefix;
    std::shared_ptr<const std::vector<Event>> because;  // the events of the call, see bare_events()
    SteadyTime call_started{};
  };
  // A write is about to be sent, and its end: whatever came of it. The answer is 0 for none.
  uint64_t sending(Write write);
  void settled(uint64_t ticket, const apply::Operation& operation, const apply::Outcome& outcome);
  void abandoned(uint64_t ticket);  // nobody waits for its answer any more

  // An event told of that version.
  void seen(const std::string& uid, const std::string& version);

  // Did `hook` itself make that version, proven? kUndecided while a write of it to that object is under way.
  Cause version_by(const std::string& hook, const std::string& resource, const cache::Identity& object) const;
  // Is the object gone, or does it end since this version (it got its deletionTimestamp), because `hook` deleted it?
  // The second, once answered with kOurs, makes the first true as well. `at_once`: it was not ending before it went.
  Cause gone_by(const std::string& hook, const std::string& resource, const cache::Identity& object,
                bool at_once) const;
  Cause ending_by(const std::string& hook, const std::string& resource, const cache::Identity& object);

  // By what the events of a call were caused; `chain` for kOurs: with the call that they make, at `now`.
  Cause cause_of(const std::vector<Event>& events, const std::string& hook, Chain* chain) const;

  std::string last_version(const std::string& uid) const;  // that a hook wrote, "" = not known

  // `look` is called in a turn of its own after writes to an object were settled; it lives as long as the result.
  using Look = std::function<void(const std::string& resource, const std::string& object_key)>;
  [[nodiscard]] std::shared_ptr<void> on_settled(Look look);

  size_t under_way() const { return open_.size(); }
  static constexpr size_t kVersions = 8192;  // written ones remembered, the oldest go first
  static constexpr size_t kSeen = 4096;
  static constexpr size_t kDeletions = 8192;
  static constexpr size_t kPassed = 16;  // versions of one merged event that are looked at

 private:
  struct Open {
    Write write;
    uint64_t seen_before = 0;  // events that had come when it was sent
  };
  struct Made {
    std::string hook;
    bool proven = false;
    Chain chain;
  };
  struct Deletion {
    std::string hook;
    std::string version;  // that the answer told, "" = it told none
    bool ends = false;    // proven: the object goes because of it
  };
  bool open_to(const std::string* hook, const std::string& resource, const cache::Identity& object) const;
  Cause event_cause(const Event& event, Chain& chain) const;
  void remember(const std::string& uid, const std::string& version, Made made);
  void tell(const std::string& resource, const std::string& object_key);

  Scheduler& scheduler_;
  std::map<uint64_t, Open> open_;
  uint64_t tickets_ = 0;
  std::unordered_map<std::string, Made> made_;  // by "uid version"
  std::deque<std::string> made_order_;
  std::unordered_map<std::string, std::string> last_;  // uid -> version; goes with made_
  std::unordered_map<std::string, Deletion> deletions_;
  std::deque<std::string> deletion_order_;
  std::unordered_map<std::string, uint64_t> seen_;  // "uid version" -> when, as a count
  std::deque<std::string> seen_order_;
  uint64_t seen_count_ = 0;
  std::vector<std::weak_ptr<Look>> looks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::hook
