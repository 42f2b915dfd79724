#include "app/kept_state.h"

#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "state/memory_store.h"

namespace hookd::app {
namespace {

constexpr Duration kAgain = std::chrono::seconds(5);

std::string own_name(Random& random) {
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return fmt::format("{} pid {} {}", host, ::getpid(), make_id(random));
}

}  // namespace

KeptState::KeptState(const config::DaemonConfig& config, Scheduler& scheduler, Random& random)
    : scheduler_(scheduler), identity_(scheduler, random) {
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
  if (sqlite_)
    return identity_.ask(api, [this, known = std::move(known)](const std::string& cluster) mutable {
      change_over(cluster, std::move(known));
    });
  known_ = true;
  known();
}

// A ConfigMap lives in its cluster; a folder can be used with another one than before.
void KeptState::change_over(const std::string& cluster, std::function<void()> known) {
  const auto done = cluster.empty() ? Result<void>() : sqlite_->belong_to(cluster);
  if (!done) {
    if (!cluster_trouble_)
      log::error("the state cannot be used; no hook starts before that", {{"error", done.error().what}});
    cluster_trouble_ = done.error().what;
    timer_ = scheduler_.after(
        kAgain, [this, cluster, known = std::move(known)]() mutable { change_over(cluster, std::move(known)); });
    return;
  }
  cluster_trouble_.reset();
  known_ = true;
  known();
}

void KeptState::close() {
  timer_.cancel();
  identity_.stop();
  if (config_map_) config_map_->close();
}

std::optional<std::string> KeptState::trouble() const {
  if (cluster_trouble_) return "state: " + *cluster_trouble_;
  if (const auto error = store_->trouble()) return "state: " + error->what;
  if (identity_.trouble()) return "state: " + *identity_.trouble();
  if (!known_) return "state: not read yet";
  return std::nullopt;
}

}  // namespace hookd::app
