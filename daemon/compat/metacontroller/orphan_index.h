// Objects of one kind that nobody controls, by their labels: which of them a parent selects is found by its selector,
// and not by looking at all of them. Thread: loop only. Source: controllers.md section 4 (O(n) child matching).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/label_selector.h"

namespace hookd::metacontroller {

class OrphanIndex {
 public:
  // `key`: ns/name, or name.
  void set(const std::string& key, const std::string& ns, cache::LabelSelector::Labels labels);
  void erase(const std::string& key);
  // Keys, in order; `ns` "" = of every namespace.
  std::vector<std::string> selected(std::string_view ns, const cache::LabelSelector& selector) const;
  size_t size() const { return orphans_.size(); }

 private:
  struct Orphan {
    std::string ns;
    cache::LabelSelector::Labels labels;
  };
  std::map<std::string, Orphan> orphans_;
  std::unordered_map<std::string, std::set<std::string>> by_label_;  // "key=value" -> keys
};

}  // namespace hookd::metacontroller
