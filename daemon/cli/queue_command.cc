// `hookd queue`, and what is done to it by hand: retry, drop, pause, resume; reload.
#include <cstdio>

#include "cli/control_commands.h"
#include "cli/table.h"
#include "control/paths.h"

namespace hookd::cli {
namespace {

using boost::json::object;

void print_queue(const object& answer) {
  Table table({"HOOK", "STATE", "KEY", "ID", "EVENTS", "ATTEMPT", "SINCE", "DUE", "ERROR"});
  for (const auto& value : list_of(answer, "rows")) {
    const object& row = value.as_object();
    const auto id = text_of(row, "id");
    table.add({text_of(row, "hook"), text_of(row, "state"), text_of(row, "key"), id.empty() ? "-" : id,
               fmt::format("{:.0f}", number_of(row, "events")), fmt::format("{:.0f}", number_of(row, "attempt")),
               age(text_of(row, "since")), until(text_of(row, "due")), text_of(row, "error")});
  }
  if (table.empty())
    fmt::print("nothing waits\n");
  else
    table.print();
  if (flag_of(answer, "cut")) fmt::print("… and more: -n shows more, HOOK one hook's alone\n");
}

int retry_or_drop(const AskOptions& options, const char* command, const char* path, const char* done) {
  if (options.what.empty() && !options.all) {
    fmt::print(stderr, "hookd {}: which? Give a KEY or ID of `hookd queue {}`, or --all\n", command, options.hook);
    return 2;
  }
  const auto text =
      ask(options, path, {{"hook", options.hook}, {"what", options.what}, {"all", options.all ? "1" : ""}}, true);
  return answer(options, command, text,
                [&](const object& told) { fmt::print("{:.0f} {}\n", number_of(told, done), done); });
}

}  // namespace

int run_queue(const AskOptions& options) {
  return answer(options, "queue",
                ask(options, control::kQueuePath, {{"hook", options.hook}, {"limit", std::to_string(options.count)}}),
                print_queue);
}

int run_retry(const AskOptions& options) { return retry_or_drop(options, "retry", control::kRetryPath, "retried"); }
int run_drop(const AskOptions& options) { return retry_or_drop(options, "drop", control::kDropPath, "dropped"); }

int run_pause(const AskOptions& options) {
  return answer(options, "pause",
                ask(options, control::kPausePath, {{"hook", options.hook}, {"reason", options.reason}}, true),
                [](const object& hook) {
                  fmt::print("{} is paused: {}{}\n", text_of(hook, "name"), printable(text_of(hook, "paused")),
                             number_of(hook, "running") > 0 ? " (what runs goes on to its end)" : "");
                });
}

int run_resume(const AskOptions& options) {
  return answer(options, "resume", ask(options, control::kResumePath, {{"hook", options.hook}}, true),
                [](const object& hook) { fmt::print("{} goes on\n", text_of(hook, "name")); });
}

int run_reload(const AskOptions& options) {
  const auto text = ask(options, control::kReloadPath, {}, true);
  bool broken = false;
  const int code = answer(options, "reload", text, [&](const object& told) {
    fmt::print("{:.0f} hooks, {:.0f} broken\n", number_of(told, "hooks"), number_of(told, "broken"));
    const auto problem = text_of(told, "configProblem");
    if (!problem.empty()) fmt::print("the config is broken, the one before goes on: {}\n", problem);
    for (const auto& key : list_of(told, "needsRestart"))
      fmt::print("needs a restart to count: {}\n", std::string_view(key.as_string()));
    broken = !problem.empty() || number_of(told, "broken") > 0;
  });
  return broken ? 1 : code;
}

}  // namespace hookd::cli
