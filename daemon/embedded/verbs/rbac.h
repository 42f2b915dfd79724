// May a user do this? From the Roles, ClusterRoles and bindings that are stored. Thread: loop only.
// Source: API docs "Using RBAC Authorization". Members of system:masters may do everything.
// Left out: escalation checks when roles and bindings are written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/store/store.h"
#include "embedded/wire/request.h"

namespace hookd::embedded {

// What is asked for. Of a path that is no resource: only `verb` (get, post, ... in lower case) and `path`.
struct AccessQuestion {
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection, ...
  std::string group, resource, subresource, ns, name;
  std::string path;  // not "" = a path that is no resource: "/version"
};

struct AccessAnswer {
  bool allowed = false;
  std::string reason;  // `RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "z"`; "" of a denial
};

// `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "a"`, 403.
StatusError access_denied(const User& user, const AccessQuestion& question);

class Rbac {
 public:
  explicit Rbac(Store& store);
  ~Rbac();
  Rbac(const Rbac&) = delete;
  Rbac& operator=(const Rbac&) = delete;

  AccessAnswer ask(const User& user, const AccessQuestion& question) const;

  // All rules that hold for the user in a namespace, as {"verbs", "apiGroups", "resources", "resourceNames",
  // "nonResourceURLs"} objects.
  json::array rules_of(const User& user, std::string_view ns) const;

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

// The ClusterRoles and bindings that every cluster has: cluster-admin, admin, edit, view (aggregated),
// system:discovery, system:basic-user, system:public-info-viewer and others. Whole objects without uid, resourceVersion
// and times.
struct BuiltinRbac {
  std::string plural;  // "clusterroles" | "clusterrolebindings" of rbac.authorization.k8s.io/v1
  json::object object;
};
std::vector<BuiltinRbac> builtin_rbac();

}  // namespace hookd::embedded
