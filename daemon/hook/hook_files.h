// Finds the files that declare native hooks. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace hookd::hook {

bool is_hook_file(std::string_view file_name);  // hook.yaml, NAME.hook.yaml, .yml

// Absolute paths, in the order of the folders given and then of names. What cannot be read goes to `errors`.
std::vector<std::string> find_hook_files(const std::vector<std::string>& directories,
                                         std::vector<config::Problem>& errors);

}  // namespace hookd::hook
