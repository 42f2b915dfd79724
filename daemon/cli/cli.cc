#include "cli/cli.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include "base/time.h"
#include "cli/command_line.h"
#include "cli/completion.h"
#include "config/nearest.h"

namespace hookd::cli {
namespace {

Result<config::DaemonConfig> daemon_config(const RunFlags& flags) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  HOOKD_CHECK(config::check_variable_names(variables));
  HOOKD_TRY(auto config, config::load_daemon_config(flags.config_file, config::process_environment()));
  if (!flags.hooks.empty()) config.hooks = flags.hooks;
  if (!flags.kubeconfig.empty()) config.kubeconfig = flags.kubeconfig;
  if (!flags.context.empty()) config.context = flags.context;
  if (!flags.listen.empty()) {
    HOOKD_TRY(config.listen, config::parse_listen(flags.listen));
  }
  if (!flags.log_level.empty()) log::parse_level(flags.log_level, config.log_level);
  if (!flags.log_format.empty())
    config.log_format = flags.log_format == "json" ? log::Format::kJson : log::Format::kText;
  if (!flags.grace.empty()) {
    auto grace = parse_duration(flags.grace);
    if (!grace) return fail(grace.error().with("--grace"));
    config.grace = *grace;
  }
  if (!flags.control.empty()) config.control = flags.control == "off" ? "" : flags.control;
  if (!flags.state_dir.empty()) {
    config.state_dir = flags.state_dir == "none" ? "" : flags.state_dir;
    config.state_config_map.clear();
  }
  if (flags.concurrency > 0) config.concurrency = flags.concurrency;
  config.dry_run |= flags.dry_run;
  config.once |= flags.once;
  config.strict |= flags.strict;
  config.metacontroller.enabled |= flags.metacontroller;
  if (flags.no_reload) config.reload = false;
  return config;
}

// What came out of a pipe cannot be read again, and one in the place of the file would stop the loop.
app::ConfigSource config_source(const RunFlags& flags) {
  const auto again = [file = flags.config_file] {
    std::error_code error;
    return file.empty() || std::filesystem::is_regular_file(file, error);
  };
  if (!again()) return {flags.config_file, {}};
  return {flags.config_file, [flags, again]() -> Result<config::DaemonConfig> {
            if (!again()) return fail(Errc::kConfig, "{}: it is gone, or no regular file any more", flags.config_file);
            return daemon_config(flags);
          }};
}

// Says of which command it is; of one that there is not, which may have been meant.
int wrong_usage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", app.help());
    return 2;
  }
  const auto given = app.get_subcommands();
  std::string command = "hookd", what = error.what();
  if (!given.empty()) {
    command += " " + given.front()->get_name();
  } else if (!words.front().starts_with('-')) {
    std::set<std::string, std::less<>> known;
    for (const auto* one : app.get_subcommands([](const CLI::App*) { return true; })) known.insert(one->get_name());
    const auto near = config::nearest(words.front(), known);
    what = fmt::format("there is no command \"{}\"{}", words.front(),
                       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }
  fmt::print(stderr, "{}: {}\n`{} --help` tells more.\n", command, what, command);
  return 2;
}

int run_command(const CommandLine& line) {
  if (*line.run) {
    auto config = daemon_config(line.run_flags);
    if (!config) {
      fmt::print(stderr, "hookd: {}\n", config.error().what);
      return 2;
    }
    return run_daemon(*std::move(config), config_source(line.run_flags));
  }
  if (const auto code = line.control.run()) return *code;
  if (*line.check) return run_check(line.check_folders, line.check_config);
  if (*line.test) return run_test(line.test_options);
  if (*line.rbac) return run_rbac(line.rbac_options);
  if (*line.completion) return print_completion(line.shell);
  if (*line.play) {
    if (line.play_options.server_only) return run_server(line.play_options);
    if (line.play_options.folder.empty()) {
      fmt::print(stderr, "hookd play: the folder with the hooks is missing\n");
      return 2;
    }
    return run_play(line.play_options);
  }
  return run_call(line.call_options);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line;
  if (argc > 1 && argv[1] == kCompleteCommand) return run_complete(line.app, {argv + 2, argv + argc});
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help, --version
    return wrong_usage(line.app, error, {argv + 1, argv + argc});
  }
  const int code = run_command(line);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  fmt::print(stderr, "hookd: standard output could not be written: {}\n", std::generic_category().message(errno));
  return code == 0 ? 1 : code;
}

}  // namespace hookd::cli
