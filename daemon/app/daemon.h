// The composition root: builds everything, wires it, starts it, reloads, drains and stops it. Thread: loop only.
//
//   start   runtime folder, HTTP server, API connection, hooks, start-up calls in their order, triggers
//   reload  (SIGHUP, a changed hooks folder) only hooks whose file or script changed; a broken new version leaves the
//           old one running
//   stop    (SIGTERM, SIGINT) nothing new is started, calls get `grace` to finish, then SIGTERM; a second signal
//           does not wait
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/folder_watch.h"
#include "app/hook_unit.h"
#include "app/runtime_dir.h"
#include "config/daemon_config.h"
#include "hook/native_loader.h"
#include "kube/credentials.h"
#include "kube/discovery.h"
#include "kube/kubeconfig.h"
#include "kube/rest_client.h"
#include "metrics/registry.h"
#include "net/curl_transport.h"
#include "net/http_server.h"
#include "process/posix_launcher.h"
#include "process/reaper.h"

namespace hookd::app {

class Daemon {
 public:
  // Errors: kConfig: kubeconfig, runtime folder, listen address, no hook folder; with `strict` also a broken hook.
  static Result<std::unique_ptr<Daemon>> make(config::DaemonConfig config);
  ~Daemon();

  // Until stopped. Exit code: 0, or 1 when `once` ended with a call given up, a binding that never came, or a broken
  // hook.
  int run();

 private:
  struct Health {
    bool ready = false;
    std::vector<std::string> reasons;   // why not ready
    std::vector<std::string> degraded;  // what does not work although it is ready
  };

  Daemon(config::DaemonConfig config, kube::ConnectionConfig connection, RuntimeDir runtime);
  Result<void> open(const hook::LoadResult& loaded);
  void write_hook_kubeconfig();
  void start_units(const std::vector<std::shared_ptr<const hook::Hook>>& hooks);
  void start_unit(std::shared_ptr<const hook::Hook> hook, std::vector<std::pair<std::string, hook::Event>> inherited);
  void next_startup();
  void reload(std::string_view why);
  void replace(const std::string& name, std::unique_ptr<HookUnit> old, std::shared_ptr<const hook::Hook> next);
  void hand_over(HookUnit& old, std::shared_ptr<const hook::Hook> next,
                 std::vector<std::pair<std::string, hook::Event>> inherited);
  void look_at_replacing();
  std::vector<HookUnit*> all_units() const;  // also those being replaced
  void wait_for_signal();
  void begin_stop(std::string_view why);
  void check_stopped();
  void check_idle();
  void beat();
  void serve(const net::ServerRequest& request, const net::Responder& respond);
  Health health() const;
  void update_gauges();
  hook::LoadResult load() const;

  config::DaemonConfig config_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_{context_};
  SystemRandom random_;
  metrics::Registry metrics_;
  RuntimeDir runtime_;
  net::CurlTransport transport_;
  kube::Credentials credentials_;
  kube::RestClient client_;
  kube::Discovery discovery_;
  kube::InformerPool pool_;
  process::PosixLauncher launcher_;
  process::Reaper reaper_;
  apply::Applier applier_;
  queue::Slots slots_;
  hook::RunnerOptions runner_options_;
  std::map<std::string, std::unique_ptr<HookUnit>> units_;
  struct Replacing {
    std::unique_ptr<HookUnit> old;           // stopped, with calls still running
    std::shared_ptr<const hook::Hook> next;  // null = the hook was removed
    std::vector<std::pair<std::string, hook::Event>> inherited;
  };
  std::map<std::string, Replacing> replacing_;
  std::vector<hook::LoadError> load_errors_;
  std::vector<std::string> startups_;  // names of hooks whose start-up call has not had its turn
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<FolderWatch> folders_;
  boost::asio::signal_set signals_{context_};
  std::shared_ptr<const net::TlsOptions> written_tls_;
  Timer heartbeat_, stop_timer_, idle_timer_, replace_timer_;
  SteadyTime beat_due_{}, started_{}, stop_deadline_{}, stop_at_last_{};
  bool watching_stopped_ = false;
  SteadyTime stop_asked_{}, kubeconfig_retry_{};
  std::string kubeconfig_problem_;  // why hooks have none, "" = they have
  bool terminated_ = false;
  bool stopping_ = false;
  bool was_ready_ = false;
  int exit_code_ = 0;
};

}  // namespace hookd::app
