#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace hookd {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

Result<std::string> read_all(const Fd& fd, const std::string& path, size_t limit_bytes) {
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kConfig, "{}: {}", path, errno_text());
    if (got == 0) return content;
    if (content.size() + static_cast<size_t>(got) > limit_bytes)
      return fail(Errc::kTooLarge, "{}: over {} bytes", path, limit_bytes);
    content.append(buffer, static_cast<size_t>(got));
  }
}

// O_NONBLOCK: to open a pipe would wait for a writer, and with it the whole daemon.
Result<std::string> read_at(const std::string& path, int flags, size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (!fd && errno == ELOOP && flags != 0) return fail(Errc::kConfig, "{}: a symbolic link, not a file", path);
  if (!fd) return fail(errno == ENOENT ? Errc::kNotFound : Errc::kConfig, "{}: {}", path, errno_text());
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(Errc::kConfig, "{}: {}", path, errno_text());
  if (S_ISDIR(status.st_mode)) return fail(Errc::kConfig, "{}: a folder, not a regular file", path);
  if (!S_ISREG(status.st_mode))
    return fail(Errc::kConfig, "{}: not a regular file but a pipe or device, which may never end; give a file", path);
  return read_all(fd, path, limit_bytes);
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t limit_bytes) { return read_at(path, 0, limit_bytes); }

Result<std::string> read_regular_file(const std::string& path, size_t limit_bytes) {
  return read_at(path, O_NOFOLLOW, limit_bytes);
}

Result<std::string> read_named_file(const std::string& path, size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail(errno == ENOENT ? Errc::kNotFound : Errc::kConfig, "{}: {}", path, errno_text());
  return read_all(fd, path, limit_bytes);
}

Result<void> write_file(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".new";
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd) return fail(Errc::kConfig, "{}: {}", temporary, errno_text());
  const auto give_up = [&](const std::string& where) {
    const std::string why = errno_text();
    ::unlink(temporary.c_str());
    return fail(Errc::kConfig, "{}: {}", where, why);
  };
  while (!content.empty()) {
    const ssize_t put = ::write(fd.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return give_up(temporary);
    content.remove_prefix(static_cast<size_t>(put));
  }
  if (::fchmod(fd.get(), mode) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) return give_up(path);
  return {};
}

}  // namespace hookd
