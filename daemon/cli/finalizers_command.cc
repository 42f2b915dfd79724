// `hookd finalizers`: what hooks left on objects that they do not look after any more; `hookd finalizers drop HOOK`
// takes it off.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/json_read.h"
#include "cli/control_commands.h"
#include "cli/finalizers_table.h"
#include "cli/table.h"
#include "control/paths.h"

namespace hookd::cli {
namespace {

using boost::json::object;

std::string count_text(const object& one) {
  if (!text_of(one, "trouble").empty()) return "?";
  return fmt::format("{:.0f}{}", number_of(one, "objects"), flag_of(one, "whole") ? "" : " or more");
}

void print_list(const object& document) {
  if (list_of(document, "finalizers").empty()) return fmt::print("none: no hook left a finalizer behind\n");
  print_finalizers(document);
  for (const auto& value : list_of(document, "finalizers")) {
    const object& one = value.as_object();
    const auto& names = list_of(one, "names");
    if (names.empty()) continue;
    std::string line;
    for (const auto& name : names)
      if (name.is_string()) line += " " + printable(name.get_string());
    fmt::print("\n{} {}:{}{}\n", text_of(one, "hook"), text_of(one, "kind"), line,
               number_of(one, "objects") > static_cast<double>(names.size()) ? " …" : "");
  }
  fmt::print(
      "\nhookd finalizers drop HOOK takes them off, without calling anything: what the hook would have done first\n"
      "is then not done.\n");
}

// What would be done, on the terminal; false = not to be done.
Result<bool> agreed(const AskOptions& options) {
  if (options.yes) return true;
  if (!::isatty(STDIN_FILENO))
    return fail(Errc::kInvalid, "objects may go for good by this: say --yes where nobody can be asked");
  HOOKD_TRY(const std::string text, ask(options, control::kFinalizersPath, {}));
  const auto document = parse_json(text);
  if (document && document->is_object())
    for (const auto& value : list_of(document->get_object(), "finalizers"))
      if (const object& one = value.as_object(); text_of(one, "hook") == options.hook)
        fmt::print("{} on {} {} ({:.0f} of them deleted already: they go at once)\n", text_of(one, "finalizer"),
                   count_text(one), text_of(one, "kind"), number_of(one, "ending"));
  fmt::print("Take it off{}? [y/N] ", options.object.empty() ? "" : " " + options.object);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

}  // namespace

void print_finalizers(const object& document) {
  Table table({"HOOK", "FINALIZER", "KIND", "OBJECTS", "DELETED", "TROUBLE"});
  for (const auto& value : list_of(document, "finalizers")) {
    const object& one = value.as_object();
    table.add({text_of(one, "hook"), text_of(one, "finalizer"),
               fmt::format("{} ({})", text_of(one, "kind"), text_of(one, "apiVersion")), count_text(one),
               fmt::format("{:.0f}", number_of(one, "ending")), text_of(one, "trouble")});
  }
  table.print();
}

int run_finalizers(const AskOptions& options) {
  if (options.what == "list" && options.hook.empty())
    return answer(options, "finalizers", ask(options, control::kFinalizersPath, {}), print_list);
  if (options.what == "list" || options.hook.empty()) {
    fmt::print(stderr, "hookd finalizers: {}\n",
               options.what == "list" ? "list takes no hook" : "drop: which hook? Its name is missing");
    return 2;
  }
  const auto yes = agreed(options);
  if (!yes) return complain("finalizers", yes.error());
  if (!*yes) return 1;
  const auto text =
      ask(options, control::kDropFinalizersPath, {{"hook", options.hook}, {"object", options.object}}, true);
  bool problems = false;
  const int code = answer(options, "finalizers", text, [&](const object& dropped) {
    fmt::print("taken off {:.0f} object(s){}\n", number_of(dropped, "taken"),
               flag_of(dropped, "dryRun") ? " (dry run: nothing was changed)" : "");
    for (const auto& line : list_of(dropped, "problems"))
      if (line.is_string()) fmt::print(stderr, "{}\n", printable(line.get_string()));
    problems = !list_of(dropped, "problems").empty();
  });
  return code == 0 && problems ? 1 : code;
}

}  // namespace hookd::cli
