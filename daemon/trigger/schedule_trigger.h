// One `schedule` binding: ticks on the queue. Thread: loop only. Source: product.md section 1 (`schedule`).
//
//   every   first tick one interval after the start, then at multiples of it: no drift, whatever a call takes
//   cron    by trigger/cron.h, in the binding's time zone
//   jitter  each tick comes up to that much later, at random
//   overlap skip: no tick while the former one waits or runs; queue: one may wait
//   missed  after the machine slept (or the loop stood) past ticks: run-once runs one at once, skip none
//
// With a durable store the last tick whose call is over is kept (table "ticked"), so that both hold across restarts:
// `every` goes on in step, and a tick that fell into the time without a daemon, or whose call was cut off, is missed.
// Schedules of less than kRemembered between ticks are not worth a write each.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/random.h"
#include "base/scheduler.h"
#include "hook/model.h"
#include "metrics/registry.h"
#include "state/store.h"
#include "trigger/cron.h"
#include "trigger/emit.h"

namespace hookd::trigger {

class ScheduleTrigger {
 public:
  // `busy(key)`: does the queue still have that key?
  ScheduleTrigger(std::shared_ptr<const hook::Hook> hook, const hook::ScheduleBinding& binding, Scheduler& scheduler,
                  Random& random, metrics::Registry& metrics, Emit emit,
                  std::function<bool(const std::string& key)> busy, state::Store* store = nullptr);
  void start();
  void handled();  // the call of the newest tick that was told is over, well or given up
  void tick();     // one now, whatever the time (`hookd run --once`)

  const hook::ScheduleBinding& binding() const { return binding_; }
  std::optional<WallTime> next() const { return next_; }

  static constexpr Duration kRemembered = std::chrono::minutes(1);
  // A tick later than this counts as missed.
  static constexpr Duration kMissed = std::chrono::seconds(30);
  // Wall time may be set while we wait: the clock is looked at least this often.
  static constexpr Duration kLook = std::chrono::seconds(30);
  // Cron times between the new and the old time do not fire again, unless the clock was set back by more than this (as
  // Vixie cron has it).
  static constexpr Duration kSetBack = std::chrono::hours(3);

 private:
  void arm();
  void due();
  void skipped();
  void take_up();
  void remember(WallTime at);
  std::string description() const;
  std::optional<WallTime> following(WallTime after) const;

  std::shared_ptr<const hook::Hook> hook_;
  const hook::ScheduleBinding& binding_;
  Scheduler& scheduler_;
  Random& random_;
  metrics::Registry& metrics_;
  Emit emit_;
  std::function<bool(const std::string&)> busy_;
  state::Store* store_;             // null: nothing is kept
  std::optional<WallTime> ticked_;  // the planned time of the last tick; it may wait for its jitter
  std::optional<WallTime> told_;    // of the last one that was told, or skipped
  std::optional<Cron> cron_;
  std::optional<WallTime> next_;  // without jitter
  SteadyTime armed_at_{};
  WallTime armed_wall_{};
  Timer timer_;
  Timer jitter_;
};

}  // namespace hookd::trigger
