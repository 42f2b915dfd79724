// A launcher that counts the processes under way: while there are any, virtual time stands still. Workers and the
// programs of sources stay and are not counted. Thread: loop only.
#pragma once

#include <memory>

#include "process/launcher.h"

namespace hookd::rehearsal {

class CountingLauncher final : public process::Launcher {
 public:
  explicit CountingLauncher(process::Launcher& real) : real_(real) {}

  [[nodiscard]] Result<std::unique_ptr<process::Child>> start(process::ChildSpec spec,
                                                              process::ChildHandlers handlers) override;

  size_t running() const { return *running_; }

 private:
  process::Launcher& real_;
  std::shared_ptr<size_t> running_ = std::make_shared<size_t>(0);
};

}  // namespace hookd::rehearsal
