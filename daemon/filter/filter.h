// A compiled jq expression over one object's JSON text (libjq), with a fast path that reads plain paths, and
// comparisons of them, by simdjson without starting jq. Thread: loop only.
//
// Numbers are doubles where jq runs: whole numbers above 2^53 lose digits. The fast path keeps the digits inside
// objects and lists. `env` and $ENV are empty; input, debug, import and the like are refused (jq_program.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hookd::filter {

class Filter {
 public:
  virtual ~Filter() = default;

  // Errors: kConfig, jq's own message with the place in the expression. Equal expressions share one compilation.
  static Result<std::shared_ptr<const Filter>> compile(std::string_view expression);

  // The expression's first output as compact JSON text; "null" if it gives none.
  // Errors: kInvalid with jq's message (`error(...)`, a wrong type, over 256 levels), kDecode (input is not JSON; the
  // fast path only sees what it reads, so check foreign text before), kTooLarge (100,000 outputs, 64 MiB).
  virtual Result<std::string> run(std::string_view json) const = 0;
  // Every output, in order.
  virtual Result<std::vector<std::string>> run_all(std::string_view json) const = 0;
  // Is the first output something else than false and null? No output = false.
  Result<bool> test(std::string_view json) const;

  virtual bool fast() const = 0;  // runs without jq
  const std::string& expression() const { return expression_; }

 protected:
  explicit Filter(std::string_view expression) : expression_(expression) {}

 private:
  std::string expression_;
};

}  // namespace hookd::filter
