#include "compat/metacontroller/controller_pass.h"

#include <algorithm>

#include "base/json_read.h"
#include "cache/resource_version.h"
#include "hook/own_writes.h"
#include "reconcile/finalizer.h"
#include "reconcile/owner.h"

namespace hookd::metacontroller {

ControllerPass::ControllerPass(ControllerWorld& world, std::string key, hook::Event event, hook::PassContext context)
    : world_(world), spec_(*world.spec), key_(std::move(key)), event_(std::move(event)), context_(std::move(context)) {}

ControllerPass::~ControllerPass() { world_.related_waits.erase(this); }

hook::Pass::Step ControllerPass::next() {
  while (true) {
    if (over_) return Step(*over_);
    Maybe step;
    switch (at_) {
      case At::kBegin:
        step = begin();
        break;
      case At::kFinalizer:
        step = finalizer();
        break;
      case At::kClaim:
        step = claim_children();
        break;
      case At::kAdopt:
        step = adopt();
        break;
      case At::kObserve:
        step = observe();
        break;
      case At::kCustomize:
        step = customize();
        break;
      case At::kRelated:
        step = related();
        break;
      case At::kAsk:
        step = ask();
        break;
      case At::kFinalized:
        step = finalized();
        break;
      case At::kResolve:
        step = resolve();
        break;
      case At::kWant:
        step = want();
        break;
      case At::kParentFirst:
        step = parent_first();
        break;
      case At::kRemove:
        step = removals();
        break;
      case At::kProbe:
        step = probes();
        break;
      case At::kWrite:
        step = writes();
        break;
      case At::kStatus:
        step = status();
        break;
      case At::kEnd:
        step = end();
        break;
    }
    if (step) return *std::move(step);
  }
}

// ---------------------------------------------------------------- the parent

ControllerPass::Maybe ControllerPass::begin() {
  if (!world_.own.clear(key_)) {
    world_.own.when_clear(key_, [this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) resume();
    });
    return Wait{};
  }
  const auto found = world_.find(key_);
  if (!found) {
    world_.forget(key_);
    return over({.result = "gone", .why = "", .requeue_after = std::nullopt, .quiet = true});
  }
  of_ = found->of;
  type_ = found->parent.type;
  parent_ = found->parent.object;
  matches_ = found->parent.matches;
  text_ = parent_->text.unpack();
  ending_ = reconcile::is_ending(text_);
  has_finalizer_ = reconcile::has_finalizer(text_, spec_.finalizer());
  if ((!matches_ && !has_finalizer_) || world_.slow.given_up(key_) || world_.slow.holds(key_, event_))
    return over({.result = "ok", .why = "", .requeue_after = std::nullopt, .quiet = true});
  if (spec_.composite() && !type_->has_subresource("status"))
    return failed(
        fmt::format("{} does not have subresource 'Status' enabled, which a CompositeController needs; set "
                    "subresources.status in its CustomResourceDefinition",
                    type_->display()));
  at_ = At::kFinalizer;
  return std::nullopt;
}

ControllerPass::Maybe ControllerPass::finalizer() {
  at_ = At::kClaim;
  const std::string name = spec_.finalizer();
  std::optional<apply::Operation> op;
  if (spec_.finalize && !ending_ && matches_ && !has_finalizer_)
    op = reconcile::put_finalizer(*type_, text_, name);
  else if (!spec_.finalize && has_finalizer_)
    op = reconcile::take_finalizer(*type_, text_, name);
  if (!op) return std::nullopt;
  return write({*std::move(op)}, At::kClaim, [this](size_t, const apply::Outcome& outcome) {
    if (outcome.kind == apply::Outcome::Kind::kDone) {
      parent_is(outcome);
      // It did not match, and only the finalizer made it ours: the end of it.
      if (!matches_ && !has_finalizer_) over({.result = "ok", .why = "", .requeue_after = std::nullopt});
    } else if (outcome.http_status == 409 || outcome.ok()) {
      over_ = std::get<Over>(later("the parent changed while its finalizer was set"));
    } else {
      over_ = std::get<Over>(failed(apply::brief(outcome.text)));
    }
  });
}

// ---------------------------------------------------------------- its children

ControllerPass::Maybe ControllerPass::claim_children() {
  if (gone_) return over({.result = "gone", .why = "", .requeue_after = std::nullopt, .quiet = true});
  if (spec_.composite()) {
    auto selector = child_selector(text_, parent_->uid, spec_.generate_selector);
    // Who goes has to be finalized all the same, or it would stay for ever: its children are then those that it owns.
    if (!selector && !(ending_ && has_finalizer_)) return failed(selector.error().what);
    if (selector) selector_ = *std::move(selector);
  }
  bool adopts = false;
  for (const auto& one : world_.children) {
    Claiming claiming{&one, {}, {}, {}};
    const auto owned = one.index->owned_by(parent_->uid);
    if (spec_.composite() && !selector_) {
      claiming.children = owned;
    } else if (spec_.composite()) {
      std::vector<cache::ObjectPtr> orphans;
      for (const std::string& key : one.orphans.selected(parent_->ns, *selector_)) {
        const size_t slash = key.find('/');
        const std::string ns = slash == std::string::npos ? "" : key.substr(0, slash);
        if (auto object = one.index->find(ns, key.substr(slash + 1))) orphans.push_back(std::move(object));
      }
      Claims claims = claim(owned, orphans, *selector_, ending_);
      claiming.children = std::move(claims.kept);
      claiming.adopt = std::move(claims.adopt);
      claiming.release = std::move(claims.release);
    } else {
      claiming.children = attachments_of(owned, spec_.name);
    }
    adopts = adopts || !claiming.adopt.empty();
    claiming_.push_back(std::move(claiming));
  }
  adopt_revisions_ = lost_revisions();
  adopts = adopts || !adopt_revisions_.empty();
  at_ = At::kAdopt;
  if (!adopts) return std::nullopt;
  // What the watch shows of the parent may be old: nothing is adopted for one that is gone or goes.
  kube::ApiRequest request;
  request.path = type_->object_path(parent_->ns, parent_->name);
  call_ = world_.services.api.request(std::move(request), [this](Result<kube::ApiResponse> result) {
    looked_ = std::move(result);
    resume();
  });
  return Wait{};
}

// ControllerRevisions whose owner reference was taken away, or whose parent was made anew under its children: without
// them a roll-out would lose its way, and the one of the parent as it is could not be made again.
std::vector<cache::ObjectPtr> ControllerPass::lost_revisions() const {
  std::vector<cache::ObjectPtr> lost;
  if (!selector_ || !rolls()) return lost;
  for (const auto& object : world_.revisions->orphans(parent_->ns)) {
    const std::string text = object->text.unpack();
    if (!reconcile::is_ending(text) && is_revision_of(*object, text, *type_, parent_->uid, *selector_))
      lost.push_back(object);
  }
  return lost;
}

ControllerPass::Maybe ControllerPass::adopt() {
  bool lives = true;
  if (call_) {
    if (!looked_) return Wait{};
    if (!*looked_ && looked_->error().code != Errc::kNotFound)
      return failed(fmt::format("cannot adopt children, the parent could not be read: {}", looked_->error().what));
    lives = *looked_ && json_string_at((*looked_)->body, {"metadata", "uid"}) == parent_->uid &&
            !reconcile::is_ending((*looked_)->body);
    if (!lives) return later("the parent is gone or another by now, nothing is adopted for it");
  }
  at_ = At::kObserve;
  std::vector<apply::Operation> operations;
  struct About {
    const reconcile::ChildIndex* index;
    std::vector<cache::ObjectPtr>* into;  // where an adopted one goes; null = it is let go
    cache::ObjectPtr object;
  };
  std::vector<About> which;  // by operation
  const std::string owner = reconcile::owner_reference(*type_, *parent_);
  const auto add = [&](const reconcile::ChildIndex& index, const cache::ObjectPtr& object,
                       std::vector<cache::ObjectPtr>* into) {
    const auto& type = *index.type();
    const std::string text = object->text.unpack();
    apply::Operation op;
    op.verb = apply::Verb::kMergePatch;
    op.api_version = type.api_version();
    op.kind = type.kind;
    op.ns = object->ns;
    op.name = object->name;
    op.uid = object->uid;
    op.resource_version = object->resource_version;
    op.keep_object = true;
    op.patch = fmt::format(
        R"({{"metadata":{{"ownerReferences":{}}}}})",
        into ? reconcile::with_owner(text, owner, parent_->uid) : reconcile::without_owner(text, parent_->uid));
    operations.push_back(std::move(op));
    which.push_back({&index, into, object});
  };
  for (Claiming& one : claiming_) {
    for (const auto& object : one.adopt) add(*one.of->index, object, &one.children);
    for (const auto& object : one.release) add(*one.of->index, object, nullptr);
  }
  for (const auto& object : adopt_revisions_) add(*world_.revisions, object, &adopted_revisions_);
  if (operations.empty()) return std::nullopt;
  auto kept = std::make_shared<std::vector<apply::Operation>>(operations);
  return write(std::move(operations), At::kObserve,
               [this, which = std::move(which), kept](size_t number, const apply::Outcome& outcome) {
                 const auto& [index, into, object] = which[number];
                 if (outcome.kind == apply::Outcome::Kind::kDone) {
                   const auto& op = (*kept)[number];
                   remember(*index->type(), index->find(op.ns, op.name), op, outcome);
                   if (into) into->push_back(object_of(outcome, *object));
                 } else if (!outcome.ok() && outcome.http_status != 404) {
                   if (outcome.http_status == 409)
                     conflict_ = true;
                   else
                     errors_.push_back(apply::brief(outcome.text));
                 }
               });
}

ControllerPass::Maybe ControllerPass::observe() {
  if (!errors_.empty()) return failed(fmt::format("{}", fmt::join(errors_, "; ")));
  if (conflict_) return later("a child changed while it was adopted or released");
  for (const auto& one : claiming_)
    for (const auto& object : one.children)
      observed_.push_back({{one.of->rule, one.of->index->type()}, object, object->text.unpack()});
  at_ = At::kCustomize;
  return std::nullopt;
}

// ---------------------------------------------------------------- for every step

hook::Pass::Step ControllerPass::write(std::vector<apply::Operation> operations, At then,
                                       std::function<void(size_t, const apply::Outcome&)> each) {
  at_ = then;
  each_ = std::move(each);
  Write write;
  write.operations = std::move(operations);
  write.answered = !answers_.empty();
  write.field_manager = world_.options.ssa_field_manager;
  return write;
}

void ControllerPass::written(const std::vector<apply::Operation>&, const std::vector<apply::Outcome>& outcomes) {
  const auto each = std::exchange(each_, {});
  for (const auto& outcome : outcomes) each(outcome.index, outcome);
}

hook::Pass::Step ControllerPass::failed(std::string why, std::string result) {
  if (type_ && parent_) world_.warn(*type_, *parent_, "SyncError", "Sync error: " + why);
  Over over;
  over.verdict = queue::Verdict::kRetry;
  over.result = std::move(result);
  over.why = std::move(why);
  return this->over(std::move(over));
}

hook::Pass::Step ControllerPass::later(std::string why) {
  Over over;
  over.verdict = queue::Verdict::kLater;
  over.result = "later";
  over.why = std::move(why);
  return this->over(std::move(over));
}

void ControllerPass::parent_is(const apply::Outcome& outcome) {
  apply::Operation op;
  op.ns = parent_->ns;
  op.name = parent_->name;
  const auto known = of_->set->find(parent_->key());
  remember(*type_, known ? known->object : nullptr, op, outcome);
  if (outcome.object.empty() || outcome.uid != parent_->uid) return;
  text_ = outcome.object;
  ending_ = reconcile::is_ending(text_);
  has_finalizer_ = reconcile::has_finalizer(text_, spec_.finalizer());
  gone_ = ending_ && reconcile::finalizers_of(text_).empty();
}

// The key's next pass waits until the watch told of it.
void ControllerPass::remember(const kube::ResourceType& type, const cache::ObjectPtr& known,
                              const apply::Operation& operation, const apply::Outcome& outcome) {
  if (world_.services.dry_run || operation.dry_run || outcome.uid.empty()) return;
  if (outcome.kind != apply::Outcome::Kind::kDone) return;
  wrote_ = true;
  const std::string resource = hook::resource_of(type);
  const cache::Identity written{operation.ns, operation.name, outcome.uid, outcome.resource_version};
  const bool gone = (is_delete(operation.verb) && outcome.resource_version.empty()) ||
                    (!outcome.object.empty() && reconcile::is_ending(outcome.object) &&
                     reconcile::finalizers_of(outcome.object).empty() && outcome.uid == parent_->uid);
  if (gone) {
    if (!known || known->uid != outcome.uid) return;  // the watch told of it already
    world_.own.deleted(key_, resource, written);
  } else {
    if (outcome.resource_version.empty()) return;
    if (known && known->uid == outcome.uid) {
      const auto order = cache::compare_versions(known->resource_version, outcome.resource_version);
      if (order ? *order >= 0 : known->resource_version == outcome.resource_version) return;
    }
    world_.own.wrote(key_, resource, written);
  }
}

cache::ObjectPtr ControllerPass::object_of(const apply::Outcome& outcome, const cache::Identity& identity) const {
  auto object = std::make_shared<cache::Object>();
  static_cast<cache::Identity&>(*object) = identity;
  object->resource_version = outcome.resource_version;
  auto incoming = cache::read_object(outcome.object, "", "");
  object->text = cache::PackedText(incoming ? incoming->text : outcome.object, nullptr);
  return object;
}

}  // namespace hookd::metacontroller
