// Finds a key whose writes are undone again and again: an answer that flips, a webhook or another controller that puts
// its own value back. Such a key is slowed with a growing delay, never stopped, and people are told which path keeps
// changing. Thread: loop only. Source: issue 6 point 1; controllers.md section 4 (hot loops).
#pragma once

#include <cstdint>
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
    std::vector<std::string> paths;  // that keep changing: "data.colour", at most kPaths
    int writes = 0;
    Duration delay{0};  // before the next pass of the key
    bool tell = false;  // now: an Event, a line in the log; else it was told a while ago
    std::string text() const;
  };
  // `key` writes an object: its state before (from the watch) and after (from the answer). `because` is a hash of what
  // the hook was told besides the children (the parent without status, related objects): a change of that is a reason.
  std::optional<Finding> wrote(const std::string& key, const std::string& child, uint64_t because,
                               std::string_view before, std::string_view after);
  void forget(const std::string& key);
  std::vector<Finding> slow() const;  // for status

  static constexpr int kFree = 10;  // changes of one object without a reason, within kWindow
  static constexpr Duration kWindow = std::chrono::minutes(10);
  static constexpr Duration kFirstDelay = std::chrono::seconds(1);
  static constexpr Duration kMaxDelay = std::chrono::minutes(5);
  static constexpr Duration kToldEach = std::chrono::minutes(10);
  static constexpr size_t kPaths = 3;

 private:
  Scheduler& scheduler_;
};

}  // namespace hookd::reconcile
