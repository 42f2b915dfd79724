// The command line. One file a subcommand. Exit codes: 0 done, 1 it went wrong, 2 wrong usage.
#pragma once

#include <string>
#include <vector>

#include "config/daemon_config.h"

namespace hookd::cli {

int main(int argc, char** argv);

struct CallOptions {
  std::string hook;  // a hook file, or the name of a hook in `hooks`
  std::vector<std::string> hooks;
  std::string object_file;  // "" = the call comes from stdin
  std::string binding;      // for `object_file`; "" = the first watch of its kind
  std::string event = "Added";
  std::string kubeconfig;  // handed to the hook
};

int run_daemon(config::DaemonConfig config);
int run_check(const std::vector<std::string>& folders, const std::string& config_file);
int run_call(const CallOptions& options);

}  // namespace hookd::cli
