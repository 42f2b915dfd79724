// Everything about hooks between the services of a process and its end: loads them, follows the API server, calls
// them, applies their answers, changes them over when their files change. What runs the process around it (signals,
// HTTP, files that change, when to stop) is app::Daemon, or play and test. Thread: loop only.
//
//   start   hooks, their triggers, start-up calls one after another in their order
//   reload  only hooks whose file or script changed; a broken new version leaves the old one running
//   stop    nothing new is started; what runs goes on
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/hook_kubeconfig_file.h"
#include "app/hook_unit.h"
#include "app/left_finalizers.h"
#include "app/left_rows.h"
#include "compat/metacontroller/controllers.h"
#include "config/daemon_config.h"
#include "hook/breaker.h"
#include "hook/call_observer.h"
#include "hook/native_loader.h"
#include "kube/credentials.h"
#include "kube/discovery.h"
#include "kube/kubeconfig.h"
#include "kube/rest_client.h"
#include "metrics/registry.h"
#include "net/http_routes.h"
#include "net/http_transport.h"
#include "process/launcher.h"
#include "state/store.h"

namespace hookd::app {

// All must outlive the engine.
struct EngineServices {
  Scheduler& scheduler;
  Random& random;
  net::HttpTransport& transport;
  process::Launcher& launcher;
  metrics::Registry& metrics;
  state::Store& store;
  net::HttpRoutes* routes = nullptr;             // null: nothing can be POSTed to hooks
  PathWatcher* paths = nullptr;                  // null: sources that are files look at them from time to time
  net::HttpTransport* hook_transport = nullptr;  // to the endpoints of hooks; null = `transport`
};

struct EngineOptions {
  bool strict = false;  // a broken hook is an error of load()
  bool dry_run = false;
  bool once = false;
  int concurrency = 16;
  uint64_t answer_limit_bytes = 32u << 20;
  config::KubeConfig kube;
  std::string runtime_dir;                 // private to this process: answer files, the hooks' kubeconfig
  std::function<hook::LoadResult()> load;  // called at the start and at each reload
  bool sources = true;                     // false: only POSTs are taken, other events by HookUnit::give_source_event()
  hook::CallObserver* observer = nullptr;  // hears of every call; null = nobody does
  hook::CallFaults* faults = nullptr;      // calls that fail without being made; null = none
  std::vector<std::string> environment;    // of hooks, before what hook_environment() adds and takes away
  std::optional<metacontroller::ControllersOptions> metacontroller{};  // unset: such controllers are not looked at
};

class Engine {
 public:
  struct Health {
    bool ready = true;
    std::vector<std::string> reasons;   // why not ready
    std::vector<std::string> degraded;  // what does not work although it is ready
  };
  enum class Idle { kNo, kYes, kNothingMore };  // kNothingMore: some binding never came, and the rest is done

  Engine(EngineServices services, kube::ConnectionConfig connection, EngineOptions options);
  ~Engine();

  bool none_found() const { return loaded_.empty(); }  // between load() and start()
  // The first load. Errors: kConfig: a broken hook, with `strict`.
  Result<void> load();
  void start();
  void reload(std::string_view why);
  // Hooks that come from elsewhere than folders, while it runs: added, or in the place of the one of that name; then
  // reload() leaves them alone, and a hook of a folder that comes with such a name is broken until that is removed.
  // Errors: kConfig: a folder has a hook of that name.
  Result<void> put_hook(std::shared_ptr<const hook::Hook> hook);
  void remove_hook(const std::string& name);
  void set_concurrency(int calls);  // at once, in the whole daemon
  void stop();                      // for good: nothing new is started, what runs goes on
  void terminate();                 // SIGTERM to every process that runs

  Health health() const;
  void update_gauges();
  void refresh_kubeconfig() { kubeconfig_.refresh(); }

  size_t running() const;          // calls
  Duration longest_grace() const;  // of the hooks that are there
  size_t events_waiting() const { return applier_.events().waiting(); }
  static constexpr int kUrlCalls = 4;  // by URL for each that may be a process
  // With `once`: is everything that there was done? What changes from the first time that all is known is not waited
  // for.
  Idle look_idle();
  bool all_well() const;  // no broken hook, no call given up
  void log_troubles() const;

  // Every binding's snapshot is known, no call runs and none could start now. Delayed ones (retries, requeues, `for`)
  // may be there. Says nothing of changes that are still on their way here.
  bool quiet() const;

  const std::map<std::string, std::unique_ptr<HookUnit>>& units() const { return units_; }
  // Also one whose calls end before its new version starts; null = there is no such hook.
  HookUnit* find(const std::string& hook) const;
  std::vector<HookLook> looks() const;  // by name
  // `hook` "" = of all; at most `limit` rows.
  std::vector<QueueRow> rows(const std::string& hook, size_t limit) const;
  const std::vector<hook::LoadError>& load_errors() const { return load_errors_; }
  LeftFinalizers& left_finalizers() { return left_finalizers_; }
  const LeftFinalizers& left_finalizers() const { return left_finalizers_; }
  // Those that no hook uses, nor one that only cannot run now: a controller of the cluster, a hook with a broken file.
  std::vector<LeftFinalizers::Use> finalizers_left() const;
  // What is wrong with the file of the hook that used it; null = nothing, or the hook is there.
  const hook::LoadError* why_not_loaded(const LeftFinalizers::Use& use) const;
  void tell_finalizers_left(const std::string& hook);  // of a hook that was removed or changed: into the log
  std::vector<const hook::Hook*> hooks() const;  // those that are there, and the next versions of those that change
  kube::Discovery& discovery() { return discovery_; }
  kube::Api& api() { return client_; }

 private:
  void start_unit(std::shared_ptr<const hook::Hook> hook, Inheritance inherited);
  void start_controllers();
  void next_startup();
  void replace(const std::string& name, std::unique_ptr<HookUnit> old, std::shared_ptr<const hook::Hook> next);
  void look_at_replacing();
  std::vector<HookUnit*> all_units() const;  // also those being replaced
  bool all_known() const;                    // is what is loaded all that there is?
  bool may_come(const std::string& hook) const;
  std::string path_of(const std::string& hook) const;

  EngineServices services_;
  EngineOptions options_;
  kube::Credentials credentials_;
  kube::RestClient client_;
  kube::Discovery discovery_;
  kube::InformerPool pool_;
  apply::Applier applier_;
  LeftFinalizers left_finalizers_;
  LeftRows left_rows_;
  hook::OwnWrites own_writes_;
  queue::Slots slots_;      // of calls that are processes
  queue::Slots url_slots_;  // of those by URL; each hook may always have one
  hook::Breakers breakers_;
  HookKubeconfigFile kubeconfig_;
  hook::RunnerOptions runner_options_;
  std::map<std::string, std::unique_ptr<HookUnit>> units_;
  struct Replacing {
    std::unique_ptr<HookUnit> old;           // stopped, with calls still running
    std::shared_ptr<const hook::Hook> next;  // null = the hook was removed
  };
  std::map<std::string, Replacing> replacing_;
  std::vector<std::shared_ptr<const hook::Hook>> loaded_;  // between load() and start()
  std::vector<hook::LoadError> load_errors_;
  std::set<std::string> from_elsewhere_;  // names of hooks that put_hook() brought
  std::set<std::string> shut_out_;        // those that a hook of a folder has, too
  std::unique_ptr<metacontroller::Controllers> controllers_;
  std::vector<std::string> startups_;  // names of hooks whose start-up call has not had its turn
  SteadyTime started_{};
  Timer replace_timer_;
  bool begun_ = false;  // start() was called
  bool stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // a posted turn may come after the engine is gone
};

}  // namespace hookd::app
