#include "compat/metacontroller/selector_index.h"

#include "base/result.h"

namespace hookd::metacontroller {

std::vector<std::string> SelectorIndex::anchors(const cache::LabelSelector& selector) {
  for (const auto& requirement : selector.requirements())
    if (requirement.op == cache::LabelSelector::Operator::kIn) {
      std::vector<std::string> all;
      for (const auto& value : requirement.values) all.push_back(requirement.key + "=" + value);
      return all;
    }
  return {};
}

void SelectorIndex::set(const std::string& parent, const std::string& ns, cache::LabelSelector selector) {
  const auto known = parents_.find(parent);
  if (known != parents_.end() && known->second.ns == ns && known->second.selector == selector) return;
  erase(parent);
  Place& place = places_[ns];
  const auto labels = anchors(selector);
  for (const auto& label : labels) place.by_label[label].insert(parent);
  if (labels.empty()) place.others.insert(parent);
  parents_.emplace(parent, Entry{ns, std::move(selector)});
}

void SelectorIndex::erase(const std::string& parent) {
  const auto known = parents_.find(parent);
  if (known == parents_.end()) return;
  const auto found = places_.find(known->second.ns);
  Place& place = found->second;
  for (const auto& label : anchors(known->second.selector)) {
    const auto there = place.by_label.find(label);
    if (there == place.by_label.end()) continue;
    there->second.erase(parent);
    if (there->second.empty()) place.by_label.erase(there);
  }
  place.others.erase(parent);
  if (place.by_label.empty() && place.others.empty()) places_.erase(found);
  parents_.erase(known);
}

void SelectorIndex::look(const Place& place, const cache::LabelSelector::Labels& labels,
                         std::set<std::string>& found) const {
  const auto try_all = [&](const std::set<std::string>& parents) {
    for (const auto& parent : parents)
      if (parents_.at(parent).selector.matches(labels)) found.insert(parent);
  };
  for (const auto& [key, value] : labels)
    if (const auto there = place.by_label.find(key + "=" + value); there != place.by_label.end())
      try_all(there->second);
  try_all(place.others);
}

std::vector<std::string> SelectorIndex::matching(const std::string& ns,
                                                 const cache::LabelSelector::Labels& labels) const {
  std::set<std::string> found;
  for (const std::string& where : {ns, std::string()}) {
    const auto place = places_.find(where);
    if (place != places_.end()) look(place->second, labels, found);
    if (ns.empty()) break;
  }
  return {found.begin(), found.end()};
}

}  // namespace hookd::metacontroller
