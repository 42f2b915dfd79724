// The daemon's config, changed while it runs: SIGHUP, or a changed file, also by the symlink swap of a ConfigMap.
// What can change at once does, the rest is named; a broken one changes nothing.
#include <filesystem>

#include "app/config_change.h"
#include "app/daemon.h"
#include "base/fd.h"
#include "base/log.h"

namespace hookd::app {
namespace {

std::string joined(const std::vector<std::string>& keys) { return fmt::format("{}", fmt::join(keys, ", ")); }

}  // namespace

void Daemon::reload(std::string_view why) {
  if (stopping_) return;
  reload_config();
  engine_.reload(why);
}

void Daemon::reload_config() {
  if (!source_.load) return;
  auto next = source_.load();
  if (next && next->hooks.empty() && !next->metacontroller.enabled) next = fail(Errc::kConfig, "no hooks folder");
  if (!next) {
    if (config_problem_ != next.error().what)
      log::error("the changed config is broken, the one before goes on", {{"error", next.error().what}});
    config_problem_ = next.error().what;
    return;
  }
  config_problem_.clear();
  const ConfigChange change = compare(config_, *next);
  if (!change.restart.empty() && change.restart != config_restart_)
    log::warn("the config changed, and this needs a restart to count", {{"keys", joined(change.restart)}});
  config_restart_ = change.restart;
  if (change.at_once.empty()) return;
  const config::DaemonConfig before = std::exchange(config_, applied(config_, *next));
  log::info("the config changed", {{"keys", joined(change.at_once)}});
  log::set_level(config_.log_level);
  if (config_.concurrency != before.concurrency) engine_.set_concurrency(config_.concurrency);
  if (config_.hooks != before.hooks || config_.reload != before.reload) watch_folders();
  if (on_config_) on_config_(config_);
}

void Daemon::watch_folders() {
  folders_.reset();
  if (config_.reload && !config_.once)
    folders_ = std::make_unique<FolderWatch>(scheduler_, config_.hooks,
                                             [this] { engine_.reload("the hooks folder changed"); });
}

// The folder of the file as it is named, where a ConfigMap's link is swapped, and of the file that is meant.
void Daemon::watch_config() {
  if (source_.file.empty() || !source_.load || config_.once) return;
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> folders{fs::absolute(source_.file, error).parent_path().string()};
  if (const auto real = fs::canonical(source_.file, error); !error) folders.push_back(real.parent_path().string());
  config_text_ = read_file(source_.file).value_or("");
  config_watch_ = std::make_unique<FolderWatch>(
      scheduler_, folders,
      [this] {
        if (read_file(source_.file).value_or("") == config_text_ || !config_.reload) return;
        // Posted: the watch that tells this is made anew.
        scheduler_.post([this] {
          if (stopping_) return;
          reload("the config file changed");
          watch_config();
        });
      },
      FolderWatch::Depth::kOnlyThese);
}

}  // namespace hookd::app
