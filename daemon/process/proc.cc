#include "process/proc.h"

#include <dirent.h>

#include <charconv>
#include <memory>

#include "base/fd.h"

namespace hookd::process {
namespace {

std::string folder_of(int pid) { return pid == 0 ? "/proc/self" : fmt::format("/proc/{}", pid); }

}  // namespace

std::optional<std::vector<int>> children_of(int pid) {
  const std::string tasks = folder_of(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(tasks.c_str()), &::closedir);
  if (!threads) return std::nullopt;
  std::vector<int> children;
  while (const dirent* thread = ::readdir(threads.get())) {
    if (thread->d_name[0] == '.') continue;
    const auto list = read_file(fmt::format("{}/{}/children", tasks, thread->d_name));
    if (!list) {
      if (list.error().code == Errc::kNotFound) return std::nullopt;
      continue;  // the thread has ended
    }
    const char* at = list->data();
    const char* const end = at + list->size();
    while (at < end) {
      int child = 0;
      const auto [next, error] = std::from_chars(at, end, child);
      if (error != std::errc()) break;
      children.push_back(child);
      at = next + 1;  // "12 34 "
    }
  }
  return children;
}

std::string name_of(int pid) {
  auto name = read_file(folder_of(pid) + "/comm", 4096);
  if (!name) return {};
  while (!name->empty() && name->back() == '\n') name->pop_back();
  return *std::move(name);
}

bool has_variable(int pid, std::string_view entry, bool whole) {
  const auto environment = read_file(folder_of(pid) + "/environ", 4u << 20);
  if (!environment) return false;
  for (size_t at = environment->find(entry); at != std::string::npos; at = environment->find(entry, at + 1)) {
    const size_t end = at + entry.size();
    const bool ends = !whole || end == environment->size() || (*environment)[end] == '\0';
    if (ends && (at == 0 || (*environment)[at - 1] == '\0')) return true;
  }
  return false;
}

}  // namespace hookd::process
