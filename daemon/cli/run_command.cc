#include <unistd.h>

#include "app/daemon.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "cli/cli.h"
#include "control/run_history.h"
#include "control/server.h"

namespace hookd::cli {
namespace {

control::RunHistory::Limits run_limits(const config::DaemonConfig& config) {
  return {static_cast<size_t>(config.runs_keep), config.runs_bytes};
}

Result<int> run(config::DaemonConfig config, app::ConfigSource source, log::Ring& ring) {
  const auto control = config.control;
  const auto limits = run_limits(config);
  HOOKD_TRY(const auto daemon, app::Daemon::make(std::move(config), std::move(source)));
  control::RunHistory history(daemon->scheduler(), limits);
  history.set_env_of([&engine = daemon->engine()](const std::string& hook) {
    const auto* unit = engine.find(hook);
    return unit ? &unit->hook().run.env : nullptr;
  });
  daemon->observe(history);
  daemon->on_config([&history](const config::DaemonConfig& now) { history.set_limits(run_limits(now)); });
  control::Subject subject{daemon->engine(), history, [&] { return daemon->look(); },
                           [&](std::string_view why) { daemon->reload(why); }};
  HOOKD_TRY(const auto server,
            control::Server::open_somewhere(daemon->scheduler(), control, daemon->runtime_dir(),
                                            config::process_environment(), std::move(subject), ring));
  if (server) log::info("hookd status and its like find this daemon", {{"socket", server->path()}});
  return daemon->run();
}

}  // namespace

int run_daemon(config::DaemonConfig config, app::ConfigSource source) {
  log::Options options;
  options.level = config.log_level;
  options.format = config.log_format.value_or(::isatty(STDERR_FILENO) ? log::Format::kText : log::Format::kJson);
  log::start(options);
  log::Ring ring;
  log::set_ring(&ring);
  const auto code = run(std::move(config), std::move(source), ring);
  if (!code) log::error("hookd cannot start: " + code.error().what);
  log::set_ring(nullptr);
  log::shutdown();
  return code.value_or(1);
}

}  // namespace hookd::cli
