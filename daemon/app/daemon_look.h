// What a running daemon looks like from outside, but for its hooks (app/hook_look.h). A plain value. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/scheduler.h"

namespace hookd::app {

struct DaemonLook {
  WallTime started{};
  Duration uptime{0};
  std::string server;  // the API server, and how it was found
  bool dry_run = false;
  bool ready = false;
  std::vector<std::string> reasons;   // why not ready
  std::vector<std::string> degraded;  // what does not work although it is ready
  uint64_t resident_bytes = 0;
  Duration loop_lag{0};                     // the worst of the last minute or two
  std::string listen;                       // "" = off
  std::string config_file, config_problem;  // "" = none
  std::vector<std::string> config_restart;  // changed keys that wait for a restart
};

}  // namespace hookd::app
