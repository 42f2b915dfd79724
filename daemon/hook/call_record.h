// What is written down of a call wherever it comes from: log, metrics, observers. Thread: loop only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "apply/outcome.h"
#include "hook/call_writer.h"
#include "hook/runner.h"

namespace hookd::hook {

// Of a call: its messages, the end of its process, one operation, its own end.
void log_messages(const Hook& hook, const Call& call, std::string_view binding, const std::vector<std::string>& lines);
void record_reply(const Hook& hook, const Call& call, std::string_view binding, RunnerServices& services,
                  const std::optional<process::ChildExit>& exit, Duration wall);
void record_operation(const Hook& hook, const Call& call, RunnerServices& services, const apply::Operation& op,
                      const apply::Outcome& outcome);
struct CallEnd {
  Queue::Verdict verdict;
  std::string_view result;
  std::string_view why;
  std::string subject;  // "" = none
  const process::ChildExit* exit = nullptr;
  std::optional<Duration> requeue;
};
void record_end(const Hook& hook, const Call& call, std::string_view binding, RunnerServices& services,
                const CallEnd& end);

// Samples of a hook's metrics, told to the registry.
void record_samples(const Hook& hook, metrics::Registry& metrics, const std::vector<apply::MetricSample>& samples);

}  // namespace hookd::hook
