// `fail: {hook: NAME, exit: 1, times: 2}`: which calls fail without being made. Thread: loop only.
#pragma once

#include <map>
#include <string>

#include "hook/call_faults.h"

namespace hookd::rehearsal {

class HookFaults final : public hook::CallFaults {
 public:
  // The next `times` calls of `hook`, at least 1; takes the place of what was asked for before.
  void fail_next(const std::string& hook, int code, int times) { faults_[hook] = {code, times}; }

  std::optional<int> next(const hook::Call& call) override {
    const auto fault = faults_.find(call.hook);
    if (fault == faults_.end()) return std::nullopt;
    const int code = fault->second.code;
    if (--fault->second.times == 0) faults_.erase(fault);
    return code;
  }

 private:
  struct Fault {
    int code = 1;
    int times = 1;
  };
  std::map<std::string, Fault> faults_;
};

}  // namespace hookd::rehearsal
