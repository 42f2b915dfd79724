// The table of built-in kinds: a line for each, in the order of the real server's discovery.
// Source: what `kubectl api-resources` shows for Kubernetes 1.36.
#include "base/ascii.h"
#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/resource.h"
#include "embedded/resources/strategies/strategies.h"
#include "embedded/schema/builtin.h"

namespace hookd::embedded {
namespace {

enum : unsigned {
  kNamespaced = 1,
  kStatus = 2,
  kScale = 4,
  kCreateOnly = 8,          // answers, stores nothing
  kNoCollectionDelete = 16  // namespaces
};

struct Row {
  const char* group_version;
  const char* plural;
  const char* kind;
  unsigned flags;
  const Strategy& (*strategy)();
  const char* short_names = "";  // "a,b"
  const char* categories = "";
  const char* subresources = "";  // besides status and scale
};

constexpr unsigned N = kNamespaced, S = kStatus;

// clang-format off
const Row kRows[] = {
  {"v1", "bindings", "Binding", N | kCreateOnly, review_strategy},
  {"v1", "configmaps", "ConfigMap", N, config_map_strategy, "cm"},
  {"v1", "endpoints", "Endpoints", N, endpoints_strategy, "ep"},
  {"v1", "events", "Event", N, event_strategy, "ev"},
  {"v1", "limitranges", "LimitRange", N, limit_range_strategy, "limits"},
  {"v1", "namespaces", "Namespace", S | kNoCollectionDelete, namespace_strategy, "ns", "", "finalize"},
  {"v1", "nodes", "Node", S, node_strategy, "no"},
  {"v1", "persistentvolumeclaims", "PersistentVolumeClaim", N | S, persistent_volume_claim_strategy, "pvc"},
  {"v1", "persistentvolumes", "PersistentVolume", S, persistent_volume_strategy, "pv"},
  {"v1", "pods", "Pod", N | S, pod_strategy, "po", "all", "binding,ephemeralcontainers,eviction,log,resize"},
  {"v1", "podtemplates", "PodTemplate", N, pod_template_strategy},
  {"v1", "replicationcontrollers", "ReplicationController", N | S | kScale, replication_controller_strategy, "rc", "all"},
  {"v1", "resourcequotas", "ResourceQuota", N | S, resource_quota_strategy, "quota"},
  {"v1", "secrets", "Secret", N, secret_strategy},
  {"v1", "serviceaccounts", "ServiceAccount", N, service_account_strategy, "sa", "", "token"},
  {"v1", "services", "Service", N | S, service_strategy, "svc", "all"},
  {"apiregistration.k8s.io/v1", "apiservices", "APIService", S, plain_strategy, "", "api-extensions"},
  {"apps/v1", "controllerrevisions", "ControllerRevision", N, controller_revision_strategy},
  {"apps/v1", "daemonsets", "DaemonSet", N | S, daemon_set_strategy, "ds", "all"},
  {"apps/v1", "deployments", "Deployment", N | S | kScale, deployment_strategy, "deploy", "all"},
  {"apps/v1", "replicasets", "ReplicaSet", N | S | kScale, replica_set_strategy, "rs", "all"},
  {"apps/v1", "statefulsets", "StatefulSet", N | S | kScale, stateful_set_strategy, "sts", "all"},
  {"events.k8s.io/v1", "events", "Event", N, event_v1_strategy, "ev"},
  {"authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", kCreateOnly, review_strategy},
  {"authentication.k8s.io/v1", "tokenreviews", "TokenReview", kCreateOnly, review_strategy},
  {"authorization.k8s.io/v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", N | kCreateOnly, review_strategy},
  {"authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", kCreateOnly, review_strategy},
  {"authorization.k8s.io/v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", kCreateOnly, review_strategy},
  {"authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", kCreateOnly, review_strategy},
  {"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", N | S, autoscaler_strategy, "hpa", "all"},
  {"autoscaling/v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", N | S, autoscaler_strategy, "hpa", "all"},
  {"batch/v1", "cronjobs", "CronJob", N | S, cron_job_strategy, "cj", "all"},
  {"batch/v1", "jobs", "Job", N | S, job_strategy, "", "all"},
  {"certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", S, certificate_request_strategy, "csr", "", "approval"},
  {"networking.k8s.io/v1", "ingressclasses", "IngressClass", 0, ingress_class_strategy},
  {"networking.k8s.io/v1", "ingresses", "Ingress", N | S, ingress_strategy, "ing"},
  {"networking.k8s.io/v1", "ipaddresses", "IPAddress", 0, plain_strategy, "ip"},
  {"networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", N, network_policy_strategy, "netpol"},
  {"networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", S, plain_strategy},
  {"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", N | S, disruption_budget_strategy, "pdb"},
  {"rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", 0, cluster_role_binding_strategy},
  {"rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", 0, cluster_role_strategy},
  {"rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", N, role_binding_strategy},
  {"rbac.authorization.k8s.io/v1", "roles", "Role", N, role_strategy},
  {"storage.k8s.io/v1", "csidrivers", "CSIDriver", 0, csi_driver_strategy},
  {"storage.k8s.io/v1", "csinodes", "CSINode", 0, csi_driver_strategy},
  {"storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", N, csi_driver_strategy},
  {"storage.k8s.io/v1", "storageclasses", "StorageClass", 0, storage_class_strategy, "sc"},
  {"storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", S, volume_attachment_strategy},
  {"storage.k8s.io/v1", "volumeattributesclasses", "VolumeAttributesClass", 0, plain_strategy, "vac"},
  {"admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", 0, plain_strategy, "", "api-extensions"},
  {"admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", 0, plain_strategy, "", "api-extensions"},
  {"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", 0, webhook_strategy, "", "api-extensions"},
  {"admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", S, plain_strategy, "", "api-extensions"},
  {"admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", 0, plain_strategy, "", "api-extensions"},
  {"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", 0, webhook_strategy, "", "api-extensions"},
  {"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", S, crd_strategy, "crd,crds", "api-extensions"},
  {"scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", 0, priority_class_strategy, "pc"},
  {"coordination.k8s.io/v1", "leases", "Lease", N, lease_strategy},
  {"node.k8s.io/v1", "runtimeclasses", "RuntimeClass", 0, runtime_class_strategy},
  {"discovery.k8s.io/v1", "endpointslices", "EndpointSlice", N, endpoint_slice_strategy},
};
// clang-format on

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return out;
}

Resource make(const Row& row) {
  Resource resource;
  const std::string_view gv = row.group_version;
  const size_t slash = gv.find('/');
  if (slash != std::string_view::npos) resource.group = gv.substr(0, slash);
  resource.version = slash == std::string_view::npos ? gv : gv.substr(slash + 1);
  resource.plural = row.plural;
  resource.kind = row.kind;
  resource.singular = lower(row.kind);
  resource.list_kind = std::string(row.kind) + "List";
  resource.short_names = split(row.short_names);
  resource.categories = split(row.categories);
  resource.namespaced = (row.flags & kNamespaced) != 0;
  resource.status = (row.flags & kStatus) != 0;
  if (row.flags & kScale) resource.scale = ScalePaths{".spec.replicas", ".status.replicas", ".spec.selector"};
  resource.create_only = (row.flags & kCreateOnly) != 0;
  if (resource.create_only) {
    resource.verbs = {"create"};
  } else {
    resource.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    if (row.flags & kNoCollectionDelete) std::erase(resource.verbs, "deletecollection");
  }
  resource.other_subresources = split(row.subresources);
  resource.schema = LazySchema([group = resource.group, version = resource.version, kind = row.kind] {
    return builtin_schema(group, version, kind);
  });
  resource.strategy = &row.strategy();
  // Events are one thing in two groups, stored as the core group's.
  const bool event = resource.plural == "events";
  if (resource.kind == "Endpoints")
    resource.deprecation_warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  resource.storage_key = resource.group.empty() || event ? resource.plural : resource.plural + "." + resource.group;
  resource.storage_version = event ? "v1" : resource.group == "autoscaling" ? "autoscaling/v2" : resource.api_version();
  return resource;
}

}  // namespace

void add_builtin_resources(Registry& registry) {
  for (const Row& row : kRows) registry.add(make(row));
}

}  // namespace hookd::embedded
