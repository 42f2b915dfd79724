// `hookd run` as a process: the event loop and its services, signals, the HTTP server, files that change, the way to
// the end. Everything about hooks is the Engine's. Thread: loop only.
//
//   start   runtime folder, state, HTTP server, API connection; the engine once the state is known
//   reload  SIGHUP, a changed hooks folder or config file: of the config what can change while it runs
//           (daemon_config.cc)
//   stop    (SIGTERM, SIGINT) nothing new is started, calls get `grace` to finish, then SIGTERM; a second signal
//           does not wait
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <string>

#include "app/config_change.h"
#include "app/daemon_look.h"
#include "app/engine.h"
#include "app/folder_watch.h"
#include "app/kept_state.h"
#include "app/loop_watchdog.h"
#include "app/runtime_dir.h"
#include "base/inotify.h"
#include "config/daemon_config.h"
#include "metrics/registry.h"
#include "net/curl_transport.h"
#include "net/http_routes.h"
#include "net/http_server.h"
#include "process/posix_launcher.h"
#include "process/reaper.h"

namespace hookd::app {

class Daemon {
 public:
  // Errors: kConfig: kubeconfig, runtime folder, listen address, no hook folder; with `strict` also a broken hook.
  static Result<std::unique_ptr<Daemon>> make(config::DaemonConfig config, ConfigSource source = {});
  ~Daemon();

  // Before run(): hears of every call.
  void observe(hook::CallObserver& observer) { observers_.add(observer); }
  // Told after each reload of the config, with what holds now.
  void on_config(std::function<void(const config::DaemonConfig&)> told) { on_config_ = std::move(told); }

  AsioScheduler& scheduler() { return scheduler_; }
  Engine& engine() { return engine_; }
  const std::string& runtime_dir() const { return runtime_.path(); }
  DaemonLook look() const;
  void reload(std::string_view why);  // config and hooks

  // Until stopped. Exit code: 0, or 1 when `once` ended with a call given up, a binding that never came, or a broken
  // hook.
  int run();

 private:
  Daemon(config::DaemonConfig config, ConfigSource source, kube::ConnectionConfig connection, RuntimeDir runtime);
  EngineOptions engine_options();
  Result<void> open();
  void start();
  void start_hooks();
  void wait_for_signal();
  void begin_stop(std::string_view why);
  void check_stopped();
  void check_idle();
  void beat();
  void serve(net::ServerRequest& request, const net::Responder& respond);
  Engine::Health health() const;
  void update_gauges();
  void reload_config();
  void watch_folders();
  void watch_config();

  config::DaemonConfig config_;
  ConfigSource source_;
  std::string config_problem_;               // of the newest version, which is not taken; "" = none
  std::vector<std::string> config_restart_;  // keys of it that wait for a restart
  std::function<void(const config::DaemonConfig&)> on_config_;
  std::string server_description_;
  hook::CallObservers observers_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_{context_};
  SystemRandom random_;
  metrics::Registry metrics_;
  RuntimeDir runtime_;
  KeptState state_{config_, scheduler_, random_};
  net::HttpRoutes routes_;
  Inotify files_{scheduler_};
  net::CurlTransport transport_;
  process::PosixLauncher launcher_;
  process::Reaper reaper_;
  Engine engine_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<FolderWatch> folders_, config_watch_;
  std::string config_text_;  // of the file, when it was read last
  boost::asio::signal_set signals_{context_};
  Timer heartbeat_, stop_timer_, idle_timer_;
  Duration lag_worst_{0}, lag_worst_before_{0};  // of this minute and the one before
  SteadyTime lag_since_{};
  SteadyTime beat_due_{}, started_{}, stop_asked_{}, stop_deadline_{}, stop_at_last_{};
  bool terminated_ = false;
  bool stopping_ = false;
  bool was_ready_ = false;
  LoopWatchdog watchdog_;
  int exit_code_ = 0;
};

}  // namespace hookd::app
