#include "apply/applier.h"

#include <map>

#include "apply/plan.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/time.h"

namespace hookd::apply {
namespace {

using kube::ResourceType;

class ApplyRun final : public Run {
 public:
  ApplyRun(kube::Api& api, TypeResolver& resolver, Scheduler& scheduler, Random& random,
           std::function<void()>& unserved, std::shared_ptr<EventRecorder> events, Request request,
           Applier::Callback callback)
      : api_(api),
        resolver_(resolver),
        scheduler_(scheduler),
        random_(random),
        unserved_(unserved),
        events_(std::move(events)),
        request_(std::move(request)),
        callback_(std::move(callback)),
        outcomes_(request_.operations.size()) {
    timer_ = scheduler_.after(Duration{0}, [this] { begin(); });
  }

 private:
  struct Type {
    std::optional<Result<ResourceType>> found;
    bool made_here = false;  // this answer makes its CustomResourceDefinition
  };
  struct Running {
    Chain chain;
    size_t at = 0;
    std::unique_ptr<Task> task;
    Timer timer;
    int looks = 0;  // for a type that this answer makes
  };
  static constexpr int kLooks = 6;  // 0.25 s doubling: about 8 s for a new CustomResourceDefinition to be served

  Operation& op(size_t index) { return request_.operations[index]; }
  std::optional<std::string> known_uid(const Operation& op) const {
    return request_.uid_of ? request_.uid_of(op.api_version, op.kind, op.ns, op.name) : std::nullopt;
  }

  void begin() {
    const auto allowed = check_allowed(request_.operations, request_.allow,
                                       [this](const Operation& one) { return known_uid(one).has_value(); });
    if (!allowed) {
      for (auto& outcome : outcomes_)
        outcome = Outcome{.kind = Outcome::Kind::kRefused, .text = "nothing was sent: " + allowed.error().what};
      return finish();
    }
    for (const auto& one : request_.operations) {
      if (!is_write(one.verb)) continue;
      types_[{one.api_version, one.kind}];
    }
    for (const auto& one : request_.operations) {
      if (one.kind != "CustomResourceDefinition" || !is_upsert(one.verb)) continue;
      const auto group = json_string_at(one.object, {"spec", "group"});
      const auto kind = json_string_at(one.object, {"spec", "names", "kind"});
      for (auto& [key, type] : types_)
        if (group && kind && key.first.starts_with(*group + "/") && key.second == *kind) type.made_here = true;
    }
    look_up();
  }

  // Asks for one type; the answer may come when this is gone.
  void resolve(const std::pair<std::string, std::string>& key, std::function<void()> then) {
    resolver_(key.first, key.second,
              [this, key, then = std::move(then), alive = std::weak_ptr(alive_)](Result<ResourceType> result) {
                if (alive.expired()) return;
                types_[key].found = std::move(result);
                then();
              });
  }

  void look_up() {
    unresolved_ = types_.size() + 1;  // one more, so that answers from inside do not end it early
    const auto one_less = [this] {
      if (--unresolved_ == 0) timer_ = scheduler_.after(Duration{0}, [this] { types_known(); });
    };
    std::vector<std::pair<std::string, std::string>> keys;
    for (const auto& [key, type] : types_) keys.push_back(key);
    for (const auto& key : keys) resolve(key, one_less);
    one_less();
  }

  // What is wrong with an operation for its type; the namespace is filled in. nullopt = nothing.
  std::optional<Outcome> misfit(Operation& one, const ResourceType& type) const {
    if (!type.namespaced && !one.ns.empty())
      return Outcome{.kind = Outcome::Kind::kRefused,
                     .text = fmt::format("{}: {} is cluster-scoped, it takes no namespace", one.display(), type.kind)};
    if (type.namespaced && one.ns.empty()) {
      if (request_.default_namespace.empty())
        return Outcome{.kind = Outcome::Kind::kRefused, .text = fmt::format("{}: it needs a namespace", one.display())};
      one.ns = request_.default_namespace;
    }
    return std::nullopt;
  }
  static Outcome unknown_type(const Operation& one, const Error& error) {
    const bool may_come = error.code == Errc::kNotFound || error.retryable();
    return Outcome{.kind = may_come ? Outcome::Kind::kRetry : Outcome::Kind::kRefused,
                   .text = fmt::format("{}: {}", one.display(), error.what),
                   .http_status = error.http_status,
                   .retry_after = error.retry_after};
  }

  void types_known() {
    std::optional<size_t> culprit;
    for (size_t i = 0; i < request_.operations.size(); ++i) {
      Operation& one = op(i);
      if (!is_write(one.verb)) continue;
      const Type& type = types_[{one.api_version, one.kind}];
      std::optional<Outcome> wrong;
      if (*type.found)
        wrong = misfit(one, **type.found);
      else if (!type.made_here)
        wrong = unknown_type(one, type.found->error());
      if (!wrong) continue;
      outcomes_[i] = *std::move(wrong);
      // A lasting fault says more than a passing one.
      if (!culprit ||
          (outcomes_[i].kind == Outcome::Kind::kRefused && outcomes_[*culprit].kind == Outcome::Kind::kRetry))
        culprit = i;
    }
    if (culprit) return stop_all(*culprit);
    plan_ = make_plan(request_.operations, request_.default_namespace);
    stage_ = 0;
    begin_stage();
  }

  void stop_all(size_t culprit) {
    const Outcome reason = outcomes_[culprit];
    for (size_t i = 0; i < outcomes_.size(); ++i)
      if (outcomes_[i].text.empty())
        outcomes_[i] = Outcome{
            .kind = reason.kind,
            .text = fmt::format("{} not sent because of operation {}: {}", op(i).describe(), culprit + 1, reason.text),
            .retry_after = reason.retry_after};
    finish();
  }

  void begin_stage() {
    if (stage_ == plan_.stages.size()) return finish();
    next_chain_ = 0;
    running_.clear();
    active_ = 0;
    pump();
  }

  void pump() {
    const auto& chains = plan_.stages[stage_];
    while (active_ < Applier::kConcurrent && next_chain_ < chains.size()) {
      auto& running = *running_.emplace_back(std::make_unique<Running>());
      running.chain = chains[next_chain_++];
      ++active_;
      running.timer = scheduler_.after(Duration{0}, [this, &running] { step(running); });
    }
    if (active_ > 0) return;
    ++stage_;
    timer_ = scheduler_.after(Duration{0}, [this] { begin_stage(); });
  }

  void decide(size_t index, Outcome outcome) {
    const bool no_path = outcome.http_status == 404 && outcome.kind == Outcome::Kind::kRetry && outcome.reason.empty();
    if (no_path && unserved_) unserved_();
    outcomes_[index] = std::move(outcome);
  }

  void step(Running& running) {
    running.task.reset();  // never called by the task itself
    while (running.at < running.chain.size()) {
      const size_t index = running.chain[running.at];
      if (auto ready = without_request(index)) {
        decide(index, *std::move(ready));
        ++running.at;
        continue;
      }
      return start(running, index);
    }
    --active_;
    pump();
  }

  // Outcomes that need no request: skipped ones, Events, Metrics, Requeues.
  std::optional<Outcome> without_request(size_t index) {
    const Operation& one = op(index);
    if (const auto before = plan_.behind[index]) {
      const Outcome& blocker = outcomes_[*before];
      const bool goes_on = request_.go_on_after_refusal && blocker.kind == Outcome::Kind::kRefused;
      if (!blocker.ok() && !goes_on)
        return Outcome{
            .kind = blocker.kind,
            .text = fmt::format("{} not sent: operation {} on the same object failed", one.describe(), *before + 1),
            .retry_after = blocker.retry_after};
    }
    switch (one.verb) {
      case Verb::kEvent:
        return event(index);
      case Verb::kMetric:
        if (one.metric && one.metric->action == MetricSample::Action::kExpire)
          return Outcome{.text = "expired the metrics of group " + one.metric->group, .metric = one.metric};
        return Outcome{.text = fmt::format("metric {}", one.metric ? one.metric->name : ""), .metric = one.metric};
      case Verb::kRequeue:
        return Outcome{.text = "to be called again after " + format_duration(one.after), .requeue_after = one.after};
      default:
        return std::nullopt;
    }
  }

  Outcome event(size_t index) {
    const Operation& one = op(index);
    for (const size_t before : plan_.speaks_of[index]) {
      if (outcomes_[before].kind == Outcome::Kind::kRetry)
        return Outcome{.kind = Outcome::Kind::kRetry,
                       .text = fmt::format("{} waits for operation {}", one.describe(), before + 1),
                       .retry_after = outcomes_[before].retry_after};
      if (outcomes_[before].kind == Outcome::Kind::kRefused && !request_.go_on_after_refusal)
        return Outcome{.kind = Outcome::Kind::kNotNeeded,
                       .text = fmt::format("{} not sent: operation {}, of which it speaks, was refused", one.describe(),
                                           before + 1)};
    }
    const auto& spoken = plan_.speaks_of[index];
    const auto not_needed = [this](size_t before) { return outcomes_[before].kind == Outcome::Kind::kNotNeeded; };
    if (!spoken.empty() && std::ranges::all_of(spoken, not_needed))
      return Outcome{.kind = Outcome::Kind::kNotNeeded,
                     .text = fmt::format("{} not sent: nothing of what it speaks of had to be done", one.describe())};
    if (request_.dry_run || one.dry_run)
      return Outcome{.text = fmt::format("dry run: recorded Event {} about {}", one.reason, one.display())};
    EventNote note{.api_version = one.api_version,
                   .kind = one.kind,
                   .ns = one.ns,
                   .name = one.name,
                   .uid = one.uid,
                   .uid_path = {},
                   .reason = one.reason,
                   .message = one.message,
                   .type = one.event_type.empty() ? "Normal" : one.event_type,
                   .hook = request_.hook};
    if (note.uid.empty()) note.uid = known_uid(one).value_or("");
    if (!note.uid.empty())
      events_->record(std::move(note));
    else
      record_after_look_up(std::move(note));
    return Outcome{.text = fmt::format("recorded Event {} about {}", one.reason, one.display())};
  }

  // The path to read the uid from, if the type is known; the Event goes out in any case, also when this is gone by
  // then.
  void record_after_look_up(EventNote note) {
    const auto api_version = note.api_version, kind = note.kind;
    resolver_(api_version, kind,
              [note = std::move(note), events = std::weak_ptr(events_)](Result<ResourceType> type) mutable {
                const auto recorder = events.lock();
                if (!recorder) return;
                if (type && type->namespaced == !note.ns.empty())
                  note.uid_path = object_path(*type, note.ns, note.name);
                recorder->record(std::move(note));
              });
  }

  void start(Running& running, size_t index) {
    const std::pair key{op(index).api_version, op(index).kind};
    const Type& type = types_[key];
    if (!*type.found) return look_for_new_type(running, index, key);
    if (auto wrong = misfit(op(index), **type.found)) return done(running, index, *std::move(wrong));
    const TaskContext context{api_, scheduler_, random_, request_};
    if (request_.sending) request_.sending(index, op(index), **type.found);
    running.task = Task::make(context, op(index), **type.found, [this, &running, index](Outcome outcome) {
      if (request_.settled) request_.settled(index, op(index), outcome);
      done(running, index, std::move(outcome));
    });
    running.task->start();
  }

  void look_for_new_type(Running& running, size_t index, const std::pair<std::string, std::string>& key) {
    if (running.looks == kLooks) return done(running, index, unknown_type(op(index), types_[key].found->error()));
    const auto wait =
        running.looks == 0 ? Duration{0} : Duration(std::chrono::milliseconds(250)) * (1 << (running.looks - 1));
    ++running.looks;
    running.timer = scheduler_.after(wait, [this, &running, key] {
      resolve(key,
              [this, &running] { running.timer = scheduler_.after(Duration{0}, [this, &running] { step(running); }); });
    });
  }

  void done(Running& running, size_t index, Outcome outcome) {
    outcome.index = index;
    decide(index, std::move(outcome));
    ++running.at;
    running.timer = scheduler_.after(Duration{0}, [this, &running] { step(running); });
  }

  void finish() {
    for (size_t i = 0; i < outcomes_.size(); ++i) outcomes_[i].index = i;
    timer_ = scheduler_.after(Duration{0}, [this] {
      const auto callback = std::move(callback_);
      auto outcomes = std::move(outcomes_);
      callback(std::move(outcomes));  // may destroy this
    });
  }

  kube::Api& api_;
  TypeResolver& resolver_;
  Scheduler& scheduler_;
  Random& random_;
  std::function<void()>& unserved_;
  std::shared_ptr<EventRecorder> events_;
  Request request_;
  Applier::Callback callback_;
  std::vector<Outcome> outcomes_;
  std::map<std::pair<std::string, std::string>, Type> types_;
  size_t unresolved_ = 0;
  Plan plan_;
  size_t stage_ = 0;
  size_t next_chain_ = 0;
  size_t active_ = 0;
  std::vector<std::unique_ptr<Running>> running_;  // of this stage
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Timer timer_;
};

}  // namespace

Applier::Applier(kube::Api& api, TypeResolver resolver, Scheduler& scheduler, Random& random,
                 std::function<void()> unserved)
    : api_(api),
      resolver_(std::move(resolver)),
      scheduler_(scheduler),
      random_(random),
      unserved_(std::move(unserved)),
      events_(std::make_shared<EventRecorder>(api, scheduler, random)) {}

std::unique_ptr<Run> Applier::apply(Request request, Callback callback) {
  return std::make_unique<ApplyRun>(api_, resolver_, scheduler_, random_, unserved_, events_, std::move(request),
                                    std::move(callback));
}

}  // namespace hookd::apply
