#include "embedded/control/namespaces.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/json_read.h"
#include "embedded/resources/fields.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded::control {

namespace {

constexpr std::string_view kKey = "namespaces";
constexpr std::string_view kFinalizer = "kubernetes";  // in spec.finalizers
// Deletes in one task.
constexpr size_t kSlice = 100;
constexpr auto kRetry = std::chrono::seconds(5);

struct Condition {
  std::string_view type, good_reason, good_message;
};
constexpr std::array<Condition, 5> kConditions{
    {{"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"},
     {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
      "All legacy kube types successfully parsed"},
     {"NamespaceDeletionContentFailure", "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization"},
     {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
     {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"}}};

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace

struct Namespaces::Remaining {
  std::vector<std::string> kinds;         // "pods. has 2 resource instances"
  std::map<std::string, int> finalizers;  // how many objects each holds
  std::vector<std::string> failures;
};

Namespaces::Namespaces(const Context& context)
    : context_(context), queue_(context.scheduler, [this](const std::string& name) { sync(name); }) {
  events_ = context_.store.subscribe("", [this](const StoreEvent& event) { on_event(event); });
  context_.store.scan(kKey, "", "", [this](const StoredPtr& stored) {
    on_event({StoreEvent::Type::kAdded, stored->revision, std::string(kKey), stored, nullptr});
    return true;
  });
}

void Namespaces::on_event(const StoreEvent& event) {
  const Stored& stored = *event.object;
  if (event.storage_key == kKey) {
    if (event.type == StoreEvent::Type::kDeleted) {
      ending_.erase(stored.name);
      retries_.erase(stored.name);
    } else if (is_ending(stored) && ending_.insert(stored.name).second) {
      queue_.add(stored.name);
    }
    return;
  }
  if (!stored.ns.empty() && ending_.contains(stored.ns)) queue_.add(stored.ns);
}

bool Namespaces::empty_kind(const Resource& resource, const std::string& ns, Remaining& remaining) {
  std::vector<Target> targets;
  bool more = false;
  context_.store.scan(resource.storage_key, ns, "", [&](const StoredPtr& stored) {
    if (is_ending(*stored)) return true;
    more = targets.size() == kSlice;
    if (!more) targets.push_back({resource.storage_key, stored->ns, stored->name, stored->uid});
    return !more;
  });
  const DeleteChoice background{.propagation = Propagation::kBackground, .grace_seconds = {}, .resource_version = {}};
  for (const Target& target : targets)
    if (const auto done = context_.writer.remove(target, background); !done && done.error().code != 404)
      remaining.failures.push_back(done.error().message);
  if (more) return false;
  int left = 0;
  context_.store.scan(resource.storage_key, ns, "", [&](const StoredPtr& stored) {
    ++left;
    // Not the whole tree: this is done again for each object that goes.
    const auto names = json_raw_at(stored->text, {"metadata", "finalizers"});
    const auto list = names ? parse_text(*names) : std::expected<json::value, std::string>(json::value());
    if (list && list->is_array())
      for (const json::value& name : list->get_array()) ++remaining.finalizers[std::string(as_string(name))];
    return true;
  });
  if (left > 0)
    remaining.kinds.push_back(fmt::format("{}.{} has {} resource instances", resource.plural, resource.group, left));
  return true;
}

void Namespaces::sync(const std::string& name) {
  auto found = load(context_.store, kKey, "", name);
  if (!found || !has(*found, {"metadata", "deletionTimestamp"})) return;
  const Target target{std::string(kKey), "", name, std::string(string_at(*found, {"metadata", "uid"}))};
  if (string_at(*found, {"status", "phase"}) != "Terminating") {
    const auto done = context_.writer.update(target, "status", kManager, [](json::object& object) {
      ensure_object(object, {"status"})["phase"] = "Terminating";
      return true;
    });
    if (!done) return tell("namespaces", target, done.error());
  }
  if (array_at(*found, {"spec", "finalizers"}).empty()) return;

  Remaining remaining;
  std::map<std::string, ResourcePtr> kinds;  // one version of each
  for (const ResourcePtr& resource : context_.registry.all())
    if (resource->namespaced && std::ranges::find(resource->verbs, "delete") != resource->verbs.end())
      kinds.emplace(resource->group + "/" + resource->plural, resource);
  if (auto pods = kinds.find("/pods"); pods != kinds.end()) {
    if (!empty_kind(*pods->second, name, remaining)) return queue_.add(name);
    // Everything else outlives the pods, which may need it to end well.
    if (!remaining.kinds.empty()) return tell_conditions(target, remaining, false);
    kinds.erase(pods);
  }
  for (const auto& [key, resource] : kinds)
    if (!empty_kind(*resource, name, remaining)) return queue_.add(name);
  tell_conditions(target, remaining, true);
  if (!remaining.failures.empty())
    retries_[name] = context_.scheduler.after(kRetry, [this, name] { queue_.add(name); });
  if (!remaining.kinds.empty() || !remaining.failures.empty()) return;
  const auto done = context_.writer.update(target, "finalize", kManager, [](json::object& object) {
    json::value& finalizers = ensure_object(object, {"spec"})["finalizers"];
    if (!finalizers.is_array()) return false;
    erase_text(finalizers.get_array(), kFinalizer);
    return true;
  });
  if (!done) tell("namespaces", target, done.error());
}

void Namespaces::tell_conditions(const Target& target, const Remaining& remaining, bool totals) {
  std::map<std::string_view, std::pair<std::string, std::string>> bad;  // type -> reason, message
  if (!remaining.failures.empty()) {
    std::vector<std::string> failures = remaining.failures;
    std::ranges::sort(failures);
    bad["NamespaceDeletionContentFailure"] = {
        "ContentDeletionFailed",
        fmt::format("Failed to delete all resource types, {} remaining: {}", failures.size(), joined(failures))};
  }
  if (totals && !remaining.kinds.empty()) {
    std::vector<std::string> kinds = remaining.kinds;
    std::ranges::sort(kinds);
    bad["NamespaceContentRemaining"] = {"SomeResourcesRemain", "Some resources are remaining: " + joined(kinds)};
  }
  if (totals && !remaining.finalizers.empty()) {
    std::vector<std::string> finalizers;
    for (const auto& [name, count] : remaining.finalizers)
      finalizers.push_back(fmt::format("{} in {} resource instances", name, count));
    std::ranges::sort(finalizers);
    bad["NamespaceFinalizersRemaining"] = {
        "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: " + joined(finalizers)};
  }
  const std::string now = now_text(context_.scheduler);
  const auto done = context_.writer.update(target, "status", kManager, [&](json::object& object) {
    json::value& conditions = ensure_object(object, {"status"})["conditions"];
    if (!conditions.is_array()) conditions = json::array();
    bool changed = false;
    for (const Condition& condition : kConditions) {
      auto found = bad.find(condition.type);
      const bool good = found == bad.end();
      changed |= set_condition(conditions.get_array(), condition.type, good ? "False" : "True",
                               good ? condition.good_reason : std::string_view(found->second.first),
                               good ? condition.good_message : std::string_view(found->second.second), now);
    }
    return changed;
  });
  if (!done) tell("namespaces", target, done.error());
}

}  // namespace hookd::embedded::control
