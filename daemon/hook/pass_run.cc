#include "hook/pass_run.h"

#include "base/ids.h"
#include "base/log.h"
#include "hook/call_faults.h"
#include "hook/call_record.h"
#include "hook/guard_report.h"
#include "hook/hook_log.h"

namespace hookd::hook {
namespace {

constexpr char kBinding[] = "reconcile";

}  // namespace

Pass::Over over_of(const Reply& reply) {
  Pass::Over over;
  over.result = reply.result;
  over.why = reply.why;
  over.at_least = reply.at_least;
  switch (reply.kind) {
    case Reply::Kind::kAnswered:
      over.result = "ok";
      break;
    case Reply::Kind::kLater:
      over.verdict = reply.counted ? queue::Verdict::kLater : queue::Verdict::kNotTried;
      break;
    case Reply::Kind::kRefused:
      over.verdict = queue::Verdict::kGiveUp;
      break;
    case Reply::Kind::kFailed:
      over.verdict = reply.counted ? queue::Verdict::kRetry : queue::Verdict::kNotTried;
      break;
  }
  return over;
}

PassRun::PassRun(const Hook& hook, RunnerServices& services, Reconciler& reconciler, GuardFuse* guard, Caller& caller,
                 Queue::Item item, Done done)
    : hook_(hook),
      services_(services),
      guard_(guard),
      caller_(caller),
      item_(std::move(item)),
      done_(std::move(done)),
      id_(make_id(services.random)) {
  call_ = bare_call();
  pass_ = reconciler.begin(item_.key, item_.events.front(), {id_, item_.attempt, &item_.carry.done});
  pass_->resume = [this] {
    if (proceeding_) {
      again_ = true;
      return;
    }
    services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock() && std::exchange(waiting_, false)) proceed();
    });
  };
}

PassRun::~PassRun() = default;

std::shared_ptr<const Call> PassRun::bare_call() const {
  auto call = std::make_shared<Call>();
  call->hook = hook_.name;
  call->id = id_;
  call->attempt = item_.attempt;
  call->reason = kBinding;
  call->time = services_.scheduler.wall_now();
  call->events = item_.events;
  return call;
}

void PassRun::start() {
  started_ = services_.scheduler.now();
  const Event& event = item_.events.front();
  if (item_.attempt == 1 && event.seen != SteadyTime{})
    services_.metrics.observe("hookd_event_to_call_seconds", {{"hook", hook_.name}},
                              std::chrono::duration<double>(started_ - event.seen).count());
  proceed();
}

void PassRun::terminate() {
  if (open_) open_->terminate();
}

void PassRun::proceed() {
  proceeding_ = true;
  again_ = false;
  Pass::Step step = pass_->next();
  proceeding_ = false;
  if (auto* question = std::get_if<Pass::Ask>(&step)) return ask(std::move(*question));
  if (auto* writes = std::get_if<Pass::Write>(&step)) return write(std::move(*writes));
  if (auto* over = std::get_if<Pass::Over>(&step)) return end(std::move(*over));
  waiting_ = true;
  if (again_) pass_->resume();
}

void PassRun::ask(Pass::Ask ask) {
  call_ = std::move(ask.call);
  asked_ = true;
  if (auto* observer = services_.options.observer) observer->call_started(*call_);
  CallRequest request;
  request.call = call_;
  request.binding = kBinding;
  request.said = [this](std::string_view line) {
    log_hook_line({hook_.name, kBinding, id_}, line);
    if (auto* observer = services_.options.observer) observer->call_said(*call_, line);
  };
  request.replied = [this](Reply reply) { replied(std::move(reply)); };
  started_ = services_.scheduler.now();
  open_ =
      start_call(ask.caller ? *ask.caller : caller_, std::move(request), services_.options.faults, services_.scheduler);
}

void PassRun::replied(Reply reply) {
  exit_ = reply.exit;
  // Destroyed in a turn of its own: its function is running.
  services_.scheduler.post([open = std::shared_ptr<OpenCall>(std::move(open_))] {});
  record_reply(hook_, *call_, kBinding, services_, exit_, exit_ ? exit_->wall : services_.scheduler.now() - started_);
  log_hook_text({hook_.name, kBinding, id_}, reply.log_text);
  if (auto* observer = services_.options.observer; observer && reply.kind == Reply::Kind::kAnswered)
    observer->call_replied(*call_, reply.text);
  pass_->replied(std::move(reply));
  log_messages(hook_, *call_, kBinding, pass_->messages());
  proceed();
}

void PassRun::write(Pass::Write write) {
  operations_ = std::move(write.operations);
  if (auto* observer = services_.options.observer; observer && write.answered)
    observer->call_answered(*call_, exit_ ? &*exit_ : nullptr, operations_,
                            answer_told_ ? std::vector<std::string>() : pass_->messages());
  answer_told_ |= write.answered;
  const bool halfway = safety_ != nullptr;  // other steps were sent already
  safety_ = std::make_unique<AnswerSafety>(
      call_, started_,
      AnswerSafety::Parts{services_.scheduler, services_.options.dry_run ? nullptr : guard_, services_.own_writes,
                          services_.ignores_own});
  if (const auto trip = safety_->take(operations_, item_.carry.done)) return guarded(*trip, halfway);
  apply::Request request;
  request.operations = operations_;
  request.hook = hook_.name;
  request.call_id = id_;
  request.field_manager = std::move(write.field_manager);
  request.default_namespace =
      write.default_namespace.empty() ? services_.options.default_namespace : std::move(write.default_namespace);
  request.dry_run = services_.options.dry_run;
  if (!write.declared) request.allow = hook_.allow;
  // A deletion means the object that the hook was shown, never a namesake made since.
  request.uid_of = [call = call_](std::string_view api_version, std::string_view kind, std::string_view ns,
                                  std::string_view name) { return uid_in_call(*call, api_version, kind, ns, name); };
  safety_->follow(request);
  run_ = services_.applier.apply(std::move(request),
                                 [this](std::vector<apply::Outcome> outcomes) { written(std::move(outcomes)); });
}

void PassRun::guarded(const GuardFuse::Trip& trip, bool halfway) {
  if (trip.first) {
    report_trip(*call_, trip, operations_, services_.metrics, services_.applier.events());
    if (services_.pause) services_.pause(pause_reason(hook_.name, trip));
  }
  Pass::Over over;
  over.verdict = Queue::Verdict::kNotTried;
  over.result = "guarded";
  over.why = fmt::format("nothing {}was sent, the hook's guard tripped: {}", halfway ? "more " : "", trip.text);
  end(std::move(over));
}

void PassRun::written(std::vector<apply::Outcome> outcomes) {
  safety_->settled(operations_, outcomes, item_.carry.done);
  std::vector<apply::MetricSample> samples;
  for (const apply::Outcome& outcome : outcomes) {
    record_operation(hook_, *call_, services_, operations_[outcome.index], outcome);
    if (outcome.ok() && outcome.metric) samples.push_back(*outcome.metric);
  }
  record_samples(hook_, services_.metrics, samples);
  pass_->written(operations_, outcomes);
  proceed();
}

void PassRun::end(Pass::Over over) {
  if (over.requeue_after && *over.requeue_after <= Duration::zero()) over.requeue_after.reset();
  // An answer that leaves nothing to do is one too.
  if (auto* observer = services_.options.observer;
      observer && asked_ && !answer_told_ && over.verdict == Queue::Verdict::kDone)
    observer->call_answered(*call_, exit_ ? &*exit_ : nullptr, {}, pass_->messages());
  const bool ends = over.verdict == Queue::Verdict::kDone || over.verdict == Queue::Verdict::kGiveUp;
  if (!ends) over.requeue_after.reset();
  if (!over.quiet || asked_)
    record_end(hook_, *call_, kBinding, services_,
               {over.verdict, over.result, over.why, item_.key, exit_ ? &*exit_ : nullptr, over.requeue_after});
  if (over.verdict != Queue::Verdict::kDone) item_.carry.last_error = over.why;
  // Posted: the queue may start the next one when this is gone.
  services_.scheduler.post([this, alive = std::weak_ptr(alive_), over = std::move(over)] {
    if (!alive.lock()) return;
    const Done done = std::move(done_);
    done(this, std::move(item_), over);
  });
}

}  // namespace hookd::hook
