#include "app/kept_state.h"

#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "state/memory_store.h"

namespace hookd::app {
namespace {

std::string own_name(Random& random) {
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return fmt::format("{} pid {} {}", host, ::getpid(), make_id(random));
}

}  // namespace

KeptState::KeptState(const config::DaemonConfig& config, Scheduler& scheduler, Random& random) {
  const bool wanted = !config.state_dir.empty() || !config.state_config_map.empty();
  if (config.dry_run || !wanted) {
    if (wanted) log::info("a dry run keeps its state in memory: what hooks kept is neither read nor written");
    store_ = std::make_unique<state::MemoryStore>();
  } else if (!config.state_dir.empty()) {
    auto sqlite = std::make_unique<state::SqliteStore>(scheduler, state::SqliteStore::Options{config.state_dir});
    sqlite_ = sqlite.get();
    store_ = std::move(sqlite);
  } else {
    const size_t slash = config.state_config_map.find('/');
    auto config_map =
        std::make_unique<state::ConfigMapStore>(scheduler, random, config.state_config_map.substr(0, slash),
                                                config.state_config_map.substr(slash + 1), own_name(random));
    config_map_ = config_map.get();
    store_ = std::move(config_map);
  }
}

Result<void> KeptState::open() { return sqlite_ ? sqlite_->open() : Result<void>{}; }

void KeptState::start(kube::Api& api, std::function<void()> known) {
  if (config_map_)
    return config_map_->open(api, [this, known = std::move(known)] {
      known_ = true;
      known();
    });
  known_ = true;
  known();
}

void KeptState::close() {
  if (config_map_) config_map_->close();
}

std::optional<std::string> KeptState::trouble() const {
  if (const auto error = store_->trouble()) return "state: " + error->what;
  if (!known_) return "state: not read yet";
  return std::nullopt;
}

}  // namespace hookd::app
