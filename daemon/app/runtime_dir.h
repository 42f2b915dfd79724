// The daemon's private folder for answer files and the hooks' kubeconfig: mode 0700, gone with the daemon. Thread: loop
// only.
#pragma once

#include <string>

#include "base/result.h"

namespace hookd::app {

class RuntimeDir {
 public:
  // Below TMPDIR, else /tmp, else /dev/shm. Errors: kConfig: none of them can be written, with what to do.
  static Result<RuntimeDir> make();
  ~RuntimeDir();
  RuntimeDir(RuntimeDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  RuntimeDir& operator=(RuntimeDir&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit RuntimeDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace hookd::app
