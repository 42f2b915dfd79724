#include "hook/runner.h"

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "hook/hook_log.h"
#include "process/line_splitter.h"

namespace hookd::hook {
namespace {

constexpr size_t kMaxTextLines = 1000;  // of one call, to the log
constexpr Duration kAnswerStaysFresh = std::chrono::seconds(10);

bool means_one_object(const apply::Operation& op) {
  return apply::is_delete(op.verb) || op.verb == apply::Verb::kEvict;
}

// Which of the objects an item is about, for the log: the first, and how many more.
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

class Runner::Active {
 public:
  Active(Runner& owner, Queue::Item item, Done done) : owner_(owner), item_(std::move(item)), done_(std::move(done)) {
    id_ = make_id(services().random);
    binding_ = item_.events.empty() ? "" : item_.events.front().binding;
    call_ = make_call(hook(), item_, owner_.gather_, id_, services().scheduler.wall_now());
  }

  void start() {
    // The world may have changed since the hook decided: a pod that had to go then may be fine by now.
    const bool fresh = services().scheduler.now() - item_.carry.answered < kAnswerStaysFresh;
    if (!item_.carry.left.empty() && !item_.fresh_events && fresh) return apply(std::exchange(item_.carry.left, {}));
    // A new call: what the last answer left undone or was refused is for the new one to say.
    item_.carry.left.clear();
    item_.carry.refused.clear();
    item_.carry.requeue_after.reset();
    if (item_.attempt == 1 && !item_.events.empty() && item_.events.front().seen != SteadyTime{}) {
      const double waited =
          std::chrono::duration<double>(services().scheduler.now() - item_.events.front().seen).count();
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
    open_ = owner_.caller_->start(std::move(request));
  }

  void terminate() {
    if (open_) open_->terminate();
  }

 private:
  const Hook& hook() const { return *owner_.hook_; }
  RunnerServices& services() const { return owner_.services_; }

  void replied(Reply reply) {
    exit_ = reply.exit;
    // Destroyed in a turn of its own: its function is running.
    services().scheduler.post([open = std::shared_ptr<OpenCall>(std::move(open_))] {});
    const Duration wall = exit_ ? exit_->wall : services().scheduler.now() - started_;
    services().metrics.observe("hookd_call_seconds", {{"hook", hook().name}},
                               std::chrono::duration<double>(wall).count());
    if (exit_)
      log::debug("hook ended", {{"hook", hook().name},
                                {"binding", binding_},
                                {"call", id_},
                                {"exit", exit_->describe()},
                                {"wall", format_duration(exit_->wall)},
                                {"cpu", format_duration(exit_->cpu)},
                                {"rss_bytes", exit_->max_rss_bytes}});
    if (!reply.log_text.empty()) log_text(reply.log_text);
    switch (reply.kind) {
      case Reply::Kind::kLater:
        return end(Queue::Verdict::kRetry, reply.result, std::move(reply.why), reply.at_least);
      case Reply::Kind::kRefused:
        return end(Queue::Verdict::kGiveUp, reply.result, std::move(reply.why));
      case Reply::Kind::kFailed:
        return end(Queue::Verdict::kRetry, reply.result, std::move(reply.why), reply.at_least);
      case Reply::Kind::kAnswered:
        break;
    }
    auto answer = parse_answer(reply.text);
    if (!answer) return failed("failed", "the answer was not understood, nothing was applied: " + answer.error().what);
    note_text(answer->text);
    const auto messages = std::move(answer->messages);
    for (const std::string& message : messages)
      log::info(message, {{"hook", hook().name}, {"binding", binding_}, {"call", id_}});
    item_.carry.answered = services().scheduler.now();
    const auto requeue_after = answer->requeue_after;
    auto operations = operations_of(*std::move(answer), *call_);
    if (!operations)
      return failed("failed", "the answer was not understood, nothing was applied: " + operations.error().what);
    item_.carry.requeue_after = requeue_after;
    pin_uids(*operations);
    if (auto* observer = services().options.observer) observer->call_answered(*call_, exit_ ? &*exit_ : nullptr, *operations, messages);
    item_.carry.done.leave_out(*operations, [this](const apply::Operation& op) {
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

  void log_text(std::string_view text) {
    size_t count = 0;
    process::LineSplitter lines([&](std::string_view line) {
      if (++count <= kMaxTextLines) log_hook_line({hook().name, binding_, id_}, line);
    });
    lines.feed(text);
    lines.finish();
    note_left_out(count);
  }

  // Text among the documents is most often a chatty command; said once a hook, so that the log does not fill with
  // hints.
  void note_text(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    for (size_t i = 0; i < std::min(lines.size(), kMaxTextLines); ++i) log_text(lines[i]);
    note_left_out(lines.size());
    if (std::exchange(owner_.hinted_, true)) return;
    log::info(
        "the hook prints text that is no document: it is logged, not applied; write it to stderr, or the answer to the "
        "file named by HOOKD_ANSWER",
        {{"hook", hook().name}, {"text", lines.front().substr(0, 200)}});
  }

  void note_left_out(size_t lines) {
    if (lines > kMaxTextLines)
      log::warn("too much text from a hook, the rest is not logged",
                {{"hook", hook().name}, {"call", id_}, {"lines", lines}, {"limit", kMaxTextLines}});
  }

  void apply(std::vector<apply::Operation> operations) {
    operations_ = std::move(operations);
    if (operations_.empty()) return finish_applied();
    apply::Request request;
    request.operations = operations_;
    request.hook = hook().name;
    request.call_id = id_;
    request.default_namespace = services().options.default_namespace;
    request.dry_run = services().options.dry_run;
    request.allow = hook().allow;
    request.uid_of = [call = call_](std::string_view api_version, std::string_view kind, std::string_view ns,
                                    std::string_view name) { return uid_in_call(*call, api_version, kind, ns, name); };
    run_ = services().applier.apply(std::move(request),
                                    [this](std::vector<apply::Outcome> outcomes) { applied(std::move(outcomes)); });
  }

  void applied(std::vector<apply::Outcome> outcomes) {
    Duration at_least{};
    for (const apply::Outcome& outcome : outcomes) {
      const apply::Operation& op = operations_[outcome.index];
      record(op, outcome);
      switch (outcome.kind) {
        case apply::Outcome::Kind::kDone:
        case apply::Outcome::Kind::kNotNeeded:
          item_.carry.done.note(op, outcome);
          if (outcome.requeue_after) item_.carry.requeue_after = outcome.requeue_after;
          if (outcome.metric) owner_.hook_metric(*outcome.metric);
          break;
        case apply::Outcome::Kind::kRetry:
          item_.carry.left.push_back(op);
          item_.carry.left.back().maybe_done |= outcome.unknown;
          // The applier looked up which object is meant; the retry must mean the same one.
          if (op.uid.empty() && !outcome.uid.empty() && means_one_object(op)) item_.carry.left.back().uid = outcome.uid;
          item_.carry.last_error = outcome.text;
          if (outcome.retry_after) at_least = std::max<Duration>(at_least, *outcome.retry_after);
          break;
        case apply::Outcome::Kind::kRefused:
          if (item_.carry.refused.empty()) item_.carry.refused = outcome.text;
          item_.carry.last_error = outcome.text;
          break;
      }
    }
    if (!item_.carry.left.empty())
      return end(Queue::Verdict::kRetry, "failed",
                 fmt::format("{} operation(s) are left to do: {}", item_.carry.left.size(), item_.carry.last_error),
                 at_least);
    finish_applied();
  }

  void record(const apply::Operation& op, const apply::Outcome& outcome) {
    if (auto* observer = services().options.observer) observer->operation_done(*call_, op, outcome);
    services().metrics.count("hookd_operations_total", {{"hook", hook().name},
                                                        {"operation", std::string(apply::to_string(op.verb))},
                                                        {"outcome", std::string(apply::to_string(outcome.kind))}});
    const log::Level level = outcome.kind == apply::Outcome::Kind::kRefused ? log::Level::kError
                             : outcome.kind == apply::Outcome::Kind::kRetry ? log::Level::kWarn
                                                                            : log::Level::kInfo;
    std::vector<log::Field> fields{{"hook", hook().name},
                                   {"call", id_},
                                   {"operation", apply::to_string(op.verb)},
                                   {"outcome", apply::to_string(outcome.kind)}};
    if (services().options.dry_run) fields.emplace_back("dryRun", true);
    log::write(level, outcome.text, fields);
    if (!outcome.diff.empty())
      log::info("would change " + op.display() + ":\n" + outcome.diff, {{"hook", hook().name}, {"call", id_}});
  }

  void finish_applied() {
    if (!item_.carry.refused.empty()) return end(Queue::Verdict::kGiveUp, "refused", item_.carry.refused);
    end(Queue::Verdict::kDone, "ok", "");
  }

  void failed(std::string_view result, std::string why) { end(Queue::Verdict::kRetry, result, std::move(why)); }

  void end(Queue::Verdict verdict, std::string_view result, std::string why, Duration at_least = {}) {
    services().metrics.count("hookd_calls_total", {{"hook", hook().name}, {"result", std::string(result)}});
    if (!why.empty()) item_.carry.last_error = why;
    std::vector<log::Field> fields{
        {"hook", hook().name}, {"binding", binding_}, {"call", id_}, {"attempt", item_.attempt}, {"result", result}};
    if (const std::string subject = subject_of(item_.events); !subject.empty()) fields.emplace_back("object", subject);
    if (!why.empty()) fields.emplace_back("error", why);
    const bool loud = verdict == Queue::Verdict::kGiveUp;
    const bool quiet = result == "ok" || result == "later";
    log::write(loud    ? log::Level::kError
               : quiet ? log::Level::kInfo
                       : log::Level::kWarn,
               quiet  ? "call"
               : loud ? "call failed for good"
                      : "call failed, will be tried again",
               fields);
    std::optional<Duration> requeue;
    if (verdict != Queue::Verdict::kRetry) requeue = std::exchange(item_.carry.requeue_after, std::nullopt);
    if (requeue && *requeue <= Duration::zero()) requeue.reset();  // "0s" would be a call without end
    if (auto* observer = services().options.observer) {
      using Then = CallResult::Then;
      const Then then = verdict == Queue::Verdict::kDone    ? Then::kDone
                        : verdict == Queue::Verdict::kRetry ? Then::kRetry
                                                            : Then::kGiveUp;
      observer->call_ended({*call_, exit_ ? &*exit_ : nullptr, result, why, then, requeue});
    }
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
          Queue::Item item = std::move(keep->item_);
          keep.reset();
          done(std::move(item), verdict, at_least, requeue);
        });
  }

  Runner& owner_;
  Queue::Item item_;
  Done done_;
  std::string id_;
  std::string binding_;
  std::shared_ptr<const Call> call_;
  SteadyTime started_{};
  std::unique_ptr<OpenCall> open_;
  std::optional<process::ChildExit> exit_;
  std::vector<apply::Operation> operations_;
  std::unique_ptr<apply::Run> run_;
};

Runner::Runner(std::shared_ptr<const Hook> hook, RunnerServices services, Gather gather)
    : hook_(std::move(hook)),
      services_(services),
      gather_(std::move(gather)),
      caller_(make_caller(hook_, {services.scheduler, services.random, services.launcher, services.transport,
                                  services.metrics, services.options.answer_limit_bytes, services.options.runtime_dir,
                                  services.options.kubeconfig, services.options.environment})) {}
Runner::~Runner() = default;

void Runner::run(Queue::Item item, Done done) {
  auto& active = active_.emplace_back(std::make_unique<Active>(*this, std::move(item), std::move(done)));
  active->start();
}

void Runner::terminate() {
  for (auto& active : active_) active->terminate();
}

void Runner::hook_metric(const apply::MetricSample& sample) {
  using Action = apply::MetricSample::Action;
  const auto kind = sample.action == Action::kAdd   ? metrics::Registry::Kind::kCounter
                    : sample.action == Action::kSet ? metrics::Registry::Kind::kGauge
                                                    : metrics::Registry::Kind::kHistogram;
  metrics::Labels labels(sample.labels.begin(), sample.labels.end());
  labels["hook"] = hook_->name;
  // `le` is how Prometheus tells the buckets apart.
  auto named =
      kind == metrics::Registry::Kind::kHistogram && labels.contains("le")
          ? fail(Errc::kInvalid, "the metric {} has a label \"le\", which a histogram makes itself", sample.name)
          : services_.metrics.check_name(sample.name, kind);
  if (!named)
    return log::warn("a metric of a hook was not taken", {{"hook", hook_->name}, {"error", named.error().what}});
  if (sample.action == Action::kAdd)
    services_.metrics.count(sample.name, labels, sample.value);
  else if (sample.action == Action::kSet)
    services_.metrics.set(sample.name, labels, sample.value);
  else
    services_.metrics.observe(sample.name, labels, sample.value, sample.buckets);
}

}  // namespace hookd::hook
