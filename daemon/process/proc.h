// What /proc tells of processes. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::process {

// The children of all threads of a process (an orphan is given to any of them); nullopt if the kernel does not tell
// (CONFIG_PROC_CHILDREN) or there is no such process. `pid` 0 = this one.
std::optional<std::vector<int>> children_of(int pid);

std::string name_of(int pid);  // "" = gone
// Does its environment, as it was when it started its program, have this "NAME=value"? Also false where it may not be
// read.
bool has_variable(int pid, std::string_view entry, bool whole = true);  // or one that only begins so

}  // namespace hookd::process
