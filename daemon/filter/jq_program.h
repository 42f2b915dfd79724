// An expression compiled by libjq 1.6. One compilation takes about 15 ms, one run of an 8 kB object about 0.16 ms.
// Thread: loop only.
//
// What an expression cannot do here: read other input, files or the environment (`env` and $ENV are {}; input, debug,
// stderr, halt, modulemeta, import and the like are refused at compile time).
// What jq 1.6 does: numbers are doubles, so whole numbers above 2^53 lose digits, and 1.50 is printed as 1.5.
// What it lacks: a limit of time and memory. `def f: f; f` never comes back; an expression is as trusted as its hook.
// filter/running.h tells which one it is.
// It loads $HOME/.jq if there is such a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct jq_state;

namespace hookd::filter {

class JqProgram {
 public:
  // Errors: kConfig, jq's message and the place in the expression.
  static Result<std::shared_ptr<JqProgram>> compile(std::string_view expression);
  ~JqProgram();
  JqProgram(const JqProgram&) = delete;
  JqProgram& operator=(const JqProgram&) = delete;

  // At most `max_outputs` outputs as compact JSON; what comes after them is not computed.
  // Errors: kDecode (not JSON), kInvalid (jq's message; the input or an output is deeper than 256 levels),
  // kTooLarge (more than 100,000 outputs or 64 MiB).
  Result<std::vector<std::string>> run(std::string_view json, size_t max_outputs);

 private:
  JqProgram(jq_state* state, std::string_view expression) : state_(state), expression_(expression) {}
  Failure failed(Errc code, std::string_view message) const;

  jq_state* state_;
  std::string expression_;
};

}  // namespace hookd::filter
