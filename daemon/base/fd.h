// An owned file descriptor. Thread: any.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace hookd {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// The whole of a file, at most `limit_bytes`. Never blocks. Errors: kNotFound, kConfig (unreadable, a folder, a pipe, a
// device), kTooLarge.
Result<std::string> read_file(const std::string& path, size_t limit_bytes = 64u << 20);
// The same for a path that another program could choose what lies at: a link is kConfig too.
Result<std::string> read_regular_file(const std::string& path, size_t limit_bytes = 64u << 20);
// The same for what a command line names and is read once, before the loop runs: pipes and devices are read to their
// end too (`<(…)`, /dev/stdin, /dev/null), however long that takes.
Result<std::string> read_named_file(const std::string& path, size_t limit_bytes = 64u << 20);
// Writes `content` to a new file beside `path` with `mode` and renames it over `path`: readers see the old or the new
// whole.
Result<void> write_file(const std::string& path, std::string_view content, unsigned mode = 0600);

}  // namespace hookd
