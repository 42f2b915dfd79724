#include "cli/loading.h"

#include <filesystem>

#include "base/fd.h"
#include "trigger/cron.h"

namespace hookd::cli {

hook::LoadResult load_hooks(const std::vector<std::string>& folders) {
  hook::LoadOptions options;
  options.cron_check = trigger::check_cron;
  hook::LoadResult result;
  std::vector<std::string> directories;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(folder, error)) {
      directories.push_back(folder);
      continue;
    }
    const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
    if (auto text = read_file(path))
      hook::load_hook_text(*text, path, options, result);
    else
      result.errors.push_back({path, 0, 0, text.error().what});
  }
  if (!directories.empty()) {
    auto more = hook::load_hooks(directories, options);
    std::ranges::move(more.hooks, std::back_inserter(result.hooks));
    std::ranges::move(more.errors, std::back_inserter(result.errors));
  }
  return result;
}

}  // namespace hookd::cli
