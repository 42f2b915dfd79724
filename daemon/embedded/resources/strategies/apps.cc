// apps/v1 and ReplicationController. Source: API reference "Workload resources"; the real server's checks.
#include <algorithm>
#include <charconv>

#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

constexpr const char* kMismatch = "`selector` does not match template `labels`";

// Labels as they are shown: null if there are none.
json::value shown_labels(const json::object& spec) {
  const json::value* labels = value_at(spec, {"template", "metadata", "labels"});
  return labels ? *labels : json::value(nullptr);
}

bool operators_known(const json::object& selector) {
  return std::ranges::all_of(array_at(selector, {"matchExpressions"}), [](const json::value& item) {
    const std::string_view verb = string_at(as_object(item), {"operator"});
    return verb == "In" || verb == "NotIn" || verb == "Exists" || verb == "DoesNotExist";
  });
}

json::value shown_strategy(const json::object& strategy) {
  return go_struct(strategy, {{"type", "Type"}, {"rollingUpdate", "RollingUpdate"}});
}

// `problem`: what is said of a selector that cannot be read; the template is not looked at then.
void check_template(const json::object& spec, const char* what, const char* problem, Complaints& complaints) {
  const std::string path = "spec.template";
  const json::object& pod_template = object_at(spec, {"template"});
  const json::object& selector = object_at(spec, {"selector"});
  if (!operators_known(selector)) return complaints.invalid("spec.selector", json::value(selector), problem);
  // A selector that is missing matches nothing, an empty one everything.
  if (!has(spec, {"selector"}) || !selector_matches(selector, object_at(pod_template, {"metadata", "labels"})))
    complaints.invalid(path + ".metadata.labels", shown_labels(spec), kMismatch);
  check_pod_template(pod_template, path, complaints);
  if (const std::string_view policy = string_at(pod_template, {"spec", "restartPolicy"}); policy != "Always")
    complaints.unsupported(path + ".spec.restartPolicy", json::value(policy), {"Always"});
  if (has(pod_template, {"spec", "activeDeadlineSeconds"}))
    complaints.forbidden(path + ".spec.activeDeadlineSeconds",
                         fmt::format("activeDeadlineSeconds in {} is not Supported", what));
}

void check_selector(const json::object& spec, const char* what, Complaints& complaints) {
  if (!has(spec, {"selector"})) return complaints.required("spec.selector");
  const json::object& selector = object_at(spec, {"selector"});
  check_label_selector(selector, "spec.selector", complaints);
  if (object_at(selector, {"matchLabels"}).empty() && array_at(selector, {"matchExpressions"}).empty())
    complaints.invalid("spec.selector", json::value(selector), fmt::format("empty selector is invalid for {}", what));
}

void not_negative(const json::object& spec, const std::string& path, Keys keys, Complaints& complaints) {
  for (const std::string_view key : keys) complaints.not_negative(child(path, key), integer_at(spec, {key}));
}

int64_t amount(const json::value* value) {
  if (!value) return 0;
  if (value->is_int64()) return value->get_int64();
  int64_t out = 0;
  const std::string_view text = as_string(*value);
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void check_percentage_limit(const json::value* value, const std::string& path, Complaints& complaints) {
  if (value && value->is_string() && percent(as_string(*value)).empty() && amount(value) > 100)
    complaints.invalid(path, *value, "must not be greater than 100%");
}

void validate_deployment(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  not_negative(spec, "spec", {"replicas"}, complaints);
  check_selector(spec, "deployment", complaints);
  check_template(spec, "ReplicaSet", "invalid label selector", complaints);
  const std::string path = "spec.strategy";
  const json::object& strategy = object_at(spec, {"strategy"});
  const std::string_view type = string_at(strategy, {"type"});
  if (type == "Recreate") {
    if (has(strategy, {"rollingUpdate"}))
      complaints.forbidden(path + ".rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
  } else if (type == "RollingUpdate") {
    const json::value* unavailable = value_at(strategy, {"rollingUpdate", "maxUnavailable"});
    const json::value* surge = value_at(strategy, {"rollingUpdate", "maxSurge"});
    check_count_or_percent(unavailable, path + ".rollingUpdate.maxUnavailable", complaints);
    check_count_or_percent(surge, path + ".rollingUpdate.maxSurge", complaints);
    if (amount(unavailable) == 0 && amount(surge) == 0)
      complaints.invalid(path + ".rollingUpdate.maxUnavailable", unavailable ? *unavailable : json::value(0),
                         "may not be 0 when `maxSurge` is 0");
    check_percentage_limit(unavailable, path + ".rollingUpdate.maxUnavailable", complaints);
  } else {
    complaints.unsupported(path, shown_strategy(strategy), {"Recreate", "RollingUpdate"});
  }
  not_negative(spec, "spec", {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}, complaints);
  if (const auto deadline = integer_at(spec, {"progressDeadlineSeconds"});
      deadline && *deadline <= integer_at(spec, {"minReadySeconds"}).value_or(0))
    complaints.invalid("spec.progressDeadlineSeconds", *deadline, "must be greater than minReadySeconds");
}

void selector_stays(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints(errors).immutable("spec.selector", value_at(next, {"spec", "selector"}),
                               value_at(live, {"spec", "selector"}));
}

// No negative counts, none above status.replicas, available within ready.
void check_counts(const json::object& object, Keys counts, Keys within, const char* ready, Complaints& complaints) {
  const json::object& status = object_at(object, {"status"});
  not_negative(status, "status", counts, complaints);
  const int64_t replicas = integer_at(status, {"replicas"}).value_or(0);
  for (const std::string_view key : within)
    if (const int64_t count = integer_at(status, {key}).value_or(0); count > replicas)
      complaints.invalid(child("status", key), count, "cannot be greater than status.replicas");
  const int64_t available = integer_at(status, {"availableReplicas"}).value_or(0);
  if (available > integer_at(status, {"readyReplicas"}).value_or(0))
    complaints.invalid("status.availableReplicas", available, fmt::format("cannot be greater than {}", ready));
}

void check_collisions(const json::object& next, const json::object& live, Complaints& complaints) {
  const int64_t count = integer_at(next, {"status", "collisionCount"}).value_or(0);
  if (count < integer_at(live, {"status", "collisionCount"}).value_or(0))
    complaints.invalid("status.collisionCount", count, "cannot be decremented");
}

void validate_deployment_status(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  check_counts(next,
               {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
                "unavailableReplicas", "terminatingReplicas", "collisionCount"},
               {"updatedReplicas", "readyReplicas", "availableReplicas"}, "readyReplicas", complaints);
  check_collisions(next, live, complaints);
}

void validate_replica_set(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  not_negative(spec, "spec", {"replicas", "minReadySeconds"}, complaints);
  check_selector(spec, "deployment", complaints);  // the real server's words, too
  check_template(spec, "ReplicaSet", "invalid label selector", complaints);
}

void validate_replica_status(const json::object& next, const json::object&, FieldErrors& errors) {
  Complaints complaints(errors);
  check_counts(next,
               {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
                "terminatingReplicas"},
               {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"}, "readyReplicas", complaints);
}

void validate_replication_controller(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  not_negative(spec, "spec", {"minReadySeconds"}, complaints);
  const json::object& selector = object_at(spec, {"selector"});
  if (selector.empty()) complaints.required("spec.selector");
  not_negative(spec, "spec", {"replicas"}, complaints);
  if (!has(spec, {"template"})) return complaints.required("spec.template");
  const json::object& pod_template = object_at(spec, {"template"});
  const json::object& labels = object_at(pod_template, {"metadata", "labels"});
  if (!selector_matches({{"matchLabels", selector}}, labels))
    complaints.invalid("spec.template.metadata.labels", json::value(labels),
                       "`selector` does not match template `labels`");
  check_pod_template(pod_template, "spec.template", complaints);
  if (const std::string_view policy = string_at(pod_template, {"spec", "restartPolicy"}); policy != "Always")
    complaints.unsupported("spec.template.spec.restartPolicy", json::value(policy), {"Always"});
}

void validate_stateful_set(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  const std::string_view management = string_at(spec, {"podManagementPolicy"});
  if (management != "OrderedReady" && management != "Parallel")
    complaints.invalid("spec.podManagementPolicy", json::value(management), "must be 'OrderedReady' or 'Parallel'");
  const json::object& strategy = object_at(spec, {"updateStrategy"});
  const std::string_view type = string_at(strategy, {"type"});
  if (type == "OnDelete") {
    if (has(strategy, {"rollingUpdate"}))
      complaints.invalid("spec.updateStrategy.rollingUpdate",
                         go_struct(object_at(strategy, {"rollingUpdate"}),
                                   {{"partition", "Partition"}, {"maxUnavailable", "MaxUnavailable"}}),
                         "only allowed for updateStrategy 'RollingUpdate'");
  } else if (type == "RollingUpdate") {
    not_negative(object_at(strategy, {"rollingUpdate"}), "spec.updateStrategy.rollingUpdate", {"partition"},
                 complaints);
    if (const json::value* unavailable = value_at(strategy, {"rollingUpdate", "maxUnavailable"})) {
      const std::string path = "spec.updateStrategy.rollingUpdate.maxUnavailable";
      check_count_or_percent(unavailable, path, complaints);
      if (amount(unavailable) == 0) complaints.invalid(path, *unavailable, "cannot be 0");
      check_percentage_limit(unavailable, path, complaints);
    }
  } else {
    complaints.invalid("spec.updateStrategy", shown_strategy(strategy), "must be 'RollingUpdate' or 'OnDelete'");
  }
  for (const char* key : {"whenDeleted", "whenScaled"})
    if (has(spec, {"persistentVolumeClaimRetentionPolicy"}))
      complaints.one_of(child("spec.persistentVolumeClaimRetentionPolicy", key),
                        string_at(spec, {"persistentVolumeClaimRetentionPolicy", key}), {"Delete", "Retain"});
  const json::array& claims = array_at(spec, {"volumeClaimTemplates"});
  for (size_t i = 0; i < claims.size(); ++i)
    check_claim_spec(object_at(as_object(claims[i]), {"spec"}), child(at("spec.volumeClaimTemplates", i), "spec"),
                     complaints);
  not_negative(spec, "spec", {"replicas", "minReadySeconds"}, complaints);
  complaints.not_negative("spec.ordinals.start", integer_at(spec, {"ordinals", "start"}));
  if (const std::string_view service = string_at(spec, {"serviceName"}); !service.empty())
    complaints.invalid("spec.serviceName", service, dns_label(service));
  check_selector(spec, "statefulset", complaints);
  // The controller sets these; claims become volumes of their names.
  json::object filled = spec;
  json::object& pod = ensure_object(filled, {"template", "spec"});
  pod.erase("subdomain");
  pod.erase("hostname");
  if (!claims.empty()) {
    json::array volumes;
    for (const json::value& claim : claims) {
      const json::value name(string_at(as_object(claim), {"metadata", "name"}));
      volumes.push_back(json::object{{"name", name}, {"persistentVolumeClaim", {{"claimName", name}}}});
    }
    for (const json::value& volume : array_at(spec, {"template", "spec", "volumes"}))
      if (std::ranges::none_of(claims, [&](const json::value& claim) {
            return string_at(as_object(claim), {"metadata", "name"}) == string_at(as_object(volume), {"name"});
          }))
        volumes.push_back(volume);
    pod["volumes"] = std::move(volumes);
  }
  check_template(filled, "StatefulSet", "", complaints);
}

void validate_stateful_set_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  json::object spec = object_at(next, {"spec"}), old = object_at(live, {"spec"});
  for (const char* key : {"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
                          "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"}) {
    spec.erase(key);
    old.erase(key);
  }
  if (!same(spec, old))
    Complaints(errors).forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
        "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

void validate_stateful_set_status(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  check_counts(next,
               {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
                "observedGeneration", "collisionCount"},
               {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}, "status.readyReplicas",
               complaints);
  check_collisions(next, live, complaints);
}

void validate_daemon_set(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  const json::object& selector = object_at(spec, {"selector"});
  check_label_selector(selector, "spec.selector", complaints);
  if (has(spec, {"selector"}) && object_at(selector, {"matchLabels"}).empty() &&
      array_at(selector, {"matchExpressions"}).empty())
    complaints.invalid("spec.selector", json::value(selector), "empty selector is invalid for daemonset");
  check_template(spec, "DaemonSet", "", complaints);
  not_negative(spec, "spec", {"minReadySeconds"}, complaints);
  const json::object& strategy = object_at(spec, {"updateStrategy"});
  const std::string_view type = string_at(strategy, {"type"});
  if (type == "RollingUpdate") {
    const std::string path = "spec.updateStrategy.rollingUpdate";
    const json::value* unavailable = value_at(strategy, {"rollingUpdate", "maxUnavailable"});
    const json::value* surge = value_at(strategy, {"rollingUpdate", "maxSurge"});
    check_count_or_percent(unavailable, path + ".maxUnavailable", complaints);
    check_count_or_percent(surge, path + ".maxSurge", complaints);
    check_percentage_limit(unavailable, path + ".maxUnavailable", complaints);
    check_percentage_limit(surge, path + ".maxSurge", complaints);
    if (amount(unavailable) != 0 && amount(surge) != 0)
      complaints.invalid(path + ".maxSurge", *surge, "may not be set when maxUnavailable is non-zero");
    if (amount(unavailable) == 0 && amount(surge) == 0)
      complaints.required(path + ".maxUnavailable", "cannot be 0 when maxSurge is 0");
  } else if (type != "OnDelete") {
    complaints.unsupported("spec.updateStrategy", shown_strategy(strategy), {"RollingUpdate", "OnDelete"});
  }
  not_negative(spec, "spec", {"revisionHistoryLimit"}, complaints);
}

void validate_daemon_set_status(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  not_negative(
      object_at(next, {"status"}), "status",
      {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
       "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"},
      complaints);
  check_collisions(next, live, complaints);
}

// The annotations of a Deployment count as its spec does: it has more of them than its pods.
void count_annotations(json::object& next, const json::object& live, const WriteContext& context) {
  if (context.subresource == "status") return;
  if (object_at(next, {"metadata", "annotations"}) != object_at(live, {"metadata", "annotations"}))
    ensure_object(next, {"metadata"})["generation"] = integer_at(live, {"metadata", "generation"}).value_or(0) + 1;
}

constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

int64_t template_generation(const json::object& daemon_set) {
  const std::string_view text = string_at(daemon_set, {"metadata", "annotations", kTemplateGeneration});
  int64_t generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return generation;
}

// What every kind with a pod template warns of.
std::vector<std::string> template_warnings(const json::object& object) {
  return pod_warnings(object_at(object, {"spec", "template", "metadata"}),
                      object_at(object, {"spec", "template", "spec"}), "spec.template.metadata", "spec.template.spec");
}

Strategy workload(void (*validate)(const json::object&, FieldErrors&)) {
  Strategy s;
  s.validate = validate;
  s.warnings = template_warnings;
  s.update_warns = Strategy::UpdateWarns::kNewGeneration;
  s.generation = true;
  return s;
}

}  // namespace

const Strategy& deployment_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = workload(validate_deployment);
    s.prepare_update = count_annotations;
    s.validate_update = selector_stays;
    s.validate_status = validate_deployment_status;
    return s;
  }();
  return kStrategy;
}

const Strategy& replica_set_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = workload(validate_replica_set);
    s.validate_update = selector_stays;
    s.validate_status = validate_replica_status;
    return s;
  }();
  return kStrategy;
}

const Strategy& replication_controller_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = workload(validate_replication_controller);
    s.orphans_by_default = true;
    s.validate_status = validate_replica_status;
    s.selectable.emplace("status.replicas", field_at({"status", "replicas"}, "0"));
    return s;
  }();
  return kStrategy;
}

const Strategy& stateful_set_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = workload(validate_stateful_set);
    s.validate_update = validate_stateful_set_update;
    s.validate_status = validate_stateful_set_status;
    s.name_rule = Strategy::NameRule::kDnsLabel;
    return s;
  }();
  return kStrategy;
}

const Strategy& daemon_set_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = workload(validate_daemon_set);
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      FieldErrors first;  // told before the rest, as the real server does
      selector_stays(next, live, first);
      errors.insert(errors.begin(), first.begin(), first.end());
    };
    s.validate_status = validate_daemon_set_status;
    // deprecated.daemonset.template.generation counts the templates, as the real server's conversion shows it.
    // It is there from the moment it is decoded, with 0, so that managedFields know of it.
    s.defaults = [](json::object& object) {
      json::object& annotations = ensure_object(object, {"metadata", "annotations"});
      if (!annotations.contains(kTemplateGeneration)) annotations[kTemplateGeneration] = "0";
    };
    s.prepare_create = [](json::object& object, const WriteContext&) {
      const int64_t generation = std::max<int64_t>(template_generation(object), 1);
      ensure_object(object, {"metadata", "annotations"})[kTemplateGeneration] = std::to_string(generation);
    };
    s.prepare_update = [](json::object& next, const json::object& live, const WriteContext&) {
      int64_t generation = template_generation(live);
      if (!same(value_at(next, {"spec", "template"}), value_at(live, {"spec", "template"}))) ++generation;
      ensure_object(next, {"metadata", "annotations"})[kTemplateGeneration] = std::to_string(generation);
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& controller_revision_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      complaints.not_negative("revision", integer_at(object, {"revision"}));
      const json::value* data = value_at(object, {"data"});
      if (!data) return complaints.required("data", "data is mandatory");
      if (!data->is_object()) complaints.required("data", "data must be a valid JSON object");
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints(errors).immutable("data", value_at(next, {"data"}), value_at(live, {"data"}));
    };
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
