// The roles and bindings that every cluster begins with. Source: API docs "Default roles and role bindings" (1.36).
// Left out: those of the parts of a control plane that is not here.
#include "embedded/resources/fields.h"
#include "embedded/verbs/rbac.h"

namespace hookd::embedded {
namespace {

// Verbs: R = get list watch, W = create delete deletecollection patch update, A = both; else as written.
struct RuleRow {
  const char* role;
  const char* verbs;
  const char* groups;     // "core" = ""
  const char* resources;  // or paths, which begin with "/"
};

constexpr const char* kWorkloads =
    "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale";
constexpr const char* kHealth = "/healthz,/livez,/readyz,/version,/version/";

constexpr RuleRow kRules[] = {
    {"cluster-admin", "*", "*", "*"},
    {"cluster-admin", "*", "", "*"},
    {"system:basic-user", "create", "authorization.k8s.io", "selfsubjectaccessreviews,selfsubjectrulesreviews"},
    {"system:basic-user", "create", "authentication.k8s.io", "selfsubjectreviews"},
    {"system:discovery", "get", "",
     "/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/"},
    {"system:public-info-viewer", "get", "", kHealth},
    {"system:monitoring", "get", "",
     "/flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,/statusz"},
    {"system:monitoring", "get", "core", "nodes/metrics"},
    {"system:aggregate-to-admin", "create", "authorization.k8s.io", "localsubjectaccessreviews"},
    {"system:aggregate-to-admin", "A", "rbac.authorization.k8s.io", "rolebindings,roles"},
    {"system:aggregate-to-edit", "R", "core",
     "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"},
    {"system:aggregate-to-edit", "impersonate", "core", "serviceaccounts"},
    {"system:aggregate-to-edit", "W", "core", "pods,pods/attach,pods/exec,pods/portforward,pods/proxy"},
    {"system:aggregate-to-edit", "create", "core", "pods/eviction"},
    {"system:aggregate-to-edit", "W", "core",
     "configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,"
     "services,services/proxy"},
    {"system:aggregate-to-edit", "create", "core", "serviceaccounts/token"},
    {"system:aggregate-to-edit", "W", "core,events.k8s.io", "events"},
    {"system:aggregate-to-edit", "W", "apps",
     "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,"
     "statefulsets/scale"},
    {"system:aggregate-to-edit", "W", "autoscaling", "horizontalpodautoscalers"},
    {"system:aggregate-to-edit", "W", "batch", "cronjobs,jobs"},
    {"system:aggregate-to-edit", "W", "extensions", kWorkloads},
    {"system:aggregate-to-edit", "W", "policy", "poddisruptionbudgets"},
    {"system:aggregate-to-edit", "W", "networking.k8s.io", "ingresses,networkpolicies"},
    {"system:aggregate-to-edit", "A", "coordination.k8s.io", "leases"},
    {"system:aggregate-to-view", "R", "core",
     "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,"
     "replicationcontrollers/scale,serviceaccounts,services,services/status"},
    {"system:aggregate-to-view", "R", "core",
     "bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,"
     "resourcequotas/status"},
    {"system:aggregate-to-view", "R", "core", "namespaces"},
    {"system:aggregate-to-view", "R", "core,events.k8s.io", "events"},
    {"system:aggregate-to-view", "R", "discovery.k8s.io", "endpointslices"},
    {"system:aggregate-to-view", "R", "apps",
     "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,"
     "replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status"},
    {"system:aggregate-to-view", "R", "autoscaling", "horizontalpodautoscalers,horizontalpodautoscalers/status"},
    {"system:aggregate-to-view", "R", "batch", "cronjobs,cronjobs/status,jobs,jobs/status"},
    {"system:aggregate-to-view", "R", "policy", "poddisruptionbudgets,poddisruptionbudgets/status"},
    {"system:aggregate-to-view", "R", "networking.k8s.io", "ingresses,ingresses/status,networkpolicies"},
};

struct RoleRow {
  const char* name;
  const char* joins;    // the aggregated role that it is part of, "" = none
  const char* gathers;  // what it is gathered from, "" = has rules of its own
  const char* bound;    // groups, "" = nobody
};

constexpr RoleRow kRoles[] = {
    {"admin", "", "admin", ""},
    {"cluster-admin", "", "", "system:masters"},
    {"edit", "admin", "edit", ""},
    {"system:aggregate-to-admin", "admin", "", ""},
    {"system:aggregate-to-edit", "edit", "", ""},
    {"system:aggregate-to-view", "view", "", ""},
    {"system:basic-user", "", "", "system:authenticated"},
    {"system:discovery", "", "", "system:authenticated"},
    {"system:monitoring", "", "", "system:monitoring"},
    {"system:public-info-viewer", "", "", "system:authenticated,system:unauthenticated"},
    {"view", "edit", "view", ""},
};

constexpr std::string_view kVersion = "rbac.authorization.k8s.io/v1", kGroup = "rbac.authorization.k8s.io";

json::array split(std::string_view text) {
  json::array out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    out.push_back(json::value(word == "core" ? "" : word));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return out;
}

json::array verbs(std::string_view text) {
  if (text == "R") return split("get,list,watch");
  if (text == "W") return split("create,delete,deletecollection,patch,update");
  if (text == "A") return split("create,delete,deletecollection,get,list,patch,update,watch");
  return split(text);
}

std::string gather_label(std::string_view role) {
  return fmt::format("rbac.authorization.k8s.io/aggregate-to-{}", role);
}

json::object base(std::string_view kind, const RoleRow& row) {
  json::object labels{{"kubernetes.io/bootstrapping", "rbac-defaults"}};
  if (kind == "ClusterRole" && *row.joins) labels[gather_label(row.joins)] = "true";
  return {{"apiVersion", kVersion},
          {"kind", kind},
          {"metadata",
           {{"name", row.name},
            {"labels", std::move(labels)},
            {"annotations", {{"rbac.authorization.kubernetes.io/autoupdate", "true"}}}}}};
}

json::object role(const RoleRow& row) {
  json::object out = base("ClusterRole", row);
  if (*row.gathers) {
    out["aggregationRule"] =
        json::object{{"clusterRoleSelectors",
                      json::array{json::object{{"matchLabels", json::object{{gather_label(row.gathers), "true"}}}}}}};
    out["rules"] = nullptr;
    return out;
  }
  json::array rules;
  for (const RuleRow& entry : kRules) {
    if (std::string_view(entry.role) != row.name) continue;
    json::object rule{{"verbs", verbs(entry.verbs)}};
    if (*entry.groups) {
      rule["apiGroups"] = split(entry.groups);
      rule["resources"] = split(entry.resources);
    } else {
      rule["nonResourceURLs"] = split(entry.resources);
    }
    rules.push_back(std::move(rule));
  }
  out["rules"] = std::move(rules);
  return out;
}

json::object binding(const RoleRow& row) {
  json::object out = base("ClusterRoleBinding", row);
  json::array subjects;
  for (const json::value& group : split(row.bound))
    subjects.push_back(json::object{{"kind", "Group"}, {"apiGroup", kGroup}, {"name", group}});
  out["subjects"] = std::move(subjects);
  out["roleRef"] = json::object{{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", row.name}};
  return out;
}

}  // namespace

std::vector<BuiltinRbac> builtin_rbac() {
  std::vector<BuiltinRbac> out;
  for (const RoleRow& row : kRoles) out.push_back({"clusterroles", role(row)});
  for (const RoleRow& row : kRoles)
    if (*row.bound) out.push_back({"clusterrolebindings", binding(row)});
  return out;
}

}  // namespace hookd::embedded
