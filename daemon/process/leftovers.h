// What a child leaves running when it ends and that no signal to its group reaches: whoever made itself a session of
// its own (setsid, a double fork). As such a process' parent is gone, it has come to hookd, which is PID 1 or a
// subreaper (reaper.h), and what it was started with still stands in its environment. Thread: loop only.
//
// Not found: a process that cleared its environment, and one of another user where hookd may not look (no
// CAP_SYS_PTRACE). A cgroup (cgroup.h) finds those too.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::process {

struct Leftover {
  int pid = 0;
  std::string name;
};

// SIGKILL to every descendant of this process that has `mark` ("NAME=value") in its environment, but not to those of
// other running children (`is_ours`) nor below them. Who forks meanwhile is looked for again, kSweeps times.
std::vector<Leftover> kill_leftovers(std::string_view mark, const std::function<bool(int pid)>& is_ours);

// SIGKILL to what children of another hookd left running, one that was killed: `temp_parent` is the name of the folder
// that it gave them (ChildSpec::temp_parent), without its path. Looks at every process of the machine.
std::vector<Leftover> kill_left_behind(std::string_view temp_parent);

inline constexpr std::string_view kChildMark = "HOOKD_CHILD_ID=";
// What marks a child with a temporary folder in `temp_parent`, as it stands in its environment: "HOOKD_CHILD_ID=…".
std::string child_mark(std::string_view temp_parent, std::string_view id);

// "sleep (pid 12), sh (pid 13) and 4 more"
std::string describe(const std::vector<Leftover>& leftovers);

inline constexpr int kSweeps = 100;

}  // namespace hookd::process
