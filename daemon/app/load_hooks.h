// Loading hooks with every check that the daemon makes. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "hook/native_loader.h"

namespace hookd::app {

// As the daemon does: folders only.
hook::LoadResult load_hook_folders(const std::vector<std::string>& folders);
// Folders and single hook files: for the commands that need no cluster.
hook::LoadResult load_hooks(const std::vector<std::string>& paths);

}  // namespace hookd::app
