// `hookd run` as a process: the event loop and its services, signals, the HTTP server, files that change, the way to
// the end. Everything about hooks is the Engine's. Thread: loop only.
//
//   start   runtime folder, HTTP server, API connection, the engine
//   reload  SIGHUP, or a changed hooks folder
//   stop    (SIGTERM, SIGINT) nothing new is started, calls get `grace` to finish, then SIGTERM; a second signal
//           does not wait
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <string>

#include "app/engine.h"
#include "app/folder_watch.h"
#include "app/runtime_dir.h"
#include "config/daemon_config.h"
#include "metrics/registry.h"
#include "net/curl_transport.h"
#include "net/http_routes.h"
#include "net/http_server.h"
#include "process/posix_launcher.h"
#include "process/reaper.h"
#include "state/memory_store.h"

namespace hookd::app {

class Daemon {
 public:
  // Errors: kConfig: kubeconfig, runtime folder, listen address, no hook folder; with `strict` also a broken hook.
  static Result<std::unique_ptr<Daemon>> make(config::DaemonConfig config);

  // Until stopped. Exit code: 0, or 1 when `once` ended with a call given up, a binding that never came, or a broken
  // hook.
  int run();

 private:
  Daemon(config::DaemonConfig config, kube::ConnectionConfig connection, RuntimeDir runtime);
  EngineOptions engine_options() const;
  Result<void> open();
  void start();
  void wait_for_signal();
  void begin_stop(std::string_view why);
  void check_stopped();
  void check_idle();
  void beat();
  void serve(net::ServerRequest& request, const net::Responder& respond);
  Engine::Health health() const;
  void update_gauges();

  config::DaemonConfig config_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_{context_};
  SystemRandom random_;
  metrics::Registry metrics_;
  RuntimeDir runtime_;
  std::unique_ptr<state::Store> store_ = std::make_unique<state::MemoryStore>();
  net::HttpRoutes routes_;
  net::CurlTransport transport_;
  process::PosixLauncher launcher_;
  process::Reaper reaper_;
  Engine engine_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<FolderWatch> folders_;
  boost::asio::signal_set signals_{context_};
  Timer heartbeat_, stop_timer_, idle_timer_;
  SteadyTime beat_due_{}, started_{}, stop_asked_{}, stop_deadline_{}, stop_at_last_{};
  bool terminated_ = false;
  bool stopping_ = false;
  bool was_ready_ = false;
  int exit_code_ = 0;
};

}  // namespace hookd::app
