// What hooks that are no more left in the store, and its end. Thread: loop only.
//
// Nothing is dropped because a hook is broken for a while, its folder is not mounted, or the daemon does not run:
//
//   a look (each kLook, in slices)                       then
//   something does not load, or no hook is there         nothing is counted, nothing dropped
//   the hook is there, or may come                       its row of `gone` goes
//   it is not there                                      `gone` counts the look; told in the log the first time
//   … for kKeep by the clock and in kLooks looks          its rows go, told in the log
//
// Both must hold: a clock that jumps by years alone drops nothing, nor does a daemon that looks only now and then.
// Rows of `finalizers` stay: objects may still carry them (left_finalizers.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "state/store.h"

namespace hookd::app {

class LeftRows {
 public:
  struct Seams {
    std::function<bool()> certain;                          // are those that are there all that there are?
    std::function<bool(const std::string& hook)> may_come;  // or is there
  };
  LeftRows(Scheduler& scheduler, state::Store& store, Seams seams);

  void start();  // does nothing where the store forgets

  static constexpr Duration kLook = std::chrono::hours(1);
  static constexpr Duration kKeep = std::chrono::hours(24 * 30);
  static constexpr int kLooks = 24 * 7;
  static constexpr size_t kSlice = 50;    // hooks found in one turn
  static constexpr size_t kErased = 200;  // rows erased in one turn

 private:
  void begin();
  void find();
  void judge();
  void drop();
  void later(void (LeftRows::*next)());

  Scheduler& scheduler_;
  state::Store& store_;
  Seams seams_;
  Timer timer_;
  size_t table_ = 0;
  std::string after_;
  std::vector<std::string> found_, doomed_;  // hooks with rows; those whose rows go
};

}  // namespace hookd::app
