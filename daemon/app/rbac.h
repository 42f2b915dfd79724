// The least rights in the cluster that hooks need, made out of their models: what `watch` lists and watches, what
// `allow` lets them write as apply/ sends it, what the daemon does for itself. Pure. Thread: any.
// Source: API docs "Using RBAC Authorization"; apply/task_*.cc, kube/reflector.cc, apply/event_recorder.cc for what is
// really sent; deploy/README.md has the same as a table for people.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/model.h"
#include "kube/discovery.h"

namespace hookd::app {

struct RbacRule {
  std::string group;               // "" = core, "*" = any
  std::string resource;            // "pods", "pods/eviction", "*", "*/status"
  std::vector<std::string> names;  // resourceNames, empty = any
  std::vector<std::string> verbs;  // in the order get, list, watch, create, update, patch, delete
  std::vector<std::string> why;    // "HOOK: watch stuck, allow delete", a line for each hook
};

struct RbacRole {
  std::string ns;  // "" = a ClusterRole
  std::vector<RbacRule> rules;
};

struct RbacPlan {
  std::vector<RbacRole> roles;  // the ClusterRole first, then by namespace; none is empty
  // What cannot be known or given, a sentence for people each: "FILE:LINE: hook "x" has no `allow`: …".
  std::vector<std::string> notes;
  bool complete = true;  // false: a hook may need more than `roles` give
};

struct RbacNeeds {
  std::vector<std::shared_ptr<const hook::Hook>> hooks;
  std::string state_config_map;  // NAMESPACE/NAME of the daemon's own, "" = none
  bool state_dir = false;        // it has one
};

// Rights that others cover are left out: the same output for the same input, in whatever order hooks come.
// Errors: kConfig: kinds that `types` does not know, each on a line of its own ("FILE:LINE: …").
Result<RbacPlan> plan_rights(const RbacNeeds& needs, const kube::ResourceTable& types);

}  // namespace hookd::app
