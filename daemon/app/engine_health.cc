// What can be asked of an engine: is it ready, is it done, what are its figures.
#include "app/engine.h"

#include <set>

#include "base/log.h"

namespace hookd::app {
namespace {

constexpr Duration kOnceUnready = std::chrono::seconds(60);

// A resource that is not there (yet) or may not be read is the user's business, not a reason to restart the pod.
bool lasting(const Error& error) {
  return error.code == Errc::kNotFound || error.code == Errc::kForbidden || error.code == Errc::kInvalid;
}

template <class Units, class Predicate>
bool every(const Units& units, Predicate predicate) {
  return std::ranges::all_of(units, [&](const auto& entry) { return predicate(*entry.second); });
}

}  // namespace

Engine::Health Engine::health() const {
  Health health;
  for (const auto& [name, unit] : units_) {
    // Without a single answer of discovery nothing is excused: the server may not be one at all.
    const bool excused_at_all = !discovery_.table().entries.empty();
    bool excused = excused_at_all;
    for (const auto& [binding, error] : unit->troubles()) {
      const std::string line = name + "/" + binding + ": " + error.what;
      (unit->ready() || (excused_at_all && lasting(error)) ? health.degraded : health.reasons).push_back(line);
      excused &= lasting(error);
    }
    if (unit->ready() || (excused && !unit->troubles().empty())) continue;
    health.ready = false;
    if (unit->troubles().empty()) health.reasons.push_back(name + ": the first list is not complete yet");
  }
  for (const auto& [name, unit] : units_)
    for (const auto& [binding, error] : unit->source_troubles())
      health.degraded.push_back(name + "/" + binding + ": " + error.what);
  if (controllers_) {
    const auto degraded = controllers_->degraded();
    auto& place = controllers_->ready() ? health.degraded : health.reasons;
    place.insert(place.end(), degraded.begin(), degraded.end());
    if (!controllers_->ready() && degraded.empty())
      place.emplace_back("metacontroller: the first list is not complete yet");
  }
  if (!health.reasons.empty()) health.ready = false;
  if (!kubeconfig_.problem().empty()) health.degraded.push_back("hooks get no kubeconfig: " + kubeconfig_.problem());
  for (const auto& error : load_errors_) health.degraded.push_back("broken hook: " + error.text());
  for (const auto& [name, unit] : units_) {
    std::set<std::string> told;  // callers of one hook may share an endpoint
    for (const hook::Caller* caller : unit->callers())
      if (auto trouble = caller->trouble(); trouble && told.insert(*trouble).second)
        health.degraded.push_back(name + ": " + *trouble);
  }
  for (const auto& [name, unit] : units_)
    if (const std::string loop = unit->loop_trouble(); !loop.empty()) health.degraded.push_back(name + ": " + loop);
  for (const auto& [name, unit] : units_)
    for (const std::string& trouble : unit->reconcile_troubles()) health.degraded.push_back(name + ": " + trouble);
  for (const auto& [name, unit] : units_)
    if (!unit->paused().empty()) health.degraded.push_back(name + ": paused: " + unit->paused());
  for (const auto& [name, unit] : units_)
    if (!unit->parked().empty())
      health.degraded.push_back(fmt::format("{}: {} item(s) given up and parked", name, unit->parked().size()));
  return health;
}

size_t Engine::running() const {
  size_t running = 0;
  for (const HookUnit* unit : all_units()) running += unit->running();
  return running;
}

Duration Engine::longest_grace() const {
  Duration longest{};
  for (const HookUnit* unit : all_units()) longest = std::max(longest, unit->hook().run.grace);
  return longest;
}

Engine::Idle Engine::look_idle() {
  const bool ready = every(units_, [](const HookUnit& unit) { return unit.ready(); }) && startups_.empty() &&
                     (!controllers_ || controllers_->idle());
  // What exists was told: what changes from here on is for the next run, or a busy collection would never let this one
  // end.
  if (ready)
    for (const auto& [name, unit] : units_) unit->watch_no_more();
  if (ready && every(units_, [](const HookUnit& unit) { return unit.idle(); })) return Idle::kYes;
  const bool nothing_more = !ready && services_.scheduler.now() - started_ > kOnceUnready &&
                            every(units_, [](const HookUnit& unit) { return !unit.ready() || unit.idle(); });
  return nothing_more ? Idle::kNothingMore : Idle::kNo;
}

bool Engine::all_well() const {
  return load_errors_.empty() && (!controllers_ || controllers_->degraded().empty()) &&
         every(units_, [](const HookUnit& unit) { return !unit.failed(); });
}

void Engine::log_troubles() const {
  for (const auto& [name, unit] : units_)
    for (const auto& [binding, error] : unit->troubles())
      log::error("not everything could be watched", {{"hook", name}, {"binding", binding}, {"error", error.what}});
}

bool Engine::quiet() const {
  return replacing_.empty() && startups_.empty() && (!controllers_ || controllers_->idle()) &&
         every(units_, [](const HookUnit& unit) { return unit.ready() && unit.quiet(); });
}

void Engine::update_gauges() {
  metrics::Registry& metrics = services_.metrics;
  for (const char* name :
       {"hookd_objects", "hookd_object_bytes", "hookd_watch_up", "hookd_queue_keys", "hookd_queue_delayed",
        "hookd_source_waiting", "hookd_source_paused", "hookd_parked", "hookd_paused", "hookd_loops", "hookd_lists",
        "hookd_watches", "hookd_watch_events", "hookd_workers", "workqueue_depth"})
    metrics.remove(name, {});
  for (const auto& informer : pool_.all()) {
    const std::string resource =
        informer->type()
            ? informer->type()->plural + (informer->type()->group.empty() ? "" : "." + informer->type()->group)
            : informer->key().kind;
    metrics::Labels labels{{"resource", resource},
                           {"namespace", informer->key().ns},
                           {"selector", informer->key().label_selector + informer->key().field_selector}};
    metrics.set("hookd_objects", labels, static_cast<double>(informer->store().size()));
    metrics.set("hookd_watch_up", labels, informer->reflector() && !informer->error() && informer->synced() ? 1 : 0);
    if (const auto* reflector = informer->reflector()) {
      metrics.set("hookd_lists", labels, static_cast<double>(reflector->health().lists));
      metrics.set("hookd_watches", labels, static_cast<double>(reflector->health().watches));
      metrics.set("hookd_watch_events", labels, static_cast<double>(reflector->health().events));
    }
    labels["form"] = "stored";
    metrics.set("hookd_object_bytes", labels, static_cast<double>(informer->store().stored_bytes()));
    labels["form"] = "raw";
    metrics.set("hookd_object_bytes", labels, static_cast<double>(informer->store().raw_bytes()));
  }
  for (const auto& [name, unit] : units_) {
    unit->update_source_gauges();
    metrics.set("hookd_queue_keys", {{"hook", name}}, static_cast<double>(unit->queue().keys()));
    metrics.set("hookd_queue_delayed", {{"hook", name}}, static_cast<double>(unit->queue().delayed()));
    metrics.set("hookd_parked", {{"hook", name}}, static_cast<double>(unit->parked().size()));
    std::map<std::string, size_t> processes;
    for (const hook::Caller* caller : unit->callers())
      for (const auto& [state, count] : caller->processes()) processes[state] += count;
    for (const auto& [state, count] : processes)
      metrics.set("hookd_workers", {{"hook", name}, {"state", state}}, static_cast<double>(count));
    if (from_elsewhere_.contains(name)) {  // as client-go names it: "CompositeController-NAME"
      std::string controller = unit->hook().path;
      std::ranges::replace(controller, '/', '-');
      const auto& queue = unit->queue();  // there, too, what is put off is not in the queue
      const size_t elsewhere = queue.running_keys() + queue.delayed();
      metrics.set("workqueue_depth", {{"name", controller}, {"controller", controller}},
                  static_cast<double>(queue.keys() - std::min(queue.keys(), elsewhere)));
    }
    metrics.set("hookd_paused", {{"hook", name}}, unit->paused().empty() ? 0 : 1);
    metrics.set("hookd_loops", {{"hook", name}}, static_cast<double>(unit->loops()));
  }
  metrics.set("hookd_hooks", {{"state", "loaded"}}, static_cast<double>(units_.size()));
  metrics.set("hookd_hooks", {{"state", "broken"}}, static_cast<double>(load_errors_.size()));
}

}  // namespace hookd::app
