// The daemon's own settings: config/hookd.yaml < environment HOOKD_* < flags (which cli lays over the struct).
// Every key, unit and default stands in config/README.md. Thread: any.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "config/guard.h"

namespace hookd::config {

struct KubeConfig {
  // Requests a second other than watches. 0 = no limit of our own: the server's priority and fairness says when it is
  // enough (429, Retry-After), as in controller-runtime since 0.23. What is under way at once is bounded all the same:
  // calls (`concurrency`) times apply::Applier::kConcurrent.
  double qps = 0;
  int burst = 100;          // requests at once before qps counts
  bool compression = true;  // lists and gets, not watches (k8s-client.md R56)
  int page_size = 500;      // objects in one page of a list
};

// Controllers that stand in the cluster as CompositeController and DecoratorController
// (deploy/metacontroller/README.md).
struct MetacontrollerConfig {
  bool enabled = false;
  bool server_side_apply = false;                    // applyStrategy
  std::string ssa_field_manager = "metacontroller";  // with server_side_apply
  std::string target_label_selector;                 // only controllers with these labels; "" = all
  int workers = 5;                                   // keys of one controller at once
  std::string exec_folder;                           // programs that controllers may run lie below it; "" = none may
  bool built_in_parents = false;                     // of CompositeControllers
  Guard guard;                                       // of each controller that has none of its own
  bool operator==(const MetacontrollerConfig&) const = default;
};

struct DaemonConfig {
  std::vector<std::string> hooks;  // folders, walked recursively
  std::string kubeconfig;          // "" = KUBECONFIG, ~/.kube/config, in the cluster
  std::string context;             // "" = the kubeconfig's current one
  bool strict = false;             // a broken hook ends the daemon at start
  std::string listen = ":9115";    // "HOST:PORT", ":PORT"; "" = off ("none" in the file)
  log::Level log_level = log::Level::kInfo;
  std::optional<log::Format> log_format;  // unset = text on a terminal, else JSON
  bool dry_run = false;
  bool once = false;                          // until idle, then exit
  int concurrency = 16;                       // calls at once in the whole daemon
  uint64_t answer_limit_bytes = 32u << 20;    // of one call's answer
  Duration grace = std::chrono::seconds(30);  // for calls in flight at SIGTERM
  bool reload = true;                         // watch the hooks folders for changes
  std::string state_dir;                      // folder for what outlives a restart; "" = nothing does
  std::string state_config_map;               // "NAMESPACE/NAME" instead; "" = none
  std::optional<std::string> control;         // unix socket for hookd status …; "" = off, unset = a default place
                                              // (control/places.h)
  int runs_keep = 20;                         // last calls of each hook kept for hookd runs
  uint64_t runs_bytes = 8u << 20;             // all of them together
  std::string cgroup = "auto";                // auto | off | a cgroup v2 folder that hookd may write
  KubeConfig kube;
  MetacontrollerConfig metacontroller;
};

// The value of an environment variable; nullopt = not set. An empty value counts as not set.
using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;
EnvLookup process_environment();

// `path` "" = no file, only defaults and environment. Relative folders in the file are taken from the file's folder,
// those in the environment from the working directory. Errors: kNotFound, kConfig; every problem on a line of its own
// ("FILE:LINE:COLUMN: key: …", "HOOKD_GRACE: …").
Result<DaemonConfig> load_daemon_config(const std::string& path, const EnvLookup& env);

// Whether one of the process's variables ("NAME=value") is most likely a mistyped setting (HOOKD_DRYRUN): the daemon
// would run without it. Errors: kConfig. Others that begin with HOOKD_ are nobody's business: Kubernetes makes some for
// Services named hookd or hookd-….
Result<void> check_variable_names(std::span<const std::string> environment);

// "9115", ":9115", "0.0.0.0:9115", "[::1]:9115" -> with its colon; "none" -> "". Errors: kConfig.
Result<std::string> parse_listen(std::string_view text);

}  // namespace hookd::config
