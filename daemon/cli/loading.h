// Loading hooks with every check that the daemon makes, for the commands that need no cluster.
#pragma once

#include <string>
#include <vector>

#include "hook/native_loader.h"

namespace hookd::cli {

hook::LoadResult load_hooks(const std::vector<std::string>& folders);

}  // namespace hookd::cli
