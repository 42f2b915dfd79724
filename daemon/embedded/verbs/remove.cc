#include "embedded/verbs/remove.h"

#include <fmt/format.h>

#include <set>

#include "base/time.h"
#include "embedded/resources/crd_strategy.h"
#include "embedded/verbs/object.h"
#include "embedded/verbs/write.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kOrphan = "orphan", kForeground = "foregroundDeletion";

// Kinds whose DELETE answers with the object itself.
bool returns_object(const Resource& resource) {
  static const std::set<std::string_view> kKinds{"resourcequotas",
                                                 "persistentvolumes",
                                                 "serviceaccounts",
                                                 "persistentvolumeclaims",
                                                 "pods",
                                                 "services",
                                                 "podtemplates",
                                                 "csidrivers.storage.k8s.io",
                                                 "storageclasses.storage.k8s.io",
                                                 "volumeattachments.storage.k8s.io",
                                                 "csinodes.storage.k8s.io",
                                                 "volumeattributesclasses.storage.k8s.io"};
  return kKinds.contains(resource.storage_key);
}

// The conflict errors of a delete name the kind, not the plural.
About by_kind(const WriteCall& call) {
  return {call.resource->group, call.resource->kind, call.resource->kind, call.name};
}

// The finalizers that the options ask for; true = they differ from what is there.
bool choose_finalizers(json::object& object, const DeleteOptions& options, bool orphans_by_default) {
  const auto& now = array_at(object, {"metadata", "finalizers"});
  const auto holds = [&](std::string_view name) {
    return std::any_of(now.begin(), now.end(), [&](const json::value& v) { return as_string(v) == name; });
  };
  bool orphan = false, foreground = false;
  if (options.orphan_dependents) {
    orphan = *options.orphan_dependents;
  } else if (!options.propagation.empty()) {
    orphan = options.propagation == "Orphan";
    foreground = options.propagation == "Foreground";
  } else {
    foreground = !holds(kOrphan) && holds(kForeground);
    orphan = holds(kOrphan) || (!foreground && orphans_by_default);
  }
  if (orphan == holds(kOrphan) && foreground == holds(kForeground)) return false;
  json::array next;
  for (const auto& value : now)
    if (as_string(value) != kOrphan && as_string(value) != kForeground) next.push_back(value);
  if (orphan) next.emplace_back(kOrphan);
  if (foreground) next.emplace_back(kForeground);
  if (next.empty())
    metadata_of(object).erase("finalizers");
  else
    metadata_of(object)["finalizers"] = std::move(next);
  return true;
}

void count_generation(json::object& object) {
  if (const auto generation = integer_at(object, {"metadata", "generation"}); generation && *generation > 0)
    metadata_of(object)["generation"] = *generation + 1;
}

enum class Grace { kNone, kGraceful, kPending };

// Pods only. Marks the object; `period` is the grace that was chosen.
Grace choose_grace(json::object& object, const DeleteOptions& options, const World& world, int64_t& period) {
  auto& metadata = metadata_of(object);
  const auto now = world.scheduler.wall_now();
  if (has(object, {"metadata", "deletionTimestamp"})) {
    const auto running = integer_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
    if (running == 0) return Grace::kNone;
    if (!options.grace_period_seconds || *options.grace_period_seconds >= running) return Grace::kPending;
    period = *options.grace_period_seconds;
    // The clock began when the first delete came; only the length changes, and never into the past.
    auto until = now;
    if (const auto was = parse_rfc3339(string_at(object, {"metadata", "deletionTimestamp"})))
      until = *was - std::chrono::seconds(running) + std::chrono::seconds(period);
    if (until < now) {
      until = now;
      if (period != 0) period = 1;
    }
    metadata["deletionTimestamp"] = format_rfc3339(until);
    metadata["deletionGracePeriodSeconds"] = period;
    return Grace::kGraceful;
  }
  period =
      options.grace_period_seconds.value_or(integer_at(object, {"spec", "terminationGracePeriodSeconds"}).value_or(30));
  if (string_at(object, {"spec", "nodeName"}).empty()) period = 0;
  const auto phase = string_at(object, {"status", "phase"});
  if (phase == "Failed" || phase == "Succeeded") period = 0;
  if (period < 0) period = 1;
  metadata["deletionTimestamp"] = format_rfc3339(now + std::chrono::seconds(period));
  metadata["deletionGracePeriodSeconds"] = period;
  count_generation(object);
  return Grace::kGraceful;
}

Answer<Removed> take_out(const WriteCall& call, const StoredPtr& stored, json::object object) {
  auto& store = call.world.store;
  if (!call.dry_run) {
    const auto revision = store.next_revision();
    store.remove(call.resource->storage_key, stored->ns, stored->name, with_revision(stored->text, revision));
    set_revision(object, revision);
    if (call.resource->storage_key == kCrdStorageKey && call.world.crds_changed) call.world.crds_changed();
  }
  return Removed{std::move(object), true, !returns_object(*call.resource), stored->uid};
}

// A namespace stays, marked, until what is in it is gone (control/ empties it).
Answer<Removed> remove_namespace(const WriteCall& call, const StoredPtr& stored, json::object object) {
  const bool marked = has(object, {"metadata", "deletionTimestamp"});
  if (!marked) {
    metadata_of(object)["deletionTimestamp"] = call.world.now_text();
    ensure_object(object, {"status"})["phase"] = "Terminating";
    auto written = commit(call, std::move(object));
    if (!written) return refuse(written.error());
    return Removed{*std::move(written), false, false, stored->uid};
  }
  if (!array_at(object, {"spec", "finalizers"}).empty() || !array_at(object, {"metadata", "finalizers"}).empty())
    return Removed{std::move(object), false, false, stored->uid};
  auto removed = take_out(call, stored, std::move(object));
  if (removed) removed->as_status = true;
  return removed;
}

}  // namespace

Answer<Removed> remove_object(const WriteCall& call, DeleteOptions options) {
  const auto& resource = *call.resource;
  if (resource.storage_key == "jobs.batch" && options.propagation.empty() && !options.orphan_dependents)
    call.warn(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
        "set propagationPolicy=Orphan to suppress this warning");
  auto stored = call.world.store.get(resource.storage_key, resource.namespaced ? call.ns : "", call.name);
  if (!stored) return refuse(not_found(call.about()));
  auto loaded = load(*stored, resource);
  if (!loaded) return refuse(loaded.error());
  auto object = *std::move(loaded);
  if (resource.strategy->admit_delete) {
    const StoreLookup lookup(call.world.store);
    const WriteContext context{call.world.scheduler, call.world.random, call.dry_run, call.user, "", &lookup};
    if (auto done = resource.strategy->admit_delete(object, context); !done) return refuse(done.error());
  }
  if (options.uid && *options.uid != stored->uid)
    return refuse(conflict(by_kind(call), fmt::format("the UID in the precondition ({}) does not match the UID in "
                                                      "record ({}). The object might have been deleted and then "
                                                      "recreated",
                                                      *options.uid, stored->uid)));
  if (options.resource_version && *options.resource_version != std::to_string(stored->revision))
    return refuse(
        conflict(by_kind(call), fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                                            "ResourceVersion in record ({}). The object might have been modified",
                                            *options.resource_version, stored->revision)));
  if (options.grace_period_seconds && *options.grace_period_seconds < 0) options.grace_period_seconds = 1;
  if (resource.storage_key == "namespaces") return remove_namespace(call, stored, std::move(object));
  // A CRD stays, marked, until its objects are gone (control/ takes them away).
  if (resource.storage_key == kCrdStorageKey && mark_crd_ending(object, call.world.now_text())) {
    auto written = commit(call, std::move(object));
    if (!written) return refuse(written.error());
    return Removed{*std::move(written), false, false, stored->uid};
  }

  int64_t period = 0;
  auto grace = Grace::kNone;
  if (resource.strategy->graceful_delete) grace = choose_grace(object, options, call.world, period);
  if (grace == Grace::kPending) return Removed{std::move(object), false, !returns_object(resource), stored->uid};

  const bool finalizers_differ = choose_finalizers(object, options, resource.strategy->orphans_by_default);
  const bool held = !array_at(object, {"metadata", "finalizers"}).empty();
  if (grace == Grace::kNone && !held) {
    if (!finalizers_differ) return take_out(call, stored, std::move(object));
    return take_out(call, stored, std::move(object));
  }
  if (grace == Grace::kNone) {
    // Without a grace period of its own: 0, and the time of the first delete.
    auto& metadata = metadata_of(object);
    if (!metadata.contains("deletionTimestamp")) {
      count_generation(object);
      metadata["deletionTimestamp"] = call.world.now_text();
    }
    metadata["deletionGracePeriodSeconds"] = 0;
  }
  auto before = load(*stored, resource);
  if (before && *before == object) {  // marked already, with the same finalizers
    return Removed{std::move(object), false, false, stored->uid};
  }
  auto written = commit(call, std::move(object));
  if (!written) return refuse(written.error());
  if (held || period > 0) return Removed{*std::move(written), false, false, stored->uid};
  // Marked for everyone to see, then gone at once.
  if (call.dry_run) return Removed{*std::move(written), true, false, stored->uid};
  stored = call.world.store.get(resource.storage_key, resource.namespaced ? call.ns : "", call.name);
  if (!stored) return Removed{*std::move(written), true, !returns_object(resource), {}};
  return take_out(call, stored, *std::move(written));
}

json::object removed_reply(const WriteCall& call, Removed removed) {
  if (!removed.as_status) return std::move(removed.object);
  json::object details{{"name", call.name}};
  if (!call.resource->group.empty()) details["group"] = call.resource->group;
  details["kind"] = call.resource->plural;
  details["uid"] = removed.uid;
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", json::object{}},
          {"status", "Success"},
          {"details", std::move(details)}};
}

}  // namespace hookd::embedded
