#include "cli/control_commands.h"

#include <cmath>
#include <cstdio>

#include "base/json_read.h"
#include "base/time.h"
#include "control/places.h"

namespace hookd::cli {
namespace {

constexpr size_t kAnswerBytes = size_t{1} << 30;

std::string span(double seconds) {
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{:.0f}s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f}m", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.0f}h", seconds / 3600);
  return fmt::format("{:.0f}d", seconds / 86400);
}

double since(std::string_view rfc3339) {
  const auto time = parse_rfc3339(rfc3339);
  return time ? std::chrono::duration<double>(std::chrono::system_clock::now() - *time).count() : 0;
}

const boost::json::value* value_of(const boost::json::object& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &found->value();
}

}  // namespace

AskOptions& ControlCommands::add(CLI::App& app, const char* name, const char* what, Command command) {
  auto* added = app.add_subcommand(name, what);
  auto options = std::make_unique<AskOptions>();
  added->option_defaults()->take_last();
  added
      ->add_option("--socket", options->socket,
                   "Control socket of the daemon; default: HOOKD_CONTROL, else the one that is found")
      ->type_name("PATH");
  added
      ->add_option_function<std::string>(
          "-o,--output", [raw = options.get()](const std::string& format) { raw->json = format == "json"; },
          "json or table")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"json", "table"}));
  commands_.push_back({added, std::move(options), command});
  return *commands_.back().options;
}

ControlCommands::ControlCommands(CLI::App& app) {
  const auto hook = [this](AskOptions& options, const char* text = "A hook's name") {
    return last().add_option("HOOK", options.hook, text)->type_name("");
  };
  hook(add(app, "status", "Show how a running daemon and its hooks are", run_status),
       "Only this hook, with its bindings");

  auto& queue = add(app, "queue", "Show what waits, runs, is delayed or parked", run_queue);
  hook(queue, "Only of this hook");
  queue.count = 1000;
  last()
      .add_option("-n", queue.count, "At most so many rows; default 1000")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000));

  auto& runs = add(app, "runs", "Show the last calls of hooks, or one of them in full", run_runs);
  hook(runs, "Only of this hook; or the id of a call, which is then shown in full");
  last().add_flag("--failed", runs.failed, "Only those that failed");
  last().add_flag("--input", runs.input, "Print what the call with that id got on stdin, for `hookd call`");
  last().add_option("-n", runs.count, "At most so many; default 20")->type_name("N")->check(CLI::Range(1, 10'000));

  auto& snapshot = add(app, "snapshot", "Show the objects of a watch as its hook sees them", run_snapshot);
  hook(snapshot)->required();
  last().add_option("BINDING", snapshot.what, "Name of the watch")->required()->type_name("");

  auto& logs = add(app, "logs", "Show the last lines of a running daemon's log", run_logs);
  hook(logs, "Only of this hook");
  logs.count = 100;
  last().add_flag("-f,--follow", logs.follow, "Go on with what comes");
  last()
      .add_option("-n,--lines", logs.count, "So many of the last lines; default 100")
      ->type_name("N")
      ->check(CLI::Range(0, 100'000));

  for (const bool retry : {true, false}) {
    auto& options = retry ? add(app, "retry", "Try now what is parked or waits for its next try", run_retry)
                          : add(app, "drop", "Forget what is parked or waits for its next try", run_drop);
    hook(options)->required();
    auto* what =
        last().add_option("KEY", options.what, "Key of the item, or id of a parked one, as `hookd queue` shows them");
    what->type_name("");
    last().add_flag("--all", options.all, "All of the hook")->excludes(what);
  }

  auto& pause = add(app, "pause", "Start no more calls of a hook; its events wait", run_pause);
  hook(pause)->required();
  last().add_option("--reason", pause.reason, "Shown in the status; default: by hand")->type_name("TEXT");
  hook(add(app, "resume", "Go on with a hook that was paused", run_resume))->required();
  auto& finalizers =
      add(app, "finalizers", "Show finalizers that hooks left behind on objects, or take them off", run_finalizers);
  finalizers.what = "list";
  last()
      .add_option("ACTION", finalizers.what, "list (default) or drop")
      ->type_name("")
      ->check(CLI::IsMember({"list", "drop"}));
  hook(finalizers, "With drop: the hook that left them");
  last().add_option("--object", finalizers.object, "With drop: only off this object")->type_name("NS/NAME");
  last().add_flag("--yes", finalizers.yes, "With drop: do not ask");
  add(app, "reload", "Load changed hooks and the daemon's config again, as SIGHUP does", run_reload);
}

std::optional<int> ControlCommands::run() const {
  for (const auto& added : commands_)
    if (*added.app) return added.command(*added.options);
  return std::nullopt;
}

Result<control::Client> find_daemon(const AskOptions& options) {
  HOOKD_TRY(auto socket, control::find_socket(options.socket, config::process_environment()));
  return control::Client(std::move(socket));
}

Result<std::string> ask(const AskOptions& options, const std::string& path,
                        const control::Client::Parameters& parameters, bool tell) {
  HOOKD_TRY(const auto daemon, find_daemon(options));
  return tell ? daemon.post(path, parameters) : daemon.get(path, parameters);
}

int complain(const char* command, const Error& error) {
  fmt::print(stderr, "hookd {}: {}\n", command, error.what);
  return 1;
}

int answer(const AskOptions& options, const char* command, const Result<std::string>& text,
           const std::function<void(const boost::json::object&)>& show) {
  if (!text) return complain(command, text.error());
  if (options.json) {
    fmt::print("{}", *text);
    return 0;
  }
  const auto value = parse_json(*text, kAnswerBytes);
  if (!value || !value->is_object())
    return complain(command, Error{Errc::kInvalid, "the daemon's answer was not understood", 0, {}, {}});
  show(value->get_object());
  return 0;
}

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = value_of(object, key);
  return value && value->is_string() ? std::string(value->get_string()) : "";
}

double number_of(const boost::json::object& object, std::string_view key) {
  const auto* value = value_of(object, key);
  return value && value->is_number() ? value->to_number<double>() : 0;
}

bool flag_of(const boost::json::object& object, std::string_view key) {
  const auto* value = value_of(object, key);
  return value && value->is_bool() && value->get_bool();
}

const boost::json::object& object_of(const boost::json::object& object, std::string_view key) {
  static const boost::json::object kNone;
  const auto* value = value_of(object, key);
  return value && value->is_object() ? value->get_object() : kNone;
}

const boost::json::array& list_of(const boost::json::object& object, std::string_view key) {
  static const boost::json::array kNone;
  const auto* value = value_of(object, key);
  return value && value->is_array() ? value->get_array() : kNone;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

std::string age(std::string_view rfc3339) { return rfc3339.empty() ? "-" : span(since(rfc3339)); }
std::string until(std::string_view rfc3339) { return rfc3339.empty() ? "-" : span(-since(rfc3339)); }

std::string bytes(double count) {
  static constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  for (; count >= 1024 && unit + 1 < std::size(kUnits); ++unit) count /= 1024;
  return fmt::format("{:.{}f}{}", count, unit == 0 || count >= 100 ? 0 : 1, kUnits[unit]);
}

std::string seconds(double count) {
  if (count < 0.001) return fmt::format("{:.0f}us", count * 1e6);
  if (count < 1) return fmt::format("{:.0f}ms", count * 1e3);
  return count < 120 ? fmt::format("{:.1f}s", count) : span(count);
}

}  // namespace hookd::cli
