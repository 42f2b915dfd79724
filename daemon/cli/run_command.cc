#include <unistd.h>

#include "app/daemon.h"
#include "base/log.h"
#include "cli/cli.h"

namespace hookd::cli {

int run_daemon(config::DaemonConfig config) {
  log::Options options;
  options.level = config.log_level;
  options.format = config.log_format.value_or(::isatty(STDERR_FILENO) ? log::Format::kText : log::Format::kJson);
  log::start(options);
  int code = 1;
  {
    auto daemon = app::Daemon::make(std::move(config));
    if (daemon)
      code = (*daemon)->run();
    else
      log::error("hookd cannot start: " + daemon.error().what);
  }
  log::shutdown();
  return code;
}

}  // namespace hookd::cli
