// Autoscalers, disruption budgets, RBAC, webhook configurations.
#include <algorithm>
#include <charconv>

#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

void validate_autoscaler(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  const auto least = integer_at(spec, {"minReplicas"});
  const int64_t most = integer_at(spec, {"maxReplicas"}).value_or(0);
  if (least && *least < 1) complaints.invalid("spec.minReplicas", *least, "must be greater than or equal to 1");
  if (most == 0) {
    complaints.required("spec.maxReplicas", "must be set and greater than 0");
  } else if (most < 0) {
    complaints.invalid("spec.maxReplicas", most, "must be greater than or equal to 1");
  }
  if (least && most < *least)
    complaints.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`");
  for (const char* key : {"kind", "name"}) {
    const std::string_view value = string_at(spec, {"scaleTargetRef", key});
    if (value.empty()) {
      complaints.required(child("spec.scaleTargetRef", key));
    } else {
      complaints.invalid(child("spec.scaleTargetRef", key), value, path_segment(value));
    }
  }
  const std::string_view version = string_at(spec, {"scaleTargetRef", "apiVersion"});
  if (version.find('/') == std::string_view::npos &&
      string_at(spec, {"scaleTargetRef", "kind"}) != "ReplicationController")
    complaints.invalid("spec.scaleTargetRef.apiVersion", json::value(version), "apiVersion must specify API group");
  const json::array& metrics = array_at(spec, {"metrics"});
  const bool from_zero = std::ranges::any_of(metrics, [](const json::value& item) {
    const std::string_view type = string_at(as_object(item), {"type"});
    return type == "Object" || type == "External";
  });
  if (least == 0 && !from_zero)
    complaints.forbidden("spec.metrics",
                         "must specify at least one Object or External metric to support scaling to zero replicas");
  for (size_t i = 0; i < metrics.size(); ++i) {
    const json::object& metric = as_object(metrics[i]);
    const std::string here = at("spec.metrics", i);
    const std::string_view type = string_at(metric, {"type"});
    if (type.empty()) complaints.required(here + ".type", "must specify a metric source type");
    if (type == "Resource") {
      if (!has(metric, {"resource"})) {
        complaints.required(here + ".resource", "must populate information for the given metric source");
      } else if (string_at(metric, {"resource", "name"}).empty()) {
        complaints.required(here + ".resource.name", "must specify a resource name");
      }
    }
  }
}

void check_limit(const json::value* value, const std::string& path, Complaints& complaints) {
  if (!value) return;
  check_count_or_percent(value, path, complaints);
  if (!value->is_string() || !percent(as_string(*value)).empty()) return;
  int64_t share = 0;
  const std::string_view text = as_string(*value);
  std::from_chars(text.data(), text.data() + text.size(), share);
  if (share > 100) complaints.invalid(path, *value, "must not be greater than 100%");
}

void validate_budget(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  if (has(spec, {"minAvailable"}) && has(spec, {"maxUnavailable"}))
    complaints.invalid("spec",
                       go_struct(spec, {{"minAvailable", "MinAvailable"},
                                        {"selector", "Selector"},
                                        {"maxUnavailable", "MaxUnavailable"},
                                        {"unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy"}}),
                       "minAvailable and maxUnavailable cannot be both set");
  for (const char* key : {"minAvailable", "maxUnavailable"})
    check_limit(value_at(spec, {key}), child("spec", key), complaints);
  check_label_selector(object_at(spec, {"selector"}), "spec.selector", complaints);
  complaints.one_of("spec.unhealthyPodEvictionPolicy", string_at(spec, {"unhealthyPodEvictionPolicy"}),
                    {"AlwaysAllow", "IfHealthyBudget"}, false);
}

void check_rules(const json::object& role, bool namespaced, Complaints& complaints) {
  const json::array& rules = array_at(role, {"rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    const json::object& rule = as_object(rules[i]);
    const std::string here = at("rules", i);
    if (array_at(rule, {"verbs"}).empty())
      complaints.required(here + ".verbs", "verbs must contain at least one value");
    const json::array& urls = array_at(rule, {"nonResourceURLs"});
    if (!urls.empty()) {
      if (namespaced)
        complaints.invalid(here + ".nonResourceURLs", json::value(urls),
                           "namespaced rules cannot apply to non-resource URLs");
      if (!array_at(rule, {"apiGroups"}).empty() || !array_at(rule, {"resources"}).empty() ||
          !array_at(rule, {"resourceNames"}).empty())
        complaints.invalid(here + ".nonResourceURLs", json::value(urls),
                           "rules cannot apply to both regular resources and non-resource URLs");
      continue;
    }
    if (array_at(rule, {"apiGroups"}).empty())
      complaints.required(here + ".apiGroups", "resource rules must supply at least one api group");
    if (array_at(rule, {"resources"}).empty())
      complaints.required(here + ".resources", "resource rules must supply at least one resource");
  }
}

void check_binding(const json::object& binding, bool namespaced, Complaints& complaints) {
  if (const std::string_view group = string_at(binding, {"roleRef", "apiGroup"}); group != kRbacGroup)
    complaints.unsupported("roleRef.apiGroup", json::value(group), {std::string(kRbacGroup)});
  const std::string_view kind = string_at(binding, {"roleRef", "kind"});
  if (namespaced && kind != "Role" && kind != "ClusterRole")
    complaints.unsupported("roleRef.kind", json::value(kind), {"Role", "ClusterRole"});
  if (!namespaced && kind != "ClusterRole") complaints.unsupported("roleRef.kind", json::value(kind), {"ClusterRole"});
  const std::string_view role = string_at(binding, {"roleRef", "name"});
  if (role.empty()) {
    complaints.required("roleRef.name");
  } else {
    complaints.invalid("roleRef.name", role, path_segment(role));
  }
  const json::array& subjects = array_at(binding, {"subjects"});
  for (size_t i = 0; i < subjects.size(); ++i) {
    const json::object& subject = as_object(subjects[i]);
    const std::string here = at("subjects", i);
    const std::string_view name = string_at(subject, {"name"}), group = string_at(subject, {"apiGroup"}),
                           what = string_at(subject, {"kind"});
    if (name.empty()) complaints.required(here + ".name");
    if (what == "ServiceAccount") {
      if (!name.empty()) complaints.invalid(here + ".name", name, dns_subdomain(name));
      if (!group.empty()) complaints.unsupported(here + ".apiGroup", json::value(group), {""});
      if (!namespaced && string_at(subject, {"namespace"}).empty()) complaints.required(here + ".namespace");
    } else if (what == "User" || what == "Group") {
      if (group != kRbacGroup)
        complaints.unsupported(here + ".apiGroup", json::value(group), {std::string(kRbacGroup)});
    } else {
      complaints.unsupported(here + ".kind", json::value(what), {"ServiceAccount", "User", "Group"});
    }
  }
}

Strategy rbac_base() {
  Strategy s;
  s.name_rule = Strategy::NameRule::kPathSegment;
  s.allow_create_on_update = true;
  return s;
}

void role_stays(const json::object& next, const json::object& live, FieldErrors& errors) {
  if (!same(value_at(next, {"roleRef"}), value_at(live, {"roleRef"})))
    Complaints(errors).invalid(
        "roleRef",
        go_struct(object_at(next, {"roleRef"}), {{"apiGroup", "APIGroup"}, {"kind", "Kind"}, {"name", "Name"}}),
        "cannot change roleRef");
}

void check_hook(const json::object& hook, const std::string& here, Complaints& complaints) {
  const std::string_view name = string_at(hook, {"name"});
  if (name.empty()) {
    complaints.required(here + ".name");
  } else if (const Faulty faults = dns_subdomain(name); !faults.empty()) {
    complaints.invalid(here + ".name", json::value(name), fmt::format("{}", fmt::join(faults, ",")));
  } else if (std::ranges::count(name, '.') < 2) {
    complaints.invalid(here + ".name", json::value(name),
                       "should be a domain with at least three segments separated by dots");
  }
  if (array_at(hook, {"admissionReviewVersions"}).empty())
    complaints.required(here + ".admissionReviewVersions", "must specify one of v1, v1beta1");
  const std::string_view effects = string_at(hook, {"sideEffects"});
  if (effects.empty()) {
    complaints.required(here + ".sideEffects", "must specify one of None, NoneOnDryRun");
  } else {
    complaints.one_of(here + ".sideEffects", effects, {"None", "NoneOnDryRun"});
  }
  complaints.one_of(here + ".failurePolicy", string_at(hook, {"failurePolicy"}), {"Fail", "Ignore"}, false);
  complaints.one_of(here + ".matchPolicy", string_at(hook, {"matchPolicy"}), {"Equivalent", "Exact"}, false);
  if (const auto seconds = integer_at(hook, {"timeoutSeconds"}); seconds && (*seconds < 1 || *seconds > 30))
    complaints.invalid(here + ".timeoutSeconds", *seconds, "the timeout value must be between 1 and 30 seconds");
  const bool url = has(hook, {"clientConfig", "url"}), service = has(hook, {"clientConfig", "service"});
  if (url == service) complaints.required(here + ".clientConfig", "exactly one of url or service is required");
  if (service)
    for (const char* key : {"name", "namespace"})
      if (string_at(hook, {"clientConfig", "service", key}).empty())
        complaints.required(fmt::format("{}.clientConfig.service.{}", here, key));
  const json::array& rules = array_at(hook, {"rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string rule = at(here + ".rules", i);
    for (const char* key : {"operations", "apiGroups", "apiVersions", "resources"})
      if (array_at(as_object(rules[i]), {key}).empty()) complaints.required(child(rule, key));
    size_t k = 0;
    for (const json::value& operation : array_at(as_object(rules[i]), {"operations"}))
      complaints.one_of(at(rule + ".operations", k++), as_string(operation),
                        {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
  }
}

}  // namespace

void check_count_or_percent(const json::value* value, const std::string& path, Complaints& complaints) {
  if (!value) return;
  if (value->is_string()) {
    for (const std::string& fault : percent(as_string(*value))) complaints.invalid(path, *value, fault);
  } else if (value->is_int64()) {
    complaints.not_negative(path, value->get_int64());
  }
}

const Strategy& autoscaler_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.defaults = [](json::object& object) {  // as the conversion from v2 gives it
      if (string_at(object, {"apiVersion"}) != "autoscaling/v1") return;
      if (has(object, {"metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"})) return;
      json::object& spec = ensure_object(object, {"spec"});
      if (!has(spec, {"targetCPUUtilizationPercentage"})) spec["targetCPUUtilizationPercentage"] = 80;
    };
    s.validate = validate_autoscaler;
    return s;
  }();
  return kStrategy;
}

const Strategy& disruption_budget_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = validate_budget;
    s.validate_status = [](const json::object& next, const json::object&, FieldErrors& errors) {
      for (const char* key : {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"})
        Complaints(errors).not_negative(child("status", key), integer_at(next, {"status", key}));
    };
    s.generation = true;
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

const Strategy& role_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = rbac_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_rules(object, true, complaints);
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& cluster_role_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = rbac_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_rules(object, false, complaints);
      if (!has(object, {"aggregationRule"})) return;
      const json::array& selectors = array_at(object, {"aggregationRule", "clusterRoleSelectors"});
      if (selectors.empty())
        complaints.required("aggregationRule.clusterRoleSelectors",
                            "at least one clusterRoleSelector required if aggregationRule is non-nil");
      for (size_t i = 0; i < selectors.size(); ++i)
        check_label_selector(as_object(selectors[i]), at("aggregationRule.clusterRoleSelectors", i), complaints);
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& role_binding_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = rbac_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_binding(object, true, complaints);
    };
    s.validate_update = role_stays;
    return s;
  }();
  return kStrategy;
}

const Strategy& cluster_role_binding_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = rbac_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_binding(object, false, complaints);
    };
    s.validate_update = role_stays;
    return s;
  }();
  return kStrategy;
}

const Strategy& webhook_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const json::array& hooks = array_at(object, {"webhooks"});
      for (size_t i = 0; i < hooks.size(); ++i) check_hook(as_object(hooks[i]), at("webhooks", i), complaints);
    };
    s.generation = true;
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
