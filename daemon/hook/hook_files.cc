#include "hook/hook_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

namespace hookd::hook {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 10'000;
constexpr size_t kMostEntries = 200'000;  // names looked at
constexpr int kDeepest = 64;

class Walk {
 public:
  explicit Walk(std::vector<config::Problem>& errors) : errors_(errors) {}

  void directory(const std::string& path, int depth) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
      return problem(path, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
    if (!S_ISDIR(status.st_mode)) return problem(path, "is not a folder");
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return;  // a loop of links ends here
    if (depth > kDeepest) return problem(path, fmt::format("nested deeper than {} folders", kDeepest));
    std::error_code failed;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (++entries_ > kMostEntries) return full(path, kMostEntries, "names");
      if (const std::string name = entry->path().filename().string(); !name.starts_with("..")) names.push_back(name);
    }
    if (failed) return problem(path, fmt::format("cannot be read: {}", failed.message()));
    std::ranges::sort(names);
    for (const std::string& name : names) entry(path == "/" ? path + name : path + "/" + name, name, depth);
  }

  std::vector<std::string> take_files() { return std::move(files_); }

 private:
  void entry(const std::string& path, const std::string& name, int depth) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
      // A link that leads nowhere matters only if it was to be a hook; the rest of the folder is not ours.
      if (is_hook_file(name)) problem(path, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
      return;
    }
    if (S_ISDIR(status.st_mode)) return directory(path, depth + 1);
    if (!is_hook_file(name)) return;
    if (!S_ISREG(status.st_mode)) return problem(path, "is not a regular file");
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return;
    if (files_.size() == kMostFiles) return full(path, kMostFiles, "hook files");
    files_.push_back(path);
  }

  void full(const std::string& path, size_t most, std::string_view what) {
    if (!std::exchange(full_, true))
      problem(path, fmt::format("more than {} {} in the hooks folders; the rest is not looked at", most, what));
  }
  void problem(const std::string& path, std::string message) { errors_.push_back({path, 0, 0, std::move(message)}); }

  std::vector<config::Problem>& errors_;
  std::vector<std::string> files_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  size_t entries_ = 0;
  bool full_ = false;
};

}  // namespace

bool is_hook_file(std::string_view name) {
  for (const std::string_view end : {"hook.yaml", "hook.yml"})
    if (name == end ||
        (name.size() > end.size() + 1 && name.ends_with(end) && name[name.size() - end.size() - 1] == '.'))
      return true;
  return false;
}

std::vector<std::string> find_hook_files(const std::vector<std::string>& directories,
                                         std::vector<config::Problem>& errors) {
  Walk walk(errors);
  for (const std::string& directory : directories) {
    std::error_code ignored;
    std::string path = fs::absolute(directory, ignored).lexically_normal().string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    walk.directory(path, 0);
  }
  return walk.take_files();
}

}  // namespace hookd::hook
