// Finds a key whose writes are undone again and again: an answer that flips, a webhook or another controller that puts
// its own value back. Such a key is slowed with a growing delay, never stopped, and people are told which path keeps
// changing. Thread: loop only. Source: issue 6 point 1; controllers.md section 4 (hot loops).
//
//   a write that changed      counts
//   nothing                   not at all
//   what another one of the   as one that is undone: slow after kFree of them within kWindow, each doubles the delay
//   last kStates changed, in
//   the same way
//   something new             as progress, which may be endless all the same (a time, a random value): slow after
//                             kFreeNew within kWindow, each kNewStep of them double the delay
//
// A reason (`because`) begins anew, and so does a quiet time of kWindow beyond the delay. What the key itself writes is
// none (writes()).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"

namespace hookd::reconcile {

class WriteRepeats {
 public:
  explicit WriteRepeats(Scheduler& scheduler) : scheduler_(scheduler) {}

  struct Finding {
    std::string child;               // "ConfigMap a/b", or the parent with its status
    std::vector<std::string> paths;  // that keep changing: ".data.colour", at most kPaths; empty: it is made anew, or
    bool deleted = false;            // deleted again and again
    int writes = 0;                  // without a reason, that were undone or changed the same place
    Duration delay{0};               // before the next pass of the key
    bool tell = false;               // now: an Event, a line in the log; else it was told a while ago
    bool undone = true;              // false: each time another value
    std::string text() const;        // one line: who, what, what to do
  };
  // `key` wrote an object: its state before (from the watch; "" = there was none) and after (from the answer; "" = it
  // was deleted).
  // `because` is a hash of what the hook was told besides the children (the parent without status, related objects): a
  // change of that is a reason. A write of anything else than the status does not look at the status.
  std::optional<Finding> wrote(const std::string& key, const std::string& child, uint64_t because,
                               std::string_view before, std::string_view after);
  // Did it write that object lately, beyond its status? Then a change of it is no reason.
  bool writes(const std::string& key, const std::string& child) const;
  void forget(const std::string& key);
  std::vector<Finding> slow() const;  // for status, by key
  size_t size() const;                // objects that are remembered

  static constexpr int kFree = 10;  // changes of one object without a reason, within kWindow
  static constexpr int kFreeNew = 60;
  static constexpr int kNewStep = 10;
  static constexpr Duration kWindow = std::chrono::minutes(10);
  static constexpr Duration kFirstDelay = std::chrono::seconds(1);
  static constexpr Duration kMaxDelay = std::chrono::minutes(5);
  static constexpr Duration kToldEach = std::chrono::minutes(10);
  static constexpr size_t kPaths = 3;
  static constexpr size_t kStates = 16;
  static constexpr size_t kMaxObjects = 20'000;  // beyond, objects that are new to it are not looked at

 private:
  // Writes of one sort: the times of the last ones, as many as are free.
  struct Count {
    int writes = 0;
    std::deque<SteadyTime> times;
    bool slow = false;
    bool add(SteadyTime now, size_t free);
  };
  struct Record {
    uint64_t because = 0;
    Count undone, fresh;
    std::optional<SteadyTime> beyond_status;  // when, see writes()
    std::deque<uint64_t> states;              // what the last writes changed, as hashes
    SteadyTime last{}, told{};
    std::optional<Finding> finding;
  };
  void drop_quiet();

  Scheduler& scheduler_;
  std::map<std::string, std::map<std::string, Record>> records_;  // by key, by child
  SteadyTime swept_{};
};

}  // namespace hookd::reconcile
