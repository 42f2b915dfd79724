#include "app/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/log.h"

namespace hookd::app {
namespace {

namespace fs = std::filesystem;
constexpr uint32_t kEvents =
    IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr size_t kMaxFolders = 10'000;

}  // namespace

FolderWatch::FolderWatch(AsioScheduler& scheduler, std::vector<std::string> folders, std::function<void()> on_change)
    : scheduler_(scheduler),
      folders_(std::move(folders)),
      on_change_(std::move(on_change)),
      inotify_(scheduler.context()) {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) {
    log::warn("changed hooks will only be seen on SIGHUP: inotify is not to be had",
              {{"error", std::generic_category().message(errno)}});
    return;
  }
  inotify_.assign(fd);
  watch_all();
  read();
}

// inotify is not recursive; watching a folder twice is the same watch, so that all can be named again after a change.
void FolderWatch::watch_all() {
  std::set<std::string> seen;
  std::vector<std::string> open = folders_;
  while (!open.empty() && seen.size() < kMaxFolders) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    std::error_code error;
    const std::string real = fs::canonical(folder, error).string();
    if (error || !seen.insert(real).second) continue;
    if (::inotify_add_watch(inotify_.native_handle(), real.c_str(), kEvents) < 0)
      log::warn("a hooks folder is not watched for changes",
                {{"folder", folder}, {"error", std::generic_category().message(errno)}});
    for (const auto& entry : fs::directory_iterator(real, fs::directory_options::skip_permission_denied, error))
      if (entry.is_directory(error)) open.push_back(entry.path().string());
  }
}

void FolderWatch::read() {
  inotify_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                        if (error || !alive.lock()) return;
                        char buffer[16384];
                        while (::read(inotify_.native_handle(), buffer, sizeof buffer) > 0) {
                        }
                        // A hook that writes into its own folder all the time must not put off the rest for ever.
                        if (!settle_.pending()) first_change_ = scheduler_.now();
                        settle_ =
                            scheduler_.at(std::min(scheduler_.now() + kSettle, first_change_ + kSettleMost), [this] {
                              watch_all();
                              on_change_();
                            });
                        read();
                      });
}

}  // namespace hookd::app
