// The table of printers, and the cells of kinds that need only a few lines each.
#include "embedded/print/table_cells.h"

#include <algorithm>
#include <set>

namespace hookd::embedded {
namespace {

using Object = const json::object&;

json::value text(std::string_view value) { return json::value(value); }
json::value name(Object o) { return text(string_at(o, {"metadata", "name"})); }
json::value age(Object o, WallTime now) { return text(age_of(o, now)); }
json::value count(Object o, Keys path) { return integer_at(o, path).value_or(0); }
json::value size(Object o, Keys path) { return array_at(o, path).size(); }
json::value selector(Object o) { return text(selector_text(value_at(o, {"spec", "selector"}), "<none>", "<none>")); }
std::string_view or_else(std::string_view value, std::string_view otherwise) {
  return value.empty() ? otherwise : value;
}

std::string joined(const json::array& items, std::string_view unset = "") {
  std::vector<std::string_view> out;
  for (const json::value& item : items) out.push_back(as_string(item));
  return out.empty() ? std::string(unset) : fmt::format("{}", fmt::join(out, ","));
}

std::string plain_text(const json::value* value, std::string_view unset) {
  if (!value) return std::string(unset);
  return value->is_string() ? std::string(as_string(*value)) : json::serialize(*value);
}

// Some of many: "a,b,c + 2 more...".
std::string some(const std::vector<std::string>& all, size_t most, std::string_view none) {
  if (all.empty()) return std::string(none);
  const std::string out = fmt::format("{}", fmt::join(all.begin(), all.begin() + std::min(most, all.size()), ","));
  return all.size() > most ? fmt::format("{} + {} more...", out, all.size() - most) : out;
}

void add_template(json::array& cells, Object o) { add_containers(cells, object_at(o, {"spec", "template", "spec"})); }

json::array deployment(Object o, WallTime now) {
  json::array cells{name(o),
                    text(fmt::format("{}/{}", integer_at(o, {"status", "readyReplicas"}).value_or(0),
                                     integer_at(o, {"spec", "replicas"}).value_or(0))),
                    count(o, {"status", "updatedReplicas"}), count(o, {"status", "availableReplicas"}), age(o, now)};
  add_template(cells, o);
  cells.push_back(text(selector_text(value_at(o, {"spec", "selector"}), "", "")));
  return cells;
}

json::array scale(Object o, WallTime now) {
  return {name(o), count(o, {"spec", "replicas"}), count(o, {"status", "replicas"}), age(o, now)};
}

json::array replica_set(Object o, WallTime now) {
  json::array cells{name(o), count(o, {"spec", "replicas"}), count(o, {"status", "replicas"}),
                    count(o, {"status", "readyReplicas"}), age(o, now)};
  add_template(cells, o);
  cells.push_back(selector(o));
  return cells;
}

json::array replication_controller(Object o, WallTime now) {
  json::array cells = replica_set(o, now);
  cells.back() = text(labels_text(object_at(o, {"spec", "selector"})));
  return cells;
}

json::array stateful_set(Object o, WallTime now) {
  json::array cells{name(o),
                    text(fmt::format("{}/{}", integer_at(o, {"status", "readyReplicas"}).value_or(0),
                                     integer_at(o, {"spec", "replicas"}).value_or(0))),
                    age(o, now)};
  add_template(cells, o);
  return cells;
}

json::array daemon_set(Object o, WallTime now) {
  json::array cells{name(o)};
  for (const char* key :
       {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"})
    cells.push_back(count(o, {"status", key}));
  cells.push_back(text(labels_text(object_at(o, {"spec", "template", "spec", "nodeSelector"}))));
  cells.push_back(age(o, now));
  add_template(cells, o);
  cells.push_back(selector(o));
  return cells;
}

json::array cron_job(Object o, WallTime now) {
  const json::value* suspend = value_at(o, {"spec", "suspend"});
  const std::string_view last = string_at(o, {"status", "lastScheduleTime"});
  json::array cells{name(o),
                    text(string_at(o, {"spec", "schedule"})),
                    text(or_else(string_at(o, {"spec", "timeZone"}), "<none>")),
                    text(!suspend                                    ? "<unset>"
                         : suspend->is_bool() && suspend->get_bool() ? "True"
                                                                     : "False"),
                    size(o, {"status", "active"}),
                    text(last.empty() ? "<none>" : age_of(last, now)),
                    age(o, now)};
  add_containers(cells, object_at(o, {"spec", "jobTemplate", "spec", "template", "spec"}));
  cells.push_back(text(selector_text(value_at(o, {"spec", "jobTemplate", "spec", "selector"}), "<none>", "<none>")));
  return cells;
}

json::array pod_template(Object o, WallTime) {
  json::array cells{name(o)};
  add_containers(cells, object_at(o, {"template", "spec"}));
  cells.push_back(text(labels_text(object_at(o, {"template", "metadata", "labels"}))));
  return cells;
}

json::array controller_revision(Object o, WallTime now) {
  std::string owner = "<none>";
  for (const json::value& item : array_at(o, {"metadata", "ownerReferences"})) {
    const json::object& reference = as_object(item);
    if (!bool_at(reference, {"controller"})) continue;
    const std::string_view version = string_at(reference, {"apiVersion"});
    const size_t slash = version.find('/');
    owner =
        fmt::format("{}{}{}/{}", string_at(reference, {"kind"}), slash == std::string_view::npos ? "" : ".",
                    slash == std::string_view::npos ? "" : version.substr(0, slash), string_at(reference, {"name"}));
    for (size_t i = 0; i < owner.rfind('/'); ++i)
      owner[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(owner[i])));
  }
  return {name(o), text(owner), count(o, {"revision"}), age(o, now)};
}

json::array endpoints(Object o, WallTime now) {
  std::vector<std::string> all;
  for (const json::value& item : array_at(o, {"subsets"})) {
    const json::object& subset = as_object(item);
    const json::array& ports = array_at(subset, {"ports"});
    const auto add = [&](const json::object* port) {
      for (const json::value& address : array_at(subset, {"addresses"})) {
        const std::string_view ip = string_at(as_object(address), {"ip"});
        const bool six = ip.find(':') != std::string_view::npos;
        all.push_back(!port ? std::string(ip)
                            : fmt::format("{}{}{}:{}", six ? "[" : "", ip, six ? "]" : "",
                                          integer_at(*port, {"port"}).value_or(0)));
      }
    };
    if (ports.empty()) add(nullptr);
    for (const json::value& port : ports) add(&as_object(port));
  }
  const bool none = array_at(o, {"subsets"}).empty();
  return {name(o), text(some(all, 3, none ? "<none>" : "")), age(o, now)};
}

json::array endpoint_slice(Object o, WallTime now) {
  std::vector<std::string> ports, addresses;
  for (const json::value& item : array_at(o, {"ports"})) {
    const json::object& port = as_object(item);
    const std::string_view name_only = string_at(port, {"name"});
    ports.push_back(has(port, {"port"}) ? std::to_string(*integer_at(port, {"port"}))
                                        : std::string(has(port, {"name"}) ? name_only : "*"));
  }
  for (const json::value& item : array_at(o, {"endpoints"}))
    for (const json::value& address : array_at(as_object(item), {"addresses"}))
      addresses.emplace_back(as_string(address));
  return {name(o), text(string_at(o, {"addressType"})), text(some(ports, 3, "<unset>")),
          text(some(addresses, 3, "<unset>")), age(o, now)};
}

json::array ingress(Object o, WallTime now) {
  std::vector<std::string_view> hosts;
  const json::array& rules = array_at(o, {"spec", "rules"});
  bool more = false;
  for (const json::value& rule : rules) {
    const std::string_view host = string_at(as_object(rule), {"host"});
    more = more || hosts.size() == 3;
    if (!more && !host.empty()) hosts.push_back(host);
  }
  std::string shown = hosts.empty() ? "*" : fmt::format("{}", fmt::join(hosts, ","));
  if (more) shown += fmt::format(" + {} more...", rules.size() - 3);
  std::set<std::string_view> addresses;
  for (const json::value& item : array_at(o, {"status", "loadBalancer", "ingress"}))
    if (const std::string_view ip =
            or_else(string_at(as_object(item), {"ip"}), string_at(as_object(item), {"hostname"}));
        !ip.empty())
      addresses.insert(ip);
  return {name(o),
          text(has(o, {"spec", "ingressClassName"}) ? string_at(o, {"spec", "ingressClassName"}) : "<none>"),
          text(shown),
          text(fmt::format("{}", fmt::join(addresses, ","))),
          text(array_at(o, {"spec", "tls"}).empty() ? "80" : "80, 443"),
          age(o, now)};
}

std::string name_with_default(Object o, const char* annotation) {
  std::string out(string_at(o, {"metadata", "name"}));
  if (string_at(o, {"metadata", "annotations", annotation}) == "true") out += " (default)";
  return out;
}

json::array ingress_class(Object o, WallTime now) {
  std::string parameters = "<none>";
  if (has(o, {"spec", "parameters"})) {
    const std::string_view group = string_at(o, {"spec", "parameters", "apiGroup"});
    parameters = fmt::format("{}{}{}/{}", string_at(o, {"spec", "parameters", "kind"}), group.empty() ? "" : ".", group,
                             string_at(o, {"spec", "parameters", "name"}));
  }
  return {text(name_with_default(o, "ingressclass.kubernetes.io/is-default-class")),
          text(string_at(o, {"spec", "controller"})), text(parameters), age(o, now)};
}

json::array network_policy(Object o, WallTime now) {
  return {name(o), text(selector_text(value_at(o, {"spec", "podSelector"}), "<none>", "<none>")), age(o, now)};
}

json::array disruption_budget(Object o, WallTime now) {
  return {name(o), text(plain_text(value_at(o, {"spec", "minAvailable"}), "N/A")),
          text(plain_text(value_at(o, {"spec", "maxUnavailable"}), "N/A")), count(o, {"status", "disruptionsAllowed"}),
          age(o, now)};
}

json::array namespace_cells(Object o, WallTime now) {
  return {name(o), text(string_at(o, {"status", "phase"})), age(o, now)};
}

json::array config_map(Object o, WallTime now) {
  return {name(o), object_at(o, {"data"}).size() + object_at(o, {"binaryData"}).size(), age(o, now)};
}

json::array secret(Object o, WallTime now) {
  return {name(o), text(string_at(o, {"type"})), object_at(o, {"data"}).size(), age(o, now)};
}

json::array only_age(Object o, WallTime now) { return {name(o), age(o, now)}; }

std::string access_modes(const json::array& modes) {
  std::string out;
  for (const auto& [mode, word] : {std::pair{"ReadWriteOnce", "RWO"}, std::pair{"ReadOnlyMany", "ROX"},
                                   std::pair{"ReadWriteMany", "RWX"}, std::pair{"ReadWriteOncePod", "RWOP"}})
    if (std::ranges::any_of(modes, [&](const json::value& item) { return as_string(item) == mode; }))
      out += (out.empty() ? "" : ",") + std::string(word);
  return out;
}

std::string_view storage_class_of(Object o) {
  const std::string_view old = string_at(o, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
  return old.empty() ? string_at(o, {"spec", "storageClassName"}) : old;
}

std::string_view phase_of(Object o) {
  return has(o, {"metadata", "deletionTimestamp"}) ? "Terminating" : string_at(o, {"status", "phase"});
}

json::array volume(Object o, WallTime now) {
  std::string claim;
  if (has(o, {"spec", "claimRef"}))
    claim = fmt::format("{}/{}", string_at(o, {"spec", "claimRef", "namespace"}),
                        string_at(o, {"spec", "claimRef", "name"}));
  return {name(o),
          text(plain_text(value_at(o, {"spec", "capacity", "storage"}), "0")),
          text(access_modes(array_at(o, {"spec", "accessModes"}))),
          text(string_at(o, {"spec", "persistentVolumeReclaimPolicy"})),
          text(phase_of(o)),
          text(claim),
          text(storage_class_of(o)),
          text(or_else(string_at(o, {"spec", "volumeAttributesClassName"}), "<unset>")),
          text(string_at(o, {"status", "reason"})),
          age(o, now),
          text(or_else(string_at(o, {"spec", "volumeMode"}), "<unset>"))};
}

json::array claim(Object o, WallTime now) {
  const std::string_view bound = string_at(o, {"spec", "volumeName"});
  return {name(o),
          text(phase_of(o)),
          text(bound),
          text(bound.empty() ? "" : plain_text(value_at(o, {"status", "capacity", "storage"}), "0")),
          text(bound.empty() ? "" : access_modes(array_at(o, {"status", "accessModes"}))),
          text(storage_class_of(o)),
          text(or_else(string_at(o, {"spec", "volumeAttributesClassName"}), "<unset>")),
          age(o, now),
          text(or_else(string_at(o, {"spec", "volumeMode"}), "<unset>"))};
}

json::array storage_class(Object o, WallTime now) {
  return {text(name_with_default(o, "storageclass.kubernetes.io/is-default-class")),
          text(string_at(o, {"provisioner"})),
          text(or_else(string_at(o, {"reclaimPolicy"}), "Delete")),
          text(or_else(string_at(o, {"volumeBindingMode"}), "Immediate")),
          bool_at(o, {"allowVolumeExpansion"}),
          age(o, now)};
}

json::array volume_attachment(Object o, WallTime now) {
  return {name(o),
          text(string_at(o, {"spec", "attacher"})),
          text(string_at(o, {"spec", "source", "persistentVolumeName"})),
          text(string_at(o, {"spec", "nodeName"})),
          bool_at(o, {"status", "attached"}),
          age(o, now)};
}

json::array volume_attributes_class(Object o, WallTime now) {
  return {name(o), text(string_at(o, {"driverName"})), age(o, now)};
}

json::array csi_driver(Object o, WallTime now) {
  std::string audiences = "<unset>";
  if (has(o, {"spec", "tokenRequests"})) {
    audiences.clear();
    for (const json::value& item : array_at(o, {"spec", "tokenRequests"}))
      audiences += fmt::format("{}{}", audiences.empty() ? "" : ",", string_at(as_object(item), {"audience"}));
  }
  return {name(o),
          bool_at(o, {"spec", "attachRequired"}, true),
          bool_at(o, {"spec", "podInfoOnMount"}),
          bool_at(o, {"spec", "storageCapacity"}),
          text(audiences),
          bool_at(o, {"spec", "requiresRepublish"}),
          text(joined(array_at(o, {"spec", "volumeLifecycleModes"}), "<none>")),
          age(o, now)};
}

json::array csi_node(Object o, WallTime now) { return {name(o), size(o, {"spec", "drivers"}), age(o, now)}; }

json::array binding(Object o, WallTime now) {
  std::vector<std::string> users, groups, accounts;
  for (const json::value& item : array_at(o, {"subjects"})) {
    const json::object& subject = as_object(item);
    const std::string_view kind = string_at(subject, {"kind"}), who = string_at(subject, {"name"});
    if (kind == "ServiceAccount") accounts.push_back(fmt::format("{}/{}", string_at(subject, {"namespace"}), who));
    if (kind == "User") users.emplace_back(who);
    if (kind == "Group") groups.emplace_back(who);
  }
  return {name(o),
          text(fmt::format("{}/{}", string_at(o, {"roleRef", "kind"}), string_at(o, {"roleRef", "name"}))),
          age(o, now),
          text(fmt::format("{}", fmt::join(users, ", "))),
          text(fmt::format("{}", fmt::join(groups, ", "))),
          text(fmt::format("{}", fmt::join(accounts, ", ")))};
}

json::array lease(Object o, WallTime now) {
  return {name(o), text(string_at(o, {"spec", "holderIdentity"})), age(o, now)};
}

json::array priority_class(Object o, WallTime now) {
  return {name(o), count(o, {"value"}), bool_at(o, {"globalDefault"}), age(o, now),
          text(string_at(o, {"preemptionPolicy"}))};
}

json::array runtime_class(Object o, WallTime now) { return {name(o), text(string_at(o, {"handler"})), age(o, now)}; }
json::array webhooks(Object o, WallTime now) { return {name(o), size(o, {"webhooks"}), age(o, now)}; }

std::string param_kind(Object o) {
  if (!has(o, {"spec", "paramKind"})) return "<unset>";
  return fmt::format("{}/{}", string_at(o, {"spec", "paramKind", "apiVersion"}),
                     string_at(o, {"spec", "paramKind", "kind"}));
}

json::array validating_policy(Object o, WallTime now) {
  return {name(o), size(o, {"spec", "validations"}), text(param_kind(o)), age(o, now)};
}
json::array mutating_policy(Object o, WallTime now) {
  return {name(o), size(o, {"spec", "mutations"}), text(param_kind(o)), age(o, now)};
}

json::array policy_binding(Object o, WallTime now) {
  std::string parameter = "<unset>";
  if (const std::string_view named = string_at(o, {"spec", "paramRef", "name"}); !named.empty())
    parameter = fmt::format("{}/{}", or_else(string_at(o, {"spec", "paramRef", "namespace"}), "*"), named);
  return {name(o), text(string_at(o, {"spec", "policyName"})), text(parameter), age(o, now)};
}

json::array resource_quota(Object o, WallTime now) {
  std::set<std::string_view> names;
  for (const auto& entry : object_at(o, {"status", "hard"})) names.insert(entry.key());
  std::string requests, limits;
  for (const std::string_view key : names) {
    std::string& out = key.starts_with("limits.") ? limits : requests;
    out +=
        fmt::format("{}{}: {}/{}", out.empty() ? "" : ", ", key, plain_text(value_at(o, {"status", "used", key}), "0"),
                    plain_text(value_at(o, {"status", "hard", key}), "0"));
  }
  return {name(o), text(requests), text(limits), age(o, now)};
}

json::array certificate_request(Object o, WallTime now) {
  bool approved = false, denied = false, failed = false;
  for (const json::value& item : array_at(o, {"status", "conditions"})) {
    const std::string_view type = string_at(as_object(item), {"type"});
    approved = approved || type == "Approved";
    denied = denied || type == "Denied";
    failed = failed || type == "Failed";
  }
  std::string status = denied ? "Denied" : approved ? "Approved" : "Pending";
  if (failed) status += ",Failed";
  if (!string_at(o, {"status", "certificate"}).empty()) status += ",Issued";
  const auto seconds = integer_at(o, {"spec", "expirationSeconds"});
  return {name(o),
          age(o, now),
          text(or_else(string_at(o, {"spec", "signerName"}), "<none>")),
          text(string_at(o, {"spec", "username"})),
          text(seconds ? fmt::format("{}s", *seconds) : "<none>"),
          text(status)};
}

json::array api_service(Object o, WallTime now) {
  std::string service = "Local", available = "Unknown";
  if (has(o, {"spec", "service"}))
    service =
        fmt::format("{}/{}", string_at(o, {"spec", "service", "namespace"}), string_at(o, {"spec", "service", "name"}));
  for (const json::value& item : array_at(o, {"status", "conditions"})) {
    const json::object& condition = as_object(item);
    if (string_at(condition, {"type"}) != "Available") continue;
    available = string_at(condition, {"status"});
    if (available != "True") available += fmt::format(" ({})", string_at(condition, {"reason"}));
  }
  return {name(o), text(service), text(available), age(o, now)};
}

json::array ip_address(Object o, WallTime now) {
  std::string parent = "<none>";
  if (has(o, {"spec", "parentRef"})) {
    const json::object& reference = object_at(o, {"spec", "parentRef"});
    const std::string_view group = string_at(reference, {"group"}), ns = string_at(reference, {"namespace"});
    parent = fmt::format("{}{}{}{}{}/{}", string_at(reference, {"resource"}), group.empty() ? "" : ".", group,
                         ns.empty() ? "" : "/", ns, string_at(reference, {"name"}));
  }
  return {name(o), text(parent), age(o, now)};
}

json::array service_range(Object o, WallTime now) {
  return {name(o), text(joined(array_at(o, {"spec", "cidrs"}))), age(o, now)};
}

constexpr const char* kEventColumns =
    "Last Seen,Type,Reason,Object,+Subobject,+Source,Message,+First Seen,+Count,+Name:n";
constexpr const char* kReplicaColumns = "Name:n,Desired:i,Current:i,Ready:i,Age,+Containers,+Images,+Selector";
constexpr const char* kPolicyBindingColumns = "Name:n,PolicyName,ParamRef,Age";

// clang-format off
constexpr Printer kPrinters[] = {
  {"", "configmaps", "Name:n,Data,Age", config_map},
  {"", "endpoints", "Name:n,Endpoints,Age", endpoints},
  {"", "events", kEventColumns, event_cells},
  {"events.k8s.io", "events", kEventColumns, event_cells},
  {"", "namespaces", "Name:n,Status,Age", namespace_cells},
  {"", "nodes", "Name:n,Status,Roles,Age,Version,+Internal-IP,+External-IP,+OS-Image,+Kernel-Version,+Container-Runtime", node_cells},
  {"", "persistentvolumeclaims", "Name:n,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,+VolumeMode", claim},
  {"", "persistentvolumes", "Name:n,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,+VolumeMode", volume},
  {"", "pods", "Name:n,Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates", pod_cells},
  {"", "podtemplates", "Name:n,Containers,Images,Pod Labels", pod_template},
  {"", "replicationcontrollers", kReplicaColumns, replication_controller},
  {"", "resourcequotas", "Name:n,Request,Limit,Age", resource_quota},
  {"", "secrets", "Name:n,Type,Data,Age", secret},
  {"", "serviceaccounts", "Name:n,Age", only_age},
  {"", "services", "Name:n,Type,Cluster-IP,External-IP,Port(s),Age,+Selector", service_cells},
  {"apiregistration.k8s.io", "apiservices", "Name:n,Service,Available,Age", api_service},
  {"apps", "controllerrevisions", "Name:n,Controller,Revision,Age", controller_revision},
  {"apps", "daemonsets", "Name:n,Desired:i,Current:i,Ready:i,Up-to-date:i,Available:i,Node Selector,Age,+Containers,+Images,+Selector", daemon_set},
  {"apps", "deployments", "Name:n,Ready,Up-to-date,Available,Age,+Containers,+Images,+Selector", deployment},
  {"apps", "replicasets", kReplicaColumns, replica_set},
  {"apps", "statefulsets", "Name:n,Ready,Age,+Containers,+Images", stateful_set},
  {"autoscaling", "scales", "Name,Desired:i,Available:i,Age", scale},
  {"autoscaling", "horizontalpodautoscalers", "Name:n,Reference,Targets,MinPods,MaxPods,Replicas,Age", autoscaler_cells},
  {"batch", "cronjobs", "Name:n,Schedule,Timezone,Suspend:b,Active:i,Last Schedule,Age,+Containers,+Images,+Selector", cron_job},
  {"batch", "jobs", "Name:n,Status,Completions,Duration,Age,+Containers,+Images,+Selector", job_cells},
  {"certificates.k8s.io", "certificatesigningrequests", "Name:n,Age,SignerName,Requestor,RequestedDuration,Condition", certificate_request},
  {"networking.k8s.io", "ingressclasses", "Name:n,Controller,Parameters,Age", ingress_class},
  {"networking.k8s.io", "ingresses", "Name:n,Class,Hosts,Address,Ports,Age", ingress},
  {"networking.k8s.io", "ipaddresses", "Name:n,ParentRef", ip_address},
  {"networking.k8s.io", "networkpolicies", "Name:n,Pod-Selector,Age", network_policy},
  {"networking.k8s.io", "servicecidrs", "Name:n,CIDRs,Age", service_range},
  {"policy", "poddisruptionbudgets", "Name:n,Min Available,Max Unavailable,Allowed Disruptions:i,Age", disruption_budget},
  {"rbac.authorization.k8s.io", "clusterrolebindings", "Name:n,Role,Age,+Users,+Groups,+ServiceAccounts", binding},
  {"rbac.authorization.k8s.io", "rolebindings", "Name:n,Role,Age,+Users,+Groups,+ServiceAccounts", binding},
  {"storage.k8s.io", "csidrivers", "Name:n,AttachRequired:b,PodInfoOnMount:b,StorageCapacity:b,TokenRequests,RequiresRepublish:b,Modes,Age", csi_driver},
  {"storage.k8s.io", "csinodes", "Name:n,Drivers:i,Age", csi_node},
  {"storage.k8s.io", "storageclasses", "Name:n,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age", storage_class},
  {"storage.k8s.io", "volumeattachments", "Name:n,Attacher:n,PV,Node,Attached:b,Age", volume_attachment},
  {"storage.k8s.io", "volumeattributesclasses", "Name:n,DriverName,Age", volume_attributes_class},
  {"admissionregistration.k8s.io", "mutatingadmissionpolicies", "Name:n,Mutations:i,ParamKind,Age", mutating_policy},
  {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", kPolicyBindingColumns, policy_binding},
  {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "Name:n,Webhooks:i,Age", webhooks},
  {"admissionregistration.k8s.io", "validatingadmissionpolicies", "Name:n,Validations:i,ParamKind,Age", validating_policy},
  {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", kPolicyBindingColumns, policy_binding},
  {"admissionregistration.k8s.io", "validatingwebhookconfigurations", "Name:n,Webhooks:i,Age", webhooks},
  {"scheduling.k8s.io", "priorityclasses", "Name:n,Value:i,Global-Default:b,Age,PreemptionPolicy", priority_class},
  {"coordination.k8s.io", "leases", "Name:n,Holder,Age", lease},
  {"node.k8s.io", "runtimeclasses", "Name:n,Handler,Age", runtime_class},
  {"discovery.k8s.io", "endpointslices", "Name:n,AddressType,Ports,Endpoints,Age", endpoint_slice},
};
// clang-format on

}  // namespace

const Printer* find_printer(const Resource& resource) {
  for (const Printer& printer : kPrinters)
    if (resource.plural == printer.plural && resource.group == printer.group) return &printer;
  return nullptr;
}

}  // namespace hookd::embedded
