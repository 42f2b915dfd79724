#include "hook/runner.h"

#include <set>

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "hook/answer_safety.h"
#include "hook/call_faults.h"
#include "hook/call_record.h"
#include "hook/guard_report.h"
#include "hook/hook_log.h"
#include "hook/pass_run.h"

namespace hookd::hook {
namespace {

constexpr Duration kAnswerStaysFresh = std::chrono::seconds(10);
constexpr Duration kStateUnreadPause = std::chrono::seconds(5);

bool means_one_object(const apply::Operation& op) {
  return apply::is_delete(op.verb) || op.verb == apply::Verb::kEvict;
}

// Which of the objects a call is about, for the log: the first, and how many more.
std::string subject_of(const std::vector<Event>& events) {
  std::string subject;
  size_t more = 0;
  for (const Event& event : events) {
    if (!event.object) continue;
    if (subject.empty())
      subject = event.object->key();
    else
      ++more;
  }
  return more == 0 ? subject : fmt::format("{} and {} more", subject, more);
}

}  // namespace

namespace {

// What the last attempt at exactly these items left; null if they were in other company then.
const Carry* common_carry(const Queue::Batch& batch) {
  const auto& shared = batch.front().carry.batch;
  if (batch.size() == 1) return shared ? nullptr : &batch.front().carry;
  const bool same = std::ranges::all_of(batch, [&](const auto& item) { return item.carry.batch == shared; });
  return same && shared && shared->items == batch.size() ? &shared->carry : nullptr;
}

}  // namespace

class Runner::Active {
 public:
  Active(Runner& owner, Queue::Batch batch, Done done)
      : owner_(owner), batch_(std::move(batch)), done_(std::move(done)) {
    id_ = make_id(services().random);
    place_ = owner_.state_.place(batch_.front().key, batch_.front().events);
    auto state = place_ ? owner_.state_.get(*place_) : nullptr;
    if (!state) state_unread_ = std::move(state).error().what;
    state_seen_ = state ? state_mark(*state) : 0;
    call_ = make_call(hook(), batch_, owner_.gather_, id_, services().scheduler.wall_now(), state.value_or(nullptr));
    binding_ = call_->events.empty() ? "" : call_->events.front().binding;
    carries_on_ = owner_.carries_on(batch_);
    take_up_carry();
    if (std::ranges::any_of(batch_, &Queue::Item::fresh_events)) carry_.done.events_changed();
  }

  void start() {
    if (carries_on_) return apply(std::exchange(carry_.left, {}));
    // Without it the hook would take what it has done for not yet done.
    if (!state_unread_.empty())
      return end(Queue::Verdict::kNotTried, "later", "not called, its state cannot be read: " + state_unread_,
                 kStateUnreadPause);
    // A new call: what the last answer left undone or was refused is for the new one to say.
    carry_.left.clear();
    carry_.refused.clear();
    carry_.requeue_after.reset();
    carry_.state.reset();
    carry_.state_seen = state_seen_;
    if (call_->attempt == 1 && !call_->events.empty() && call_->events.front().seen != SteadyTime{}) {
      const double waited =
          std::chrono::duration<double>(services().scheduler.now() - call_->events.front().seen).count();
      services().metrics.observe("hookd_event_to_call_seconds", {{"hook", hook().name}}, waited);
    }
    if (auto* observer = services().options.observer) observer->call_started(*call_);
    CallRequest request;
    request.call = call_;
    request.binding = binding_;
    request.said = [this](std::string_view line) {
      log_hook_line({hook().name, binding_, id_}, line);
      if (auto* observer = services().options.observer) observer->call_said(*call_, line);
    };
    request.replied = [this](Reply reply) { replied(std::move(reply)); };
    started_ = services().scheduler.now();
    open_ = start_call(*owner_.caller_, std::move(request), services().options.faults, services().scheduler);
  }

  void terminate() {
    if (open_) open_->terminate();
  }

  const Queue::Batch& batch() const { return batch_; }

 private:
  const Hook& hook() const { return *owner_.hook_; }
  RunnerServices& services() const { return owner_.services_; }
  LogContext log_context() const { return {hook().name, binding_, id_}; }
  // Several events: one of them may fail the call for the others.
  bool several() const { return call_->events.size() > 1; }

  void take_up_carry() {
    if (const Carry* carry = common_carry(batch_)) {
      carry_ = batch_.size() == 1 ? std::move(batch_.front().carry) : *carry;
      return;
    }
    // Other company than last time: only what was done is of use.
    std::set<const BatchCarry*> seen;
    for (Queue::Item& item : batch_) {
      carry_.done.join(item.carry.done);
      if (item.carry.batch && seen.insert(item.carry.batch.get()).second)
        carry_.done.join(item.carry.batch->carry.done);
      if (carry_.last_error.empty()) carry_.last_error = item.carry.last_error;
    }
  }

  void hand_back_carry() {
    if (batch_.size() == 1) {
      batch_.front().carry = std::move(carry_);
      return;
    }
    const std::string error = carry_.last_error;
    const auto shared = std::make_shared<const BatchCarry>(BatchCarry{std::move(carry_), batch_.size()});
    for (Queue::Item& item : batch_) {
      item.carry = {};
      item.carry.last_error = error;
      item.carry.batch = shared;
    }
  }

  void replied(Reply reply) {
    exit_ = reply.exit;
    // Destroyed in a turn of its own: its function is running.
    services().scheduler.post([open = std::shared_ptr<OpenCall>(std::move(open_))] {});
    const Duration wall = exit_ ? exit_->wall : services().scheduler.now() - started_;
    record_reply(hook(), *call_, binding_, services(), exit_, wall);
    log_hook_text(log_context(), reply.log_text);
    switch (reply.kind) {
      case Reply::Kind::kLater:
        return end(reply.counted ? Queue::Verdict::kLater : Queue::Verdict::kNotTried, reply.result,
                   std::move(reply.why), reply.at_least);
      case Reply::Kind::kRefused:
        return end(several() ? Queue::Verdict::kSplit : Queue::Verdict::kGiveUp, reply.result, std::move(reply.why));
      case Reply::Kind::kFailed:
        if (reply.at_least > Duration::zero() || !reply.counted)
          return end(reply.counted ? Queue::Verdict::kRetryTogether : Queue::Verdict::kNotTried, reply.result,
                     std::move(reply.why), reply.at_least);
        return failed(reply.result, std::move(reply.why));
      case Reply::Kind::kAnswered:
        break;
    }
    auto answer = parse_answer(reply.text);
    if (!answer) return failed("failed", "the answer was not understood, nothing was applied: " + answer.error().what);
    note_text(answer->text);
    const auto messages = std::move(answer->messages);
    log_messages(hook(), *call_, binding_, messages);
    carry_.answered = services().scheduler.now();
    const auto requeue_after = answer->requeue_after;
    if (auto kept = owner_.state_.check(answer->state, place_); !kept)
      return failed("failed", "the answer cannot be taken, nothing was applied: " + kept.error().what);
    auto answered_state = std::move(answer->state);
    auto operations = operations_of(*std::move(answer), *call_);
    if (!operations)
      return failed("failed", "the answer was not understood, nothing was applied: " + operations.error().what);
    carry_.requeue_after = requeue_after;
    carry_.state = std::move(answered_state);
    pin_uids(*operations);
    if (auto* observer = services().options.observer)
      observer->call_answered(*call_, exit_ ? &*exit_ : nullptr, *operations, messages);
    carry_.done.leave_out(*operations, [this](const apply::Operation& op) {
      return object_in_call(*call_, op.api_version, op.kind, op.ns.empty() ? namespace_meant(op) : op.ns, op.name);
    });
    apply(*std::move(operations));
  }

  // A deletion means the object that the hook was shown. Said here once, so that no retry can mean a namesake made
  // since.
  void pin_uids(std::vector<apply::Operation>& operations) const {
    for (apply::Operation& op : operations) {
      if (!op.uid.empty() || !means_one_object(op)) continue;
      const std::string ns = op.ns.empty() ? namespace_meant(op) : op.ns;
      if (auto uid = uid_in_call(*call_, op.api_version, op.kind, ns, op.name)) op.uid = *std::move(uid);
    }
  }

  // Cluster-scoped objects have no namespace: only where the name is found with the default one may it be meant.
  std::string namespace_meant(const apply::Operation& op) const {
    if (uid_in_call(*call_, op.api_version, op.kind, "", op.name)) return "";
    return owner_.services_.options.default_namespace;
  }

  // Text among the documents is most often a chatty command; said once a hook, so that the log does not fill with
  // hints.
  void note_text(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    for (size_t i = 0; i < std::min(lines.size(), kMaxTextLines); ++i) log_hook_text(log_context(), lines[i]);
    note_left_out(log_context(), lines.size());
    if (std::exchange(owner_.hinted_, true)) return;
    log::info(
        "the hook prints text that is no document: it is logged, not applied; write it to stderr, or the answer to the "
        "file named by HOOKD_ANSWER",
        {{"hook", hook().name}, {"text", lines.front().substr(0, 200)}});
  }

  void apply(std::vector<apply::Operation> operations) {
    operations_ = std::move(operations);
    if (operations_.empty()) return finish_applied();
    safety_ = std::make_unique<AnswerSafety>(
        call_, started_,
        AnswerSafety::Parts{services().scheduler, services().options.dry_run ? nullptr : owner_.guard_.get(),
                            services().own_writes, services().ignores_own});
    if (const auto trip = safety_->take(operations_, carry_.done)) return guarded(*trip);
    apply::Request request;
    request.operations = operations_;
    request.hook = hook().name;
    request.call_id = id_;
    request.default_namespace = services().options.default_namespace;
    request.dry_run = services().options.dry_run;
    request.allow = hook().allow;
    request.uid_of = [call = call_](std::string_view api_version, std::string_view kind, std::string_view ns,
                                    std::string_view name) { return uid_in_call(*call, api_version, kind, ns, name); };
    safety_->follow(request);
    run_ = services().applier.apply(std::move(request),
                                    [this](std::vector<apply::Outcome> outcomes) { applied(std::move(outcomes)); });
  }

  // The events come again when a person has resumed the hook, with a call of their own: what was answered is old then.
  void guarded(const GuardFuse::Trip& trip) {
    carry_.left.clear();
    carry_.state.reset();
    carry_.requeue_after.reset();
    if (trip.first) {
      report_trip(*call_, trip, operations_, services().metrics, services().applier.events());
      if (services().pause) services().pause(pause_reason(hook().name, trip));
    }
    end(Queue::Verdict::kNotTried, "guarded", "nothing was sent, the hook's guard tripped: " + trip.text);
  }

  void applied(std::vector<apply::Outcome> outcomes) {
    safety_->settled(operations_, outcomes, carry_.done);
    Duration at_least{};
    std::vector<apply::MetricSample> samples;
    for (const apply::Outcome& outcome : outcomes) {
      const apply::Operation& op = operations_[outcome.index];
      record_operation(hook(), *call_, services(), op, outcome);
      switch (outcome.kind) {
        case apply::Outcome::Kind::kDone:
        case apply::Outcome::Kind::kNotNeeded:
          carry_.done.note(op, outcome);
          if (outcome.requeue_after) carry_.requeue_after = outcome.requeue_after;
          if (outcome.metric) samples.push_back(*outcome.metric);
          break;
        case apply::Outcome::Kind::kRetry:
          carry_.left.push_back(op);
          carry_.left.back().maybe_done |= outcome.unknown;
          // The applier looked up which object is meant; the retry must mean the same one.
          if (op.uid.empty() && !outcome.uid.empty() && means_one_object(op)) carry_.left.back().uid = outcome.uid;
          // The first is the cause, those behind it only wait for it.
          if (carry_.left.size() == 1) carry_.last_error = apply::brief(outcome.text);
          if (outcome.retry_after) at_least = std::max<Duration>(at_least, *outcome.retry_after);
          break;
        case apply::Outcome::Kind::kRefused:
          if (carry_.refused.empty()) carry_.refused = apply::brief(outcome.text);
          carry_.last_error = apply::brief(outcome.text);
          break;
      }
    }
    record_samples(hook(), services().metrics, samples);
    if (!carry_.left.empty())
      return end(Queue::Verdict::kRetryTogether, "failed",
                 fmt::format("{} operation(s) are left to do: {}", carry_.left.size(), carry_.last_error), at_least);
    finish_applied();
  }

  void finish_applied() {
    if (!carry_.refused.empty())
      return end(several() ? Queue::Verdict::kSplit : Queue::Verdict::kGiveUp, "refused", carry_.refused);
    // A dry run leaves nothing behind.
    if (carry_.state && place_ && !services().options.dry_run) owner_.state_.put(*place_, *carry_.state);
    end(Queue::Verdict::kDone, "ok", "");
  }

  void failed(std::string_view result, std::string why) {
    end(several() ? Queue::Verdict::kSplit : Queue::Verdict::kRetry, result, std::move(why));
  }

  void end(Queue::Verdict verdict, std::string_view result, std::string why, Duration at_least = {}) {
    if (!why.empty()) carry_.last_error = why;
    std::optional<Duration> requeue;
    const bool over = verdict == Queue::Verdict::kDone || verdict == Queue::Verdict::kGiveUp;
    if (over) requeue = std::exchange(carry_.requeue_after, std::nullopt);
    if (requeue && *requeue <= Duration::zero()) requeue.reset();  // "0s" would be a call without end
    record_end(hook(), *call_, binding_, services(),
               {verdict, result, why, subject_of(call_->events), exit_ ? &*exit_ : nullptr, requeue});
    // Posted: this object goes before the queue hears of it, so that the queue may start the next one.
    services().scheduler.post(
        [owner = &owner_, self = this, alive = std::weak_ptr(owner_.alive_), verdict, at_least, requeue] {
          if (!alive.lock()) return;
          const auto position =
              std::ranges::find_if(owner->active_, [self](const auto& active) { return active.get() == self; });
          if (position == owner->active_.end()) return;
          auto keep = std::move(*position);
          owner->active_.erase(position);
          const Done done = std::move(keep->done_);
          keep->hand_back_carry();
          Queue::Batch batch = std::move(keep->batch_);
          keep.reset();
          done(std::move(batch), verdict, at_least, requeue);
        });
  }

  Runner& owner_;
  Queue::Batch batch_;
  Carry carry_;  // of the whole batch while it runs
  bool carries_on_ = false;
  Done done_;
  std::string id_;
  std::string binding_;
  std::shared_ptr<const Call> call_;
  std::optional<CallState::Place> place_;  // of its state
  uint64_t state_seen_ = 0;
  std::string state_unread_;  // why it is not known
  SteadyTime started_{};
  std::unique_ptr<OpenCall> open_;
  std::optional<process::ChildExit> exit_;
  std::vector<apply::Operation> operations_;
  std::unique_ptr<AnswerSafety> safety_;  // before run_, which calls it
  std::unique_ptr<apply::Run> run_;
};

Runner::Runner(std::shared_ptr<const Hook> hook, RunnerServices services, Gather gather)
    : hook_(std::move(hook)),
      services_(services),
      gather_(std::move(gather)),
      state_(*hook_, services.store),
      guard_(hook_->guard.deletes || hook_->guard.writes
                 ? std::make_unique<GuardFuse>(hook_->name, hook_->guard, services.scheduler, services.store)
                 : nullptr),
      caller_(make_caller(hook_, {services.scheduler, services.random, services.launcher, services.transport,
                                  services.metrics, services.options.answer_limit_bytes, services.options.runtime_dir,
                                  services.options.kubeconfig, services.options.environment, services.breakers})) {}
Runner::~Runner() = default;

void Runner::run(Queue::Batch batch, Done done) {
  if (reconciler_) return run_pass(std::move(batch), std::move(done));
  auto& active = active_.emplace_back(std::make_unique<Active>(*this, std::move(batch), std::move(done)));
  active->start();
}

bool Runner::carries_on(const Queue::Batch& batch) const {
  const Carry* carry = common_carry(batch);
  if (!carry || carry->left.empty() || std::ranges::any_of(batch, &Queue::Item::fresh_events)) return false;
  // The world may have changed since the hook decided: a pod that had to go then may be fine by now.
  if (services_.scheduler.now() - carry->answered >= kAnswerStaysFresh) return false;
  if (!carry->state) return true;
  // Where another call changed the state that this answer was made from, it would undo that.
  const auto place = state_.place(batch.front().key, batch.front().events);
  const auto state = place ? state_.get(*place) : nullptr;
  return state && carry->state_seen == state_mark(*state);
}

void Runner::each_running(const std::function<void(const Queue::Item&)>& visit) const {
  for (const auto& active : active_)
    for (const Queue::Item& item : active->batch()) visit(item);
  for (const auto& pass : passes_) visit(pass->item());
}

void Runner::run_pass(Queue::Batch batch, Done done) {
  // Level-triggered: a key stands alone.
  auto& pass = passes_.emplace_back(std::make_unique<PassRun>(
      *hook_, services_, *reconciler_, guard_.get(), *caller_, std::move(batch.front()),
      [this, done = std::move(done)](PassRun* self, Queue::Item item, const Pass::Over& over) {
        const auto position = std::ranges::find_if(passes_, [&](const auto& one) { return one.get() == self; });
        const auto keep = std::move(*position);  // until this returns
        passes_.erase(position);
        Queue::Batch items;
        items.push_back(std::move(item));
        done(std::move(items), over.verdict, over.at_least, over.requeue_after);
      }));
  pass->start();
}

void Runner::terminate() {
  for (auto& active : active_) active->terminate();
  for (auto& pass : passes_) pass->terminate();
}

}  // namespace hookd::hook
