// What a daemon streams line by line: `hookd logs`, `hookd snapshot`.
#include <cstdio>

#include "base/json_read.h"
#include "cli/control_commands.h"
#include "cli/table.h"
#include "control/paths.h"

namespace hookd::cli {
namespace {

// A JSON line of the log as the text format of the daemon has it.
std::string log_text(std::string_view line) {
  const auto value = parse_json(line);
  if (!value || !value->is_object()) return printable(line);
  const auto& record = value->get_object();
  std::string out =
      fmt::format("{} {:5} {}", text_of(record, "time"), text_of(record, "level"), text_of(record, "msg"));
  for (const auto& [key, field] : record) {
    if (key == "time" || key == "level" || key == "msg") continue;
    const bool plain = field.is_string() && !field.get_string().empty() &&
                       field.get_string().find_first_of(" \"=\\\n\t") == std::string::npos;
    out += fmt::format(" {}={}", std::string_view(key),
                       plain ? std::string(field.get_string()) : boost::json::serialize(field));
  }
  return printable(out);
}

void say(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

int run_logs(const AskOptions& options) {
  const auto daemon = find_daemon(options);
  if (!daemon) return complain("logs", daemon.error());
  const auto ended = daemon->lines(
      control::kLogsPath,
      {{"hook", options.hook}, {"lines", std::to_string(options.count)}, {"follow", options.follow ? "1" : ""}},
      [&](std::string_view line) {
        say(options.json ? std::string(line) : log_text(line));
        return std::ferror(stdout) == 0;
      });
  return ended ? 0 : complain("logs", ended.error());
}

int run_snapshot(const AskOptions& options) {
  const auto daemon = find_daemon(options);
  if (!daemon) return complain("snapshot", daemon.error());
  Table table({"KIND", "NAMESPACE", "NAME", "VALUE"});
  size_t count = 0;
  // One document, printed as it comes: a snapshot may be larger than memory should hold.
  const auto ended = daemon->lines(
      control::kSnapshotPath, {{"hook", options.hook}, {"binding", options.what}}, [&](std::string_view line) {
        ++count;
        if (options.json) {
          fmt::print("{}{}", count == 1 ? "[" : ",\n", line);
          return std::ferror(stdout) == 0;
        }
        const auto text = [&](std::initializer_list<std::string_view> path) {
          return json_string_at(line, path).value_or("");
        };
        const auto ns = text({"object", "metadata", "namespace"});
        table.add({text({"object", "kind"}), ns.empty() ? "-" : ns, text({"object", "metadata", "name"}),
                   std::string(json_raw_at(line, {"value"}).value_or(""))});
        return true;
      });
  if (!ended) return complain("snapshot", ended.error());
  if (options.json)
    fmt::print("{}]\n", count == 0 ? "[" : "");
  else if (table.empty())
    fmt::print("no objects\n");
  else
    table.print();
  return 0;
}

}  // namespace hookd::cli
