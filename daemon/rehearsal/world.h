// One embedded API server with hookd on it: what play and test set their steps upon. The daemon's own client talks to
// the server inside the process; kubectl, in hooks and by people, over a socket. Thread: loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/engine.h"
#include "embedded/server.h"
#include "embedded/socket.h"
#include "embedded/transport.h"
#include "rehearsal/failing_launcher.h"
#include "rehearsal/hands.h"
#include "rehearsal/hook_transport.h"
#include "state/memory_store.h"

namespace hookd::rehearsal {

struct WorldServices {
  Scheduler& scheduler;  // the time of the server and of hookd
  AsioScheduler& real;   // sockets, on the same io_context
  Random& random;
  FailingLauncher& launcher;
};

struct WorldOptions {
  std::string name = "hookd-test";         // field manager of the steps
  std::string address = "127.0.0.1:0";     // of the socket
  std::string runtime_dir;                 // private to this process
  std::string kubeconfig_file;             // where the administrator's kubeconfig is written
  std::function<hook::LoadResult()> load;  // the hooks
  hook::CallObserver* observer = nullptr;
  bool sources = false;          // do the hooks' sources run? Else their events come by steps only
  PathWatcher* paths = nullptr;  // for them
  std::optional<metacontroller::ControllersOptions> metacontroller{};  // rehearsal/controllers.h
};

class World {
 public:
  // The server, without hooks yet. Errors: kConfig: the address, the kubeconfig file.
  static Result<std::unique_ptr<World>> make(WorldServices services, WorldOptions options);
  ~World();

  // Errors: kConfig: broken hooks, all of them, one a line.
  Result<void> load_hooks();
  void start_hooks();
  // As if the process of hookd ended (its calls are killed) and came again; the server and its objects stay.
  Result<void> restart_hooks();
  app::Engine* engine() { return engine_.get(); }

  embedded::ApiServer& server() { return server_; }
  embedded::Transport& transport() { return transport_; }
  Hands& hands() { return *hands_; }
  FailingLauncher& launcher() { return services_.launcher; }
  Scheduler& scheduler() { return services_.scheduler; }
  const std::string& kubeconfig_file() const { return options_.kubeconfig_file; }
  std::string url() const { return socket_->url(); }
  size_t worker_calls() const;                                    // and what else processes that stay have to do
  size_t url_calls() const { return hook_transport_.running(); }  // to hooks with a URL, under way

 private:
  World(WorldServices services, WorldOptions options);
  Result<void> open();
  kube::ConnectionConfig connection() const;

  WorldServices services_;
  WorldOptions options_;
  embedded::ApiServer server_;
  embedded::Transport transport_;
  std::unique_ptr<net::HttpTransport> hands_transport_;
  HookTransport hook_transport_;
  std::unique_ptr<embedded::Socket> socket_;
  std::unique_ptr<Hands> hands_;
  metrics::Registry metrics_;
  state::MemoryStore store_;
  std::unique_ptr<app::Engine> engine_;
};

}  // namespace hookd::rehearsal
