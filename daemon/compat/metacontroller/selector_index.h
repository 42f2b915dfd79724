// Which parents select an object by its labels, found by the labels and not by asking each parent. Thread: loop only.
// Source: controllers.md 1.8 (an orphan calls matching parents), section 4 (O(n) child matching).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/label_selector.h"

namespace hookd::metacontroller {

class SelectorIndex {
 public:
  // `ns` "" = a cluster-scoped parent, which selects in every namespace.
  void set(const std::string& parent, const std::string& ns, cache::LabelSelector selector);
  void erase(const std::string& parent);
  std::vector<std::string> matching(const std::string& ns, const cache::LabelSelector::Labels& labels) const;
  size_t size() const { return parents_.size(); }

 private:
  struct Entry {
    std::string ns;
    cache::LabelSelector selector;
  };
  struct Place {
    std::unordered_map<std::string, std::set<std::string>> by_label;  // "key=value" of one requirement of theirs
    std::set<std::string> others;                                     // none of theirs names values: asked each time
  };
  static std::vector<std::string> anchors(const cache::LabelSelector& selector);
  void look(const Place& place, const cache::LabelSelector::Labels& labels, std::set<std::string>& found) const;

  std::map<std::string, Entry> parents_;
  std::map<std::string, Place> places_;  // by namespace
};

}  // namespace hookd::metacontroller
