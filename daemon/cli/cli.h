// The command line. One file a subcommand. Exit codes: 0 done, 1 it went wrong, 2 wrong usage.
#pragma once

#include <string>
#include <vector>

#include "app/config_change.h"
#include "config/daemon_config.h"

namespace hookd::cli {

int main(int argc, char** argv);

struct CallOptions {
  std::string hook;  // a hook file, or the name of a hook in `hooks`
  std::vector<std::string> hooks;
  std::vector<std::string> object_files;  // empty = the call comes from stdin; several only to reconcile
  std::string binding;                    // for `object_file`; "" = the first watch of its kind
  std::string event = "Added";
  std::string kubeconfig;  // handed to the hook
};

struct TestOptions {
  std::vector<std::string> paths;  // empty = the current folder
  std::string pattern, junit_file;
  int jobs = 0;
  bool update = false, verbose = false;
  // In a child of `hookd test`: one test.
  std::string worker_file;
  size_t worker_index = 0;
};

struct PlayOptions {
  std::string folder;
  std::vector<std::string> load;  // empty = what is found in the folder
  std::string scenario, kubeconfig;
  std::string tokens;  // of further users, with server_only
  std::string listen;  // for POSTs to sources; "" = loopback, a free port
  bool exit = false, verbose = false;
  bool server_only = false;  // no hooks, only the API server
  double speed = 1;
  int port = 0;
};

struct RbacOptions {
  std::vector<std::string> hooks;  // folders or files
  std::string service_account = "hookd/hookd";
  std::string name;                 // of the roles and bindings; "" = the account's
  std::string kubeconfig, context;  // both "" = no cluster is asked
  std::vector<std::string> crds;    // files or folders with CustomResourceDefinitions
  std::string config_file;          // the daemon's, for its state; or
  std::string state_config_map;     // NAMESPACE/NAME
  std::string output = "yaml";
  bool no_service_account = false;
  bool strict = false;
};

int run_daemon(config::DaemonConfig config, app::ConfigSource source);
int run_check(const std::vector<std::string>& folders, const std::string& config_file);
int run_call(const CallOptions& options);
int run_rbac(const RbacOptions& options);
int run_test(const TestOptions& options);
int run_play(const PlayOptions& options);
int run_server(const PlayOptions& options);  // play --server-only

// `hookd status`, `queue`, `runs` … (control_commands.h has what they share).
struct AskOptions {
  std::string socket;
  bool json = false;
  std::string hook;    // runs: or the id of a call
  std::string what;    // snapshot: binding; retry, drop: key or id
  std::string reason;  // pause
  std::string object;  // finalizers drop
  bool all = false, failed = false, input = false, follow = false, yes = false;
  size_t count = 20;
};
int run_status(const AskOptions& options);
int run_queue(const AskOptions& options);
int run_runs(const AskOptions& options);
int run_snapshot(const AskOptions& options);
int run_logs(const AskOptions& options);
int run_retry(const AskOptions& options);
int run_drop(const AskOptions& options);
int run_pause(const AskOptions& options);
int run_resume(const AskOptions& options);
int run_reload(const AskOptions& options);
int run_finalizers(const AskOptions& options);

// May what is written there have colours? Only on a terminal, and not with NO_COLOR.
bool colours(int fd);

}  // namespace hookd::cli
