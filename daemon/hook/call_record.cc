#include "hook/call_record.h"

#include "base/log.h"
#include "base/time.h"
#include "metrics/hook_series.h"

namespace hookd::hook {

void log_messages(const Hook& hook, const Call& call, std::string_view binding, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log::info(line, {{"hook", hook.name}, {"binding", binding}, {"call", call.id}});
}

void record_reply(const Hook& hook, const Call& call, std::string_view binding, RunnerServices& services,
                  const std::optional<process::ChildExit>& exit, Duration wall) {
  services.metrics.observe("hookd_call_seconds", {{"hook", hook.name}}, std::chrono::duration<double>(wall).count());
  if (exit)
    log::debug("hook ended", {{"hook", hook.name},
                              {"binding", binding},
                              {"call", call.id},
                              {"exit", exit->describe()},
                              {"wall", format_duration(exit->wall)},
                              {"cpu", format_duration(exit->cpu)},
                              {"rss_bytes", exit->max_rss_bytes}});
}

void record_operation(const Hook& hook, const Call& call, RunnerServices& services, const apply::Operation& op,
                      const apply::Outcome& outcome) {
  if (auto* observer = services.options.observer) observer->operation_done(call, op, outcome);
  services.metrics.count("hookd_operations_total", {{"hook", hook.name},
                                                    {"operation", std::string(apply::to_string(op.verb))},
                                                    {"outcome", std::string(apply::to_string(outcome.kind))}});
  const log::Level level = outcome.kind == apply::Outcome::Kind::kRefused ? log::Level::kError
                           : outcome.kind == apply::Outcome::Kind::kRetry ? log::Level::kWarn
                                                                          : log::Level::kInfo;
  std::vector<log::Field> fields{{"hook", hook.name},
                                 {"call", call.id},
                                 {"operation", apply::to_string(op.verb)},
                                 {"outcome", apply::to_string(outcome.kind)}};
  if (services.options.dry_run) fields.emplace_back("dryRun", true);
  log::write(level, outcome.text, fields);
  if (!outcome.diff.empty())
    log::info("would change " + op.display() + ":\n" + outcome.diff, {{"hook", hook.name}, {"call", call.id}});
}

void record_end(const Hook& hook, const Call& call, std::string_view binding, RunnerServices& services,
                const CallEnd& end) {
  services.metrics.count("hookd_calls_total", {{"hook", hook.name}, {"result", std::string(end.result)}});
  std::vector<log::Field> fields{
      {"hook", hook.name}, {"binding", binding}, {"call", call.id}, {"attempt", call.attempt}, {"result", end.result}};
  if (call.events.size() > 1) fields.emplace_back("events", call.events.size());
  if (!end.subject.empty()) fields.emplace_back("object", end.subject);
  if (!end.why.empty()) fields.emplace_back("error", end.why);
  const bool loud = end.verdict == Queue::Verdict::kGiveUp;
  const bool quiet = end.result == "ok" || end.result == "later";
  log::write(loud    ? log::Level::kError
             : quiet ? log::Level::kInfo
                     : log::Level::kWarn,
             quiet                                   ? "call"
             : loud                                  ? "call failed for good"
             : end.verdict == Queue::Verdict::kSplit ? "call failed, its events are called again in two halves"
                                                     : "call failed, will be tried again",
             fields);
  if (auto* observer = services.options.observer) {
    using Then = CallResult::Then;
    const Then then = end.verdict == Queue::Verdict::kDone     ? Then::kDone
                      : end.verdict == Queue::Verdict::kGiveUp ? Then::kGiveUp
                                                               : Then::kRetry;
    observer->call_ended({call, end.exit, end.result, end.why, then, end.requeue});
  }
}

void record_samples(const Hook& hook, metrics::Registry& metrics, const std::vector<apply::MetricSample>& samples) {
  using Action = apply::MetricSample::Action;
  using Kind = metrics::Registry::Kind;
  if (samples.empty()) return;
  std::vector<metrics::HookSeries::Sample> all;
  for (const apply::MetricSample& sample : samples) {
    const Kind kind = sample.action == Action::kSet       ? Kind::kGauge
                      : sample.action == Action::kObserve ? Kind::kHistogram
                                                          : Kind::kCounter;
    all.push_back({kind, sample.action == Action::kExpire, sample.name,
                   metrics::Labels(sample.labels.begin(), sample.labels.end()), sample.value, sample.buckets,
                   sample.group});
  }
  for (const Error& error : metrics.of_hooks().take(hook.name, all))
    log::warn("a metric of a hook was not taken", {{"hook", hook.name}, {"error", error.what}});
}

}  // namespace hookd::hook
