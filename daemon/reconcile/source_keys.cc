#include "reconcile/source_keys.h"

#include <algorithm>

#include "base/log.h"

namespace hookd::reconcile {

std::vector<std::string> SourceKeys::meant(const std::string& source, const std::vector<std::string>& names,
                                           const ParentSet& parents) {
  std::set<std::string> keys, found;
  std::set<std::string> plain;  // a look at all parents, only where a name needs it
  for (const std::string& name : names) {
    if (parents.find(name)) {  // "ns/name", or a cluster-scoped one
      keys.insert(name);
      found.insert(name);
    } else if (name.find('/') == std::string::npos) {
      plain.insert(name);
    }
  }
  if (!plain.empty())
    parents.each([&](const std::string& key, const Parent&) {
      std::string name = key.substr(key.find('/') + 1);
      if (!plain.contains(name)) return;
      keys.insert(key);
      found.insert(std::move(name));
    });
  for (const std::string& name : names) {
    if (found.contains(name)) {
      told_.erase(name);
    } else if (told_.size() < kTold && told_.insert(name).second) {
      log::info("an event of a source names an object that is not there, or not one of `for`",
                {{"hook", hook_}, {"source", source}, {"object", name}});
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace hookd::reconcile
