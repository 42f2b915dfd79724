// `hookd play`: hooks on an API server inside this process, with an account of what happens.
#include <unistd.h>

#include <cstdio>

#include "app/runtime_dir.h"
#include "base/log.h"
#include "cli/cli.h"
#include "rehearsal/play.h"

namespace hookd::cli {

int run_play(const PlayOptions& options) {
  auto runtime = app::RuntimeDir::make();
  if (!runtime) {
    fmt::print(stderr, "hookd play: {}\n", runtime.error().what);
    return 2;
  }
  // The account tells what hooks do; the log is for what is wrong with hookd itself.
  log::Options logging;
  logging.level = options.verbose ? log::Level::kInfo : log::Level::kError;
  log::start(logging);
  rehearsal::PlayOptions play;
  play.folder = options.folder;
  play.load = options.load;
  play.load_given = !options.load.empty();
  play.scenario = options.scenario;
  play.exit = options.exit;
  play.speed = options.speed;
  play.kubeconfig = options.kubeconfig;
  play.port = options.port;
  play.listen = options.listen;
  play.colour = colours(STDOUT_FILENO);
  play.runtime_dir = runtime->path();
  const int code = rehearsal::play(play);
  log::shutdown();
  return code;
}

}  // namespace hookd::cli
