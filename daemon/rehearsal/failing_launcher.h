// A launcher that counts the processes under way and can let the next calls of a hook fail without starting them.
// Thread: loop only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/scheduler.h"
#include "process/launcher.h"

namespace hookd::rehearsal {

class FailingLauncher final : public process::Launcher {
 public:
  // `scheduler`: where the exit of a call that was not started is posted.
  FailingLauncher(process::Launcher& real, Scheduler& scheduler) : real_(real), scheduler_(scheduler) {}

  // The next `times` calls of `hook` end as if their process had exited with `code`. The hook is known by HOOKD_HOOK of
  // the environment. `times` 0 = all calls until fail_next(hook, …) is called anew.
  void fail_next(const std::string& hook, int code, int times);
  // Calls that are still to fail; left over at the end of a test they are a mistake in it.
  bool has_fault_left(const std::string& hook) const { return faults_.contains(hook); }

  [[nodiscard]] Result<std::unique_ptr<process::Child>> start(process::ChildSpec spec,
                                                              process::ChildHandlers handlers) override;

  size_t running() const { return *running_; }  // real processes only

 private:
  struct Fault {
    int code = 1;
    int times = 1;
  };
  process::Launcher& real_;
  Scheduler& scheduler_;
  std::map<std::string, Fault> faults_;
  std::shared_ptr<size_t> running_ = std::make_shared<size_t>(0);
};

}  // namespace hookd::rehearsal
