#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace hookd {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

Result<std::string> read_file(const std::string& path, size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errno == ENOENT ? Errc::kNotFound : Errc::kConfig, "{}: {}", path, errno_text());
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

Result<void> write_file(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".new";
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd) return fail(Errc::kConfig, "{}: {}", temporary, errno_text());
  while (!content.empty()) {
    const ssize_t put = ::write(fd.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(Errc::kConfig, "{}: {}", temporary, errno_text());
    content.remove_prefix(static_cast<size_t>(put));
  }
  if (::fchmod(fd.get(), mode) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(Errc::kConfig, "{}: {}", path, errno_text());
  return {};
}

}  // namespace hookd
