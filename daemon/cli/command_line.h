// The command line as CLI11 has it: every command with its flags. What `--help` prints, what is parsed, and what the
// shells complete (completion.h) all come from here. Thread: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/control_commands.h"

namespace hookd::cli {

struct RunFlags {
  std::string config_file, kubeconfig, context, listen, log_level, log_format, grace, control, state_dir;
  std::vector<std::string> hooks;
  int concurrency = 0;
  bool dry_run = false, once = false, strict = false, no_reload = false, metacontroller = false;
};

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App app;
  CLI::App *run, *check, *call, *test, *rbac, *play, *completion;
  RunFlags run_flags;
  std::vector<std::string> check_folders;
  std::string check_config;
  CallOptions call_options;
  TestOptions test_options;
  PlayOptions play_options;
  RbacOptions rbac_options;
  std::string shell;
  ControlCommands control;  // last: it adds to `app`
};

}  // namespace hookd::cli
