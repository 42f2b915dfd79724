// Which parents an event of a source means: "ns/name" is one, "name" is everybody of that name. Thread: loop only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reconcile/parent_set.h"

namespace hookd::reconcile {

class SourceKeys {
 public:
  explicit SourceKeys(std::string hook) : hook_(std::move(hook)) {}

  // In order, each once. Names that mean no parent are told in the log once each, at most kTold of them, and again
  // when they meant one in between.
  std::vector<std::string> meant(const std::string& source, const std::vector<std::string>& names,
                                 const ParentSet& parents);

  static constexpr size_t kTold = 1000;

 private:
  std::string hook_;
  std::set<std::string> told_;
};

}  // namespace hookd::reconcile
