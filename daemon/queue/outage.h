// When a hook did not work for a while and works again. Keys that failed one after another wait for up to `retry.max`
// (1000 s): without this, recovery lags by as much. Thread: loop only.
// Source: issue 6 ("recovery after a hook outage"); controllers.md section 4 ("webhook/hook outage").
//
//   no outage    kFailures failures in a row, of at least kKeys keys      outage: one delayed key each kProbe is tried
//   outage       a call goes well                                         no outage: all delayed keys come forward
//
// Keys that fail for reasons of their own look like an outage whenever another one goes well. So that this does not
// take their back-off away, such a release comes at most once in a time that doubles from kQuiet to kMostQuiet.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/scheduler.h"

namespace hookd::queue {

class Outage {
 public:
  struct Hands {
    std::function<void()> probe;    // try one delayed key now
    std::function<void()> release;  // let all delayed keys come forward
  };
  Outage(Scheduler& scheduler, Hands hands) : scheduler_(scheduler), hands_(std::move(hands)) {}

  void failed(const std::string& key) {
    ++failures_;
    if (keys_.size() < kKeys) keys_.insert(key);
    if (on() && !timer_.pending()) probe_later();
  }
  void succeeded() {
    const bool was_on = on();
    failures_ = 0;
    keys_.clear();
    timer_.cancel();
    if (!was_on) return;
    const SteadyTime now = scheduler_.now();
    if (released_ && now - *released_ < quiet_) return;
    quiet_ = released_ && now - *released_ < 4 * quiet_ ? std::min(2 * quiet_, kMostQuiet) : kQuiet;
    released_ = now;
    hands_.release();
  }
  bool on() const { return failures_ >= kFailures && keys_.size() >= kKeys; }
  void stop() { timer_.cancel(); }

  static constexpr int kFailures = 5;
  static constexpr size_t kKeys = 3;
  static constexpr Duration kProbe = std::chrono::seconds(15);
  static constexpr Duration kSpread = std::chrono::seconds(5);  // over which released keys are to be spread
  static constexpr Duration kQuiet = std::chrono::minutes(1);
  static constexpr Duration kMostQuiet = std::chrono::seconds(1000);

 private:
  void probe_later() {
    timer_ = scheduler_.after(kProbe, [this] {
      probe_later();
      hands_.probe();
    });
  }

  Scheduler& scheduler_;
  Hands hands_;
  int failures_ = 0;            // in a row
  std::set<std::string> keys_;  // of them, at most kKeys
  std::optional<SteadyTime> released_;
  Duration quiet_ = kQuiet;
  Timer timer_;
};

}  // namespace hookd::queue
