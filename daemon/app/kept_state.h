// Which store the daemon has, by its config, and when what it kept is known. Thread: loop only.
//
//   stateDir            state/sqlite_store.h       known once the cluster is (cluster_identity.h)
//   state.configMap     state/config_map_store.h   known once it was read; hooks start after that
//   neither, dryRun     state/memory_store.h       nothing outlives the process
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/cluster_identity.h"
#include "base/random.h"
#include "config/daemon_config.h"
#include "kube/client.h"
#include "state/config_map_store.h"
#include "state/sqlite_store.h"
#include "state/store.h"

namespace hookd::app {

class KeptState {
 public:
  KeptState(const config::DaemonConfig& config, Scheduler& scheduler, Random& random);

  Result<void> open();  // Errors: kConfig: the folder, or another daemon has it
  // `known` once; from inside for a store that forgets. `api` must stay until close().
  void start(kube::Api& api, std::function<void()> known);
  void close();  // no request any more

  state::Store& store() { return *store_; }
  bool known() const { return known_; }
  std::optional<std::string> trouble() const;  // one line for readyz and status

 private:
  void change_over(const std::string& cluster, std::function<void()> known);

  Scheduler& scheduler_;
  ClusterIdentity identity_;
  Timer timer_;
  std::optional<std::string> cluster_trouble_;
  std::unique_ptr<state::Store> store_;
  state::SqliteStore* sqlite_ = nullptr;
  state::ConfigMapStore* config_map_ = nullptr;
  bool known_ = false;
};

}  // namespace hookd::app
