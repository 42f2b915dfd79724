// The query of a request: "hook=a&all=1". Pure. Thread: any.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::control {

class Query {
 public:
  // Errors: kInvalid: a wrong percent-encoding.
  static Result<Query> parse(std::string_view text);

  std::string text(std::string_view name) const;  // "" = absent
  bool flag(std::string_view name) const { return text(name) == "1"; }
  // Errors: kInvalid: no number from `min` to `max`.
  Result<size_t> number(std::string_view name, size_t fallback, size_t min, size_t max) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace hookd::control
