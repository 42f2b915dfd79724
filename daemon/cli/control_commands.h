// What the commands that ask a running daemon share: their flags, finding it, asking it, complaining.
// Exit codes: 0 done, 1 it went wrong (no daemon, no such hook), 2 wrong usage.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "control/client.h"

namespace hookd::cli {

class ControlCommands {
 public:
  explicit ControlCommands(CLI::App& app);
  ControlCommands(const ControlCommands&) = delete;
  ControlCommands& operator=(const ControlCommands&) = delete;
  // Of the one that was given; nullopt = none of these.
  std::optional<int> run() const;

 private:
  using Command = int (*)(const AskOptions&);
  AskOptions& add(CLI::App& app, const char* name, const char* what, Command command);
  CLI::App& last() { return *commands_.back().app; }

  struct Added {
    CLI::App* app;
    std::unique_ptr<AskOptions> options;
    Command command;
  };
  std::vector<Added> commands_;
};

Result<control::Client> find_daemon(const AskOptions& options);
// Asks (or tells), and gives the answer's text. Errors: as the client's.
Result<std::string> ask(const AskOptions& options, const std::string& path,
                        const control::Client::Parameters& parameters, bool tell = false);
// Prints the answer as it is with -o json, else what `show` makes of it. Exit code.
int answer(const AskOptions& options, const char* command, const Result<std::string>& text,
           const std::function<void(const boost::json::object&)>& show);
int complain(const char* command, const Error& error);

// ---- reading answers; what is absent is "", 0, false
std::string text_of(const boost::json::object& object, std::string_view key);
double number_of(const boost::json::object& object, std::string_view key);
bool flag_of(const boost::json::object& object, std::string_view key);
const boost::json::object& object_of(const boost::json::object& object, std::string_view key);
const boost::json::array& list_of(const boost::json::object& object, std::string_view key);

// ---- as people read it
std::string printable(std::string_view text);  // one line, nothing that could steer a terminal
std::string age(std::string_view rfc3339);     // "12s", "3m", "5h", "2d" since then; "-" for ""
std::string until(std::string_view rfc3339);   // the same, ahead
std::string bytes(double count);               // "3.4Mi"
std::string seconds(double count);             // "1.2s", "35ms"

}  // namespace hookd::cli
