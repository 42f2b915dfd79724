// A hook's fuse: how many deletes and writes it made within a sliding time. Past a limit the hook is paused and a
// person decides. Thread: loop only. Source: issue 5 point 10, config/README.md `guard`.
//
// Counted when an answer is about to be sent, given back for what turns out not to be needed: a crash in between counts
// too much, never too little. Operations so near in time that they fall into one of kSlots parts of the window leave
// it together, with the last of them: bounded memory, and an error of at most per/kSlots, on the safe side.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "base/scheduler.h"
#include "hook/model.h"
#include "state/store.h"

namespace hookd::hook {

struct Spending {
  int64_t deletes = 0;  // Delete…, Evict
  int64_t writes = 0;   // everything that is sent, deletes too
  Spending& operator+=(const Spending& other) {
    deletes += other.deletes;
    writes += other.writes;
    return *this;
  }
};
// What one operation costs; nothing for Event, Metric, Requeue and what is only tried (`dryRun`).
Spending cost_of(const apply::Operation& operation);

class GuardFuse {
 public:
  struct Trip {
    std::string limit;   // "deletes" or "writes"
    std::string text;    // "21 deletes within 1m (limit 20/1m)"
    bool first = true;   // false: it had tripped before and nobody has reset it
    bool alone = false;  // the answer is over the limit by itself: it never passes, however often the fuse is reset
  };

  // `store` null: forgotten with the process. Else the counts are kept in its table "guard", so that a daemon that
  // crashes again and again does not start with a fresh fuse each time.
  GuardFuse(std::string hook, Guard limits, Scheduler& scheduler, state::Store* store);

  // Counts `wanted`, or trips and counts nothing. Once tripped nothing passes until reset().
  std::optional<Trip> take(const Spending& wanted);
  void give_back(const Spending& unused, SteadyTime taken);  // `taken`: when take() counted it
  void reset();                                              // a person had a look: the window is empty again
  bool tripped() const { return tripped_.has_value(); }
  Spending spent();  // within the windows, now

  static constexpr int kSlots = 64;

 private:
  struct Slot {
    SteadyTime begin{}, last{};
    int64_t count = 0;
  };
  struct Window {
    const char* name;
    std::optional<Guard::Rate> rate;
    std::deque<Slot> slots;  // by time
    int64_t count = 0;
  };
  void expire(Window& window) const;
  void add(Window& window, int64_t count) const;
  static void take_back(Window& window, int64_t count, SteadyTime taken);
  std::optional<Trip> check(Window& window, int64_t wanted) const;
  void load(Window& window, std::string_view json) const;
  void save() const;

  std::string hook_;
  Scheduler& scheduler_;
  state::Store* store_;
  Window deletes_{"deletes", {}, {}, 0};
  Window writes_{"writes", {}, {}, 0};
  std::optional<Trip> tripped_;
};

}  // namespace hookd::hook
