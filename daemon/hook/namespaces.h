// Which namespaces a binding is about. A plain value. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/label_selector.h"

namespace hookd::hook {

struct Namespaces {  // all empty = every namespace
  std::vector<std::string> names;
  std::optional<cache::LabelSelector> label_selector;  // of the Namespace objects
  bool all() const { return names.empty() && !label_selector; }
};

}  // namespace hookd::hook
