#include "app/loop_watchdog.h"

#include <condition_variable>
#include <mutex>

#include "base/log.h"
#include "base/time.h"
#include "filter/running.h"

namespace hookd::app {

void LoopWatchdog::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

// In looks and not by the clock: a process that was stopped (SIGSTOP, a suspended machine) did not look either.
void LoopWatchdog::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  uint64_t seen = 0;
  Time still{0}, next = times_.still;
  while (!wake.wait_for(lock, stop, times_.look, [&] { return stop.stop_requested(); })) {
    const uint64_t beats = beats_;
    if (std::exchange(seen, beats) != beats) {
      if (next != times_.still) log::warn("the event loop goes on", {{"after", format_duration(still)}});
      still = Time{0};
      next = times_.still;
      continue;
    }
    still += times_.look;
    if (still < next) continue;
    next = still + times_.again;
    std::vector<log::Field> fields{{"for", format_duration(still)}};
    const auto filter = filter::running();
    if (filter) {
      if (!filter->hook.empty()) fields.emplace_back("hook", filter->hook);
      if (!filter->binding.empty()) fields.emplace_back("binding", filter->binding);
      fields.emplace_back("jq", filter->expression);
    }
    log::write(log::Level::kError,
               filter ? "a jq expression does not come to an end and cannot be interrupted: until it does, hookd does "
                        "nothing at all, and /healthz does not answer; change the expression"
                      : "the event loop stands still: until it goes on, hookd does nothing at all, and /healthz does "
                        "not answer",
               fields);
  }
}

}  // namespace hookd::app
