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
#include "net/http_routes.h"
#include "rehearsal/counting_launcher.h"
#include "rehearsal/hands.h"
#include "rehearsal/hook_faults.h"
#include "rehearsal/hook_transport.h"
#include "state/memory_store.h"

namespace hookd::rehearsal {

struct WorldServices {
  Scheduler& scheduler;  // the time of the server and of hookd
  AsioScheduler& real;   // sockets, on the same io_context
  Random& random;
  CountingLauncher& launcher;
};

struct WorldOptions {
  std::string name = "hookd-test";         // field manager of the steps
  std::string address = "127.0.0.1:0";     // of the socket
  std::string runtime_dir;                 // private to this process
  std::string kubeconfig_file;             // where the administrator's kubeconfig is written
  std::function<hook::LoadResult()> load;  // the hooks
  hook::CallObserver* observer = nullptr;
  bool sources = false;                // do the hooks' programs and files run? Else their events come by steps only
  std::string listen = "127.0.0.1:0";  // where POSTs are taken
  PathWatcher* paths = nullptr;        // for them
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
  CountingLauncher& launcher() { return services_.launcher; }
  HookFaults& hook_faults() { return hook_faults_; }
  // Of hooks that are there and take POSTs.
  struct Receiver {
    const hook::Hook* hook;
    const hook::SourceBinding* source;
  };
  std::vector<Receiver> receivers() const;
  std::string post_url() const { return post_url_; }  // "http://127.0.0.1:1234"
  // POSTs to the hooks of this world, one at a time. `answer_waits`: it comes when the hook was called (`reply:
  // handled`), for which virtual time has to go on.
  [[nodiscard]] std::unique_ptr<net::HttpCall> post(net::HttpRequest request, net::HttpHandlers handlers,
                                                    bool answer_waits);
  Scheduler& scheduler() { return services_.scheduler; }
  const std::string& kubeconfig_file() const { return options_.kubeconfig_file; }
  std::string url() const { return socket_->url(); }
  size_t worker_calls() const;  // and what else processes that stay have to do
  // To hooks with a URL, and POSTs to hooks: those under way whose answer needs no time to go on.
  size_t url_calls() const { return hook_transport_.running() + (post_on_the_way_ ? 1 : 0); }

 private:
  World(WorldServices services, WorldOptions options);
  Result<void> open();
  hook::LoadResult load() const;
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
  HookFaults hook_faults_;
  net::HttpRoutes routes_;
  std::unique_ptr<net::HttpServer> posts_;
  std::string post_url_;
  HookTransport slow_posts_;
  bool post_on_the_way_ = false;  // sent by slow_posts_ and not received yet
  std::unique_ptr<app::Engine> engine_;
};

}  // namespace hookd::rehearsal
