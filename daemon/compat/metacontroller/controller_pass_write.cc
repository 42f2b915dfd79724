// What is made of a hook's answer. Source: controllers.md 1.4 steps 6 to 10, 1.5, 1.6.
#include <algorithm>

#include "base/json_read.h"
#include "base/log.h"
#include "compat/metacontroller/controller_pass.h"
#include "compat/metacontroller/merge.h"
#include "hook/content_hash.h"
#include "reconcile/finalizer.h"

namespace hookd::metacontroller {
namespace {

apply::Operation about_parent(apply::Verb verb, const kube::ResourceType& type, const cache::Identity& parent) {
  apply::Operation op;
  op.verb = verb;
  op.api_version = type.api_version();
  op.kind = type.kind;
  op.ns = parent.ns;
  op.name = parent.name;
  op.uid = parent.uid;
  op.keep_object = true;
  op.ignore_missing_object = true;
  return op;
}

}  // namespace

// `finalized` of all that were asked: the finalizer goes now, before a child is touched.
ControllerPass::Maybe ControllerPass::finalized() {
  at_ = At::kResolve;
  const bool all = std::ranges::all_of(answers_, [](const SyncAnswer& answer) { return answer.finalized; });
  if (!all || !has_finalizer_) return std::nullopt;
  return write({reconcile::take_finalizer(*type_, text_, spec_.finalizer())}, At::kResolve,
               [this](size_t, const apply::Outcome& outcome) {
                 if (outcome.kind == apply::Outcome::Kind::kDone)
                   parent_is(outcome);
                 else if (outcome.http_status == 409 || outcome.kind == apply::Outcome::Kind::kNotNeeded)
                   over_ = std::get<Over>(later("the parent changed while its finalizer was taken away"));
                 else
                   over_ = std::get<Over>(failed(apply::brief(outcome.text)));
               });
}

std::optional<ChildKind> ControllerPass::kind_of(const DesiredObject& child) const {
  const size_t slash = child.api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : child.api_version.substr(0, slash);
  for (const auto& one : world_.children) {
    const auto& type = one.index->type();
    if (type && type->kind == child.kind && type->group == group) return ChildKind{one.rule, type};
  }
  auto type = world_.services.discovery.cached(child.api_version, child.kind);
  if (!type || type->kind != child.kind) return std::nullopt;
  return ChildKind{nullptr, std::make_shared<const kube::ResourceType>(*std::move(type))};
}

// Kinds that the controller does not declare have to be known to the server, too.
ControllerPass::Maybe ControllerPass::resolve() {
  if (gone_) return over({.result = "ok", .why = "", .requeue_after = std::nullopt});
  if (!resolved_) {
    resolved_ = true;
    ++resolving_;
    std::set<std::pair<std::string, std::string>> asked;
    for (const auto& answer : answers_)
      for (const auto& child : answer.children)
        if (!kind_of(child) && asked.emplace(child.api_version, child.kind).second) {
          ++resolving_;
          world_.services.discovery.resolve(child.api_version, child.kind,
                                            [this, alive = std::weak_ptr(alive_)](const Result<kube::ResourceType>&) {
                                              if (alive.lock() && --resolving_ == 0) resume();
                                            });
        }
    --resolving_;
  }
  if (resolving_ > 0) return Wait{};
  at_ = At::kWant;
  return std::nullopt;
}

ControllerPass::Maybe ControllerPass::want() {
  std::vector<std::vector<Wanted>> all;
  for (const auto& answer : answers_) {
    auto wanted = wanted_children(answer.children, {spec_, *type_, *parent_, selector_ ? &*selector_ : nullptr,
                                                    [this](const DesiredObject& child) { return kind_of(child); }});
    if (!wanted) return failed(wanted.error().what);
    all.push_back(*std::move(wanted));
  }
  at_ = At::kParentFirst;
  if (!revisions_.empty()) return roll_out(std::move(all));
  world_.waiting.erase(key_);
  wanted_ = std::move(all.front());
  return std::nullopt;
}

ControllerPass::Maybe ControllerPass::roll_out(std::vector<std::vector<Wanted>> wanted) {
  roll_out_ = roll(revisions_, {spec_, world_.options, observed_, std::move(wanted)});
  wanted_ = std::move(roll_out_->wanted);
  std::erase_if(observed_, [this](const ObservedChild& one) {
    const Revision::Child child{{one.kind.type->group, one.kind.type->kind}, one.object->name};
    return std::ranges::find(roll_out_->untouched, child) != roll_out_->untouched.end();
  });
  if (roll_out_->reason == "RolloutWaiting")
    world_.waiting[key_] = roll_out_->message;
  else
    world_.waiting.erase(key_);
  const auto parent = Value::parse(text_);
  const auto type = world_.revisions->type();  // its own: the kind may be told anew meanwhile
  auto operations = revision_writes(revisions_, *type, *type_, *parent_, spec_, parent ? *parent : Value::object());
  if (operations.empty()) return std::nullopt;
  auto kept = std::make_shared<std::vector<apply::Operation>>(operations);
  return write(std::move(operations), At::kParentFirst,
               [this, kept, type](size_t index, const apply::Outcome& outcome) {
                 const auto& op = (*kept)[index];
                 if (outcome.ok()) return remember(*type, world_.revisions->find(op.ns, op.name), op, outcome);
                 if (over_) return;
                 // The records come before the children: without them a roll-out would lose its way.
                 if (outcome.http_status == 409 && op.verb == apply::Verb::kMergePatch)
                   over_ = std::get<Over>(later(apply::brief(outcome.text)));
                 else
                   over_ = std::get<Over>(failed(apply::brief(outcome.text)));
               });
}

// ---------------------------------------------------------------- children

// While the parent goes its children are only touched if we hold it, and the garbage collector is not at them.
bool ControllerPass::manages_children() const {
  if (gone_) return false;
  return !ending_ || (has_finalizer_ && !reconcile::children_are_left_to_the_collector(text_));
}

ControllerPass::Maybe ControllerPass::parent_first() {
  at_ = At::kRemove;
  if (!spec_.composite()) return write_parent();
  return std::nullopt;
}

ControllerPass::Maybe ControllerPass::removals() {
  at_ = At::kStatus;
  if (!manages_children()) return std::nullopt;
  plan_ = plan_child_writes({spec_, world_.options, *type_, *parent_, observed_, wanted_,
                             [this](const ChildKind& kind, std::string_view ns, std::string_view name) {
                               for (const auto& one : world_.children)
                                 if (one.rule == kind.rule) return one.index->find(ns, name);
                               return cache::ObjectPtr();
                             },
                             world_.memory});
  for (auto& error : plan_.errors) errors_.push_back(std::move(error));
  return write_children(plan_.removals, At::kProbe);
}

ControllerPass::Maybe ControllerPass::probes() {
  at_ = At::kWrite;
  if (plan_.probes.empty()) return std::nullopt;
  std::vector<apply::Operation> operations;
  for (const auto& probe : plan_.probes) operations.push_back(probe.operation);
  return write(std::move(operations), At::kWrite, [this](size_t index, const apply::Outcome& outcome) {
    const ChildWrite& probe = plan_.probes[index];
    if (!outcome.ok()) {
      // What the server would not take is no reason to delete what is there.
      log::warn("a child is left as it is, the dry run of its update failed",
                {{"hook", world_.hook->name}, {"child", probe.child}, {"error", outcome.text}});
      if (outcome.http_status != 400 && outcome.http_status != 403) errors_.push_back(apply::brief(outcome.text));
      return;
    }
    if (auto write = recreate(probe, outcome.object))
      plan_.writes.push_back(*std::move(write));
    else if (probe.wanted != SIZE_MAX)
      world_.memory.wrote(memory_key(wanted_[probe.wanted]),
                          json_string_at(probe.before, {"metadata", "uid"}).value_or(""), probe.before);
  });
}

ControllerPass::Maybe ControllerPass::writes() { return write_children(plan_.writes, At::kStatus); }

ControllerPass::Maybe ControllerPass::write_children(std::vector<ChildWrite> writes, At then) {
  at_ = then;
  if (writes.empty()) return std::nullopt;
  std::vector<apply::Operation> operations;
  for (const auto& one : writes) operations.push_back(one.operation);
  return write(std::move(operations), then,
               [this, writes = std::move(writes)](size_t i, const apply::Outcome& outcome) {
                 child_written(writes[i], outcome);
               });
}

void ControllerPass::child_written(const ChildWrite& write, const apply::Outcome& outcome) {
  const apply::Operation& op = write.operation;
  if (!outcome.ok()) {
    // It changed or went meanwhile: what it is now is on its way here and calls the parent.
    const bool overtaken = (outcome.http_status == 409 && op.verb == apply::Verb::kMergePatch) ||
                           (outcome.http_status == 404 && !write.before.empty());
    if (!overtaken) errors_.push_back(apply::brief(outcome.text));
    return;
  }
  cache::ObjectPtr known;
  std::shared_ptr<const kube::ResourceType> type;
  for (const auto& one : world_.children)
    if (const auto& its = one.index->type(); its && its->kind == op.kind && its->api_version() == op.api_version) {
      type = its;
      known = one.index->find(op.ns, op.name);
    }
  if (!type) return;  // not declared, so never looked at
  remember(*type, known, op, outcome);
  if (world_.services.dry_run) return;
  if (write.remember) world_.memory.wrote(memory_key(wanted_[write.wanted]), outcome.uid, outcome.object);
  // One that is made counts too: it may be deleted again and again, by us or by others.
  if (!outcome.object.empty() && !is_delete(op.verb) && outcome.kind == apply::Outcome::Kind::kDone)
    repeated(write.child, write.before, outcome.object);
}

uint64_t ControllerPass::because() const {
  uint64_t hash = world_.reason_of(key_, parent_->text.unpack());
  for (const auto& kind : world_.related->of(key_))
    for (const auto& object : kind.objects)
      hash = hook::content_hash(object->uid + " " + object->resource_version, hash);
  return hash;
}

void ControllerPass::repeated(const std::string& child, std::string_view before, std::string_view after) {
  const auto finding = world_.slow.wrote(key_, child, because(), before, after, world_.services.once);
  if (!finding || !finding->tell) return;
  const std::string text = finding->text();
  log::warn("what the hook writes does not stay", {{"hook", world_.hook->name}, {"object", key_}, {"why", text}});
  world_.warn(*type_, *parent_, "RepeatedWrites", text);
}

// ---------------------------------------------------------------- the parent's status, labels, annotations

// nullopt = it is to stay as it is (a DecoratorController's null). Errors: kDecode: a key twice, deeper than is taken.
Result<std::optional<Value>> ControllerPass::wanted_status() const {
  const auto& answered = answers_.front().status;
  Value status = Value::object();
  if (answered) {
    const auto value = Value::parse(*answered);
    if (!value) return fail(value.error().with("the status that the hook answered"));
    status = without_nulls(*value);
  } else if (!spec_.composite()) {
    return std::nullopt;
  }
  if (roll_out_) status = with_updated_condition(std::move(status), *roll_out_);
  if (spec_.composite())
    if (const auto generation = json_raw_at(text_, {"metadata", "generation"}))
      if (auto value = Value::parse(*generation)) status.set("observedGeneration", *std::move(value));
  return status;
}

ControllerPass::Maybe ControllerPass::status() {
  at_ = At::kEnd;
  if (!spec_.composite()) return std::nullopt;
  return write_parent();
}

// Only what differs. Not bound to a version: these keys and the status are the controller's own, and a change of others
// in between, of which there are many in a parent's life, must not cost another call of the hook.
ControllerPass::Maybe ControllerPass::write_parent() {
  if (gone_) return std::nullopt;
  std::vector<apply::Operation> operations;
  const auto parent = Value::parse(text_);
  if (!parent) return failed(parent.error().what);
  const Value* before = parent->find("status");
  const Value none = Value::object();
  std::optional<Value> status_patch;
  if (const auto wanted = wanted_status(); !wanted)
    errors_.push_back(wanted.error().what);
  else if (*wanted)
    status_patch = merge_patch(before && before->is_object() ? *before : none, **wanted);
  Value metadata = Value::object();
  if (!spec_.composite()) {
    const auto differ = [&](std::string_view field, const auto& entries) {
      const Value* now = parent->at_path({"metadata", field});
      for (const auto& [key, value] : entries) {
        const Value* there = now ? now->find(key) : nullptr;
        if (!value && there) metadata.at(field).set(key, Value());
        if (value && (!there || !there->is_string() || there->text() != *value))
          metadata.at(field).set(key, Value::string(*value));
      }
    };
    differ("labels", answers_.front().labels);
    differ("annotations", answers_.front().annotations);
  }
  const bool subresource = type_->has_subresource("status");
  if (!metadata.members().empty() || (status_patch && !subresource)) {
    auto op = about_parent(apply::Verb::kMergePatch, *type_, *parent_);
    Value patch = Value::object();
    if (!metadata.members().empty()) patch.set("metadata", metadata);
    if (status_patch && !subresource) patch.set("status", *status_patch);
    op.patch = patch.to_json();
    operations.push_back(std::move(op));
  }
  if (status_patch && subresource) {
    auto op = about_parent(apply::Verb::kStatus, *type_, *parent_);
    op.patch = status_patch->to_json();
    operations.push_back(std::move(op));
  }
  if (operations.empty()) return std::nullopt;
  const std::string was = text_;
  return write(std::move(operations), at_, [this, was](size_t, const apply::Outcome& outcome) {
    if (outcome.kind == apply::Outcome::Kind::kDone) {
      parent_is(outcome);
      if (!world_.services.dry_run && !outcome.object.empty())
        repeated(fmt::format("{} {}", type_->kind, parent_->key()), was, outcome.object);
    } else if (outcome.http_status == 409) {
      conflict_ = true;
      if (!spec_.composite()) gone_ = true;
    } else if (outcome.ok() || outcome.http_status == 404) {
      gone_ = true;  // or another of that name is there: nothing is made for it
    } else {
      errors_.push_back(apply::brief(outcome.text));
    }
  });
}

hook::Pass::Step ControllerPass::end() {
  if (!errors_.empty()) {
    const size_t told = std::min(errors_.size(), kToldErrors);
    std::string why =
        fmt::format("{}", fmt::join(errors_.begin(), errors_.begin() + static_cast<ptrdiff_t>(told), "; "));
    if (errors_.size() > told) why += fmt::format("; and {} more", errors_.size() - told);
    return failed(std::move(why));
  }
  if (world_.slow.given_up(key_)) {
    Over over;
    over.verdict = queue::Verdict::kGiveUp;
    over.result = "looping";
    over.why = "its writes are undone again and again, so that it would not end with --once";
    return this->over(std::move(over));
  }
  if (conflict_) return later("the parent changed while its status was written");
  Over over;
  for (const auto& answer : answers_)
    if (answer.resync_after && (!over.requeue_after || *answer.resync_after < *over.requeue_after))
      over.requeue_after = answer.resync_after;
  return this->over(std::move(over));
}

}  // namespace hookd::metacontroller
