#include "app/folder_watch.h"

#include <filesystem>
#include <set>

#include "base/log.h"

namespace hookd::app {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxFolders = 10'000;

}  // namespace

FolderWatch::FolderWatch(AsioScheduler& scheduler, std::vector<std::string> folders, std::function<void()> on_change,
                         Depth depth)
    : scheduler_(scheduler),
      folders_(std::move(folders)),
      on_change_(std::move(on_change)),
      depth_(depth),
      inotify_(scheduler),
      watch_(inotify_.watch([this] { touched(); })) {
  watch_all();
}

// inotify is not recursive. Writes to files that stay open are not looked at: hooks may write their logs there.
void FolderWatch::watch_all() {
  std::set<std::string> seen;
  std::vector<std::string> open = folders_;
  while (!open.empty() && seen.size() < kMaxFolders) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    std::error_code error;
    const std::string real = fs::canonical(folder, error).string();
    if (error || !seen.insert(real).second) continue;
    if (depth_ == Depth::kOnlyThese) continue;
    for (const auto& entry : fs::directory_iterator(real, fs::directory_options::skip_permission_denied, error))
      if (entry.is_directory(error)) open.push_back(entry.path().string());
  }
  std::vector<PathWatcher::Place> places;
  for (const std::string& folder : seen) places.push_back({folder, "", false});
  if (!watch_->set(std::move(places)))
    log::warn("not every hooks folder is watched for changes: those are only seen on SIGHUP",
              {{"folders", seen.size()}});
}

void FolderWatch::touched() {
  // A hook that writes into its own folder all the time must not put off the rest for ever.
  if (!settle_.pending()) first_change_ = scheduler_.now();
  settle_ = scheduler_.at(std::min(scheduler_.now() + kSettle, first_change_ + kSettleMost), [this] {
    watch_all();
    on_change_();
  });
}

}  // namespace hookd::app
