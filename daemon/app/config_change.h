// What a changed config of the daemon means while it runs. Pure. Thread: any.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/daemon_config.h"

namespace hookd::app {

// Where the config came from, to read it again; `load` keeps the precedence of environment and flags.
struct ConfigSource {
  std::string file;  // "" = none
  std::function<Result<config::DaemonConfig>()> load;
};

struct ConfigChange {
  std::vector<std::string> at_once;  // keys, as in the file: "log.level"
  std::vector<std::string> restart;  // keys that only count when the daemon starts
  bool any() const { return !at_once.empty() || !restart.empty(); }
};

ConfigChange compare(const config::DaemonConfig& now, const config::DaemonConfig& next);

// `next`, but for what needs a restart, which stays as it is in `now`.
config::DaemonConfig applied(const config::DaemonConfig& now, const config::DaemonConfig& next);

}  // namespace hookd::app
