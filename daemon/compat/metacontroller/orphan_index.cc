#include "compat/metacontroller/orphan_index.h"

#include <algorithm>

namespace hookd::metacontroller {

void OrphanIndex::set(const std::string& key, const std::string& ns, cache::LabelSelector::Labels labels) {
  erase(key);
  for (const auto& [name, value] : labels) by_label_[name + "=" + value].insert(key);
  orphans_.emplace(key, Orphan{ns, std::move(labels)});
}

void OrphanIndex::erase(const std::string& key) {
  const auto known = orphans_.find(key);
  if (known == orphans_.end()) return;
  for (const auto& [name, value] : known->second.labels) {
    const auto place = by_label_.find(name + "=" + value);
    place->second.erase(key);
    if (place->second.empty()) by_label_.erase(place);
  }
  orphans_.erase(known);
}

std::vector<std::string> OrphanIndex::selected(std::string_view ns, const cache::LabelSelector& selector) const {
  std::vector<std::string> found;
  const auto try_one = [&](const std::string& key, const Orphan& orphan) {
    if ((ns.empty() || orphan.ns == ns) && selector.matches(orphan.labels)) found.push_back(key);
  };
  const auto named = std::ranges::find_if(selector.requirements(), [](const auto& requirement) {
    return requirement.op == cache::LabelSelector::Operator::kIn;
  });
  if (named == selector.requirements().end()) {
    for (const auto& [key, orphan] : orphans_) try_one(key, orphan);
    return found;
  }
  std::set<std::string> keys;
  for (const auto& value : named->values)
    if (const auto place = by_label_.find(named->key + "=" + value); place != by_label_.end())
      keys.insert(place->second.begin(), place->second.end());
  for (const auto& key : keys) try_one(key, orphans_.at(key));
  return found;
}

}  // namespace hookd::metacontroller
