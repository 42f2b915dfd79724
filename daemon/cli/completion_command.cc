// `hookd completion`: the scripts; `hookd __complete`: what they ask, with the names that a running daemon knows.
#include <algorithm>
#include <cstdio>

#include "base/json_read.h"
#include "cli/completion.h"
#include "cli/control_commands.h"
#include "control/paths.h"
#include "control/places.h"

namespace hookd::cli {
namespace {

using boost::json::object;

constexpr long kPatienceSeconds = 1;  // a person waits for the Tab

constexpr const char* kBash = R"(# Completion of hookd for bash: source <(hookd completion bash)
_hookd() {
  local line what='' hookd=${COMP_WORDS[0]/#\~/$HOME}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $what ]]; then
      what=$line
    else
      printf -v line %q "${line%%$'\t'*}"
      COMPREPLY+=("$line")
    fi
  done < <("$hookd" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $what in
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
  esac
}
complete -F _hookd hookd
)";

constexpr const char* kZsh = R"(#compdef hookd
# Completion of hookd for zsh: source <(hookd completion zsh) after compinit, or this as _hookd in a folder of fpath
_hookd() {
  local line what
  local -a lines found
  lines=("${(@f)$("${words[1]/#\~/$HOME}" __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  what=${lines[1]}
  case $what in
    files) _files ;;
    folders) _files -/ ;;
    words)
      for line in "${(@)lines[2,-1]}"; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
      done
      _describe -t values hookd found
      ;;
  esac
}
if [[ ${funcstack[1]} == _hookd ]]; then
  _hookd "$@"
else
  compdef _hookd hookd
fi
)";

// Nothing where there is no daemon, several, or none that answers: a Tab complains of nothing.
std::optional<object> asked(const std::string& socket, const std::string& path,
                            const control::Client::Parameters& parameters) {
  const auto found = control::find_socket(socket, config::process_environment());
  if (!found) return std::nullopt;
  const auto text = control::Client(*found, kPatienceSeconds).get(path, parameters);
  const auto value = text ? parse_json(*text) : Result<boost::json::value>(fail(text.error()));
  return value && value->is_object() ? std::optional(value->get_object()) : std::nullopt;
}

using Naming = std::function<Candidate(const object&)>;  // without a word: it is none

std::vector<Candidate> listed(const std::optional<object>& answer, std::string_view list, const Naming& naming) {
  std::vector<Candidate> all;
  if (!answer) return all;
  for (const auto& value : list_of(*answer, list))
    if (value.is_object())
      if (auto one = naming(value.get_object());
          !one.word.empty() && std::ranges::find(all, one.word, &Candidate::word) == all.end())
        all.push_back(std::move(one));
  return all;
}

Candidate hook(const object& one) { return {text_of(one, "name"), text_of(one, "state")}; }

Candidate left_by(const object& one) { return {text_of(one, "hook"), text_of(one, "finalizer")}; }

// What `hookd snapshot` takes: children all have one name, their kind tells them apart.
Candidate binding(const object& one) {
  const auto type = text_of(one, "type"), name = text_of(one, "name"), what = text_of(one, "what");
  if (type != "watch" && type != "reconcile") return {};
  return {name == "children" ? what.substr(0, what.find(' ')) : name, what};
}

Candidate key(const object& one) {
  const auto state = text_of(one, "state");
  if (state != "parked" && state != "delayed") return {};
  return {text_of(one, "key"), state + ": " + text_of(one, "error")};
}

DaemonNames names_of_daemon() {
  return {[](const std::string& socket) { return listed(asked(socket, control::kStatusPath, {}), "hooks", hook); },
          [](const std::string& socket) {
            return listed(asked(socket, control::kStatusPath, {}), "leftFinalizers", left_by);
          },
          [](const std::string& socket, const std::string& hook) {
            return listed(asked(socket, control::kHookPath, {{"hook", hook}}), "bindings", binding);
          },
          [](const std::string& socket, const std::string& hook) {
            return listed(asked(socket, control::kQueuePath, {{"hook", hook}}), "rows", key);
          }};
}

}  // namespace

int run_complete(const CLI::App& app, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  const auto found = candidates(app, std::move(words), names_of_daemon());
  static constexpr const char* kWhat[] = {"words", "files", "folders"};
  fmt::print("{}\n", kWhat[static_cast<size_t>(found.what)]);
  for (const auto& one : found.words) fmt::print("{}\t{}\n", printable(one.word), printable(one.about));
  return 0;
}

int print_completion(std::string_view shell) {
  fmt::print("{}", shell == "zsh" ? kZsh : kBash);
  return 0;
}

}  // namespace hookd::cli
