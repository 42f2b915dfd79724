// Tells when anything in the hooks folders changed, also through the symlink swap of a ConfigMap mount; several changes
// at once are one. Thread: loop only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/inotify.h"

namespace hookd::app {

class FolderWatch {
 public:
  enum class Depth { kAllBelow, kOnlyThese };
  FolderWatch(AsioScheduler& scheduler, std::vector<std::string> folders, std::function<void()> on_change,
              Depth depth = Depth::kAllBelow);

  static constexpr Duration kSettle = std::chrono::milliseconds(500);
  static constexpr Duration kSettleMost = std::chrono::seconds(2);

 private:
  void watch_all();
  void touched();

  AsioScheduler& scheduler_;
  std::vector<std::string> folders_;
  std::function<void()> on_change_;
  Depth depth_;
  Inotify inotify_;
  std::unique_ptr<PathWatcher::Watch> watch_;
  Timer settle_;
  SteadyTime first_change_{};
};

}  // namespace hookd::app
