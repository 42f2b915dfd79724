#include "reconcile/native_reconciler.h"

#include <algorithm>
#include <iterator>

#include "apply/json_text.h"
#include "base/log.h"
#include "hook/own_writes.h"
#include "reconcile/cause.h"
#include "reconcile/native_pass.h"

namespace hookd::reconcile {
NativeReconciler::NativeReconciler(std::shared_ptr<const hook::Hook> hook, hook::ReconcilerServices services)
    : shared_(std::move(hook), std::move(services)),
      resync_(
          shared_.services.scheduler, shared_.services.once ? Duration{0} : shared_.rule().resync,
          [this] { return shared_.parents->keys(); },
          [this](const std::string& key) { emit(key, {"resync", "Resync", "", "", ""}, true); }) {
  const hook::Reconcile& rule = shared_.rule();
  const auto ready = [this] { ready_changed(); };
  ParentSet::Options options;
  options.rule = rule.parent;
  // Without one the server is asked only for those that match: what is left of a finalizer on the others is shown by
  // `hookd status`.
  if (rule.finalizer) options.finalizer = rule.finalizer_name;
  options.seen = [this](const cache::Object& parent, std::string_view text) { parent_seen(parent, text); };
  shared_.parents = std::make_unique<ParentSet>(
      shared_.services.pool, shared_.services.scheduler, std::move(options),
      [this](const cache::Object& parent, std::string_view type, cache::ObjectPtr gone, bool background) {
        parent_touched(parent, type, std::move(gone), background);
      },
      ready);
  shared_.children.reserve(rule.children.size());
  for (const hook::ChildRule& child : rule.children) {
    ChildIndex::Selection selection{child.api_version, child.kind, child.namespaces,
                                    child.label_selector ? child.label_selector->to_string() : ""};
    auto& side = shared_.children.emplace_back(&child, nullptr);
    side.index = std::make_unique<ChildIndex>(
        shared_.services.pool, std::move(selection),
        [this, &side](const ChildChange& change) { child_changed(*side.index, change); }, ready);
  }
  shared_.related.reserve(rule.related.size());
  for (const hook::RelatedRule& related : rule.related) {
    auto& side = shared_.related.emplace_back(&related, nullptr);
    side.index = std::make_unique<RelatedIndex>(
        related, shared_.services.pool, shared_.services.scheduler,
        [this, &side](const RelatedIndex::Touch& touch) { related_touched(*side.rule, *side.index, touch); }, ready);
  }
}

NativeReconciler::~NativeReconciler() = default;

// Children and related objects first: what shares a stream is told at once, and the parents' first list then finds it.
void NativeReconciler::start() {
  for (auto& one : shared_.children) one.index->start();
  for (auto& one : shared_.related) one.index->start();
  shared_.parents->start();
  resync_.start();
}

void NativeReconciler::stop() {
  resync_.stop();
  shared_.handled.flush();
  shared_.parents->stop();
  for (auto& one : shared_.children) one.index->stop();
  for (auto& one : shared_.related) one.index->stop();
}

// With --once: what passes wrote has come back, and with it the keys that it calls.
bool NativeReconciler::idle() const {
  return early_.empty() && starting_.empty() && rested_.empty() && waves_.empty() && shared_.own.waiting() == 0;
}

std::unique_ptr<hook::Pass> NativeReconciler::begin(const std::string& key, const hook::Event& event,
                                                    hook::PassContext context) {
  return std::make_unique<NativePass>(shared_, key, event, std::move(context));
}

// ---------------------------------------------------------------- what calls keys

void NativeReconciler::emit(const std::string& key, hook::ReconcileCause cause, bool background) {
  hook::Event event;
  event.causes.push_back(std::move(cause));
  event.background = background;
  shared_.slow.emit(key, std::move(event));
}

void NativeReconciler::parent_touched(const cache::Object& parent, std::string_view type, cache::ObjectPtr gone,
                                      bool background) {
  if (background && !gone) {
    starting_.push_back(parent.key());
    return start_some();
  }
  if (gone) {
    shared_.forget(parent.key(), parent.uid);
    // The hook said `finalized` itself: there is nothing to tell it, unless a namesake is there.
    if (shared_.released.erase(gone->uid) > 0 && !shared_.parents->find(parent.key())) return;
  }
  hook::Event event;
  event.causes.push_back(cause_of("for", type, shared_.parents->type().get(), parent));
  event.gone = std::move(gone);
  shared_.slow.emit(parent.key(), std::move(event));
}

// Which parents were at rest can only be told once everything is known that their hook is told.
void NativeReconciler::start_some() {
  if (start_posted_ || !ready() || (starting_.empty() && rested_.empty())) return;
  start_posted_ = true;
  shared_.services.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.lock()) return;
    start_posted_ = false;
    if (!ready()) return;
    for (size_t i = 0; i < kStartSlice && !(starting_.empty() && rested_.empty()); ++i) {
      auto& line = starting_.empty() ? rested_ : starting_;
      const bool rested = starting_.empty();
      const std::string key = std::move(line.front());
      line.pop_front();
      const auto parent = shared_.parents->find(key);
      if (!parent) continue;
      if (!rested && shared_.handled.keeps() &&
          shared_.handled.was_at_rest(parent->object->uid, shared_.digest_of(key))) {
        if (shared_.rule().at_start == hook::Reconcile::AtStart::kAll) rested_.push_back(key);
        continue;
      }
      emit(key, cause_of("start", "Start", parent->type.get(), *parent->object), true);
    }
    start_some();
  });
}

void NativeReconciler::parent_seen(const cache::Object& parent, std::string_view text) {
  const auto& type = shared_.parents->type();
  for (auto& one : shared_.related)
    if (one.index->parent(parent.key(), parent.ns, text) && shared_.parents->find(parent.key()))
      // Later: the parent itself is taken in after this.
      shared_.services.scheduler.post([this, alive = std::weak_ptr(alive_), key = parent.key(),
                                       cause = cause_of(one.rule->name, "Modified", type.get(), parent)] {
        if (alive.lock() && shared_.parents->find(key)) emit(key, cause);
      });
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  text.empty() ? shared_.own.gone(resource, parent) : shared_.own.seen(resource, parent);
}

// In slices, after what calls all already; what came before it began is one wave with it.
void NativeReconciler::call_all(hook::Event event) {
  event.type = hook::Event::Type::kReconcile;
  const bool under_way = !waves_.empty();
  if (!under_way || waves_.back().begun) waves_.emplace_back();
  hook::merge(waves_.back().events, std::move(event));
  if (!under_way) call_some();
}

void NativeReconciler::call_some() {
  Wave& wave = waves_.front();
  wave.begun = true;
  const auto keys = shared_.parents->keys_after(wave.after, kWaveSlice);
  for (const std::string& key : keys)
    for (const hook::Event& event : wave.events) shared_.slow.emit(key, event);
  if (keys.size() < kWaveSlice)
    waves_.pop_front();
  else
    wave.after = keys.back();
  if (waves_.empty()) return;
  shared_.services.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock() && !waves_.empty()) call_some();
  });
}

void NativeReconciler::child_changed(const ChildIndex& index, const ChildChange& told) {
  const cache::Object& object = *told.change.object;
  const auto& type = index.type();
  // At the start every parent is called anyway.
  if (!told.change.initial) {
    const auto cause = cause_of("children", type_of(told.change.type), type.get(), object);
    std::set<std::string> keys;
    for (const auto* owner : {&told.owner, &told.before})
      if (*owner)
        if (auto key = shared_.parents->key_of((*owner)->uid)) keys.insert(*std::move(key));
    if (type)
      for (std::string& key : shared_.blocked_by(*type, object)) keys.insert(std::move(key));
    for (const std::string& key : keys) emit(key, cause);
  }
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  if (told.change.type != cache::Change::Type::kDeleted) return shared_.own.seen(resource, object);
  shared_.memory.forget(resource, object.key());
  shared_.own.gone(resource, object);
}

// `name`: "resource ns/name"
bool NativeReconciler::has_child(std::string_view name) const {
  const size_t space = name.find(' ');
  return space != std::string_view::npos && std::ranges::any_of(shared_.children, [&](const auto& one) {
           return one.index->type() && hook::resource_of(*one.index->type()) == name.substr(0, space) &&
                  one.index->find("", name.substr(space + 1));
         });
}

void NativeReconciler::related_touched(const hook::RelatedRule& rule, const RelatedIndex& index,
                                       const RelatedIndex::Touch& touch) {
  const auto& type = index.type();
  if (!touch.background) {
    const auto cause = cause_of(rule.name, touch.type, type.get(), touch.object);
    if (touch.every) {
      hook::Event event;
      event.causes.push_back(cause);
      call_all(std::move(event));
    } else {
      for (const std::string& key : touch.parents)
        if (shared_.parents->find(key)) emit(key, cause);
    }
  }
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  touch.type == "Deleted" ? shared_.own.gone(resource, touch.object) : shared_.own.seen(resource, touch.object);
}

void NativeReconciler::ready_changed() {
  if (ready()) {
    if (!std::exchange(swept_, true)) {
      std::unordered_set<std::string> uids;
      shared_.parents->each([&](const std::string&, const Parent& parent) { uids.insert(parent.object->uid); });
      shared_.handled.sweep(std::move(uids));
      shared_.memory.sweep(shared_.services.scheduler, [this](const std::string& name) { return has_child(name); });
    }
    start_some();
    for (auto& event : std::exchange(early_, {})) call_for_source(event);
  }
  if (shared_.services.changed) shared_.services.changed();
}

void NativeReconciler::source_event(const hook::Event& event) {
  if (!ready()) return early_.push_back(event);
  call_for_source(event);
}

std::vector<hook::Event> NativeReconciler::hand_over() {
  while (!waves_.empty()) call_some();
  shared_.slow.release_all();
  auto early = std::exchange(early_, {});
  return {std::make_move_iterator(early.begin()), std::make_move_iterator(early.end())};
}

void NativeReconciler::call_for_source(const hook::Event& event) {
  const auto& sources = shared_.rule().sources;
  const auto map = std::ranges::find(sources, event.binding, &hook::SourceMap::source);
  if (map == sources.end()) return;
  hook::Event call;
  call.causes.push_back({event.binding, "Source", "", "", ""});
  call.ticket = event.ticket;
  if (!map->map) return call_all(std::move(call));
  const auto found = map->map->run(event.data ? *event.data : "null");
  const auto names = found ? names_of(*found) : Result<std::vector<std::string>>(Failure(found.error()));
  if (!names) {
    // The first ones tell the story; what keeps coming must not fill the log.
    if (++map_errors_ <= 10 || map_errors_ % 1000 == 0)
      log::warn("`map` failed on an event of a source, which calls nothing", {{"hook", shared_.hook->name},
                                                                              {"source", event.binding},
                                                                              {"error", names.error().what},
                                                                              {"total", map_errors_}});
    return;
  }
  for (const std::string& key : source_keys_.meant(event.binding, *names, *shared_.parents))
    shared_.slow.emit(key, call);
}

// ---------------------------------------------------------------- what people see

std::vector<std::shared_ptr<kube::Informer>> NativeReconciler::informers() const {
  auto all = shared_.parents->informers();
  for (const auto& one : shared_.children) std::ranges::move(one.index->informers(), std::back_inserter(all));
  for (const auto& one : shared_.related) std::ranges::move(one.index->informers(), std::back_inserter(all));
  return all;
}

std::vector<hook::Reconciler::Look> NativeReconciler::looks() const {
  const hook::Reconcile& rule = shared_.rule();
  const auto what = [](const std::shared_ptr<const kube::ResourceType>& type, const std::string& kind,
                       const std::string& api_version, const std::vector<std::string>& namespaces) {
    std::string text = type ? type->display() : fmt::format("{} ({})", kind, api_version);
    if (!namespaces.empty()) text += fmt::format(" in {}", fmt::join(namespaces, ", "));
    return text;
  };
  const auto trouble_of = [](const std::vector<std::shared_ptr<kube::Informer>>& informers) -> std::string {
    for (const auto& informer : informers)
      if (const auto error = informer->error()) return error->what;
    return "";
  };
  std::vector<Look> all;
  const auto& parents = *shared_.parents;
  all.push_back({"for", what(parents.type(), rule.parent.kind, rule.parent.api_version, rule.parent.namespaces.names),
                 parents.ready(), parents.size(), trouble_of(parents.informers())});
  for (const auto& [child, index] : shared_.children)
    all.push_back({"children", what(index->type(), child->kind, child->api_version, child->namespaces), index->ready(),
                   index->size(), trouble_of(index->informers())});
  for (const auto& [related, index] : shared_.related)
    all.push_back({related->name, what(index->type(), related->kind, related->api_version, related->namespaces.names),
                   index->ready(), index->size(), trouble_of(index->informers())});
  return all;
}

std::vector<std::string> NativeReconciler::troubles() const {
  std::vector<std::string> all;
  const auto add = [&](std::string text) {
    if (!text.empty() && all.size() < kTroubles) all.push_back(std::move(text));
  };
  add(shared_.parents->trouble());
  for (const auto& one : shared_.related) add(one.index->trouble());
  add(shared_.status_trouble);
  for (const auto& finding : shared_.slow.repeats().slow()) add(finding.text());
  return all;
}

std::vector<std::string> NativeReconciler::waits() const {
  std::vector<std::string> all;
  for (const auto& [key, why] : shared_.waiting) {
    if (all.size() == kTroubles) break;
    all.push_back(fmt::format("{} waits: {}", key, why));
  }
  return all;
}

std::optional<hook::Snapshot> NativeReconciler::snapshot(const std::string& name) const {
  hook::Snapshot snapshot;
  if (name == "for") {
    snapshot.type = shared_.parents->type();
    shared_.parents->each(
        [&](const std::string&, const Parent& parent) { snapshot.entries.push_back({parent.object, nullptr}); });
    return snapshot;
  }
  for (const auto& [rule, index] : shared_.children) {
    const bool only = name == "children" && shared_.children.size() == 1;
    if (!only && name != rule->kind && !(index->type() && name == kind_key(*index->type()))) continue;
    snapshot.type = index->type();
    for (auto& object : index->all()) snapshot.entries.push_back({std::move(object), nullptr});
    return snapshot;
  }
  for (const auto& [rule, index] : shared_.related) {
    if (name != rule->name) continue;
    snapshot.type = index->type();
    for (const auto& informer : index->informers())
      informer->store().replay(
          [&](const cache::Change& change, std::string_view) { snapshot.entries.push_back({change.object, nullptr}); });
    return snapshot;
  }
  return std::nullopt;
}

}  // namespace hookd::reconcile
