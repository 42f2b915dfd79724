#include "app/runtime_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "process/leftovers.h"

namespace hookd::app {
namespace {

// By path. A process number tells nothing across containers that share a /tmp, where each hookd is process 1: who lives
// holds the lock of its folder, and the kernel lets go of it for whoever was killed.
std::map<std::string, Fd>& locks() {
  static std::map<std::string, Fd> all;
  return all;
}

// Locked unless another holds it (EWOULDBLOCK), or the file system has no locks.
Fd open_folder(const std::string& path, int& error) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  error = folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  return folder;
}

// A hookd that was killed leaves its folder with the hooks' kubeconfig behind, and hooks that run on: the next one
// clears both away, or two calls for one object could run at once. The number in the name is the owner's process; ours
// in a container that was started anew is that of the one before.
void remove_left_behind(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    int pid = 0, length = 0;
    if (std::sscanf(name.c_str(), "hookd-%d-%*6s%n", &pid, &length) != 1 || static_cast<size_t>(length) != name.size())
      continue;
    struct stat status{};
    if (::lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    if (pid != ::getpid() && (::kill(pid, 0) == 0 || errno != ESRCH)) continue;
    int locked = 0;
    const Fd folder = open_folder(entry.path().string(), locked);
    if (locked == EWOULDBLOCK) continue;
    if (const auto killed = process::kill_left_behind(name); !killed.empty())
      log::warn("hooks of a hookd that was killed were running still, they were killed",
                {{"pid", pid}, {"processes", process::describe(killed)}});
    std::filesystem::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<RuntimeDir> RuntimeDir::make() {
  std::vector<std::string> parents;
  if (const char* tmpdir = ::getenv("TMPDIR"); tmpdir && *tmpdir) parents.emplace_back(tmpdir);
  parents.insert(parents.end(), {"/tmp", "/dev/shm"});
  std::string tried;
  for (const std::string& parent : parents) {
    remove_left_behind(parent);
    std::string path = fmt::format("{}/hookd-{}-XXXXXX", parent, ::getpid());
    // Hooks that run as other users get to the one folder in it that is meant for them, and see nothing of the rest.
    if (::mkdtemp(path.data()) && ::chmod(path.c_str(), 0711) == 0) {
      int ignored = 0;
      locks()[path] = open_folder(path, ignored);
      return RuntimeDir(std::move(path));
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", parent, std::generic_category().message(errno));
  }
  return fail(Errc::kConfig,
              "no place for a private folder ({}); mount a writable /tmp (in Kubernetes an emptyDir) or set TMPDIR",
              tried);
}

RuntimeDir::~RuntimeDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  locks().erase(path_);
}

}  // namespace hookd::app
