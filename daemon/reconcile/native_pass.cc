#include "reconcile/native_pass.h"

#include <algorithm>

#include "hook/content_hash.h"
#include "reconcile/cause.h"
#include "reconcile/finalizer.h"

namespace hookd::reconcile {
namespace {

// Of causes that come from outside of what the hook writes.
bool from_outside(const hook::ReconcileCause& cause) {
  return cause.type == "Source" || cause.type == "Requeue" || cause.type == "Resync";
}

}  // namespace

NativePass::NativePass(NativeShared& shared, std::string key, hook::Event event, hook::PassContext context)
    : shared_(shared), key_(std::move(key)), event_(std::move(event)), context_(std::move(context)) {}

hook::Pass::Step NativePass::next() {
  for (;;) {
    Maybe step;
    const At at = at_;
    at_ = static_cast<At>(static_cast<int>(at) + 1);
    writing_ = at;
    switch (at) {
      case At::kSlow:
        step = wait_if_slow();
        break;
      case At::kSettle:
        step = settle();
        break;
      case At::kLook:
        step = look();
        break;
      case At::kFinalizer:
        step = finalizer();
        break;
      case At::kAsk:
        step = ask();
        break;
      case At::kPlan:
        step = plan();
        break;
      case At::kRemove:
        step = remove_children();
        break;
      case At::kWrite:
        step = write_children();
        break;
      case At::kOperate:
        step = operate();
        break;
      case At::kStatus:
        step = write_status();
        break;
      case At::kRelease:
        step = release();
        break;
      case At::kEnd:
      case At::kOver:
        return end();
    }
    if (step) return *std::move(step);
  }
}

NativePass::Over NativePass::over(Over over) {
  at_ = At::kOver;
  shared_.slow.ended(key_, world_ ? world_->parent : nullptr, left_);
  // What a restart may leave out: those that would find nothing to do. (reconcile/handled.h)
  if (!digest_.empty()) {
    const bool rests = over.verdict == queue::Verdict::kDone && !wrote_ && rests_ && !over.requeue_after;
    rests ? shared_.handled.at_rest(world_->parent->uid, digest_) : shared_.handled.not_at_rest(world_->parent->uid);
  }
  return over;
}

// Its writes are undone again and again.
NativePass::Maybe NativePass::wait_if_slow() {
  if (shared_.slow.given_up(key_) || shared_.slow.holds(key_, event_)) return over({.quiet = true});
  return std::nullopt;
}

// The hook sees what it wrote last. In a dry run nothing was.
NativePass::Maybe NativePass::settle() {
  if (shared_.services.dry_run || shared_.own.clear(key_)) return std::nullopt;
  at_ = At::kSettle;
  shared_.own.when_clear(key_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) resume();
  });
  return Wait{};
}

NativePass::Maybe NativePass::look() {
  if (!shared_.ready())
    return over({.verdict = queue::Verdict::kNotTried,
                 .result = "later",
                 .why = "a kind that it follows is not served or not listed yet",
                 .at_least = kNotReady,
                 .quiet = true});
  world_ = std::make_shared<Gathered>();
  world_->type = shared_.parents->type();
  world_->causes = event_.causes;
  const auto parent = shared_.parents->find(key_);
  if (!parent && !event_.gone) return over({.quiet = true});
  world_->gone = !parent;
  world_->parent = parent ? parent->object : event_.gone;
  if (world_->gone) {
    manage_ = false;
    return std::nullopt;
  }
  parent_text_ = world_->parent->text.unpack();
  leaving_ = is_ending(parent_text_) || !parent->matches;
  const bool held = has_finalizer(parent_text_, shared_.rule().finalizer_name);
  world_->finalizing = leaving_ && held && shared_.rule().finalizer;
  // Of a parent that goes without asking us the children are the garbage collector's.
  manage_ = !leaving_ || (world_->finalizing && !children_are_left_to_the_collector(parent_text_));
  return std::nullopt;
}

// On before the hook is called for the first time, so that nothing it makes outlives the parent unseen; off when the
// hook does not want it any more.
NativePass::Maybe NativePass::finalizer() {
  if (world_->gone || finalizer_looked_) return std::nullopt;
  const std::string& name = shared_.rule().finalizer_name;
  const bool held = has_finalizer(parent_text_, name);
  if (shared_.rule().finalizer ? held || leaving_ : !held) return std::nullopt;
  if (!held && shared_.unknown_related(key_)) return std::nullopt;  // it is not asked: nothing can be left behind
  finalizer_looked_ = true;
  apply::Operation patch =
      held ? take_finalizer(*world_->type, parent_text_, name) : put_finalizer(*world_->type, parent_text_, name);
  patch.ignore_missing_object = true;
  // The hook is to be called with the object as it is then.
  at_ = shared_.services.dry_run ? At::kAsk : At::kSettle;
  std::vector<apply::Operation> operations;
  operations.push_back(std::move(patch));
  return Write{.operations = std::move(operations), .declared = true};
}

std::vector<ChildKind> NativePass::kinds() const {
  std::vector<ChildKind> all;
  for (const auto& one : shared_.children) all.push_back({one.rule, one.index->type()});
  return all;
}

// All in one turn of the loop: of one moment.
void NativePass::gather() {
  for (const auto& one : shared_.children)
    world_->children.push_back(
        {kind_key(*one.index->type()), one.index->type(),
         world_->gone ? std::vector<cache::ObjectPtr>{} : one.index->owned_by(world_->parent->uid)});
  for (const auto& one : shared_.related)
    world_->related.push_back(
        {one.rule->name, one.index->type(), world_->gone ? std::vector<cache::ObjectPtr>{} : one.index->of(key_)});
}

// A hook that is told of nothing related would take away what it made for that. Only another object, or another rule,
// makes the filter work, and both call the key.
NativePass::Over NativePass::not_asked(const std::string& why) {
  std::string text = apply::brief(why) +
                     "; the hook is not called and nothing of it is changed until the object or the rule is mended";
  std::string& told = shared_.not_asked[key_];
  const bool again = told == text;
  told = text;
  warn("BadSelect", text);
  if (again && !shared_.services.once) return over({.result = "bad-select", .quiet = true});
  return over({.verdict = queue::Verdict::kGiveUp, .result = "bad-select", .why = std::move(text)});
}

NativePass::Maybe NativePass::ask() {
  if (!world_->gone) {
    if (const auto why = shared_.unknown_related(key_)) return not_asked(*why);
    shared_.not_asked.erase(key_);
  }
  gather();
  if (!world_->gone && shared_.handled.keeps()) digest_ = shared_.digest_of(key_);
  call_ = make_call();
  return Ask{.call = call_};
}

// Besides the document: who is who in it, for deletions and for those who ask who wrote what.
std::shared_ptr<const hook::Call> NativePass::make_call() const {
  auto call = std::make_shared<hook::Call>();
  call->hook = shared_.hook->name;
  call->id = context_.id;
  call->attempt = context_.attempt;
  call->reason = "reconcile";
  call->time = shared_.services.scheduler.wall_now();
  hook::Event event = event_;
  event.ticket.reset();
  event.resource = world_->type;
  event.object = world_->parent;
  call->events.push_back(std::move(event));
  for (const auto* groups : {&world_->children, &world_->related})
    for (const Gathered::Group& group : *groups) {
      hook::Snapshot snapshot{group.type, {}};
      for (const auto& object : group.objects) snapshot.entries.push_back({object, nullptr});
      call->objects.emplace(group.name, std::move(snapshot));
    }
  call->body = std::make_shared<NativeBody>(world_);
  return call;
}

// Of what the hook was told besides its children: a change of that is a reason to write, unless it wrote it itself.
uint64_t NativePass::because() {
  if (because_) return *because_;
  const WriteRepeats& repeats = shared_.slow.repeats();
  std::string told;
  for (const Gathered::Group& group : world_->related)
    for (const auto& object : group.objects)
      if (!repeats.writes(key_, display_of(*group.type, *object)))
        told += object->uid + " " + object->resource_version + "\n";
  if (std::ranges::any_of(world_->causes, from_outside)) told += context_.id;
  const bool own = repeats.writes(key_, display_of(*world_->type, *world_->parent));
  return because_.emplace(hook::content_hash(told, own ? 0 : essence_of(world_->parent->text.unpack())));
}

hook::Pass::Step NativePass::end() {
  if (!problems_.empty()) {
    std::string why;
    for (size_t i = 0; i < std::min(problems_.size(), kWhy); ++i) why += (why.empty() ? "" : "; ") + problems_[i];
    if (problems_.size() > kWhy) why += fmt::format("; and {} more", problems_.size() - kWhy);
    if (!lasting_.empty() && context_.attempt >= kTriesToTell)
      warn("ChildFailed", fmt::format("{} (attempt {})", lasting_, context_.attempt), true);
    return over({.verdict = queue::Verdict::kRetry,
                 .result = result_,
                 .why = std::move(why),
                 .at_least = at_least_,
                 .requeue_after = std::nullopt,
                 .quiet = result_ == "later"});
  }
  shared_.all_well(key_);
  if (shared_.slow.given_up(key_))
    return over({.verdict = queue::Verdict::kGiveUp,
                 .result = "looping",
                 .why = "its writes are undone again and again, so that it would not end with --once"});
  return over({.requeue_after = requeue_after_, .quiet = !reply_});
}

}  // namespace hookd::reconcile
