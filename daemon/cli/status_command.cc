// `hookd status`: the daemon, its hooks, what is broken; `hookd status HOOK`: one hook and its bindings.
#include <cstdio>

#include "base/json_read.h"
#include "cli/control_commands.h"
#include "cli/finalizers_table.h"
#include "cli/table.h"
#include "control/paths.h"

namespace hookd::cli {
namespace {

using boost::json::object;

std::string count(const object& holder, std::string_view key) { return fmt::format("{:.0f}", number_of(holder, key)); }

void print_list(const char* title, const boost::json::array& lines) {
  for (const auto& line : lines)  // broken hooks have a place of their own below
    if (line.is_string() && !line.get_string().starts_with("broken hook: "))
      fmt::print("{}{}\n", title, printable(line.get_string()));
}

std::string calls_text(const object& calls) { return count(calls, "ok") + "/" + count(calls, "failed"); }

// The error of a hook that fails; one that went well since is history.
std::string error_of(const object& hook) {
  for (const char* key : {"paused", "trouble"})
    if (auto text = text_of(hook, key); !text.empty()) return text;
  for (const auto& binding : list_of(hook, "bindings"))
    if (auto text = text_of(binding.as_object(), "trouble"); !text.empty())
      return text_of(binding.as_object(), "name") + ": " + text;
  const auto& calls = object_of(hook, "calls");
  return text_of(calls, "lastResult") == "ok" ? "" : text_of(calls, "lastError");
}

void print_hooks(const boost::json::array& hooks) {
  Table table({"HOOK", "MODE", "STATE", "WAITING", "RUNNING", "DELAYED", "PARKED", "OK/FAILED", "LAST", "TROUBLE"});
  for (const auto& value : hooks) {
    const object& hook = value.as_object();
    const object& calls = object_of(hook, "calls");
    table.add({text_of(hook, "name"), text_of(hook, "mode"), text_of(hook, "state"), count(hook, "waiting"),
               count(hook, "running"), count(hook, "delayed"), count(hook, "parked"), calls_text(calls),
               age(text_of(calls, "last")), error_of(hook)});
  }
  if (!table.empty()) table.print();
}

void print_daemon(const object& status) {
  const auto& reasons = list_of(status, "reasons");
  const auto& degraded = list_of(status, "degraded");
  const std::string state = !flag_of(status, "ready") ? "not ready" : degraded.empty() ? "ready" : "ready, degraded";
  fmt::print("hookd {}  pid {}  up {}  {}\n", text_of(status, "version"), count(status, "pid"),
             age(text_of(status, "started")), state);
  fmt::print("server   {}{}\n", printable(text_of(status, "server")), flag_of(status, "dryRun") ? "  (dry run)" : "");
  const auto& watches = list_of(status, "watches");
  size_t up = 0;
  for (const auto& watch : watches) up += flag_of(watch.as_object(), "up");
  fmt::print("memory   {}   loop lag {}   watches {} of {} up\n", bytes(number_of(status, "memoryBytes")),
             seconds(number_of(status, "loopLagSeconds")), up, watches.size());
  print_list("not ready: ", reasons);
  print_list("degraded: ", degraded);
  const auto& restart = list_of(object_of(status, "config"), "needsRestart");
  print_list("needs a restart to count: ", restart);
  if (const auto& hooks = list_of(status, "hooks"); hooks.empty()) {
    fmt::print("\nno hooks\n");
  } else {
    fmt::print("\n");
    print_hooks(hooks);
  }
  if (const auto& broken = list_of(status, "broken"); !broken.empty()) {
    fmt::print("\nbroken:\n");
    for (const auto& value : broken) {
      const object& one = value.as_object();
      fmt::print("  {}:{}:{}: {}\n", printable(text_of(one, "file")), count(one, "line"), count(one, "column"),
                 printable(text_of(one, "message")));
    }
  }
}

void print_hook(const object& hook) {
  const object& calls = object_of(hook, "calls");
  fmt::print("{}  {}  mode {}\n", text_of(hook, "name"), text_of(hook, "state"), text_of(hook, "mode"));
  fmt::print("file     {}\n", printable(text_of(hook, "path")));
  fmt::print("queue    {} waiting, {} running, {} delayed, {} parked\n", count(hook, "waiting"), count(hook, "running"),
             count(hook, "delayed"), count(hook, "parked"));
  fmt::print("calls    {} ok, {} failed, last {}{}\n", count(calls, "ok"), count(calls, "failed"),
             age(text_of(calls, "last")), calls.contains("last") ? " ago" : "");
  if (const auto error = text_of(calls, "lastError"); !error.empty())
    fmt::print("error    {} ago: {}\n", age(text_of(calls, "lastErrorAt")), printable(error));
  if (const auto why = text_of(hook, "paused"); !why.empty()) fmt::print("paused   {}\n", printable(why));
  if (const auto why = text_of(hook, "trouble"); !why.empty()) fmt::print("trouble  {}\n", printable(why));
  for (const auto& line : list_of(hook, "waits"))
    if (line.is_string()) fmt::print("waits    {}\n", printable(line.get_string()));
  const auto& bindings = list_of(hook, "bindings");
  if (bindings.empty()) return;
  fmt::print("\n");
  Table table({"BINDING", "TYPE", "READY", "OBJECTS", "NEXT", "WHAT", "TROUBLE"});
  for (const auto& value : bindings) {
    const object& one = value.as_object();
    table.add({text_of(one, "name"), text_of(one, "type"), flag_of(one, "ready") ? "yes" : "no",
               one.contains("objects") ? count(one, "objects") : "-", until(text_of(one, "next")), text_of(one, "what"),
               text_of(one, "trouble")});
  }
  table.print();
}

}  // namespace

// How many objects carry them is asked of the API server, and only here.
void print_left_finalizers(const AskOptions& options, const object& status) {
  if (list_of(status, "leftFinalizers").empty()) return;
  const auto text = ask(options, control::kFinalizersPath, {});
  const auto document = text ? parse_json(*text) : fail(text.error());
  if (!document || !document->is_object()) {
    fmt::print("\nfinalizers that hooks left behind: {}\n", document ? "not understood" : document.error().what);
    return;
  }
  if (list_of(document->get_object(), "finalizers").empty()) return;
  fmt::print("\nleft behind on objects that no hook looks after (hookd finalizers):\n");
  print_finalizers(document->get_object());
}

int run_status(const AskOptions& options) {
  if (options.hook.empty())
    return answer(options, "status", ask(options, control::kStatusPath, {}), [&](const object& status) {
      print_daemon(status);
      print_left_finalizers(options, status);
    });
  return answer(options, "status", ask(options, control::kHookPath, {{"hook", options.hook}}), print_hook);
}

}  // namespace hookd::cli
