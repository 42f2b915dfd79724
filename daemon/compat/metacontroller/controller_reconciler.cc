#include "compat/metacontroller/controller_reconciler.h"

#include <algorithm>
#include <array>

#include "base/json_read.h"
#include "base/log.h"
#include "compat/metacontroller/claim.h"
#include "compat/metacontroller/controller_pass.h"
#include "compat/metacontroller/names.h"
#include "compat/metacontroller/reconciler_maker.h"
#include "hook/own_writes.h"
#include "reconcile/cause.h"

namespace hookd::metacontroller {

using reconcile::cause_of;
using reconcile::type_of;

namespace {

class Maker final : public hook::ReconcilerMaker {
 public:
  Maker(std::shared_ptr<const ControllerSpec> spec, ApplyOptions options)
      : spec_(std::move(spec)), options_(std::move(options)) {}
  std::unique_ptr<hook::Reconciler> make(std::shared_ptr<const hook::Hook> hook,
                                         hook::ReconcilerServices services) const override {
    return std::make_unique<ControllerReconciler>(spec_, options_, std::move(hook), std::move(services));
  }
  bool starts_processes() const override {
    return std::ranges::any_of(std::array{&spec_->sync, &spec_->finalize, &spec_->customize},
                               [](const auto* hook) { return *hook && (*hook)->command; });
  }

 private:
  std::shared_ptr<const ControllerSpec> spec_;
  ApplyOptions options_;
};

}  // namespace

std::shared_ptr<const hook::ReconcilerMaker> make_reconciler_maker(std::shared_ptr<const ControllerSpec> controller,
                                                                   ApplyOptions options) {
  return std::make_shared<Maker>(std::move(controller), std::move(options));
}

ControllerReconciler::ControllerReconciler(std::shared_ptr<const ControllerSpec> spec, ApplyOptions options,
                                           std::shared_ptr<const hook::Hook> hook, hook::ReconcilerServices services)
    : world_(std::move(spec), std::move(options), std::move(hook), std::move(services)) {
  const ControllerSpec& controller = *world_.spec;
  // Their places must not move: callbacks hold on to them.
  world_.parents.reserve(controller.parents.size());
  world_.children.reserve(controller.children.size());
  for (const ParentResource& rule : controller.parents) add_parents(rule);
  for (const ChildResource& rule : controller.children) add_children(rule);
  if (controller.rolls())
    world_.revisions = std::make_unique<reconcile::ChildIndex>(
        world_.services.pool, reconcile::ChildIndex::Selection{std::string(kApiVersion), "ControllerRevision", {}, ""},
        [this](const reconcile::ChildChange& told) { revision_changed(told); }, [this] { ready_changed(); });
  world_.related = std::make_unique<RelatedObjects>(
      world_.services.pool,
      [this](const RelatedObjects::Touch& touch) {
        const cache::Object& object = *touch.change.object;
        for (const std::string& key : touch.parents)
          if (world_.find(key))
            emit(key, {"related", std::string(type_of(touch.change.type)), touch.kind, object.ns, object.name}, false);
      },
      [this] {
        for (const auto& [pass, resume] : world_.related_waits) resume();
        if (world_.services.changed) world_.services.changed();
      });
  resync_ = std::make_unique<reconcile::Resync>(
      world_.services.scheduler, controller.resync, [this] { return world_.keys(); },
      [this](const std::string& key) { emit(key, {"resync", "Resync", "", "", ""}, true); });
}

ControllerReconciler::~ControllerReconciler() = default;

void ControllerReconciler::add_parents(const ParentResource& rule) {
  auto& side = world_.parents.emplace_back(ControllerWorld::Parents{&rule, nullptr});
  reconcile::ParentSet::Options options;
  options.rule.api_version = rule.api_version;
  options.rule.kind = rule.resource;
  options.rule.label_selector = rule.label_selector;
  options.rule.changed.status = !rule.ignore_status_changes;
  // Also without a finalize hook: what an older version of the controller left is taken away.
  options.finalizer = world_.spec->finalizer();
  if (rule.annotation_selector)
    options.matches = [&rule](std::string_view text) {
      return rule.annotation_selector->matches(annotations_of(text));
    };
  options.seen = [this, &side](const cache::Object& object, std::string_view text) { parent_seen(side, object, text); };
  side.set = std::make_unique<reconcile::ParentSet>(
      world_.services.pool, world_.services.scheduler, std::move(options),
      [this, &side](const cache::Object& parent, std::string_view type, cache::ObjectPtr gone, bool background) {
        parent_touched(side, parent, type, std::move(gone), background);
      },
      [this] { ready_changed(); });
}

void ControllerReconciler::add_children(const ChildResource& rule) {
  auto& side = world_.children.emplace_back(ControllerWorld::Children{&rule, nullptr});
  side.index = std::make_unique<reconcile::ChildIndex>(
      world_.services.pool, reconcile::ChildIndex::Selection{rule.api_version, rule.resource, {}, ""},
      [this, &side](const reconcile::ChildChange& told) { child_changed(side, told); },
      [this, &side] {
        side.was_ready = side.was_ready || side.index->ready();
        ready_changed();
      });
}

// Children first: what shares a stream is told at once, and the parents' first list then finds it.
void ControllerReconciler::start() {
  for (auto& one : world_.children) one.index->start();
  if (world_.revisions) world_.revisions->start();
  for (auto& one : world_.parents) one.set->start();
  resync_->start();
}

void ControllerReconciler::stop() {
  resync_->stop();
  for (auto& one : world_.parents) one.set->stop();
  for (auto& one : world_.children) one.index->stop();
  if (world_.revisions) world_.revisions->stop();
  world_.related->stop();
}

bool ControllerReconciler::ready() const {
  return std::ranges::all_of(world_.parents, [](const auto& one) { return one.set->ready(); }) &&
         std::ranges::all_of(world_.children, [](const auto& one) { return one.index->ready(); }) &&
         (!world_.revisions || world_.revisions->ready());
}

bool ControllerReconciler::idle() const { return world_.own.waiting() == 0; }

std::vector<hook::Event> ControllerReconciler::hand_over() {
  world_.slow.release_all();
  return {};
}

std::unique_ptr<hook::Pass> ControllerReconciler::begin(const std::string& key, const hook::Event& event,
                                                        hook::PassContext context) {
  return std::make_unique<ControllerPass>(world_, key, event, std::move(context));
}

// Parents that go must not keep the others waiting when their hook hangs.
std::vector<hook::Caller*> ControllerReconciler::asked_by_all() {
  std::vector<hook::Caller*> all;
  for (const HookRole role : {HookRole::kCustomize, HookRole::kSync})
    if (auto* caller = world_.callers.of(role)) all.push_back(caller);
  return all;
}

// ---------------------------------------------------------------- what calls keys

void ControllerReconciler::emit(const std::string& key, hook::ReconcileCause cause, bool background) {
  hook::Event event;
  event.causes.push_back(std::move(cause));
  event.background = background;
  world_.slow.emit(key, std::move(event));
}

void ControllerReconciler::parent_touched(const ControllerWorld::Parents& of, const cache::Object& parent,
                                          std::string_view type, cache::ObjectPtr gone, bool background) {
  const std::string key = world_.key_of(of, parent.key());
  hook::Event event;
  const bool start = background && !gone;
  event.causes.push_back(cause_of(start ? "start" : "parent", start ? "Start" : type, of.set->type().get(), parent));
  if (gone) world_.forget(key);
  event.gone = std::move(gone);
  event.background = background;
  world_.slow.emit(key, std::move(event));
}

void ControllerReconciler::parent_seen(const ControllerWorld::Parents& of, const cache::Object& parent,
                                       std::string_view text) {
  if (world_.spec->composite() && !world_.spec->generate_selector) {
    const std::string key = world_.key_of(of, parent.key());
    auto selector = text.empty() ? Result<cache::LabelSelector>(fail(Errc::kNotFound, "it is no more"))
                                 : child_selector(text, parent.uid, false);
    selector ? world_.selectors.set(key, parent.ns, *std::move(selector)) : world_.selectors.erase(key);
  }
  const auto& type = of.set->type();
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  text.empty() ? world_.own.gone(resource, parent) : world_.own.seen(resource, parent);
}

void ControllerReconciler::child_changed(ControllerWorld::Children& of, const reconcile::ChildChange& told) {
  const cache::Object& object = *told.change.object;
  const auto& type = of.index->type();
  if (world_.spec->composite()) {
    if (told.owner || told.change.type == cache::Change::Type::kDeleted)
      of.orphans.erase(object.key());
    else
      of.orphans.set(object.key(), object.ns, reconcile::labels_of(told.text));
  }
  if (of.was_ready) {  // at the start every parent is called anyway
    const auto cause =
        cause_of(world_.spec->composite() ? "children" : "attachments", type_of(told.change.type), type.get(), object);
    std::set<std::string> keys;
    for (const auto* owner : {&told.owner, &told.before})
      if (*owner)
        if (auto key = world_.key_of_uid((*owner)->uid)) keys.insert(*std::move(key));
    for (const std::string& key : keys) emit(key, cause, false);
    if (!told.owner && world_.spec->composite() && told.change.type != cache::Change::Type::kDeleted)
      orphan_changed(told, cause);
  }
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  if (told.change.type != cache::Change::Type::kDeleted) return world_.own.seen(resource, object);
  world_.memory.forget(resource, object.key());
  world_.own.gone(resource, object);
}

void ControllerReconciler::orphan_changed(const reconcile::ChildChange& told, const hook::ReconcileCause& cause) {
  const auto labels = reconcile::labels_of(told.text);
  if (world_.spec->generate_selector) {
    const auto uid = labels.find(kControllerUid);
    if (uid == labels.end()) return;
    if (const auto key = world_.key_of_uid(uid->second)) emit(*key, cause, false);
    return;
  }
  for (const std::string& key : world_.selectors.matching(told.change.object->ns, labels))
    if (world_.find(key)) emit(key, cause, false);
}

void ControllerReconciler::revision_changed(const reconcile::ChildChange& told) {
  const cache::Object& object = *told.change.object;
  const bool gone = told.change.type == cache::Change::Type::kDeleted;
  const auto& type = world_.revisions->type();
  // Its owner reference was taken away: whose it was takes it again.
  if (told.before && !told.owner && !gone)
    if (const auto key = world_.key_of_uid(told.before->uid))
      emit(*key, cause_of("revisions", type_of(told.change.type), type.get(), object), false);
  if (!type) return;
  const std::string resource = hook::resource_of(*type);
  gone ? world_.own.gone(resource, object) : world_.own.seen(resource, object);
}

void ControllerReconciler::ready_changed() {
  if (world_.services.changed) world_.services.changed();
}

// ---------------------------------------------------------------- for people

std::vector<std::shared_ptr<kube::Informer>> ControllerReconciler::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  const auto add = [&all](std::vector<std::shared_ptr<kube::Informer>> some) {
    for (auto& one : some) all.push_back(std::move(one));
  };
  for (const auto& one : world_.parents) add(one.set->informers());
  for (const auto& one : world_.children) add(one.index->informers());
  if (world_.revisions) add(world_.revisions->informers());
  add(world_.related->informers());
  return all;
}

std::vector<hook::Reconciler::Look> ControllerReconciler::looks() const {
  std::vector<Look> all;
  const auto text = [](const std::optional<Error>& error) { return error ? error->what : std::string(); };
  const auto name = [](std::string_view resource, std::string_view version) {
    return fmt::format("{} ({})", resource, version);
  };
  for (const auto& one : world_.parents)
    all.push_back({"parent", name(one.rule->resource, one.rule->api_version), one.set->ready(), one.set->size(),
                   text(one.set->error())});
  for (const auto& one : world_.children)
    all.push_back({world_.spec->composite() ? "children" : "attachments",
                   name(one.rule->resource, one.rule->api_version), one.index->ready(), one.index->size(),
                   text(one.index->error())});
  if (world_.revisions)
    all.push_back({"revisions", name("controllerrevisions", kApiVersion), world_.revisions->ready(),
                   world_.revisions->size(), text(world_.revisions->error())});
  for (auto& look : world_.related->looks())
    all.push_back({"related", std::move(look.what), look.ready, look.objects, std::move(look.trouble)});
  return all;
}

std::vector<std::string> ControllerReconciler::troubles() const {
  std::vector<std::string> all;
  for (const auto& finding : world_.slow.repeats().slow()) all.push_back(finding.text());
  return all;
}

std::vector<std::string> ControllerReconciler::waits() const {
  std::vector<std::string> all;
  for (const auto& [key, why] : world_.waiting) {
    if (all.size() == kWaits) break;
    all.push_back(fmt::format("{}: its roll-out waits: {}", key, why));
  }
  return all;
}

std::optional<hook::Snapshot> ControllerReconciler::snapshot(const std::string& name) const {
  hook::Snapshot snapshot;
  if (name == "parent" || name == "parents") {
    for (const auto& one : world_.parents) {
      snapshot.type = one.set->type();
      one.set->each([&](const std::string&, const reconcile::Parent& parent) {
        snapshot.entries.push_back({parent.object, nullptr});
      });
    }
    return snapshot;
  }
  for (const auto& one : world_.children)
    if (one.rule->resource == name || (one.index->type() && one.index->type()->kind == name)) {
      snapshot.type = one.index->type();
      for (auto& object : one.index->all()) snapshot.entries.push_back({std::move(object), nullptr});
      return snapshot;
    }
  return std::nullopt;
}

}  // namespace hookd::metacontroller
