#include "base/path_watcher.h"

#include <algorithm>
#include <deque>
#include <filesystem>

namespace hookd {

std::vector<PathWatcher::Place> places_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::vector<PathWatcher::Place> places;
  std::deque<std::string> open;  // components still to walk
  const auto put_first = [&](const fs::path& part) {
    std::deque<std::string> names;
    for (const auto& name : part.relative_path())
      if (!name.empty() && name != ".") names.push_back(name.string());
    open.insert(open.begin(), names.begin(), names.end());
  };
  put_first(path);
  fs::path at = "/";
  for (int links = 0; !open.empty();) {
    const std::string name = std::move(open.front());
    open.pop_front();
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    places.push_back({at.string(), name, open.empty()});
    std::error_code error;
    const fs::path next = at / name;
    const auto status = fs::symlink_status(next, error);
    if (error || status.type() == fs::file_type::not_found) break;
    if (status.type() == fs::file_type::symlink) {
      const fs::path target = fs::read_symlink(next, error);
      if (error || ++links > kMostLinks) break;
      if (target.is_absolute()) at = "/";
      put_first(target);
    } else if (status.type() == fs::file_type::directory) {
      at = next;
    } else {
      break;
    }
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace hookd
