// Calls that fail without being made, however the hook is called: for rehearsals (`fail: {hook: …}`). Thread: loop
// only.
#pragma once

#include <memory>
#include <optional>

#include "hook/caller.h"

namespace hookd::hook {

class CallFaults {
 public:
  virtual ~CallFaults() = default;
  // The exit code, not 0, with which this call ends instead of being made. Asked once for each call.
  virtual std::optional<int> next(const Call& call) = 0;
};

// caller.start(), or the reply that such an exit of a script would be. `faults` null = no call fails so.
[[nodiscard]] std::unique_ptr<OpenCall> start_call(Caller& caller, CallRequest request, CallFaults* faults,
                                                   Scheduler& scheduler);

}  // namespace hookd::hook
