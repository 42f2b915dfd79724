// Label selectors, both as text ("app=web,tier in (a,b),!old") and as {matchLabels, matchExpressions}.
// Source: Kubernetes API docs "Labels and Selectors"; apimachinery labels.Parse. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hookd::cache {

class LabelSelector {
 public:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGreater, kLess };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;  // sorted, unique
    bool operator==(const Requirement&) const = default;
  };
  using Labels = std::map<std::string, std::string, std::less<>>;

  // "" selects everything. Errors: kConfig with the column and what was expected.
  static Result<LabelSelector> parse(std::string_view text);
  // {"matchLabels":{…},"matchExpressions":[{"key","operator","values"}]}. Errors: kConfig naming the key.
  static Result<LabelSelector> from_json(const boost::json::object& object);

  bool matches(const Labels& labels) const;
  std::string to_string()
      const;  // as the server's labelSelector parameter takes it; canonical, so equal selectors are equal text
  bool empty() const { return requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<Requirement> requirements_;  // sorted by key
};

}  // namespace hookd::cache
