// Every kind but pods: the rules that look at more than one field. Thread: any.
#include <algorithm>
#include <cctype>
#include <limits>
#include <string>

#include "embedded/schema/base64.h"
#include "embedded/schema/builtin_defaults.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

json::object* labels_of(json::object& object) {
  json::object* metadata = object_at(object, "metadata");
  json::object* labels = metadata ? object_at(*metadata, "labels") : nullptr;
  return labels && !labels->empty() ? labels : nullptr;
}

json::object* template_labels(json::object& object) {
  json::object* spec = object_at(object, "spec");
  json::object* pods = spec ? object_at(*spec, "template") : nullptr;
  return pods ? labels_of(*pods) : nullptr;
}

void take_labels_of_template(json::object& object) {
  const json::object* labels = template_labels(object);
  if (labels == nullptr || labels_of(object)) return;
  json::object copy = *labels;
  make_object(object, "metadata")["labels"] = std::move(copy);
}

void replication_controller(json::object& object) {
  const json::object* labels = template_labels(object);
  if (labels == nullptr) return;
  json::object copy = *labels;
  json::object& spec = make_object(object, "spec");
  if (!has(spec, "selector")) spec["selector"] = std::move(copy);
  take_labels_of_template(object);
}

void deployment_strategy(json::object& strategy) {
  if (!has(strategy, "type")) strategy["type"] = "RollingUpdate";
  if (string_at(strategy, "type") != "RollingUpdate") return;
  json::object& rolling = make_object(strategy, "rollingUpdate");
  set_if_absent(rolling, "maxUnavailable", "25%");
  set_if_absent(rolling, "maxSurge", "25%");
}

void daemon_set_strategy(json::object& strategy) {
  if (!has(strategy, "type")) strategy["type"] = "RollingUpdate";
  if (string_at(strategy, "type") != "RollingUpdate") return;
  json::object& rolling = make_object(strategy, "rollingUpdate");
  set_if_absent(rolling, "maxUnavailable", 1);
  set_if_absent(rolling, "maxSurge", 0);
}

void stateful_set_strategy(json::object& strategy) {
  if (!has(strategy, "type")) {
    strategy["type"] = "RollingUpdate";
    make_object(strategy, "rollingUpdate");
  }
  json::object* rolling = object_at(strategy, "rollingUpdate");
  if (string_at(strategy, "type") == "RollingUpdate" && rolling) set_if_absent(*rolling, "partition", 0);
}

void stateful_set_spec(json::object& spec) {
  make_object(spec, "persistentVolumeClaimRetentionPolicy");
  each(spec, "volumeClaimTemplates", [](json::object& claim) {
    claim["apiVersion"] = "v1";
    claim["kind"] = "PersistentVolumeClaim";
  });
}

void job(json::object& job) {
  json::object& spec = make_object(job, "spec");
  const auto absent = [&spec](std::string_view key) { return !spec.contains(key) || spec.at(key).is_null(); };
  if (absent("completions") && absent("parallelism")) spec["completions"] = 1;
  set_if_absent(spec, "parallelism", 1);
  set_if_absent(spec, "backoffLimit", absent("backoffLimitPerIndex") ? 6 : std::numeric_limits<int32_t>::max());
  set_if_absent(spec, "completionMode", "NonIndexed");
  set_if_absent(spec, "suspend", false);
  set_if_absent(spec, "podReplacementPolicy", absent("podFailurePolicy") ? "TerminatingOrFailed" : "Failed");
  set_if_absent(spec, "manualSelector", false);
  take_labels_of_template(job);
}

json::object scaling_policy(std::string_view type, int value) {
  return {{"type", type}, {"value", value}, {"periodSeconds", 15}};
}

void scaling_rules(json::object& behavior, std::string_view direction) {
  json::object& rules = make_object(behavior, direction);
  const bool up = direction == "scaleUp";
  set_if_absent(rules, "selectPolicy", "Max");
  if (up) set_if_absent(rules, "stabilizationWindowSeconds", 0);
  if (rules.contains("policies") && rules.at("policies").is_array()) return;
  json::array policies;
  if (up) policies.emplace_back(scaling_policy("Pods", 4));
  policies.emplace_back(scaling_policy("Percent", 100));
  rules["policies"] = std::move(policies);
}

void autoscaler_spec(json::object& spec) {
  if (!has(spec, "metrics")) {
    spec["metrics"] = json::parse(
        R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}])");
  }
  if (json::object* behavior = object_at(spec, "behavior")) {
    scaling_rules(*behavior, "scaleUp");
    scaling_rules(*behavior, "scaleDown");
  }
}

bool externally_accessible(const json::object& spec) {
  const std::string_view type = string_at(spec, "type");
  return type == "LoadBalancer" || type == "NodePort" || (type == "ClusterIP" && has(spec, "externalIPs"));
}

void service_spec(json::object& spec) {
  if (!has(spec, "sessionAffinity")) spec["sessionAffinity"] = "None";
  if (string_at(spec, "sessionAffinity") == "None") spec.erase("sessionAffinityConfig");
  if (string_at(spec, "sessionAffinity") == "ClientIP") {
    set_if_absent(make_object(make_object(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", 10'800);
  }
  if (!has(spec, "type")) spec["type"] = "ClusterIP";
  each(spec, "ports", [](json::object& port) {
    if (!has(port, "protocol")) port["protocol"] = "TCP";
    if (!has(port, "targetPort") && port.contains("port")) copy_field(port, "targetPort", "port");
  });
  if (externally_accessible(spec) && !has(spec, "externalTrafficPolicy")) spec["externalTrafficPolicy"] = "Cluster";
  const std::string type(string_at(spec, "type"));
  if (type == "NodePort" || type == "LoadBalancer" || type == "ClusterIP") {
    set_if_absent(spec, "internalTrafficPolicy", "Cluster");
  }
  if (type == "LoadBalancer") set_if_absent(spec, "allocateLoadBalancerNodePorts", true);
}

void service(json::object& service) {
  json::object* spec = object_at(service, "spec");
  json::object* status = object_at(service, "status");
  json::object* balancer = status ? object_at(*status, "loadBalancer") : nullptr;
  if (spec == nullptr || balancer == nullptr || string_at(*spec, "type") != "LoadBalancer") return;
  each(*balancer, "ingress", [](json::object& ingress) {
    if (has(ingress, "ip")) set_if_absent(ingress, "ipMode", "VIP");
  });
}

// stringData is only for writing.
void secret(json::object& secret) {
  json::object* texts = object_at(secret, "stringData");
  if (texts == nullptr) return;
  const json::object copy = std::move(*texts);
  secret.erase("stringData");
  if (copy.empty()) return;
  json::object& data = make_object(secret, "data");
  for (const auto& text : copy) {
    if (text.value().is_string()) data[text.key()] = encode_base64(text.value().get_string());
  }
}

void namespace_labels(json::object& object) {
  json::object& metadata = make_object(object, "metadata");
  if (!has(metadata, "name")) return;
  const json::string name = metadata.at("name").as_string();
  make_object(metadata, "labels")["kubernetes.io/metadata.name"] = name;
}

void node_spec(json::object& spec) {
  const std::string range(string_at(spec, "podCIDR"));
  json::value* list = spec.if_contains("podCIDRs");
  const bool some = list && list->is_array() && !list->get_array().empty() && list->get_array()[0].is_string();
  const std::string first(some ? std::string(list->get_array()[0].get_string()) : "");
  if (range.empty() && some) {
    spec["podCIDR"] = first;
  } else if (!range.empty() && range != first) {
    spec["podCIDRs"] = json::array{json::value(range)};
  }
}

void node_status(json::object& status) {
  if (!has(status, "capacity") || (status.contains("allocatable") && !status.at("allocatable").is_null())) return;
  copy_field(status, "allocatable", "capacity");
}

void fill(json::object& item, std::string_view to, std::string_view from) {
  const json::object* source = object_at(item, from);
  if (source == nullptr || source->empty()) return;
  const json::object copy = *source;
  json::object& target = make_object(item, to);
  for (const auto& entry : copy) {
    if (!target.contains(entry.key())) target.emplace(entry.key(), entry.value());
  }
}

void limit_range_item(json::object& item) {
  if (string_at(item, "type") != "Container") return;
  fill(item, "default", "max");
  fill(item, "defaultRequest", "default");
  fill(item, "defaultRequest", "min");
}

void subject(json::object& subject) {
  const std::string_view kind = string_at(subject, "kind");
  if (!has(subject, "apiGroup") && (kind == "User" || kind == "Group")) subject["apiGroup"] = kRbac;
}

void network_policy_spec(json::object& spec) {
  if (has(spec, "policyTypes")) return;
  json::array types{"Ingress"};
  if (has(spec, "egress")) types.emplace_back("Egress");
  spec["policyTypes"] = std::move(types);
}

void custom_resource(json::object& object) {
  make_object(object, "status");  // before the references: a new field may move the others
  json::object& spec = make_object(object, "spec");
  json::object& names = make_object(spec, "names");
  const std::string kind(string_at(names, "kind"));
  if (!has(names, "singular") && !kind.empty()) {
    std::string lower = kind;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    names["singular"] = lower;
  }
  if (!has(names, "listKind") && !kind.empty()) names["listKind"] = kind + "List";
  if (object_at(spec, "conversion") == nullptr) spec["conversion"] = json::object{{"strategy", "None"}};
  json::object& status = make_object(object, "status");
  if (has(status, "storedVersions")) return;
  json::array stored;
  each(spec, "versions", [&stored](json::object& version) {
    if (stored.empty() && has(version, "storage")) stored.push_back(version["name"]);
  });
  if (!stored.empty()) status["storedVersions"] = std::move(stored);
}

constexpr DefaultRule kRules[] = {
    {"apps.v1.DeploymentStrategy", deployment_strategy},
    {"apps.v1.DaemonSetUpdateStrategy", daemon_set_strategy},
    {"apps.v1.StatefulSetUpdateStrategy", stateful_set_strategy},
    {"apps.v1.StatefulSetSpec", stateful_set_spec},
    {"autoscaling.v2.HorizontalPodAutoscalerSpec", autoscaler_spec},
    {"batch.v1.Job", job},
    {"core.v1.LimitRangeItem", limit_range_item},
    {"core.v1.Namespace", namespace_labels},
    {"core.v1.NodeSpec", node_spec},
    {"core.v1.NodeStatus", node_status},
    {"core.v1.ReplicationController", replication_controller},
    {"core.v1.Secret", secret},
    {"core.v1.ServiceSpec", service_spec},
    {"core.v1.Service", service},
    {"networking.v1.NetworkPolicySpec", network_policy_spec},
    {"rbac.v1.Subject", subject},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", custom_resource},
};

}  // namespace

std::span<const DefaultRule> default_rules() { return kRules; }

}  // namespace hookd::embedded
