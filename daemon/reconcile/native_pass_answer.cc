// What a pass makes of its hook's answer.
#include <algorithm>

#include "base/json_read.h"
#include "base/log.h"
#include "cache/resource_version.h"
#include "hook/own_writes.h"
#include "hook/runner.h"
#include "reconcile/cause.h"
#include "reconcile/finalizer.h"
#include "reconcile/native_pass.h"

namespace hookd::reconcile {
namespace {

std::string group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

bool is_of(const apply::Operation& operation, const kube::ResourceType& type) {
  return operation.kind == type.kind &&
         (operation.api_version.empty() || group_of(operation.api_version) == type.group);
}

bool newer_than(const cache::ObjectPtr& known, const apply::Outcome& outcome) {
  if (!known || known->uid != outcome.uid) return false;
  const auto order = cache::compare_versions(known->resource_version, outcome.resource_version);
  return order ? *order >= 0 : known->resource_version == outcome.resource_version;
}

std::string only_status(std::string_view object) {
  return fmt::format(R"({{"status":{}}})", json_raw_at(object, {"status"}).value_or("{}"));
}

// Does it go on until somebody does something about it? Not: races, and a server that is not there.
bool lasts(const apply::Outcome& outcome) {
  const int status = outcome.http_status;
  return status >= 400 && status != 409 && status != 410 && status != 429 && status != 503 && status != 504;
}

bool removes(const apply::Operation& operation) {
  return apply::is_delete(operation.verb) || operation.verb == apply::Verb::kEvict;
}

}  // namespace

void NativePass::warn(std::string_view reason, std::string message, bool whatever) {
  shared_.warn(key_, *world_->type, *world_->parent, reason, std::move(message), whatever);
}

void NativePass::replied(hook::Reply reply) {
  reply_ = std::move(reply);
  if (reply_->kind != hook::Reply::Kind::kAnswered) return;
  const std::vector<ChildKind> known = kinds();
  auto answer = read_native_answer(reply_->text, {known, *world_->type, *world_->parent, world_->gone});
  if (!answer) {
    problems_.push_back("the answer was not understood, nothing was done: " + answer.error().what);
    return;
  }
  messages_ = std::move(answer->messages);
  const size_t lines = std::min(answer->text.size(), kTextLines);
  messages_.insert(messages_.end(), answer->text.begin(), answer->text.begin() + static_cast<ptrdiff_t>(lines));
  if (answer->text.size() > lines)
    messages_.push_back(fmt::format("and {} more line(s) that are no document", answer->text.size() - lines));
  answer_ = *std::move(answer);
}

std::vector<std::string> NativePass::messages() const { return messages_; }

NativePass::Maybe NativePass::plan() {
  if (reply_->kind != hook::Reply::Kind::kAnswered) {
    Over refused = hook::over_of(*reply_);
    if (refused.verdict == queue::Verdict::kGiveUp)
      warn("GivenUp", fmt::format("{}; nothing more is tried until something changes", refused.why));
    else if (refused.verdict == queue::Verdict::kRetry && context_.attempt >= kTriesToTell)
      warn("CallFailed",
           fmt::format("{} (attempt {}, it is called again and again)", apply::brief(refused.why), context_.attempt),
           true);
    return over(std::move(refused));
  }
  if (!answer_) {
    warn("BadAnswer", problems_.front());
    return end();
  }
  requeue_after_ = answer_->requeue_after;
  operations_ = std::move(answer_->operations);
  for (apply::Operation& op : operations_)
    op.keep_object |= !world_->gone && (is_about(op, *world_->type, *world_->parent) || seen_child(op) ||
                                        seen_in(world_->related, op).object);
  if (context_.done)
    context_.done->leave_out(operations_, [this](const apply::Operation& op) {
      return hook::object_in_call(*call_, op.api_version, op.kind, op.ns.empty() ? world_->parent->ns : op.ns, op.name);
    });
  shared_.unblock(key_);
  shared_.waiting.erase(key_);
  if (answer_->children && manage_ && is_as_called()) plan_children(*answer_->children);
  return std::nullopt;
}

// A parent that went, or began to go, during the call: its children are the garbage collector's, or the next pass's,
// which that calls. Likewise one that had left and takes part again.
bool NativePass::is_as_called() const {
  const auto now = shared_.parents->find(key_);
  if (!now || now->object->uid != world_->parent->uid) return false;
  return leaving_ == (!now->matches || is_ending(now->object->text.unpack()));
}

// The parent's children that the hook was told of, as they are by now: somebody may have freed one during the call.
std::vector<Observed> NativePass::observed() const {
  std::vector<Observed> all;
  for (size_t i = 0; i < shared_.children.size(); ++i) {
    const ChildIndex& index = *shared_.children[i].index;
    for (const auto& object : world_->children[i].objects) {
      auto now = index.find(object->ns, object->name);
      const bool same = now && now->uid == object->uid;
      const auto owner = same ? index.owner_of(object->ns, object->name) : std::nullopt;
      if (same && !(owner && owner->uid == world_->parent->uid)) continue;
      all.push_back({{shared_.children[i].rule, world_->children[i].type}, same ? std::move(now) : object});
    }
  }
  return all;
}

void NativePass::plan_children(const std::vector<Desired>& desired) {
  const std::vector<Observed> observed = this->observed();
  const auto other = [this](const ChildKind& kind, std::string_view ns, std::string_view name) -> cache::ObjectPtr {
    for (const auto& one : shared_.children) {
      if (one.rule != kind.rule) continue;
      const auto owner = one.index->owner_of(ns, name);
      return owner && owner->uid == world_->parent->uid ? nullptr : one.index->find(ns, name);
    }
    return nullptr;
  };
  plan_ = reconcile::plan_children({.parent_type = *world_->type,
                                    .parent = *world_->parent,
                                    .desired = desired,
                                    .observed = observed,
                                    .other = other,
                                    .memory = shared_.memory,
                                    // Nothing is made for one that goes now: where its namespace ends, or a foreign
                                    // object is in the way, it would hang for ever.
                                    .write = !(world_->finalizing && answer_->finalized)});
  for (const ChildPlan::Same& same : plan_.same)
    shared_.memory.wrote(same.key, same.object->uid, same.object->text.unpack());
  std::string waits = plan_.waiting.empty() ? "" : plan_.waiting.front();
  for (const auto& conflict : plan_.conflicts) {
    std::string text = fmt::format("{}: {}", conflict.child, conflict.text);
    if (conflict.passing) {  // its end calls the key again
      waits = std::move(text);
      continue;
    }
    warn("ChildConflict", text);
    problems_.push_back(std::move(text));
    result_ = "conflict";
  }
  rests_ = plan_.conflicts.empty();  // who is in the way stands in no digest
  if (!plan_.conflicts.empty())
    for (const Desired& child : desired)
      if (other(child.kind, child.ns, child.name))
        shared_.block(key_, NativeShared::blocker(*child.kind.type, child.ns, child.name));
  for (const std::string& child : plan_.moving)
    log::info("rolls out", {{"hook", shared_.hook->name}, {"object", key_}, {"call", context_.id}, {"child", child}});
  if (waits.empty()) return;
  log::info("waits", {{"hook", shared_.hook->name}, {"object", key_}, {"call", context_.id}, {"why", waits}});
  shared_.waiting[key_] = std::move(waits);
}

NativePass::Maybe NativePass::remove_children() {
  if (plan_.removals.empty()) return std::nullopt;
  Write write;
  write.operations = plan_.removals;
  write.answered = write.declared = true;
  return write;
}

NativePass::Maybe NativePass::write_children() {
  if (plan_.writes.empty()) return std::nullopt;
  Write write;
  write.operations = plan_.writes;
  write.answered = write.declared = true;
  return write;
}

NativePass::Maybe NativePass::operate() {
  if (operations_.empty()) return std::nullopt;
  Write write;
  write.operations = operations_;
  write.answered = true;
  write.default_namespace = world_->parent->ns;
  return write;
}

NativePass::Maybe NativePass::write_status() {
  if (!answer_->status || world_->gone) return std::nullopt;
  const kube::ResourceType& type = *world_->type;
  // What the watch began with may be older than a change of the CustomResourceDefinition.
  const auto now = type.has_subresource("status") ? std::optional(type)
                                                  : shared_.services.discovery.cached(type.api_version(), type.kind);
  if (!now || !now->has_subresource("status")) {
    shared_.status_trouble = fmt::format(
        "{} has no status subresource, so that the hook's status cannot be written; add `subresources: {{status: "
        "{{}}}}` "
        "to its version in the CustomResourceDefinition, or leave `status` out of the answer",
        type.display());
    rests_ = false;
    warn("NoStatus", shared_.status_trouble);
    shared_.look_for_status();
    return std::nullopt;
  }
  shared_.status_trouble.clear();
  auto op = shared_.statuses.plan(type, *world_->parent, parent_text_, *answer_->status);
  if (!op) return std::nullopt;
  op->ignore_missing_object = true;  // it went meanwhile
  Write write;
  write.operations.push_back(*std::move(op));
  write.answered = write.declared = true;
  return write;
}

// Only when everything is done that the hook wanted done before the object goes.
NativePass::Maybe NativePass::release() {
  if (!world_->finalizing || !answer_->finalized || !problems_.empty()) return std::nullopt;
  // What others wrote during the call is no reason to ask again: with a slow hook that might never end.
  const auto now = shared_.parents->find(key_);
  if (now && now->object->uid == world_->parent->uid &&
      cache::compare_versions(now->object->resource_version,
                              json_string_at(parent_text_, {"metadata", "resourceVersion"}).value_or("")) > 0) {
    parent_text_ = now->object->text.unpack();
    if (now->matches && !is_ending(parent_text_)) return std::nullopt;  // it takes part again, which calls its key
  }
  apply::Operation patch = take_finalizer(*world_->type, parent_text_, shared_.rule().finalizer_name);
  patch.ignore_missing_object = true;
  // Before the answer: the watch may be quicker.
  if (!shared_.services.dry_run) shared_.released.insert(world_->parent->uid);
  Write write;
  write.operations.push_back(std::move(patch));
  write.declared = true;
  return write;
}

void NativePass::written(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes) {
  wrote_ |= writing_ != At::kStatus && !(writing_ == At::kWrite && changed_nothing(operations, outcomes));
  switch (writing_) {
    case At::kFinalizer:
    case At::kRelease:
      return finalizer_written(operations.front(), outcomes.front());
    case At::kWrite:
      for (const apply::Outcome& outcome : outcomes) child_written(operations[outcome.index], outcome);
      return;
    case At::kOperate:
      for (const apply::Outcome& outcome : outcomes) operated(operations[outcome.index], outcome);
      return;
    case At::kStatus:
      note(operations.front(), outcomes.front(), "StatusRefused");
      return status_written(outcomes.front());
    default:
      for (const apply::Outcome& outcome : outcomes) note(operations[outcome.index], outcome, "ChildRefused");
  }
}

void NativePass::note(const apply::Operation& operation, const apply::Outcome& outcome, std::string_view reason) {
  using Kind = apply::Outcome::Kind;
  if (outcome.ok()) return remember_version(operation, outcome);
  problems_.push_back(apply::brief(outcome.text));
  if (outcome.kind == Kind::kRefused) {
    result_ = "refused";
    warn(reason, problems_.back());
    return;
  }
  if (lasting_.empty() && lasts(outcome)) lasting_ = problems_.back();
  if (outcome.retry_after) at_least_ = std::max<Duration>(at_least_, *outcome.retry_after);
}

// A child could not be made, as an object of that name is there that its rule's labelSelector keeps from being seen:
// somebody else's, or a child that lost its labels. Not at the first try: the watch may be late.
bool NativePass::is_hidden(const apply::Operation& operation, const apply::Outcome& outcome) const {
  if (outcome.ok() || outcome.http_status != 409 || context_.attempt < kTriesForHidden) return false;
  if (json_string_at(operation.object, {"metadata", "resourceVersion"}).value_or("") != apply::kMustNotExist)
    return false;
  for (const auto& one : shared_.children)
    if (one.index->type() && is_of(operation, *one.index->type()))
      return one.rule->label_selector && !one.index->find(operation.ns, operation.name);
  return false;
}

NativePass::Seen NativePass::seen_in(const std::vector<Gathered::Group>& groups,
                                     const apply::Operation& operation) const {
  const std::string& ns = operation.ns.empty() ? world_->parent->ns : operation.ns;
  for (const Gathered::Group& group : groups) {
    if (!is_of(operation, *group.type)) continue;
    const std::string key = ns.empty() || !group.type->namespaced ? operation.name : ns + "/" + operation.name;
    const auto found =
        std::ranges::lower_bound(group.objects, key, {}, [](const auto& object) { return object->key(); });
    if (found != group.objects.end() && (*found)->key() == key) return {&group, *found};
  }
  return {};
}

// The first writes after a start, when what was written before is not known: no event follows on them.
bool NativePass::changed_nothing(const std::vector<apply::Operation>& operations,
                                 const std::vector<apply::Outcome>& outcomes) const {
  return std::ranges::all_of(outcomes, [&](const apply::Outcome& outcome) {
    if (outcome.kind != apply::Outcome::Kind::kDone || outcome.resource_version.empty()) return false;
    const auto seen = seen_child(operations[outcome.index]);
    return seen && seen->resource_version == outcome.resource_version;
  });
}

void NativePass::child_written(const apply::Operation& operation, const apply::Outcome& outcome) {
  if (is_hidden(operation, outcome)) {
    problems_.push_back(
        fmt::format("{}: an object of this name is there already, without the labels that the rule's labelSelector "
                    "wants, so that it "
                    "is not followed; it is left alone. Delete or rename it, or call the child something else",
                    operation.display()));
    result_ = "conflict";
    return warn("ChildConflict", problems_.back());
  }
  note(operation, outcome, "ChildRefused");
  if (!outcome.ok() || shared_.services.dry_run || outcome.index >= plan_.written.size()) return;
  shared_.memory.wrote(plan_.written[outcome.index], outcome.uid, outcome.object);
  if (outcome.object.empty()) return;
  const auto before = seen_child(operation);
  repeated(operation.display(), before ? before->text.unpack() : "", outcome.object);
}

void NativePass::operated(const apply::Operation& operation, const apply::Outcome& outcome) {
  note(operation, outcome, "OperationRefused");
  if (!outcome.ok()) return;
  if (context_.done) context_.done->note(operation, outcome);
  if (outcome.requeue_after) requeue_after_ = outcome.requeue_after;
  if (world_->gone) return;
  const std::string parent_before = parent_text_;
  if (is_about(operation, *world_->type, *world_->parent)) parent_is(outcome);
  if (!shared_.services.dry_run && outcome.kind == apply::Outcome::Kind::kDone)
    comes_back(operation, outcome, parent_before);
}

// What an operation changes of that which calls the hook comes back as an event, and calls it again.
void NativePass::comes_back(const apply::Operation& operation, const apply::Outcome& outcome,
                            std::string_view parent_before) {
  const bool gone = removes(operation);
  if (gone ? outcome.uid.empty() : outcome.object.empty()) return;
  if (outcome.uid == world_->parent->uid) {
    if (gone) return;
    left_ = outcome.object;
    return repeated(display_of(*world_->type, *world_->parent), parent_before, outcome.object);
  }
  Seen seen = seen_in(world_->children, operation);
  if (!seen.object) seen = seen_in(world_->related, operation);
  if (!seen.object || seen.object->uid != outcome.uid) return;
  const std::string before = seen.object->text.unpack();
  if (!gone || !is_ending(before))
    repeated(display_of(*seen.group->type, *seen.object), before, gone ? "" : outcome.object);
}

void NativePass::status_written(const apply::Outcome& outcome) {
  if (!outcome.ok() || outcome.object.empty() || shared_.services.dry_run) return;
  shared_.statuses.wrote(*world_->parent, *answer_->status, outcome.object);
  repeated(display_of(*world_->type, *world_->parent), only_status(parent_text_), only_status(outcome.object));
  parent_is(outcome);
}

void NativePass::finalizer_written(const apply::Operation& operation, const apply::Outcome& outcome) {
  if (outcome.ok()) {
    if (outcome.kind == apply::Outcome::Kind::kNotNeeded) at_ = At::kEnd;  // it went; its key hears of that
    parent_is(outcome);
    return remember_version(operation, outcome);
  }
  shared_.released.erase(world_->parent->uid);
  problems_.push_back(apply::brief(outcome.text));
  if (outcome.kind == apply::Outcome::Kind::kRetry && lasts(outcome)) lasting_ = problems_.back();
  at_ = At::kEnd;
  if (outcome.http_status == 409) {  // it changed meanwhile: what it is now is on its way here
    result_ = "later";
  } else if (outcome.kind == apply::Outcome::Kind::kRefused) {
    result_ = "refused";
    warn("FinalizerRefused", problems_.back());
  }
}

void NativePass::parent_is(const apply::Outcome& outcome) {
  if (!outcome.object.empty() && outcome.uid == world_->parent->uid) parent_text_ = outcome.object;
}

// The key's next pass waits until the watch told of it: only of what the watch will tell.
void NativePass::remember_version(const apply::Operation& operation, const apply::Outcome& outcome) {
  if (shared_.services.dry_run || operation.dry_run || operation.name.empty() || outcome.uid.empty()) return;
  if (outcome.kind != apply::Outcome::Kind::kDone || !apply::is_write(operation.verb)) return;
  const std::string ns = operation.ns.empty() ? world_->parent->ns : operation.ns;
  const auto expect = [&](const kube::ResourceType& type, const cache::ObjectPtr& known) {
    const cache::Identity written{type.namespaced ? ns : "", operation.name, outcome.uid, outcome.resource_version};
    const bool gone = (removes(operation) && outcome.resource_version.empty()) ||
                      (!outcome.object.empty() && is_ending(outcome.object) && finalizers_of(outcome.object).empty() &&
                       outcome.uid == world_->parent->uid);
    if (gone) {
      if (!known || known->uid != outcome.uid) return;  // the watch told of it already
      shared_.own.deleted(key_, hook::resource_of(type), written);
    } else {
      if (outcome.resource_version.empty() || newer_than(known, outcome)) return;
      shared_.own.wrote(key_, hook::resource_of(type), written);
    }
  };
  if (is_of(operation, *world_->type)) {
    const auto parent = shared_.parents->find(key_);
    if (parent && parent->object->name == operation.name && parent->object->ns == ns &&
        world_->parent->uid == outcome.uid)
      expect(*world_->type, parent->object);
    return;
  }
  for (const auto& one : shared_.children) {
    const auto& type = one.index->type();
    if (!type || !is_of(operation, *type)) continue;
    const auto known = one.index->find(type->namespaced ? ns : "", operation.name);
    const bool selected =
        one.rule->namespaces.empty() || std::ranges::find(one.rule->namespaces, ns) != one.rule->namespaces.end();
    const bool wanted = known || (selected && (!one.rule->label_selector || writing_ != At::kOperate));
    if (wanted) expect(*type, known);
    return;
  }
  for (const Gathered::Group& group : world_->related) {
    if (!is_of(operation, *group.type)) continue;
    for (const auto& object : group.objects)
      if (object->name == operation.name && (object->ns == ns || object->ns.empty()) && object->uid == outcome.uid)
        return expect(*group.type, object);
  }
}

void NativePass::repeated(const std::string& object, std::string_view before, std::string_view after) {
  const auto finding = shared_.slow.wrote(key_, object, because(), before, after, shared_.services.once);
  if (!finding) return;
  if (!shared_.services.once) at_least_ = std::max(at_least_, finding->delay);
  if (!finding->tell) return;
  const std::string text = finding->text();
  log::warn("what the hook writes does not stay", {{"hook", shared_.hook->name}, {"object", key_}, {"why", text}});
  warn("RepeatedWrites", text);
}

}  // namespace hookd::reconcile
