#include "embedded/control/budgets.h"

#include <algorithm>
#include <charconv>

#include "base/time.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded::control {

namespace {

constexpr std::string_view kBudgets = "poddisruptionbudgets.policy";
constexpr auto kEvictionTime = std::chrono::minutes(2);  // an evicted pod should be marked by then

bool ready(const json::object& pod) {
  for (const json::value& condition : array_at(pod, {"status", "conditions"}))
    if (string_at(as_object(condition), {"type"}) == "Ready")
      return string_at(as_object(condition), {"status"}) == "True";
  return false;
}

const json::object* controller_reference(const json::object& object) {
  for (const json::value& owner : array_at(object, {"metadata", "ownerReferences"}))
    if (bool_at(as_object(owner), {"controller"})) return &as_object(owner);
  return nullptr;
}

// A number, or a percentage of `total` rounded up.
std::expected<int64_t, std::string> scaled(const json::value& value, int64_t total) {
  if (value.is_int64()) return value.get_int64();
  const std::string_view text = as_string(value);
  int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%")
    return std::unexpected(fmt::format("invalid value for IntOrString: invalid type: string is not a percentage"));
  return (percent * total + 99) / 100;
}

int64_t number_at(const json::object& object, std::string_view json_path) {
  const json::object* node = &object;
  while (json_path.starts_with('.')) {
    json_path.remove_prefix(1);
    const size_t dot = json_path.find('.');
    const json::value* found = node->if_contains(json_path.substr(0, dot));
    if (!found) return 0;
    if (dot == std::string_view::npos) return found->is_int64() ? found->get_int64() : 0;
    node = found->if_object();
    if (!node) return 0;
    json_path.remove_prefix(dot);
  }
  return 0;
}

// {type, status, observedGeneration, lastTransitionTime, reason, message} of metav1.Condition.
void set_allowed(json::array& conditions, bool allowed, std::string_view reason, std::string_view message,
                 int64_t generation, const std::string& now) {
  const std::string_view status = allowed ? "True" : "False";
  std::string since = now;
  for (json::value& entry : conditions) {
    if (string_at(as_object(entry), {"type"}) != "DisruptionAllowed") continue;
    if (string_at(as_object(entry), {"status"}) == status) since = string_at(as_object(entry), {"lastTransitionTime"});
  }
  erase_where(conditions,
              [](const json::value& entry) { return string_at(as_object(entry), {"type"}) == "DisruptionAllowed"; });
  json::object condition{{"type", "DisruptionAllowed"}, {"status", status}};
  if (generation) condition["observedGeneration"] = generation;
  condition["lastTransitionTime"] = since;
  condition["reason"] = reason;
  condition["message"] = message;
  conditions.push_back(std::move(condition));
}

}  // namespace

Budgets::Budgets(const Context& context)
    : context_(context), queue_(context.scheduler, [this](const Key& key) { sync(key); }) {
  events_ = context_.store.subscribe("", [this](const StoreEvent& event) { on_event(event); });
  context_.store.scan(kBudgets, "", "", [this](const StoredPtr& stored) {
    on_event({StoreEvent::Type::kAdded, stored->revision, std::string(kBudgets), stored, nullptr});
    return true;
  });
}

void Budgets::on_event(const StoreEvent& event) {
  const Stored& stored = *event.object;
  if (event.storage_key == kBudgets) {
    if (event.type == StoreEvent::Type::kDeleted) {
      rechecks_.erase({stored.ns, stored.name});
      budgets_[stored.ns].erase(stored.name);
      if (budgets_[stored.ns].empty()) budgets_.erase(stored.ns);
      return;
    }
    budgets_[stored.ns].insert(stored.name);
    return queue_.add({stored.ns, stored.name});
  }
  if (event.storage_key != "pods") return;
  if (event.type == StoreEvent::Type::kDeleted) pods_.erase(stored.uid);
  // Which of them select the pod is found out when they are computed: there are few.
  if (auto found = budgets_.find(stored.ns); found != budgets_.end())
    for (const std::string& name : found->second) queue_.add({stored.ns, name});
}

Budgets::PodPtr Budgets::pod_of(const Stored& stored) {
  PodPtr& kept = pods_[stored.uid];
  if (kept && kept->revision == stored.revision) return kept;
  const json::object object = parse(stored);
  const json::object* owner = controller_reference(object);
  kept = std::make_shared<const Pod>(Pod{stored.name, stored.revision, object_at(object, {"metadata", "labels"}),
                                         owner ? *owner : json::object{},
                                         has(object, {"metadata", "deletionTimestamp"}), ready(object)});
  return kept;
}

std::vector<Budgets::PodPtr> Budgets::pods_of(const json::object& budget, const std::string& ns) {
  std::vector<PodPtr> out;
  const json::value* selector = value_at(budget, {"spec", "selector"});
  if (!selector) return out;  // none selects nothing, {} everything
  context_.store.scan("pods", ns, "", [&](const StoredPtr& stored) {
    auto pod = pod_of(*stored);
    if (selector_matches(as_object(*selector), pod->labels)) out.push_back(std::move(pod));
    return true;
  });
  return out;
}

std::expected<std::optional<Budgets::Controller>, std::string> Budgets::controller_of(const json::object& owner,
                                                                                      const std::string& ns) const {
  const std::string_view api_version = string_at(owner, {"apiVersion"}), kind = string_at(owner, {"kind"});
  const size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  const ResourcePtr resource = context_.registry.find_kind(group, version, kind);
  if (!resource) return std::unexpected(fmt::format("no matches for kind \"{}\" in version \"{}\"", kind, api_version));
  if (!resource->scale)
    return std::unexpected(fmt::format("{}{}{} does not implement the scale subresource", resource->plural,
                                       group.empty() ? "" : ".", group));
  const StoredPtr stored = context_.store.get(resource->storage_key, ns, string_at(owner, {"name"}));
  if (!stored || stored->uid != string_at(owner, {"uid"})) return std::nullopt;
  const json::object object = parse(*stored);
  // The scale of a ReplicaSet that a Deployment controls is the Deployment's.
  if (kind == "ReplicaSet" && group == "apps")
    if (const json::object* above = controller_reference(object); above && string_at(*above, {"kind"}) == "Deployment")
      return controller_of(*above, ns);
  return Controller{stored->uid, number_at(object, resource->scale->spec_replicas)};
}

std::expected<int64_t, std::string> Budgets::expected_scale(const std::vector<PodPtr>& pods,
                                                            const std::string& ns) const {
  std::map<std::string, int64_t> scales;
  for (const PodPtr& pod : pods) {
    if (pod->owner.empty() || scales.contains(std::string(string_at(pod->owner, {"uid"})))) continue;
    auto found = controller_of(pod->owner, ns);
    if (!found) return std::unexpected(found.error());
    if (!*found) return std::unexpected(fmt::format("found no controllers for pod \"{}\"", pod->name));
    scales[(*found)->uid] = (*found)->scale;
  }
  int64_t sum = 0;
  for (const auto& [uid, scale] : scales) sum += scale;
  return sum;
}

void Budgets::sync(const Key& key) {
  const auto& [ns, name] = key;
  const auto found = load(context_.store, kBudgets, ns, name);
  if (!found) return;
  const json::object& budget = *found;
  const std::vector<PodPtr> pods = pods_of(budget, ns);

  int64_t expected_pods = 0, desired = 0;
  const json::value* most = value_at(budget, {"spec", "maxUnavailable"});
  const json::value* least = value_at(budget, {"spec", "minAvailable"});
  if (!most && least && least->is_int64()) {
    desired = least->get_int64();
    expected_pods = static_cast<int64_t>(pods.size());
  } else if (most || least) {
    const auto scale = expected_scale(pods, ns);
    if (!scale) return fail(key, budget, scale.error());
    expected_pods = *scale;
    const auto number = scaled(most ? *most : *least, expected_pods);
    if (!number) return fail(key, budget, number.error());
    desired = most ? std::max<int64_t>(0, expected_pods - *number) : *number;
  }

  const WallTime now = context_.scheduler.wall_now();
  std::optional<Duration> recheck;
  json::object disrupted;
  int64_t healthy = 0;
  for (const PodPtr& pod : pods) {
    if (pod->ending) continue;
    if (const json::value* evicted = object_at(budget, {"status", "disruptedPods"}).if_contains(pod->name)) {
      const auto since = parse_rfc3339(as_string(*evicted));
      if (since && *since + kEvictionTime >= now) {
        disrupted[pod->name] = *evicted;
        const Duration left = *since + kEvictionTime - now;
        recheck = recheck ? std::min(*recheck, left) : left;
        continue;
      }
    }
    healthy += pod->ready ? 1 : 0;
  }
  rechecks_.erase(key);
  if (recheck)
    rechecks_[key] = context_.scheduler.after(*recheck + std::chrono::seconds(1), [this, key] { queue_.add(key); });

  const int64_t generation = integer_at(budget, {"metadata", "generation"}).value_or(0);
  const int64_t allowed = expected_pods > 0 ? std::max<int64_t>(0, healthy - desired) : 0;
  json::object status{{"observedGeneration", generation}};
  if (!disrupted.empty()) status["disruptedPods"] = std::move(disrupted);
  status["disruptionsAllowed"] = allowed;
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = desired;
  status["expectedPods"] = expected_pods;
  json::array conditions = array_at(budget, {"status", "conditions"});
  set_allowed(conditions, allowed > 0, allowed > 0 ? "SufficientPods" : "InsufficientPods", "", generation,
              now_text(context_.scheduler));
  status["conditions"] = std::move(conditions);
  if (!same(status, object_at(budget, {"status"}))) write(key, std::move(status));
}

// The budget allows nothing as long as it cannot be computed.
void Budgets::fail(const Key& key, const json::object& budget, const std::string& why) {
  json::object status = object_at(budget, {"status"});
  status["disruptionsAllowed"] = 0;
  json::array conditions = array_at(budget, {"status", "conditions"});
  set_allowed(conditions, false, "SyncFailed", why, integer_at(budget, {"status", "observedGeneration"}).value_or(0),
              now_text(context_.scheduler));
  status["conditions"] = std::move(conditions);
  if (!same(status, object_at(budget, {"status"}))) write(key, std::move(status));
}

void Budgets::write(const Key& key, json::object status) {
  const Target target{std::string(kBudgets), key.first, key.second};
  const auto done = context_.writer.update(target, "status", kManager, [&](json::object& object) {
    object["status"] = std::move(status);
    return true;
  });
  if (!done) tell("disruption budgets", target, done.error());
}

}  // namespace hookd::embedded::control
