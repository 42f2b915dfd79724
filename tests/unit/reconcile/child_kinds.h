// A parent and the kinds of its children for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hook/own_writes.h"
#include "reconcile/child_plan.h"
#include "unit/support/objects.h"

namespace hookd::test {

inline kube::ResourceType memcacheds(bool namespaced = true) {
  return make_type("cache.example.com", "Memcached", "memcacheds", namespaced);
}
inline kube::ResourceType config_maps() {
  auto type = make_type("", "ConfigMap", "configmaps", true, {"cm"});
  type.subresources.clear();
  return type;
}

// Rules live as long as this.
struct ChildKinds {
  using Update = hook::ChildRule::Update;

  reconcile::ChildKind& add(const kube::ResourceType& type, Update update = Update::kApply) {
    auto rule = std::make_unique<hook::ChildRule>();
    rule->api_version = type.api_version();
    rule->kind = type.kind;
    rule->update = update;
    rules.push_back(std::move(rule));
    kinds.push_back({rules.back().get(), std::make_shared<const kube::ResourceType>(type)});
    return kinds.back();
  }
  hook::ChildRule& rule(size_t index) { return *rules[index]; }

  std::vector<std::unique_ptr<hook::ChildRule>> rules;
  std::vector<reconcile::ChildKind> kinds;
};

}  // namespace hookd::test
