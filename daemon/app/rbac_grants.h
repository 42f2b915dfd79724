// Single rights, each with what it is for, and the rules that they become. Pure. Thread: any.
// Source: API docs "Using RBAC Authorization": rights only add up; "*" as group or resource is any, "*/x" any
// resource's subresource x; a rule without resourceNames holds for every name.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/rbac.h"

namespace hookd::app {

class RbacGrants {
 public:
  struct Place {
    std::string ns;  // "" = everywhere, and cluster-scoped objects
    std::string group;
    std::string resource;
    std::string name{};  // "" = any
    auto operator<=>(const Place&) const = default;
  };

  // `verbs`: of get, list, watch, create, update, patch, delete. `hook` "" = the daemon itself.
  void add(const Place& place, std::initializer_list<std::string_view> verbs, std::string_view hook,
           std::string_view why);
  // The rules, without what a wider right covers; that right then says both reasons.
  std::vector<RbacRole> roles() const;

 private:
  using Reasons = std::map<std::string, std::vector<std::string>>;  // by hook, in the order they came
  using Verbs = std::map<size_t, Reasons>;                          // by place in the order of verbs
  static void merge(Reasons& into, const Reasons& from);
  const Place* wider(const Place& place, size_t verb) const;

  std::map<Place, Verbs> grants_;
};

}  // namespace hookd::app
