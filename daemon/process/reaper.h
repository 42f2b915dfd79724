// Orphans: processes whose parent ended come to PID 1 (hookd in a container) or to a subreaper, and stay zombies until
// waited for. Reaps those, and never a child of ours, whose exit its owner waits for. Thread: loop only.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::process {

class Reaper {
 public:
  using IsOurs = std::function<bool(int pid)>;  // as PosixLauncher::owns

  // Acts on SIGCHLD from now on, and on what is there already.
  Reaper(AsioScheduler& scheduler, IsOurs is_ours);

  uint64_t reaped() const { return reaped_; }
  void reap_now();

 private:
  void wait_for_signal();
  bool reap_behind_ours();

  AsioScheduler& scheduler_;
  IsOurs is_ours_;
  boost::asio::signal_set signals_;
  Timer again_;
  std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // a signal already on its way may come after we are gone
  uint64_t reaped_ = 0;
};

// Makes orphans of our descendants come to this process though it is not PID 1. Errors: kInternal.
Result<void> become_subreaper();

}  // namespace hookd::process
