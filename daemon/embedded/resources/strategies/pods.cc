// Pods: what admission fills in, the status of a new one, what may change later. Thread: loop only.
// Source: API docs "Pods", "Pod quality of service classes", "Pod priority", "Taints and tolerations"; KEP-3521
// (scheduling gates). Left out: the injected token volume kube-api-access-*, LimitRanger, the Go-struct diff that the
// real server puts behind "may not change fields other than".
#include <algorithm>

#include "base/json_read.h"
#include "base/time.h"
#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/strategies.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {
namespace {

Refusal refuse_pod(const json::object& pod, std::string why) {
  const std::string_view name = string_at(pod, {"metadata", "name"});
  return refuse(forbidden({"", "pods", "Pod", std::string(name)}, why));
}

json::object stored_object(const WriteContext& context, std::string_view key, std::string_view ns,
                           std::string_view name) {
  const std::optional<std::string> text = context.lookup->find(key, ns, name);
  if (!text) return {};
  const Result<json::value> value = parse_json(*text);
  return value && value->is_object() ? value->get_object() : json::object();
}

Answer<void> admit_service_account(json::object& pod, const WriteContext& context) {
  json::object& spec = ensure_object(pod, {"spec"});
  if (string_at(pod, {"metadata", "annotations", "kubernetes.io/config.mirror"}) != "") return {};
  if (string_at(spec, {"serviceAccountName"}).empty()) {
    const std::string old(string_at(spec, {"serviceAccount"}));  // a copy: a new field may move the others
    spec["serviceAccountName"] = old.empty() ? "default" : old;
  }
  const std::string name(string_at(spec, {"serviceAccountName"}));
  spec["serviceAccount"] = name;
  if (!context.lookup) return {};
  const std::string_view ns = string_at(pod, {"metadata", "namespace"});
  const json::object account = stored_object(context, "serviceaccounts", ns, name);
  if (account.empty()) {
    // "default" comes with the namespace a moment later: a pod need not wait for it here.
    if (name == "default") return {};
    return refuse_pod(
        pod, fmt::format("error looking up service account {}/{}: serviceaccount \"{}\" not found", ns, name, name));
  }
  if (array_at(spec, {"imagePullSecrets"}).empty() && !array_at(account, {"imagePullSecrets"}).empty())
    spec["imagePullSecrets"] = array_at(account, {"imagePullSecrets"});
  return {};
}

struct Priority {
  int64_t value = 0;
  std::string policy = "PreemptLowerPriority";
  std::string name;
};

std::optional<Priority> find_priority(const std::string& name, const WriteContext& context) {
  const auto read = [](const json::object& object) {
    const std::string_view policy = string_at(object, {"preemptionPolicy"});
    return Priority{integer_at(object, {"value"}).value_or(0),
                    policy.empty() ? "PreemptLowerPriority" : std::string(policy),
                    std::string(string_at(object, {"metadata", "name"}))};
  };
  if (name.empty()) {
    std::optional<Priority> found;
    if (context.lookup)
      context.lookup->each("priorityclasses.scheduling.k8s.io", "", [&](std::string_view text) {
        const Result<json::value> value = parse_json(text);
        if (value && value->is_object() && bool_at(value->get_object(), {"globalDefault"})) {
          Priority here = read(value->get_object());
          if (!found || here.value < found->value) found = std::move(here);
        }
        return true;
      });
    return found ? found : Priority{};
  }
  if (context.lookup)
    if (const json::object stored = stored_object(context, "priorityclasses.scheduling.k8s.io", "", name);
        !stored.empty())
      return read(stored);
  if (name == "system-cluster-critical") return Priority{2000000000, "PreemptLowerPriority", name};
  if (name == "system-node-critical") return Priority{2000001000, "PreemptLowerPriority", name};
  if (!context.lookup) return Priority{0, "PreemptLowerPriority", name};
  return std::nullopt;
}

Answer<void> admit_priority(json::object& pod, const WriteContext& context) {
  json::object& spec = ensure_object(pod, {"spec"});
  const std::string name(string_at(spec, {"priorityClassName"}));
  const std::optional<Priority> found = find_priority(name, context);
  if (!found) return refuse_pod(pod, fmt::format("no PriorityClass with name {} was found", name));
  if (const auto given = integer_at(spec, {"priority"}); given && *given != found->value)
    return refuse_pod(pod, fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                                       "admission controller computed {} from the given PriorityClass name",
                                       *given, found->value));
  if (const std::string_view given = string_at(spec, {"preemptionPolicy"}); !given.empty() && given != found->policy)
    return refuse_pod(pod, fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; "
                                       "priority admission controller computed {} from the given PriorityClass name",
                                       given, found->policy));
  if (name.empty() && !found->name.empty()) spec["priorityClassName"] = found->name;
  spec["priority"] = found->value;
  spec["preemptionPolicy"] = found->policy;
  return {};
}

void add_default_tolerations(json::object& pod) {
  json::object& spec = ensure_object(pod, {"spec"});
  json::value& list = spec["tolerations"];
  if (!list.is_array()) list.emplace_array();
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const bool told = std::ranges::any_of(list.get_array(), [&](const json::value& item) {
      const std::string_view key = string_at(as_object(item), {"key"});
      const std::string_view effect = string_at(as_object(item), {"effect"});
      return (key == taint || key.empty()) && (effect == "NoExecute" || effect.empty());
    });
    if (told) continue;
    list.get_array().push_back(
        json::object{{"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
  }
}

Answer<void> admit_runtime_class(json::object& pod, const WriteContext& context) {
  const std::string name(string_at(pod, {"spec", "runtimeClassName"}));
  if (name.empty() || !context.lookup) return {};
  if (!context.lookup->find("runtimeclasses.node.k8s.io", "", name))
    return refuse_pod(pod, fmt::format("pod rejected: RuntimeClass \"{}\" not found", name));
  return {};
}

Answer<void> admit_pod(json::object& pod, const WriteContext& context) {
  for (const auto& step : {admit_service_account, admit_priority, admit_runtime_class})
    if (Answer<void> answer = step(pod, context); !answer) return answer;
  add_default_tolerations(pod);
  return {};
}

Answer<void> admit_pod_update(json::object& next, const json::object& live, const WriteContext& context) {
  if (!context.subresource.empty()) return {};
  // A client that sends the pod as it wrote it, without what admission filled in, does not mean to remove that.
  json::object& spec = ensure_object(next, {"spec"});
  for (const char* key : {"priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"})
    if (!has(spec, {key}) && has(live, {"spec", key})) spec[key] = live.at("spec").at(key);
  add_default_tolerations(next);
  return {};
}

// By requests and limits of cpu and memory, of all containers.
std::string qos_class(const json::object& spec) {
  bool any = false, guaranteed = true;
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::value& item : array_at(spec, {list})) {
      const json::object& resources = object_at(as_object(item), {"resources"});
      for (const char* resource : {"cpu", "memory"}) {
        const auto amount = [&](const char* which) {
          const json::value* value = value_at(resources, {which, resource});
          if (!value) return std::string();
          const std::string text = value->is_string() ? std::string(as_string(*value)) : json::serialize(*value);
          return compare_quantities(text, "0") == 0 ? std::string() : text;
        };
        const std::string limit = amount("limits"), request = amount("requests");
        any = any || !limit.empty() || !request.empty();
        guaranteed = guaranteed && !limit.empty() && (request.empty() || compare_quantities(limit, request) == 0);
      }
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

json::object gated_condition() {
  return {{"type", "PodScheduled"},      {"status", "False"},
          {"lastProbeTime", nullptr},    {"lastTransitionTime", nullptr},
          {"reason", "SchedulingGated"}, {"message", "Scheduling is blocked due to non-empty scheduling gates"}};
}

void prepare_pod(json::object& pod, const WriteContext& context) {
  json::object status;
  const json::object& spec = object_at(pod, {"spec"});
  status["phase"] = "Pending";
  if (!array_at(spec, {"schedulingGates"}).empty()) {
    json::object condition = gated_condition();
    condition["lastTransitionTime"] = format_rfc3339(context.scheduler.wall_now());
    status["conditions"] = json::array{std::move(condition)};
  }
  status["qosClass"] = qos_class(spec);
  pod["status"] = std::move(status);
}

void prepare_pod_update(json::object& next, const json::object& live, const WriteContext& context) {
  json::object& spec = ensure_object(next, {"spec"});
  if (context.subresource == "ephemeralcontainers") {
    json::value guests = spec.contains("ephemeralContainers") ? spec["ephemeralContainers"] : json::value(nullptr);
    spec = object_at(live, {"spec"});
    if (guests.is_array())
      spec["ephemeralContainers"] = std::move(guests);
    else
      spec.erase("ephemeralContainers");
  } else if (context.subresource == "resize") {
    const json::object wanted = std::move(spec);
    spec = object_at(live, {"spec"});
    for (const char* list : {"containers", "initContainers"}) {
      if (!has(spec, {list})) continue;
      for (json::value& item : spec[list].as_array()) {
        for (const json::value& other : array_at(wanted, {list})) {
          if (!item.is_object() || string_at(as_object(other), {"name"}) != string_at(as_object(item), {"name"}))
            continue;
          item.get_object()["resources"] = object_at(as_object(other), {"resources"});
        }
      }
    }
  } else if (context.subresource.empty()) {
    if (const json::value* guests = value_at(live, {"spec", "ephemeralContainers"}))
      spec["ephemeralContainers"] = *guests;
  }
  if (context.subresource != "status") {
    if (const json::value* status = value_at(live, {"status"})) next["status"] = *status;
  } else if (!has(next, {"status", "qosClass"}) && has(live, {"status", "qosClass"})) {
    ensure_object(next, {"status"})["qosClass"] = string_at(live, {"status", "qosClass"});  // a client that left it out
  }
}

void validate_pod(const json::object& pod, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(pod, {"spec"});
  check_pod_spec(spec, "spec", PodOwner::kPod, complaints);
  for (const char* list : {"containers", "initContainers"}) {
    const json::array& containers = array_at(spec, {list});
    for (size_t i = 0; i < containers.size(); ++i) {
      const std::string_view image = string_at(as_object(containers[i]), {"image"});
      if (!image.empty() && (std::isspace(static_cast<unsigned char>(image.front())) ||
                             std::isspace(static_cast<unsigned char>(image.back()))))
        complaints.invalid(child(at(child("spec", list), i), "image"), json::value(image),
                           "must not have leading or trailing whitespace");
    }
  }
}

void put(json::object& object, std::string_view key, const json::value* value) {
  if (value) {
    object[key] = *value;
  } else {
    object.erase(key);
  }
}

void check_tolerations_kept(const json::object& next, const json::object& live, Complaints& complaints) {
  for (const json::value& old : array_at(live, {"tolerations"})) {
    const bool kept = std::ranges::any_of(array_at(next, {"tolerations"}), [&](const json::value& item) {
      json::object a = as_object(old), b = as_object(item);
      a.erase("tolerationSeconds");
      b.erase("tolerationSeconds");
      return same(a, b);
    });
    if (kept) continue;
    return complaints.forbidden("spec.tolerations",
                                "existing toleration can not be modified except its tolerationSeconds");
  }
}

void validate_pod_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  json::object spec = object_at(next, {"spec"});
  const json::object& old = object_at(live, {"spec"});
  for (const char* list : {"containers", "initContainers"})
    if (array_at(spec, {list}).size() != array_at(old, {list}).size())
      return complaints.forbidden(child("spec", list), "pod updates may not add or remove containers");
  const auto deadline = integer_at(spec, {"activeDeadlineSeconds"});
  const auto old_deadline = integer_at(old, {"activeDeadlineSeconds"});
  if (deadline && old_deadline && *old_deadline < *deadline)
    return complaints.invalid("spec.activeDeadlineSeconds", *deadline, "must be less than or equal to previous value");
  if (!deadline && old_deadline)
    complaints.invalid("spec.activeDeadlineSeconds", nullptr, "must not update from a positive integer to nil value");
  check_tolerations_kept(spec, old, complaints);
  const json::array &gates = array_at(spec, {"schedulingGates"}), &old_gates = array_at(old, {"schedulingGates"});
  for (size_t i = 0; i < gates.size(); ++i)
    if (std::ranges::find(old_gates, gates[i]) == old_gates.end())
      complaints.forbidden(at("spec.schedulingGates", i) + ".name",
                           fmt::format("only deletion is allowed, but found new scheduling gate '{}'",
                                       string_at(as_object(gates[i]), {"name"})));
  // What may change is put back; then nothing may differ.
  for (const char* key : {"activeDeadlineSeconds", "schedulingGates", "tolerations"})
    put(spec, key, value_at(old, {key}));
  for (const char* list : {"containers", "initContainers"}) {
    if (!has(spec, {list})) continue;
    json::array& containers = spec[list].as_array();
    for (size_t i = 0; i < containers.size(); ++i)
      if (containers[i].is_object())
        put(containers[i].get_object(), "image", value_at(as_object(array_at(old, {list})[i]), {"image"}));
  }
  if (integer_at(old, {"terminationGracePeriodSeconds"}).value_or(0) < 0 &&
      integer_at(spec, {"terminationGracePeriodSeconds"}) == 1)
    put(spec, "terminationGracePeriodSeconds", value_at(old, {"terminationGracePeriodSeconds"}));
  if (!array_at(old, {"schedulingGates"}).empty()) {  // a gated pod may be narrowed to fewer nodes
    bool additions = true;
    for (const auto& entry : object_at(old, {"nodeSelector"}))
      additions = additions && same(&entry.value(), object_at(spec, {"nodeSelector"}).if_contains(entry.key()));
    if (!additions)
      complaints.invalid("spec.nodeSelector", json::value(object_at(spec, {"nodeSelector"})),
                         "only additions are allowed (no mutations or deletions)");
    put(spec, "nodeSelector", value_at(old, {"nodeSelector"}));
    if (!has(old, {"affinity", "nodeAffinity"}) && has(spec, {"affinity"}))
      spec["affinity"].as_object().erase("nodeAffinity");
  }
  if (!same(spec, old))
    complaints.forbidden("spec",
                         "pod updates may not change fields other than "
                         "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                         "`spec.tolerations` (only additions to existing tolerations),"
                         "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
                         "negative)");
}

void validate_pod_status(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  complaints.immutable("status.qosClass", value_at(next, {"status", "qosClass"}),
                       value_at(live, {"status", "qosClass"}));
  const json::array& ips = array_at(next, {"status", "podIPs"});
  for (size_t i = 0; i < ips.size(); ++i)
    if (const std::string_view ip = string_at(as_object(ips[i]), {"ip"}); !is_ip(ip))
      complaints.invalid(at("status.podIPs", i), json::value(ip),
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  const json::array& conditions = array_at(next, {"status", "conditions"});
  for (size_t i = 0; i < conditions.size(); ++i)  // "Type" with a capital, as the real server tells it
    check_label_key(string_at(as_object(conditions[i]), {"type"}), child(at("status.conditions", i), "Type"),
                    complaints);
  const std::string_view policy = string_at(live, {"spec", "restartPolicy"});
  if (policy == "Always") return;
  const json::array& statuses = array_at(live, {"status", "containerStatuses"});
  for (size_t i = 0; i < statuses.size(); ++i) {
    const json::object& old = as_object(statuses[i]);
    if (!has(old, {"state", "terminated"})) continue;
    if (policy == "OnFailure" && integer_at(old, {"state", "terminated", "exitCode"}).value_or(0) != 0) continue;
    for (const json::value& item : array_at(next, {"status", "containerStatuses"}))
      if (string_at(as_object(item), {"name"}) == string_at(old, {"name"}) &&
          !has(as_object(item), {"state", "terminated"}))
        complaints.forbidden(child(at("status.containerStatuses", i), "state"),
                             "may not be transitioned to non-terminated state");
  }
}

void validate_guests(const json::object& next, const json::object& live, FieldErrors& errors) {
  validate_pod(next, errors);
  Complaints complaints(errors);
  for (const json::value& old : array_at(live, {"spec", "ephemeralContainers"})) {
    const std::string_view name = string_at(as_object(old), {"name"});
    const json::array& list = array_at(next, {"spec", "ephemeralContainers"});
    const auto found = std::ranges::find_if(
        list, [&](const json::value& item) { return string_at(as_object(item), {"name"}) == name; });
    if (found == list.end()) {
      complaints.forbidden("spec.ephemeralContainers",
                           fmt::format("existing ephemeral containers \"{}\" may not be removed\n", name));
    } else if (!same(&*found, &old)) {
      complaints.forbidden("spec.ephemeralContainers",
                           fmt::format("existing ephemeral containers \"{}\" may not be changed\n", name));
    }
  }
}

void validate_resize(const json::object& next, const json::object& live, FieldErrors& errors) {
  validate_pod(next, errors);
  const std::string before = qos_class(object_at(live, {"spec"})), after = qos_class(object_at(next, {"spec"}));
  if (before != after)
    Complaints(errors).invalid("spec", json::value(before), "Pod QOS Class may not change as a result of resizing");
}

}  // namespace

const Strategy& pod_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.admit = admit_pod;
    s.admit_update = admit_pod_update;
    s.prepare_create = prepare_pod;
    s.prepare_update = prepare_pod_update;
    s.validate = validate_pod;
    s.validate_update = validate_pod_update;
    s.validate_status = validate_pod_status;
    s.validate_subresource["ephemeralcontainers"] = validate_guests;
    s.validate_subresource["resize"] = validate_resize;
    s.update_warns = Strategy::UpdateWarns::kNever;
    s.warnings = [](const json::object& pod) {
      return pod_warnings(object_at(pod, {"metadata"}), object_at(pod, {"spec"}), "metadata", "spec");
    };
    for (const char* key : {"nodeName", "restartPolicy", "schedulerName", "serviceAccountName"})
      s.selectable.emplace(child("spec", key), field_at({"spec", key}));
    for (const char* key : {"phase", "podIP", "nominatedNodeName"})
      s.selectable.emplace(child("status", key), field_at({"status", key}));
    s.selectable.emplace("spec.hostNetwork", field_at({"spec", "hostNetwork"}, "false"));
    s.generation = true;
    s.graceful_delete = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& pod_template_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_pod_template(object_at(object, {"template"}), "template", complaints);
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

Selectable field_at(std::vector<std::string> path, std::string unset) {
  return [path = std::move(path), unset = std::move(unset)](const json::object& object) -> std::string {
    const json::object* where = &object;
    const json::value* value = nullptr;
    for (const std::string& key : path) {
      value = where ? where->if_contains(key) : nullptr;
      if (!value || value->is_null()) return unset;
      where = value->if_object();
    }
    return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  };
}

const Strategy& plain_strategy() {
  static const Strategy kStrategy;
  return kStrategy;
}

}  // namespace hookd::embedded
