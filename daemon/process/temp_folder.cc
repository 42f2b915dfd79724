#include "process/temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/log.h"

namespace hookd::process {
namespace {

constexpr int kMostPasses = 1'000'000;  // levels of folders, at most

std::string errno_text(int error) { return std::generic_category().message(error); }

// chmod of a name follows links, and whose name it is may change: what is opened does not.
void make_writable(int parent, const char* name) {
  const Fd folder(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) ::chmod(fmt::format("/proc/self/fd/{}", folder.get()).c_str(), 0700);
}

// Names first, then changes: readdir and unlink at once may skip entries.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return names;
  DIR* const list = ::fdopendir(own);
  if (!list) {
    ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(list);
  return names;
}

class TreeRemoval {
 public:
  TreeRemoval(int top, const std::stop_token& stop) : top_(top), stop_(stop) {}

  // 0 or the errno of what stayed. Each pass takes one level away: folders' folders are moved up to the top.
  int run() {
    for (int pass = 0; pass < kMostPasses; ++pass) {
      const auto names = names_in(top_);
      if (names.empty()) return 0;
      const size_t removed = removed_;
      error_ = 0;
      for (const std::string& name : names) {
        if (stop_.stop_requested()) return ECANCELED;
        remove_entry(name);
      }
      if (removed_ == removed) return error_ != 0 ? error_ : EBUSY;
    }
    return EBUSY;
  }

 private:
  void note(int result) {
    if (result == 0)
      ++removed_;
    else
      error_ = errno;
  }

  void remove_entry(const std::string& name) {
    if (::unlinkat(top_, name.c_str(), 0) == 0) return note(0);
    if (errno != EISDIR && errno != EPERM) return note(-1);
    Fd folder(::openat(top_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder || ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      make_writable(top_, name.c_str());
      folder = Fd(::openat(top_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!folder) return note(-1);
    for (const std::string& inner : names_in(folder.get())) {
      if (stop_.stop_requested()) return;
      if (::unlinkat(folder.get(), inner.c_str(), 0) == 0) {
        note(0);
        continue;
      }
      if (errno != EISDIR && errno != EPERM) {
        note(-1);
        continue;
      }
      if (::unlinkat(folder.get(), inner.c_str(), AT_REMOVEDIR) == 0) {
        note(0);
        continue;
      }
      make_writable(folder.get(), inner.c_str());  // its entry ".." changes too
      note(::renameat(folder.get(), inner.c_str(), top_, fmt::format("{}-{}", prefix_, moved_++).c_str()));
    }
    note(::unlinkat(top_, name.c_str(), AT_REMOVEDIR));
  }

  int top_;
  const std::stop_token& stop_;
  size_t removed_ = 0;
  size_t moved_ = 0;
  int error_ = 0;
  // No name of the hook's own.
  const std::string prefix_ = fmt::format(".hookd-{:08x}{:08x}", std::random_device{}(), std::random_device{}());
};

}  // namespace

Result<void> remove_tree(const std::string& path, const std::stop_token& stop) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  make_writable(AT_FDCWD, path.c_str());
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) return fail(Errc::kConfig, "{}: {}", path, errno_text(errno));
  if (const int error = TreeRemoval(top.get(), stop).run())
    return fail(error == ECANCELED ? Errc::kCancelled : Errc::kConfig, "{}: not everything in it could be removed: {}",
                path, errno_text(error));
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(Errc::kConfig, "{}: {}", path, errno_text(errno));
}

namespace {

// Nothing is in it, and nobody changed its rights.
bool is_as_made(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  return folder && ::fstat(folder.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         status.st_gid == ::getegid() && (status.st_mode & 07777) == 0700 && names_in(folder.get()).empty();
}

}  // namespace

TempRemover::~TempRemover() {
  for (const std::string& spare : spares_) ::rmdir(spare.c_str());
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

std::string TempRemover::take_spare(const std::string& parent) {
  const auto spare = std::ranges::find_if(spares_, [&](const std::string& path) {
    return path.size() > parent.size() && path.starts_with(parent) && path.rfind('/') == parent.size();
  });
  if (spare == spares_.end()) return {};
  std::string path = std::move(*spare);
  spares_.erase(spare);
  // Whoever had it may have left something that still writes.
  return is_as_made(path) ? path : (remove(std::move(path)), std::string());
}

void TempRemover::remove(std::string path) {
  if (spares_.size() < kMaxSpares && is_as_made(path)) return spares_.push_back(std::move(path));
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  if (errno == ENOTDIR && ::unlink(path.c_str()) == 0) return;  // a link that the child put in its place
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(path));
  }
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  changed_.notify_one();
}

void TempRemover::work(const std::stop_token& stop) {
  while (true) {
    std::string path;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      path = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (auto removed = remove_tree(path, stop); !removed && removed.error().code != Errc::kCancelled)
      log::warn("a hook's temporary folder stays behind", {{"error", removed.error().what}});
  }
}

Result<std::unique_ptr<TempFolder>> TempFolder::make(const std::string& parent, std::shared_ptr<TempRemover> remover) {
  if (std::string spare = remover->take_spare(parent); !spare.empty())
    return std::unique_ptr<TempFolder>(new TempFolder(std::move(spare), std::move(remover)));
  std::string path = parent + "/tmp-XXXXXX";
  if (!::mkdtemp(path.data()))
    return fail(Errc::kHookFailed, "{}: no temporary folder can be made in it: {}", parent, errno_text(errno));
  return std::unique_ptr<TempFolder>(new TempFolder(std::move(path), std::move(remover)));
}

}  // namespace hookd::process
