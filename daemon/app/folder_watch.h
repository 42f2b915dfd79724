// Tells when anything in the hooks folders changed, also through the symlink swap of a ConfigMap mount; several changes
// at once are one. Thread: loop only. Source: inotify(7).
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/scheduler.h"

namespace hookd::app {

class FolderWatch {
 public:
  FolderWatch(AsioScheduler& scheduler, std::vector<std::string> folders, std::function<void()> on_change);

  static constexpr Duration kSettle = std::chrono::milliseconds(500);
  static constexpr Duration kSettleMost = std::chrono::seconds(2);

 private:
  void watch_all();
  void read();

  AsioScheduler& scheduler_;
  std::vector<std::string> folders_;
  std::function<void()> on_change_;
  boost::asio::posix::stream_descriptor inotify_;
  Timer settle_;
  SteadyTime first_change_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::app
