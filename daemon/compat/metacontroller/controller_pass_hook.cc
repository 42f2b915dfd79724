// How a pass asks its hooks: customize, then sync or finalize, once for each revision that lives.
// Source: controllers.md 1.2, 1.4, 1.6, 1.7.
#include <algorithm>

#include "compat/metacontroller/controller_pass.h"

namespace hookd::metacontroller {

// ---------------------------------------------------------------- customize

ControllerPass::Maybe ControllerPass::customize() {
  at_ = At::kRelated;
  if (!spec_.customize) return std::nullopt;
  const auto known = world_.customized.find(key_);
  if (known != world_.customized.end() && known->second.uid == parent_->uid &&
      known->second.essence == reconcile::essence_of(text_) &&
      world_.services.scheduler.now() - known->second.at < ControllerWorld::kCustomizedFor)
    return std::nullopt;
  return ask_hook(HookRole::kCustomize, 0);
}

void ControllerPass::answered_customize(std::string_view text) {
  const auto answer = decode_customize(spec_.customize->unmarshal, text);
  if (!answer) {
    over_ = std::get<Over>(failed(fmt::format("customize hook: {}", answer.error().what)));
    return;
  }
  for (const auto& warning : answer->warnings) messages_.push_back("customize: " + warning);
  const auto rules = related_rules(answer->related, spec_.customize->version, *parent_);
  if (!rules) {
    over_ = std::get<Over>(failed(fmt::format("customize hook: {}", rules.error().what)));
    return;
  }
  world_.related->set(key_, *rules);
  world_.customized[key_] = {parent_->uid, reconcile::essence_of(text_), world_.services.scheduler.now()};
}

ControllerPass::Maybe ControllerPass::related() {
  if (spec_.customize) {
    if (const auto trouble = world_.related->trouble(key_)) return failed(*trouble);
    if (!world_.related->ready(key_)) {
      if (waited_) return later("the first list of a related kind has not come yet");
      if (!patience_.pending())
        patience_ = world_.services.scheduler.after(kRelatedPatience, [this] {
          waited_ = true;
          resume();
        });
      world_.related_waits[this] = [this] { resume(); };
      return Wait{};
    }
    patience_.cancel();
    world_.related_waits.erase(this);
  }
  at_ = At::kAsk;
  return std::nullopt;
}

// ---------------------------------------------------------------- the hook

bool ControllerPass::reads_finalize() const { return spec_.finalize && (ending_ || !matches_); }

// Nothing rolls while the parent goes, and nothing below a cluster-scoped parent, as revisions are namespaced.
bool ControllerPass::rolls() const { return world_.revisions && !ending_ && matches_ && type_->namespaced; }

bool ControllerPass::list_revisions() {
  std::vector<Revision> stored;
  auto owned = world_.revisions->owned_by(parent_->uid);
  std::ranges::copy_if(adopted_revisions_, std::back_inserter(owned), [&owned](const auto& adopted) {
    return std::ranges::none_of(owned, [&](const auto& one) { return one->name == adopted->name; });
  });
  for (const auto& object : owned) {
    auto revision = read_revision(*object, object->text.unpack());
    if (!revision) {
      over_ = std::get<Over>(failed(fmt::format("ControllerRevision {}: {}", object->name, revision.error().what)));
      return false;
    }
    stored.push_back(*std::move(revision));
  }
  const auto parent = Value::parse(text_);
  if (!parent) {
    over_ = std::get<Over>(failed(parent.error().what));
    return false;
  }
  revisions_ = revisions_of(std::move(stored), *parent, *type_, parent_->uid, spec_.revision_field_paths);
  for (const Revision& revision : revisions_)
    parents_.push_back(revision.newest ? text_
                                       : parent_at(*parent, revision.patch, spec_.revision_field_paths).to_json());
  return true;
}

ControllerPass::Maybe ControllerPass::ask() {
  // It went, or left, while the pass waited: its related objects are forgotten, and an answer without them might tell
  // that there are to be no children.
  const auto now = world_.find(key_);
  if (!now || now->parent.object->uid != parent_->uid)
    return over({.result = "gone", .why = "", .requeue_after = std::nullopt, .quiet = true});
  if (parents_.empty()) {
    asked_ = reads_finalize() ? HookRole::kFinalize : HookRole::kSync;
    if (!world_.callers.of(asked_)) return failed(fmt::format("{} hook not defined", to_string(asked_)));
    if (rolls()) {
      if (!list_revisions()) return std::nullopt;
    } else {
      parents_.push_back(text_);
      if (world_.revisions && !type_->namespaced)
        world_.warn(*type_, *parent_, "NoRollOut",
                    "children are updated at once and not one after another, as ControllerRevisions are namespaced and "
                    "this parent is cluster-scoped; use Recreate or InPlace");
    }
  }
  if (answers_.size() < parents_.size()) return ask_hook(asked_, answers_.size());
  at_ = At::kFinalized;
  return std::nullopt;
}

std::vector<ObjectsOfKind> ControllerPass::children_of_request() const {
  std::vector<ObjectsOfKind> all;
  for (const auto& one : claiming_) {
    const auto& type = *one.of->index->type();
    all.push_back({type.api_version(), type.kind, one.children});
  }
  return all;
}

hook::Pass::Step ControllerPass::ask_hook(HookRole role, size_t revision) {
  HookRequest request;
  request.controller = world_.spec;
  request.role = role;
  request.parent = role == HookRole::kCustomize ? text_ : parents_[revision];
  request.parent_ns = parent_->ns;
  request.parent_uid = parent_->uid;
  if (role != HookRole::kCustomize) {
    request.children = children_of_request();
    request.related = world_.related->of(key_);
    if (!revisions_.empty() && !revisions_[revision].newest) request.revision = revisions_[revision].name;
  }
  const auto& spec = role == HookRole::kCustomize  ? spec_.customize
                     : role == HookRole::kFinalize ? spec_.finalize
                                                   : spec_.sync;
  // Others might refuse a member that Metacontroller does not send.
  if (spec && spec->command && spec->command->mode == hook::Run::Mode::kWorker) request.call_id = context_.id;
  auto call = std::make_shared<hook::Call>();
  call->hook = world_.hook->name;
  call->id = context_.id;
  call->attempt = context_.attempt;
  call->reason = "reconcile";
  call->time = world_.services.scheduler.wall_now();
  hook::Event event = event_;
  event.resource = type_;
  event.object = parent_;
  call->events.push_back(std::move(event));
  call->body = std::make_shared<RequestBody>(std::move(request));
  asked_ = role;
  return Ask{std::move(call), world_.callers.of(role)};
}

void ControllerPass::replied(hook::Reply reply) {
  messages_.clear();
  if (reply.kind == hook::Reply::Kind::kAnswered)
    return asked_ == HookRole::kCustomize ? answered_customize(reply.text) : answered_sync(reply.text);
  Over over = hook::over_of(reply);
  // 429, or never asked as the endpoint is known to be down: no Event, no attempt that counts.
  if (over.verdict == queue::Verdict::kLater || over.verdict == queue::Verdict::kNotTried) {
    over_ = std::move(over);
    return;
  }
  // What tells of a webhook begins so already.
  const std::string which = fmt::format("{} hook", to_string(asked_));
  const Step step =
      failed(reply.why.starts_with(which + ' ') ? reply.why : fmt::format("{}: {}", which, reply.why), reply.result);
  over_ = std::get<Over>(step);
  over_->at_least = reply.at_least;
}

void ControllerPass::answered_sync(std::string_view text) {
  const auto& hook = asked_ == HookRole::kFinalize ? *spec_.finalize : *spec_.sync;
  auto answer = decode_sync(spec_.kind, hook.unmarshal, text);
  if (!answer) {
    over_ = std::get<Over>(failed(fmt::format("{} hook: {}", to_string(asked_), answer.error().what)));
    return;
  }
  messages_ = answer->warnings;
  if (answer->finalized && asked_ != HookRole::kFinalize) {
    answer->finalized = false;
    if (has_finalizer_)
      messages_.emplace_back("finalized: counts in an answer of the finalize hook alone, the parent is not going");
  }
  if (!spec_.composite()) {
    auto& ours = world_.decorated[key_];
    for (const auto& [name, value] : answer->labels) ours.labels.insert(name);
    for (const auto& [name, value] : answer->annotations) ours.annotations.insert(name);
    if (ours.labels.size() + ours.annotations.size() > kDecorated) ours = {};  // names that are new each time
  }
  answers_.push_back(*std::move(answer));
}

}  // namespace hookd::metacontroller
