#include "cli/command_line.h"

namespace hookd::cli {
namespace {

void add_run_flags(CLI::App& run, RunFlags& flags) {
  run.option_defaults()->take_last();  // a wrapper script's flag can be overridden by adding another
  run.add_option("--hooks", flags.hooks, "Folder with hooks, walked recursively; may be given several times")
      ->type_name("DIR")
      ->take_all();
  run.add_option("--config", flags.config_file, "The daemon's config file (config/README.md has every key)")
      ->type_name("FILE")
      ->envname("HOOKD_CONFIG");
  run.add_option("--kubeconfig", flags.kubeconfig,
                 "Kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account")
      ->type_name("FILE");
  run.add_option("--context", flags.context, "Context of the kubeconfig; default: its current one")->type_name("NAME");
  run.add_option("--listen", flags.listen, "Address of /metrics, /healthz and /readyz, or none; default :9115")
      ->type_name("ADDR:PORT");
  run.add_option("--log-level", flags.log_level, "Default: info")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  run.add_option("--log-format", flags.log_format, "Default: text on a terminal, else json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  run.add_option("--concurrency", flags.concurrency, "Calls at once in the whole daemon")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  run.add_option("--grace", flags.grace, "How long calls may go on after SIGTERM")->type_name("DURATION");
  run.add_option("--control", flags.control, "Unix socket for hookd status and its like, or off; default: see README")
      ->type_name("PATH");
  run.add_option("--state-dir", flags.state_dir, "Folder for what outlives a restart, or none; default: none")
      ->type_name("DIR");
  run.add_flag("--dry-run", flags.dry_run,
               "Hooks run, their operations are sent as server-side dry runs, and the differences are logged");
  run.add_flag("--once", flags.once,
               "Handle what is there (start-up, existing objects, each schedule once), then exit");
  run.add_flag("--strict", flags.strict, "A broken hook ends the start");
  run.add_flag("--metacontroller", flags.metacontroller,
               "Run the CompositeControllers and DecoratorControllers of the cluster too");
  run.add_flag("--no-reload", flags.no_reload, "Do not watch the hooks folders for changes (SIGHUP still reloads)");
}

void add_test_flags(CLI::App& test, TestOptions& options) {
  test.option_defaults()->take_last();
  test.add_option("PATH", options.paths, "Folders with tests beside their hooks, or test files; default: here")
      ->type_name("")
      ->take_all();
  test.add_option("--run", options.pattern, "Only tests with this in their file or name; * and ? stand for any text")
      ->type_name("PATTERN");
  test.add_option("--junit", options.junit_file, "Write the results as JUnit's XML too")->type_name("FILE");
  test.add_option("--jobs", options.jobs, "Tests at once; default: one a core")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  test.add_flag("--update", options.update, "Write what was seen into the `expect` of failing steps");
  test.add_flag("-v,--verbose", options.verbose, "Show the calls and the log of every test, not of failed ones alone");
  test.add_option("--worker", options.worker_file)->group("");
  test.add_option("--index", options.worker_index)->group("");
}

void add_play_flags(CLI::App& play, PlayOptions& options) {
  play.option_defaults()->take_last();
  auto* server_only =
      play.add_flag("--server-only", options.server_only, "No hooks: the API server alone, until a signal");
  play.add_option("DIR", options.folder, "Folder with hooks, manifests and, if there is one, scenario.yaml")
      ->type_name("")
      ->excludes(server_only);
  play.add_option("--load", options.load, "Manifests to begin with; default: all that are found in DIR")
      ->type_name("FILE")
      ->take_all();
  play.add_option("--scenario", options.scenario, "Steps to play; default: scenario.yaml in DIR")
      ->type_name("FILE")
      ->excludes(server_only);
  play.add_flag("--exit", options.exit, "End when the scenario is over, with 1 if something went wrong")
      ->excludes(server_only);
  play.add_option("--speed", options.speed, "How many times as fast time runs")
      ->type_name("N")
      ->check(CLI::Range(0.01, 100'000.0))
      ->excludes(server_only);
  play.add_option("--kubeconfig", options.kubeconfig, "Where to write the kubeconfig for kubectl")->type_name("FILE");
  play.add_option("--listen", options.listen,
                  "Where hooks with `source: http` take POSTs; default: a free port on 127.0.0.1")
      ->type_name("ADDR:PORT")
      ->excludes(server_only);
  play.add_option("--port", options.port, "Of the API server on 127.0.0.1; default: a free one")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535));
  play.add_option(
          "--tokens", options.tokens,
          "With --server-only: further users, who may what RBAC gives them; lines TOKEN,USER,UID,\"GROUP,GROUP\"")
      ->type_name("FILE")
      ->needs(server_only);
  play.add_flag("-v,--verbose", options.verbose, "Show hookd's log too");
}

void add_rbac_flags(CLI::App& rbac, RbacOptions& options) {
  rbac.option_defaults()->take_last();
  rbac.add_option("PATH", options.hooks, "Folders with hooks, or hook files")->required()->type_name("")->take_all();
  rbac.add_option("--service-account", options.service_account, "Who gets the rights; default hookd/hookd")
      ->type_name("NAMESPACE/NAME");
  rbac.add_flag("--no-service-account", options.no_service_account, "Do not print the ServiceAccount: it is there");
  rbac.add_option("--name", options.name, "Of the roles and bindings; default: the service account's name")
      ->type_name("NAME");
  rbac.add_option("--kubeconfig", options.kubeconfig, "Ask this cluster which kinds there are; default: none is asked")
      ->type_name("FILE");
  rbac.add_option("--context", options.context, "Context of the kubeconfig; asks the cluster too")->type_name("NAME");
  rbac.add_option("--crds", options.crds, "CustomResourceDefinitions beside those in DIR; a file or folder")
      ->type_name("PATH")
      ->take_all();
  rbac.add_option("--config", options.config_file, "The daemon's config file: also the rights for its `state`")
      ->type_name("FILE");
  rbac.add_option("--state-config-map", options.state_config_map,
                  "Also the rights for this ConfigMap (HOOKD_STATE_CONFIG_MAP of the daemon)")
      ->type_name("NAMESPACE/NAME");
  rbac.add_option("-o,--output", options.output, "yaml or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"yaml", "json"}));
  rbac.add_flag("--strict", options.strict, "Exit with 1 if a hook may need more than can be known");
}

void add_check_flags(CLI::App& check, std::vector<std::string>& folders, std::string& config) {
  check.add_option("PATH", folders, "Folders with hooks, or hook files")->required()->type_name("");
  check.add_option("--config", config, "Also this config file of the daemon")->type_name("FILE");
}

void add_call_flags(CLI::App& call, CallOptions& options) {
  call.add_option("HOOK", options.hook, "A hook file, or the name of a hook in --hooks")->required()->type_name("");
  call.add_option("--hooks", options.hooks, "Folder in which HOOK is looked up by name")->type_name("DIR");
  call.add_option("--object", options.object_files,
                  "YAML or JSON file with the object of the event (of a hook that reconciles: also with its children "
                  "and what is related, several times); default: the whole call as JSON on stdin")
      ->type_name("FILE");
  call.add_option("--binding", options.binding, "Binding of the event; default: the first watch of the object's kind")
      ->type_name("NAME");
  call.add_option("--event", options.event, "Added, Modified or Deleted")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"Added", "Modified", "Deleted"}));
  call.add_option("--kubeconfig", options.kubeconfig, "Becomes KUBECONFIG of the hook")->type_name("FILE");
}

}  // namespace

CommandLine::CommandLine()
    : app("hookd watches Kubernetes and runs your scripts: events in on stdin, changes out on stdout", "hookd"),
      run(app.add_subcommand("run", "Run the daemon")),
      check(app.add_subcommand("check", "Validate hooks (and the daemon's config) without a cluster")),
      call(app.add_subcommand("call",
                              "Call one hook by hand and print the operations that it answers; nothing is applied")),
      test(app.add_subcommand("test", "Run the tests (*.test.yaml) of hooks, without a cluster and on virtual time")),
      rbac(app.add_subcommand("rbac", "Print the least rights in the cluster that hooks need, as manifests")),
      play(app.add_subcommand("play", "Run hooks on an API server inside hookd, and tell what happens")),
      completion(app.add_subcommand("completion", "Print a script that lets a shell complete hookd's commands")),
      control(app) {
  app.set_version_flag("--version", std::string("hookd " HOOKD_VERSION));
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer("`hookd COMMAND --help` tells more.");
  add_run_flags(*run, run_flags);
  add_check_flags(*check, check_folders, check_config);
  add_call_flags(*call, call_options);
  add_test_flags(*test, test_options);
  add_rbac_flags(*rbac, rbac_options);
  add_play_flags(*play, play_options);
  completion->add_option("SHELL", shell, "bash or zsh")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->footer(
      "bash: source <(hookd completion bash), in ~/.bashrc\n"
      "zsh:  source <(hookd completion zsh), in ~/.zshrc after compinit");
}

}  // namespace hookd::cli
