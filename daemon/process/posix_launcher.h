// Starts real processes on an io_context. Thread: loop only.
#pragma once

#include <memory>
#include <string>

#include "base/scheduler.h"
#include "process/launcher.h"

namespace hookd::process {

class Cgroups;
class TempRemover;
struct Children;

class PosixLauncher : public Launcher {
 public:
  // `self_executable` is started as the shim of exec_shim.h for a spec with user or limits. Makes this process ignore
  // SIGPIPE (a child may close its stdin at any time) and not ignore SIGCHLD (an inherited "ignore" would lose every
  // exit status). Children must not outlive `scheduler`; what they leave to reap is tied to its io_context only.
  explicit PosixLauncher(AsioScheduler& scheduler, std::string self_executable = "/proc/self/exe");

  ~PosixLauncher() override;

  [[nodiscard]] Result<std::unique_ptr<Child>> start(ChildSpec spec, ChildHandlers handlers) override;

  // From now on each child that has a temp_parent gets a cgroup of its own there. Null = none.
  void use_cgroups(std::shared_ptr<Cgroups> cgroups);

  bool owns(int pid) const;  // a child of this launcher that is not reaped yet: for Reaper
  size_t running() const;    // how many of them

 private:
  AsioScheduler& scheduler_;
  std::string self_executable_;
  void look_at_dying();

  std::shared_ptr<Children> children_;
  std::shared_ptr<TempRemover> remover_;
  std::shared_ptr<Cgroups> cgroups_;
  Timer dying_timer_;
  int dying_looks_ = 0;
};

}  // namespace hookd::process
