#include "process/leftovers.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "base/fd.h"
#include "process/proc.h"

namespace hookd::process {
namespace {

constexpr size_t kShown = 5;

// The number may have become another's since the list was made: what is killed is what was looked at. `mark`: whole, or
// the beginning of it.
bool kill_marked(int pid, std::string_view mark, bool whole) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return process && has_variable(pid, mark, whole) &&
         ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace

std::vector<Leftover> kill_leftovers(std::string_view mark, const std::function<bool(int pid)>& is_ours) {
  std::vector<Leftover> killed;
  std::set<int> seen;
  // In the middle of its exec a process shows no environment: where there was something, one more look is not enough.
  constexpr int kQuietSweeps = 3;
  int quiet = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool found = false;
    auto below = children_of(0);
    if (!below) return killed;
    std::erase_if(*below, is_ours);
    while (!below->empty()) {
      const int pid = below->back();
      below->pop_back();
      // Read before it is killed: its children come to us then, and the next sweep finds them there.
      if (const auto children = children_of(pid)) below->insert(below->end(), children->begin(), children->end());
      const std::string name = name_of(pid);
      if (seen.contains(pid) || !kill_marked(pid, mark, true)) continue;
      seen.insert(pid);
      killed.push_back({pid, name});
      found = true;
    }
    quiet = found ? 0 : quiet + 1;
    if (quiet == kQuietSweeps || (quiet > 0 && killed.empty())) break;
  }
  return killed;
}

std::vector<Leftover> kill_left_behind(std::string_view temp_parent) {
  const std::string mark = child_mark(temp_parent, "");
  std::vector<Leftover> killed;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), &::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    const std::string program = name_of(pid);
    if (kill_marked(pid, mark, false)) killed.push_back({pid, program});
  }
  return killed;
}

std::string child_mark(std::string_view temp_parent, std::string_view id) {
  return fmt::format("{}{}.{}", kChildMark, temp_parent.substr(temp_parent.rfind('/') + 1), id);
}

std::string describe(const std::vector<Leftover>& leftovers) {
  std::string text;
  for (size_t i = 0; i < std::min(leftovers.size(), kShown); ++i)
    text += fmt::format("{}{} (pid {})", i == 0 ? "" : ", ", leftovers[i].name, leftovers[i].pid);
  if (leftovers.size() > kShown) text += fmt::format(" and {} more", leftovers.size() - kShown);
  return text;
}

}  // namespace hookd::process
