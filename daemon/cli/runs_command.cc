// `hookd runs`: the last calls, one in full, or its input for `hookd call`.
#include <cstdio>

#include "cli/control_commands.h"
#include "cli/table.h"
#include "control/paths.h"

namespace hookd::cli {
namespace {

using boost::json::object;

std::string count(const object& holder, std::string_view key) { return fmt::format("{:.0f}", number_of(holder, key)); }

void print_runs(const object& answer) {
  Table table({"ID", "HOOK", "AGE", "REASON", "ATTEMPT", "RESULT", "WALL", "CPU", "ABOUT", "ERROR"});
  for (const auto& value : list_of(answer, "runs")) {
    const object& run = value.as_object();
    table.add({text_of(run, "id"), text_of(run, "hook"), age(text_of(run, "started")), text_of(run, "reason"),
               count(run, "attempt"), text_of(run, "result"),
               run.contains("wallSeconds") ? seconds(number_of(run, "wallSeconds")) : "-",
               run.contains("cpuSeconds") ? seconds(number_of(run, "cpuSeconds")) : "-", text_of(run, "about"),
               text_of(run, "error")});
  }
  if (table.empty())
    fmt::print("no calls\n");
  else
    table.print();
}

// Lines of a hook, with what could steer a terminal taken out.
void print_lines(std::string_view text) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    fmt::print("  {}\n", printable(line));
  }
}

void print_left_out(const object& run, std::string_view key, const char* what) {
  if (number_of(run, key) > 0) fmt::print("  … {} {} not kept\n", count(run, key), what);
}

void print_run(const object& run) {
  fmt::print("{}  {}  {}\n", text_of(run, "id"), text_of(run, "hook"), text_of(run, "result"));
  fmt::print("started  {} ({} ago), attempt {}, {}{}\n", text_of(run, "started"), age(text_of(run, "started")),
             count(run, "attempt"), text_of(run, "reason"),
             flag_of(run, "onlyOperations") ? ", no call: what the last answer left undone" : "");
  fmt::print("about    {}\n", printable(text_of(run, "about")));
  if (run.contains("wallSeconds")) fmt::print("wall     {}\n", seconds(number_of(run, "wallSeconds")));
  if (run.contains("cpuSeconds")) fmt::print("cpu      {}\n", seconds(number_of(run, "cpuSeconds")));
  if (run.contains("memoryBytes")) fmt::print("memory   {}\n", bytes(number_of(run, "memoryBytes")));
  if (run.contains("exit")) fmt::print("exit     {}\n", printable(text_of(run, "exit")));
  if (const auto error = text_of(run, "error"); !error.empty()) fmt::print("error    {}\n", printable(error));
  if (text_of(run, "then") == "give up") fmt::print("then     given up\n");
  if (run.contains("requeueAfter")) fmt::print("again    after {}\n", text_of(run, "requeueAfter"));
  for (const auto& message : list_of(run, "messages")) fmt::print("message  {}\n", printable(message.as_string()));

  if (const auto& outcomes = list_of(run, "outcomes"); !outcomes.empty()) {
    fmt::print("\noutcomes\n");
    for (const auto& value : outcomes) {
      const object& one = value.as_object();
      const auto text = text_of(one, "text");
      fmt::print("  {}: {}{}{}\n", printable(text_of(one, "operation")), text_of(one, "outcome"),
                 text.empty() ? "" : ": ", printable(text));
      if (const auto diff = text_of(one, "diff"); !diff.empty()) print_lines(diff);
    }
    print_left_out(run, "outcomesLeftOut", "outcomes");
  }
  const auto text = text_of(run, "answer");  // of a hook that reconciles: what is written follows from it
  if (!text.empty()) {
    fmt::print("\nanswer\n");
    print_lines(text);
  }
  if (const auto& operations = list_of(run, "operations"); !operations.empty()) {
    fmt::print("\n{}\n", text.empty() ? "answer" : "writes");
    for (const auto& operation : operations) print_lines(boost::json::serialize(operation));
    print_left_out(run, "operationsLeftOut", "operations");
  } else if (flag_of(run, "answered")) {
    fmt::print("\n{}\n  {}\n", text.empty() ? "answer" : "writes",
               text_of(run, "reason") == "reconcile" ? "nothing to write: all is as it says" : "no operations");
    print_left_out(run, "operationsLeftOut", "operations");
  }
  if (const auto said = text_of(run, "stderr"); !said.empty()) {
    fmt::print("\nstderr\n");
    print_left_out(run, "stderrLeftOutBytes", "bytes before this are");
    print_lines(said);
  }
  if (run.contains("input")) {
    fmt::print("\ninput{}\n", flag_of(run, "inputWhole")    ? ""
                              : flag_of(run, "inputMasked") ? " (Secrets are masked)"
                                                            : " (cut)");
    print_lines(boost::json::serialize(run.at("input")));
    print_left_out(run, "inputTextsLeftOut", "objects or events are");
    print_left_out(run, "inputEntriesLeftOut", "objects of snapshots are");
  }
}

}  // namespace

int run_runs(const AskOptions& options) {
  if (options.input) {
    if (options.hook.empty()) {
      complain("runs", Error{Errc::kInvalid, "--input needs the id of a call: hookd runs ID --input", 0, {}, {}});
      return 2;
    }
    const auto text = ask(options, control::kInputPath, {{"id", options.hook}});
    if (!text) return complain("runs", text.error());
    fmt::print("{}", *text);
    return 0;
  }
  const auto list =
      ask(options, control::kRunsPath,
          {{"hook", options.hook}, {"failed", options.failed ? "1" : ""}, {"limit", std::to_string(options.count)}});
  if (list || list.error().code != Errc::kNotFound || options.hook.empty())
    return answer(options, "runs", list, print_runs);
  // No hook of that name: the id of a call?
  const auto one = ask(options, control::kRunPath, {{"id", options.hook}});
  if (!one && one.error().code == Errc::kNotFound)
    return complain("runs", list.error().with(fmt::format("no call has the id \"{}\", and", options.hook)));
  return answer(options, "runs", one, print_run);
}

}  // namespace hookd::cli
