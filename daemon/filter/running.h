// Which jq expression is being run, for whoever asks from another thread: libjq has no limit of time and cannot be
// interrupted, so an expression that never ends (`def f: f; f`) stops its thread for good. That must be told by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hookd::filter {

struct Running {
  std::string expression;
  std::string hook, binding;  // "" = not known
};
std::optional<Running> running();  // thread: any

// While it lives expressions are run for that binding. Thread: loop only, and so are the texts.
class RunsFor {
 public:
  RunsFor(std::string_view hook, std::string_view binding);
  ~RunsFor();
  RunsFor(const RunsFor&) = delete;
  RunsFor& operator=(const RunsFor&) = delete;

 private:
  std::string_view hook_before_, binding_before_;
};

// While it lives that expression is being run (filter/jq_program.cc).
class Inside {
 public:
  explicit Inside(std::string_view expression);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace hookd::filter
