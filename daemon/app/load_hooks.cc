#include "app/load_hooks.h"

#include <filesystem>

#include "base/fd.h"
#include "trigger/cron.h"

namespace hookd::app {

hook::LoadResult load_hook_folders(const std::vector<std::string>& folders) {
  hook::LoadOptions options;
  options.cron_check = trigger::check_cron;
  return hook::load_hooks(folders, options);
}

hook::LoadResult load_hooks(const std::vector<std::string>& paths) {
  hook::LoadOptions options;
  options.cron_check = trigger::check_cron;
  hook::LoadResult result;
  std::vector<std::string> directories;
  for (const std::string& given : paths) {
    std::error_code error;
    if (!std::filesystem::exists(given, error) || std::filesystem::is_directory(given, error)) {
      directories.push_back(given);
      continue;
    }
    const std::string path = std::filesystem::absolute(given).lexically_normal().string();
    if (auto text = read_named_file(path))
      hook::load_hook_text(*text, path, options, result);
    else
      result.errors.push_back({path, 0, 0, text.error().what});
  }
  if (!directories.empty()) {
    auto more = load_hook_folders(directories);
    std::ranges::move(more.hooks, std::back_inserter(result.hooks));
    std::ranges::move(more.errors, std::back_inserter(result.errors));
  }
  return result;
}

}  // namespace hookd::app
