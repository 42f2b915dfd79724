// What may come next on the command line, for the shells' completion: `hookd completion bash|zsh` prints a script that
// asks `hookd __complete -- WORDS…` at each Tab. Commands, flags and their values are read off the command line itself
// (command_line.h), names of hooks are asked of the running daemon. Thread: any.
//
//   words                     what the candidates are: words, files or folders (which the shell knows better); or
//   status<Tab>Show how …     nothing. Then one a line, with what is known of it after a tab.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::cli {

struct Candidate {
  std::string word, about;  // `about` "" = nothing is known of it
  bool operator==(const Candidate&) const = default;
};

struct Candidates {
  enum class What { kWords, kFiles, kFolders } what = What::kWords;
  std::vector<Candidate> words;
};

// What a running daemon knows; empty where there is none.
struct DaemonNames {
  // `socket` "" = the one that is found. `left`: hooks that left finalizers behind.
  std::function<std::vector<Candidate>(const std::string& socket)> hooks, left;
  std::function<std::vector<Candidate>(const std::string& socket, const std::string& hook)> bindings, keys;
};

// `words`: after the program's name; the last one is being typed and may be "".
Candidates candidates(const CLI::App& app, std::vector<std::string> words, const DaemonNames& names);

constexpr std::string_view kCompleteCommand = "__complete";
// `words` as above, or "--" and they. Exit code.
int run_complete(const CLI::App& app, std::vector<std::string> words);
int print_completion(std::string_view shell);

}  // namespace hookd::cli
