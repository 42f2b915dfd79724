#include "metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "base/log.h"
#include "metrics/hook_series.h"

namespace hookd::metrics {
namespace {

const std::map<std::string, std::string>& help_texts() {
  static const std::map<std::string, std::string> texts{
      {"hookd_build_info", "Which hookd this is"},
      {"hookd_calls_total", "Calls of hooks by result"},
      {"hookd_call_seconds", "Time from a hook's start to its exit"},
      {"hookd_event_to_call_seconds", "Time from an event to the start of its first call"},
      {"hookd_events_total", "Events that bindings put on the queue"},
      {"hookd_operations_total", "Operations of hooks by outcome"},
      {"hookd_queue_keys", "Keys with anything waiting, running or delayed"},
      {"hookd_queue_delayed", "Keys that failed and wait for their next try"},
      {"hookd_parked", "Items given up and kept"},
      {"hookd_parked_total", "Items that were given up and kept, ever"},
      {"hookd_parked_dropped_total", "Parked items dropped because there were too many"},
      {"hookd_paused", "1 while the hook is paused"},
      {"hookd_guard_tripped_total", "How often the guard of a hook stopped it"},
      {"hookd_own_events_ignored_total", "Events not delivered because the hook's own writes caused them"},
      {"hookd_loops", "Keys whose calls are slowed because calls cause them"},
      {"hookd_retries_total", "Items put off to be tried again"},
      {"hookd_batch_splits_total", "Failed batches that were called again in two halves"},
      {"hookd_events_folded_total", "Events made one with another because too many of their key waited"},
      {"hookd_events_dropped_total", "Events dropped because too many of their key waited"},
      {"hookd_filter_errors_total", "Objects on which when, since or value failed"},
      {"hookd_source_events_total", "Events that sources put on the queue"},
      {"hookd_source_dropped_total", "What sources could not take as events, by reason"},
      {"hookd_source_refused_total", "Requests to sources that were refused, by status"},
      {"hookd_source_waiting", "Events of sources that wait or run"},
      {"hookd_source_paused", "1 while the source is slowed because too many of its events wait"},
      {"hookd_workers", "Processes of a hook of mode worker by state"},
      {"hookd_worker_restarts_total", "Processes of a hook of mode worker that were started again"},
      {"hookd_breaker_open", "1 while an endpoint is not called because it fails"},
      {"hookd_schedule_skipped_total", "Schedule ticks dropped because the former run was not over"},
      {"hookd_objects", "Objects in memory"},
      {"hookd_object_bytes", "Bytes of object text in memory, as stored and unpacked"},
      {"hookd_lists", "Lists started"},
      {"hookd_watches", "Watches started"},
      {"hookd_watch_events", "Watch events received"},
      {"hookd_watch_up", "1 while the collection is followed"},
      {"hookd_hooks", "Hooks by state"},
      {"hookd_log_lines_lost_total", "Log lines lost because they came faster than stderr takes them"},
      {"process_resident_memory_bytes", "Memory of hookd that is resident"},
      {"process_open_fds", "Open descriptors of hookd"},
      {"hookd_loop_lag_seconds", "How late a 100 ms heartbeat came"}};
  return texts;
}

std::string help_for(const std::string& name) {
  const auto& texts = help_texts();
  const auto it = texts.find(name);
  return it == texts.end() ? "Made by a hook" : it->second;
}

const prometheus::Histogram::BucketBoundaries& default_buckets() {
  static const prometheus::Histogram::BucketBoundaries bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                              0.5,   1,      2.5,   5,    10,    30,   100};
  return bounds;
}

}  // namespace

struct Registry::Families {
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters;
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges;
  std::map<std::string, prometheus::Family<prometheus::Histogram>*> histograms;
  std::map<std::string, std::map<Labels, prometheus::Gauge*>> gauge_series;
};

Registry::Registry()
    : registry_(std::make_shared<prometheus::Registry>()),
      families_(std::make_unique<Families>()),
      of_hooks_(std::make_unique<HookSeries>(*this)) {}
Registry::~Registry() = default;

void Registry::count(const std::string& name, const Labels& labels, double by) {
  auto& family = families_->counters[name];
  if (!family) family = &prometheus::BuildCounter().Name(name).Help(help_for(name)).Register(*registry_);
  family->Add(labels).Increment(by);
}

void Registry::set(const std::string& name, const Labels& labels, double value) {
  auto& family = families_->gauges[name];
  if (!family) family = &prometheus::BuildGauge().Name(name).Help(help_for(name)).Register(*registry_);
  auto& series = families_->gauge_series[name][labels];
  if (!series) series = &family->Add(labels);
  series->Set(value);
}

void Registry::observe(const std::string& name, const Labels& labels, double value,
                       const std::vector<double>& buckets) {
  auto& family = families_->histograms[name];
  if (!family) family = &prometheus::BuildHistogram().Name(name).Help(help_for(name)).Register(*registry_);
  family->Add(labels, buckets.empty() ? default_buckets() : buckets).Observe(value);
}

Result<void> Registry::check_name(const std::string& name, Kind kind) const {
  if (name.starts_with("hookd_") || name.starts_with("process_"))
    return fail(Errc::kInvalid,
                "the metric {} would be among the daemon's own (hookd_, process_); give it another beginning", name);
  const bool counter = families_->counters.contains(name), gauge = families_->gauges.contains(name),
             histogram = families_->histograms.contains(name);
  if ((counter && kind != Kind::kCounter) || (gauge && kind != Kind::kGauge) || (histogram && kind != Kind::kHistogram))
    return fail(Errc::kInvalid, "the metric {} exists already as a {}", name,
                counter ? "counter"
                : gauge ? "gauge"
                        : "histogram");
  return {};
}

void Registry::remove(const std::string& name, const Labels& labels) {
  const auto family = families_->gauges.find(name);
  if (family == families_->gauges.end()) return;
  std::erase_if(families_->gauge_series[name], [&](const auto& entry) {
    for (const auto& [key, value] : labels) {
      const auto it = entry.first.find(key);
      if (it == entry.first.end() || it->second != value) return false;
    }
    family->second->Remove(entry.second);
    return true;
  });
}

void Registry::drop(const std::string& name, Kind kind, const Labels& labels) {
  const auto from = [&](auto& families) {
    const auto found = families.find(name);
    if (found != families.end() && found->second->Has(labels)) found->second->Remove(&found->second->Add(labels));
  };
  if (kind == Kind::kCounter) return from(families_->counters);
  if (kind == Kind::kGauge) {
    if (const auto series = families_->gauge_series.find(name); series != families_->gauge_series.end())
      series->second.erase(labels);
    return from(families_->gauges);
  }
  const auto found = families_->histograms.find(name);
  if (found != families_->histograms.end() && found->second->Has(labels))
    found->second->Remove(&found->second->Add(labels, default_buckets()));
}

void Registry::drop_if_empty(const std::string& name, Kind kind) {
  const auto from = [&](auto& families) {
    const auto found = families.find(name);
    if (found == families.end() || !found->second->Collect().empty()) return;
    registry_->Remove(*found->second);
    families.erase(found);
  };
  if (kind == Kind::kCounter) return from(families_->counters);
  if (kind == Kind::kHistogram) return from(families_->histograms);
  if (const auto series = families_->gauge_series.find(name);
      series != families_->gauge_series.end() && series->second.empty())
    families_->gauge_series.erase(series);
  from(families_->gauges);
}

std::string Registry::text() {
  for (const auto& update : updates_) update();
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry_->Collect());
  return std::move(out).str();
}

}  // namespace hookd::metrics
