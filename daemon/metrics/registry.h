// The daemon's Prometheus metrics. Names and labels stand here and nowhere else. Thread: any.
//
//   hookd_build_info{version}                          1
//   hookd_calls_total{hook,result}                     result: ok, failed, timeout, refused, later
//   hookd_call_seconds{hook}                           histogram: process start to exit
//   hookd_event_to_call_seconds{hook}                  histogram: event seen to process started, first attempts only
//   hookd_events_total{hook,binding,type}              events that bindings put on the queue
//   hookd_operations_total{hook,operation,outcome}     outcome: done, not needed, retry, refused
//   hookd_queue_keys{hook}, hookd_queue_delayed{hook}  keys with anything to do; those waiting to be tried again
//   hookd_parked{hook}, hookd_parked_total{hook}       items given up and kept: now, ever
//   hookd_parked_dropped_total{hook}                   parked items dropped because there were too many
//   hookd_paused{hook}                                 1 = nothing of the hook starts until somebody resumes it
//   hookd_retries_total{hook}                          items put off to be tried again
//   hookd_batch_splits_total{hook}                     failed batches called again in two halves
//   hookd_events_folded_total{hook,binding}            made one with another, too many of their key waited
//   hookd_events_dropped_total{hook,binding}           dropped, too many of their key waited
//   hookd_workers{hook,state}                          processes of mode worker: starting, ready, leaving; waiting: for
//                                                      their next start
//   hookd_worker_restarts_total{hook,reason}           reason: died, hung, max_calls, max_memory
//   hookd_breaker_open{endpoint}                       1 = calls to this scheme, host and port wait (hook/breaker.h)
//   hookd_filter_errors_total{hook,binding}            when, since or value failed on an object
//   hookd_schedule_skipped_total{hook,binding}         ticks dropped because the former run was not over
//   hookd_source_events_total{hook,binding}            events that sources put on the queue
//   hookd_source_dropped_total{hook,binding,why}       why: too long, cut, when failed, too large, not JSON, not text,
//   replayed hookd_source_refused_total{hook,binding,status}    POSTs that got another status than 202
//   hookd_source_waiting, hookd_source_paused          {hook,binding}: events that wait or run; 1 = slowed for them
//   hookd_objects, hookd_object_bytes                  {resource,namespace,selector}; the latter with form: stored, raw
//   hookd_lists, hookd_watches, hookd_watch_events     {resource,namespace,selector}: of the stream since it started
//   hookd_watch_up{resource,namespace,selector}                 1 = following the server
//   hookd_hooks{state}                                 loaded, broken
//   hookd_loop_lag_seconds                             histogram: how late a 100 ms heartbeat came
//   metacontroller_ROLE_{requests_total{code,method}, request_duration_histogram_seconds{method}, in_flight_requests}
//                                                      ROLE: sync, finalize, customize; all with url, controller_name,
//                                                      controller_type
//   workqueue_depth{name,controller}                   of the controllers of compat/metacontroller
//   process_resident_memory_bytes, process_open_fds
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace prometheus {
class Registry;
}

namespace hookd::metrics {

class HookSeries;

using Labels = std::map<std::string, std::string>;

class Registry {
 public:
  Registry();
  ~Registry();

  // Each makes the family and the time series when first named. `help` counts only then.
  void count(const std::string& name, const Labels& labels, double by = 1);
  void set(const std::string& name, const Labels& labels, double value);
  // Bucket bounds are fixed by the first call; empty = 1 ms to 100 s.
  void observe(const std::string& name, const Labels& labels, double value, const std::vector<double>& buckets = {});
  // The same for a metric that a hook made: its name must be free or of the same kind, and not begin like the daemon's
  // own. Errors: kInvalid.
  enum class Kind { kCounter, kGauge, kHistogram };
  Result<void> check_name(const std::string& name, Kind kind) const;
  // Takes away the time series of a gauge whose labels include `labels`.
  void remove(const std::string& name, const Labels& labels);
  // Takes away one time series with just these labels; nothing if there is none.
  void drop(const std::string& name, Kind kind, const Labels& labels);
  // The family too, where it has no series any more, so that its name may become another kind.
  void drop_if_empty(const std::string& name, Kind kind);

  HookSeries& of_hooks() { return *of_hooks_; }  // metrics that hooks made

  // Called before each collection, to set gauges that mirror state.
  void on_collect(std::function<void()> update) { updates_.push_back(std::move(update)); }
  std::string text();  // the Prometheus exposition format 0.0.4

 private:
  struct Families;
  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Families> families_;
  std::unique_ptr<HookSeries> of_hooks_;
  std::vector<std::function<void()>> updates_;
};

}  // namespace hookd::metrics
