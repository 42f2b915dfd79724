// Rights as manifests for `kubectl apply -f -`: a ServiceAccount, and a Role or ClusterRole with its binding for each
// place. Pure. Thread: any.
#pragma once

#include <string>

#include "app/rbac.h"

namespace hookd::app {

struct RbacNames {
  std::string account_ns = "hookd", account = "hookd";
  std::string role = "hookd";  // of every role and binding
  bool make_account = true;    // false = it is there already
  std::string command{};       // how the output was made, for its first line; "" = not told
};

// Several documents; a comment over each rule says which hooks it is for. Every byte follows from the arguments.
std::string rbac_yaml(const RbacPlan& plan, const RbacNames& names);
// The same as one List, without comments.
std::string rbac_json(const RbacPlan& plan, const RbacNames& names);

}  // namespace hookd::app
