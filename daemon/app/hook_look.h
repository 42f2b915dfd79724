// What a running hook looks like from outside: plain values for `hookd status` and `hookd queue`. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.h"

namespace hookd::app {

// One key of a hook's queue, or one parked item.
struct QueueRow {
  std::string hook;
  std::string id;  // of a parked item, for retry and drop; "" = not parked
  std::string key;
  std::string state;  // held (snapshots not known yet), ready, running, delayed, requeued, parked
  size_t events = 0;
  int attempt = 0;
  std::optional<WallTime> due;    // delayed, requeued: when it runs
  std::optional<WallTime> since;  // when its oldest event came in, or when it was parked
  std::string error;              // of the last attempt
};

struct BindingLook {
  std::string name;
  std::string type;  // watch, schedule, source, startup
  std::string what;  // "pods in a, b", "every 10s", "command redis-cli …"
  bool ready = true;
  size_t objects = 0;            // watch: in the snapshot; source: events that wait or run
  std::string trouble;           // "" = none
  std::optional<WallTime> next;  // schedule
};

struct HookLook {
  std::string name, path, mode;  // mode: once, worker, url
  bool ready = false;
  std::string paused;   // why, "" = it is not
  std::string trouble;  // of its caller (worker, breaker), of a loop that was slowed; "" = none
  size_t waiting = 0, running = 0, delayed = 0, parked = 0;
  std::vector<std::string> waits;  // of a hook that reconciles: roll-outs that are held, and by what; no trouble
  std::vector<BindingLook> bindings;
};

}  // namespace hookd::app
