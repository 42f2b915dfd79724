// Label and field selectors of requests, with the errors of the real server. Thread: any.
// Source: API docs "Labels and Selectors", "Field Selectors".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/wire/status.h"

namespace hookd::embedded {

class LabelQuery {
 public:
  // "" selects everything. Errors: 400 as the real server words them.
  static Answer<LabelQuery> parse(std::string_view text);
  bool empty() const { return requirements_.empty(); }
  bool matches(const json::object* labels) const;    // null = no labels
  bool matches_text(std::string_view object) const;  // of an object's JSON text

 private:
  enum class Op { kExists, kAbsent, kIn, kNotIn, kGreater, kLess };
  struct Requirement {
    std::string key;
    Op op = Op::kExists;
    std::vector<std::string> values;
    bool holds(const std::string* value) const;
  };
  friend class LabelParser;
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  struct Term {
    std::string field, value;
    bool equal = true;
  };
  // Errors: 400 "invalid selector: 'a'; can't understand 'a'".
  static Answer<FieldSelector> parse(std::string_view text);
  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  const std::string* exact(std::string_view field) const;  // the value if there is a term field=value

 private:
  std::vector<Term> terms_;
};

}  // namespace hookd::embedded
