#include "embedded/verbs/subresources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_read.h"
#include "base/time.h"
#include "embedded/merge/managed_entries.h"
#include "embedded/resources/convert.h"
#include "embedded/verbs/object.h"
#include "embedded/verbs/write.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {
namespace {

// ".spec.replicas" -> its steps
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const auto dot = path.find('.');
    if (const auto step = path.substr(0, dot); !step.empty()) out.emplace_back(step);
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot);
  }
  return out;
}

const json::value* find(const json::object& object, std::string_view path) {
  const json::object* at = &object;
  const json::value* value = nullptr;
  for (const auto& step : steps_of(path)) {
    if (!at) return nullptr;
    value = at->if_contains(step);
    if (!value) return nullptr;
    at = value->if_object();
  }
  return value;
}

void set(json::object& object, std::string_view path, json::value value) {
  json::object* at = &object;
  const auto steps = steps_of(path);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    auto& next = (*at)[steps[i]];
    if (!next.is_object()) next = json::object{};
    at = &next.get_object();
  }
  if (!steps.empty()) (*at)[steps.back()] = std::move(value);
}

std::vector<PathElement> path_of(std::string_view path) {
  std::vector<PathElement> out;
  for (const auto& step : steps_of(path)) out.push_back(PathElement::of_field(step));
  return out;
}

bool owned(const ManagedEntries& entries, const std::vector<PathElement>& path) {
  return std::ranges::any_of(entries, [&](const ManagedEntry& entry) { return entry.set.has(path); });
}

int64_t number(const json::value* value) { return value && value->is_int64() ? value->get_int64() : 0; }

// Sets a condition of a pod's status; its lastTransitionTime changes with its status.
void set_condition(json::object& object, json::object condition, const std::string& now) {
  auto& value = ensure_object(object, {"status"})["conditions"];
  if (!value.is_array()) value = json::array{};
  for (auto& one : value.get_array()) {
    if (!one.is_object() || string_at(one.get_object(), {"type"}) != string_at(condition, {"type"})) continue;
    const bool flips = string_at(one.get_object(), {"status"}) != string_at(condition, {"status"});
    const auto* since = one.get_object().if_contains("lastTransitionTime");
    if (!flips && since)
      condition["lastTransitionTime"] = *since;
    else
      condition["lastTransitionTime"] = now;
    if (!condition.contains("lastProbeTime")) condition["lastProbeTime"] = nullptr;
    one = std::move(condition);
    return;
  }
  condition["lastTransitionTime"] = now;
  condition["lastProbeTime"] = nullptr;
  value.get_array().push_back(std::move(condition));
}

bool ready(const json::object& pod) {
  for (const auto& condition : array_at(pod, {"status", "conditions"}))
    if (string_at(as_object(condition), {"type"}) == "Ready")
      return string_at(as_object(condition), {"status"}) == "True";
  return false;
}

StatusError too_many_disruptions(int retry, std::string cause) {
  auto error = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", retry);
  error.details["causes"] = json::array{json::object{{"reason", "DisruptionBudget"}, {"message", std::move(cause)}}};
  return error;
}

// Takes one disruption from the budget. Errors: 429, 403.
Answer<void> take_disruption(const WriteCall& pod, const ResourcePtr& resource, json::object budget) {
  const std::string name(string_at(budget, {"metadata", "name"}));
  const auto status_number = [&](std::string_view field) { return integer_at(budget, {"status", field}).value_or(0); };
  const About about{"policy", "poddisruptionbudget", "PodDisruptionBudget", name};
  if (status_number("observedGeneration") < integer_at(budget, {"metadata", "generation"}).value_or(0))
    return refuse(too_many_disruptions(
        10, fmt::format("The disruption budget {} is still being processed by the server.", name)));
  const auto allowed = status_number("disruptionsAllowed");
  if (allowed < 0) return refuse(forbidden(about, "pdb disruptions allowed is negative"));
  if (object_at(budget, {"status", "disruptedPods"}).size() > 2000)
    return refuse(forbidden(about, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  if (allowed == 0) {
    const json::object* condition = nullptr;
    for (const auto& one : array_at(budget, {"status", "conditions"}))
      if (string_at(as_object(one), {"type"}) == "DisruptionAllowed") condition = &as_object(one);
    const auto told = condition && string_at(*condition, {"status"}) == "False" ? string_at(*condition, {"message"})
                                                                                : std::string_view{};
    if (!told.empty() && string_at(*condition, {"reason"}) == "SyncFailed")
      return refuse(too_many_disruptions(
          0, fmt::format("The disruption budget {} does not allow evicting pods currently because it failed sync: {}",
                         name, told)));
    const auto current = status_number("currentHealthy"), desired = status_number("desiredHealthy");
    if (current <= desired)
      return refuse(too_many_disruptions(
          0,
          fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", name, desired, current)));
    return refuse(too_many_disruptions(
        0, told.empty() ? fmt::format("The disruption budget {} does not allow evicting pods currently", name)
                        : fmt::format("The disruption budget {} does not allow evicting pods currently ({}): {}", name,
                                      string_at(*condition, {"reason"}), told)));
  }
  if (pod.dry_run) return {};
  auto& status = ensure_object(budget, {"status"});
  status["disruptionsAllowed"] = allowed - 1;
  ensure_object(budget, {"status", "disruptedPods"})[pod.name] = pod.world.now_text();
  if (allowed == 1)
    for (auto& one :
         status["conditions"].is_array() ? status["conditions"].get_array() : status["conditions"].emplace_array())
      if (one.is_object() && string_at(one.get_object(), {"type"}) == "DisruptionAllowed") {
        one.get_object()["status"] = "False";
        one.get_object()["reason"] = "InsufficientPods";
        one.get_object()["lastTransitionTime"] = pod.world.now_text();
      }
  auto call = pod;
  call.resource = resource;
  call.name = name;
  auto done = commit(call, std::move(budget));
  if (!done) return refuse(done.error());
  return {};
}

}  // namespace

json::object scale_of(const json::object& object, const Resource& resource) {
  json::object metadata;
  for (const std::string_view key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const auto* value = value_at(object, {"metadata", key})) metadata[key] = *value;
  json::object spec, status;
  if (const auto wanted = number(find(object, resource.scale->spec_replicas)); wanted != 0) spec["replicas"] = wanted;
  status["replicas"] = number(find(object, resource.scale->status_replicas));
  if (!resource.scale->label_selector.empty()) {
    std::string text;
    if (const auto* selector = find(object, resource.scale->label_selector)) {
      if (selector->is_string())
        text = std::string(selector->get_string());
      else if (selector->is_object() &&
               (selector->get_object().contains("matchLabels") || selector->get_object().contains("matchExpressions")))
        text = selector_text(selector, "", "");
      else if (selector->is_object())
        text = labels_text(selector->get_object(), "");
    }
    if (!text.empty()) status["selector"] = text;
  }
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

Answer<json::object> with_scale(json::object object, const json::object& scale, const WriteCall& call) {
  const auto replicas = integer_at(scale, {"spec", "replicas"}).value_or(0);
  if (replicas < 0)
    return refuse(
        invalid({"autoscaling", "scales", "Scale", call.name},
                {{FieldError::Type::kInvalid, "spec.replicas", "must be greater than or equal to 0", replicas}}));
  if (const auto version = string_at(scale, {"metadata", "resourceVersion"}); !version.empty())
    metadata_of(object)["resourceVersion"] = version;
  set(object, call.resource->scale->spec_replicas, replicas);
  return object;
}

void update_scale_owners(const json::object& live, json::object& next, const WriteCall& call) {
  const auto path = path_of(call.resource->scale->spec_replicas);
  const auto replicas = [&](const json::object& object) {
    return number(find(object, call.resource->scale->spec_replicas));
  };
  auto entries = read_managed_entries(value_at(live, {"metadata", "managedFields"}));
  if (!entries || !owned(*entries, path) || replicas(live) == replicas(next)) return;
  if (replicas(next) != 0)
    return update_managed_fields(live, next, *call.resource->schema, writer_of(call),
                                 reset_fields(*call.resource, call.subresource));
  FieldSet gone;
  gone.insert(path);
  for (auto& entry : *entries)
    if (subtract(entry.set, gone)) entry.changed = true;
  std::erase_if(*entries, [](const ManagedEntry& entry) { return entry.set.empty(); });
  metadata_of(next)["managedFields"] = write_managed_entries(*std::move(entries));
}

json::object with_scale_owner(json::object live, const WriteCall& call) {
  const auto path = path_of(call.resource->scale->spec_replicas);
  const auto entries = read_managed_entries(value_at(live, {"metadata", "managedFields"}));
  if (!entries || owned(*entries, path) || number(find(live, call.resource->scale->spec_replicas)) == 0) return live;
  FieldSet replicas;
  replicas.insert(path);
  auto& list = metadata_of(live)["managedFields"];
  if (!list.is_array()) list = json::array{};
  list.get_array().push_back(json::object{{"manager", "before-first-apply"},
                                          {"operation", "Update"},
                                          {"apiVersion", call.resource->api_version()},
                                          {"fieldsType", "FieldsV1"},
                                          {"fieldsV1", to_fields_v1(replicas)},
                                          {"subresource", call.subresource}});
  return live;
}

Answer<void> bind_pod(const WriteCall& call, const json::object& binding) {
  if (string_at(binding, {"metadata", "name"}) != call.name)
    return refuse(bad_request("name in URL does not match name in Binding object"));
  const auto kind = string_at(binding, {"target", "kind"});
  FieldErrors errors;
  if (!kind.empty() && kind != "Node")
    errors.push_back({FieldError::Type::kNotSupported, "target.kind", "", json::value(kind), {"Node", "<empty>"}});
  const std::string node(string_at(binding, {"target", "name"}));
  if (node.empty()) errors.push_back({FieldError::Type::kRequired, "target.name", ""});
  if (!errors.empty()) {
    std::string text = errors.size() == 1 ? errors[0].text() : "[" + errors[0].text() + ", " + errors[1].text() + "]";
    return refuse(plain_error(500, std::move(text)));
  }
  const auto stored = call.world.store.get("pods", call.ns, call.name);
  if (!stored) return refuse(not_found(call.about()));
  auto loaded = load(*stored, *call.resource);
  if (!loaded) return refuse(loaded.error());
  auto pod = *std::move(loaded);
  const auto cannot = [&](std::string why) { return refuse(conflict({"", "pods/binding", "Pod", call.name}, why)); };
  const auto uid = string_at(binding, {"metadata", "uid"});
  const auto version = string_at(binding, {"metadata", "resourceVersion"});
  if (!uid.empty() && uid != stored->uid)
    return cannot(
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, stored->uid));
  if (!version.empty() && version != std::to_string(stored->revision))
    return cannot(
        fmt::format("Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object "
                    "meta: {}",
                    version, stored->revision));
  if (has(pod, {"metadata", "deletionTimestamp"}))
    return cannot(fmt::format("pod {} is being deleted, cannot be assigned to a host", call.name));
  if (const auto now = string_at(pod, {"spec", "nodeName"}); !now.empty())
    return cannot(fmt::format("pod {} is already assigned to node {}", call.name, go_quote(now)));
  if (!array_at(pod, {"spec", "schedulingGates"}).empty())
    return cannot(fmt::format("pod {} has non-empty .spec.schedulingGates", call.name));
  ensure_object(pod, {"spec"})["nodeName"] = node;
  ensure_object(pod, {"status"}).erase("nominatedNodeName");
  for (const std::string_view part : {"annotations", "labels"})
    for (const auto& [key, value] : object_at(binding, {"metadata", part}))
      ensure_object(pod, {"metadata", part})[key] = value;
  set_condition(pod, {{"type", "PodScheduled"}, {"status", "True"}}, call.world.now_text());
  auto done = commit(call, std::move(pod));
  if (!done) return refuse(done.error());
  return {};
}

Answer<void> evict_pod(const WriteCall& call, const DeleteOptions& options) {
  const auto stored = call.world.store.get("pods", call.ns, call.name);
  if (!stored) return refuse(not_found(call.about()));
  auto loaded = load(*stored, *call.resource);
  if (!loaded) return refuse(loaded.error());
  auto pod = *std::move(loaded);
  const auto phase = string_at(pod, {"status", "phase"});
  const bool free =
      phase == "Succeeded" || phase == "Failed" || phase == "Pending" || has(pod, {"metadata", "deletionTimestamp"});
  const auto budgets = call.world.registry.stored("poddisruptionbudgets.policy");
  if (!free && budgets) {
    std::vector<json::object> found;
    call.world.store.scan(budgets->storage_key, call.ns, "", [&](const StoredPtr& one) {
      auto budget = load(*one, *budgets);
      if (budget && has(*budget, {"spec", "selector"}) &&
          selector_matches(object_at(*budget, {"spec", "selector"}), object_at(pod, {"metadata", "labels"})))
        found.push_back(*std::move(budget));
      return true;
    });
    if (found.size() > 1)
      return refuse(plain_error(
          500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
    if (!found.empty()) {
      const auto& budget = found.front();
      const auto healthy = integer_at(budget, {"status", "currentHealthy"}).value_or(0);
      const auto desired = integer_at(budget, {"status", "desiredHealthy"}).value_or(0);
      const bool unguarded =
          !ready(pod) && (string_at(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow" ||
                          (healthy >= desired && desired > 0));
      if (!unguarded)
        if (auto done = take_disruption(call, budgets, budget); !done) return refuse(done.error());
    }
  }
  auto next = options;
  if (!call.dry_run) {
    if (options.uid && *options.uid != stored->uid)
      return refuse(conflict({"", "Pod", "Pod", call.name},
                             fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                                         "object might have been deleted and then recreated",
                                         *options.uid, stored->uid)));
    if (options.resource_version && *options.resource_version != std::to_string(stored->revision))
      return refuse(conflict({"", "Pod", "Pod", call.name},
                             fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                                         "ResourceVersion in record ({}). The object might have been modified",
                                         *options.resource_version, stored->revision)));
    set_condition(pod,
                  {{"type", "DisruptionTarget"},
                   {"status", "True"},
                   {"reason", "EvictionByEvictionAPI"},
                   {"message", "Eviction API: evicting"}},
                  call.world.now_text());
    auto marked = commit(call, std::move(pod));
    if (!marked) return refuse(marked.error());
    next.resource_version.reset();
  }
  auto removed = remove_object(call, next);
  if (!removed) return refuse(removed.error());
  return {};
}

namespace {

// What a token shall be bound to must be there. The token itself ends with its service account only.
Answer<void> check_bound_object(const WriteCall& call, const json::object& request) {
  const json::object& ref = object_at(request, {"spec", "boundObjectRef"});
  if (ref.empty()) return {};
  const auto kind = string_at(ref, {"kind"}), version = string_at(ref, {"apiVersion"});
  const bool known = version == "v1" && (kind == "Pod" || kind == "Secret" || kind == "Node");
  if (!known) {
    const auto slash = version.find('/');
    const auto group = slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
    return refuse(
        bad_request(fmt::format("cannot bind token to object of type {}/{}, Kind={}", group,
                                slash == std::string_view::npos ? version : version.substr(slash + 1), kind)));
  }
  const std::string plural = kind == "Pod" ? "pods" : kind == "Secret" ? "secrets" : "nodes";
  const std::string name(string_at(ref, {"name"}));
  const auto stored = call.world.store.get(plural, kind == "Node" ? "" : call.ns, name);
  if (!stored) return refuse(not_found({"", plural, std::string(kind), name}));
  if (kind == "Pod" && json_string_at(stored->text, {"spec", "serviceAccountName"}) != call.name)
    return refuse(bad_request(
        fmt::format("cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    go_quote(call.name))));
  if (const auto uid = string_at(ref, {"uid"}); !uid.empty() && uid != stored->uid)
    return refuse(conflict({"", std::string(kind), std::string(kind), name},
                           fmt::format("the UID in the bound object reference ({}) does not match the UID in record. "
                                       "The object might have been deleted and then recreated",
                                       uid)));
  return {};
}

}  // namespace

Answer<json::object> request_token(const WriteCall& call, json::object request) {
  const About about{"authentication.k8s.io", "tokenrequests", "TokenRequest", call.name};
  const auto differs = [&](std::string_view field, std::string_view expected) {
    const auto value = string_at(request, {"metadata", field});
    return !value.empty() && value != expected;
  };
  if (differs("name", call.name))
    return refuse(invalid(
        about, {{FieldError::Type::kInvalid, "metadata.name", "must match the service account name if specified",
                 json::value(string_at(request, {"metadata", "name"}))}}));
  if (differs("namespace", call.ns))
    return refuse(invalid(about, {{FieldError::Type::kInvalid, "metadata.namespace",
                                   "must match the service account namespace if specified",
                                   json::value(string_at(request, {"metadata", "namespace"}))}}));
  const auto stored = call.world.store.get("serviceaccounts", call.ns, call.name);
  if (!stored) return refuse(not_found({"", "serviceaccounts", "ServiceAccount", call.name}));
  if (differs("uid", stored->uid))
    return refuse(conflict({"authentication.k8s.io", "TokenRequest", "TokenRequest", call.name},
                           fmt::format("the UID in the token request ({}) does not match the UID of the service "
                                       "account ({})",
                                       string_at(request, {"metadata", "uid"}), stored->uid)));
  const auto seconds = integer_at(request, {"spec", "expirationSeconds"}).value_or(3600);
  auto unnamed = about;
  unnamed.name.clear();
  if (seconds < 600)
    return refuse(invalid(unnamed, {{FieldError::Type::kInvalid, "spec.expirationSeconds",
                                     "may not specify a duration less than 10 minutes", seconds}}));
  if (seconds > int64_t{1} << 32)
    return refuse(invalid(unnamed, {{FieldError::Type::kInvalid, "spec.expirationSeconds",
                                     "may not specify a duration larger than 2^32 seconds", seconds}}));
  if (auto bound = check_bound_object(call, request); !bound) return refuse(bound.error());
  auto& metadata = metadata_of(request);
  metadata["name"] = call.name;
  metadata["namespace"] = call.ns;
  metadata["uid"] = stored->uid;
  metadata["creationTimestamp"] = call.world.now_text();
  auto& spec = ensure_object(request, {"spec"});
  spec["expirationSeconds"] = seconds;
  if (array_at(request, {"spec", "audiences"}).empty())
    spec["audiences"] = json::array{"https://kubernetes.default.svc"};
  if (!spec.contains("boundObjectRef")) spec["boundObjectRef"] = nullptr;
  const auto until = call.world.scheduler.wall_now() + std::chrono::seconds(seconds);
  User user{fmt::format("system:serviceaccount:{}:{}", call.ns, call.name),
            {"system:serviceaccounts", "system:serviceaccounts:" + call.ns, "system:authenticated"},
            stored->uid};
  request["status"] = json::object{
      {"token", call.world.issue_token ? call.world.issue_token(std::move(user), until) : std::string("none")},
      {"expirationTimestamp", format_rfc3339(until)}};
  return request;
}

StatusError runs_nothing(const World& world, const Resource& resource, std::string_view ns, std::string_view name,
                         std::string_view subresource) {
  const auto stored = world.store.get(resource.storage_key, resource.namespaced ? ns : "", name);
  if (!stored) return not_found({resource.group, resource.plural, resource.kind, std::string(name)});
  const auto object = load(*stored, resource);
  if (object && resource.plural == "pods" && string_at(*object, {"spec", "nodeName"}).empty() && subresource == "log")
    return {204, "", ""};
  if (object && resource.plural == "pods" && string_at(*object, {"spec", "nodeName"}).empty() && subresource != "proxy")
    return bad_request(fmt::format("pod {} does not have a host assigned", name));
  return {501, "",
          fmt::format("{}/{} of {} {}: nothing runs in the embedded API server", resource.plural, subresource,
                      resource.kind, go_quote(name))};
}

}  // namespace hookd::embedded
