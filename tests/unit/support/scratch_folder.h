// A folder of one test, with a name that no other process has, gone with it. It comes before (and so ends after)
// whatever works in it: the first member of a fixture.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace hookd::test {

class ScratchFolder {
 public:
  // `mode`: 0755 where a child that is another user has to get into it.
  explicit ScratchFolder(mode_t mode = 0700) {
    std::string pattern = testing::TempDir() + "/hookd-unit-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr || ::chmod(pattern.c_str(), mode) != 0)
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = std::filesystem::canonical(pattern).string();
  }
  // Never throws. A thread or a child may still be removing or writing: whatever came or went in between is met again
  // by the next attempt. What stays then stays for a reason, and is a failure of the test.
  ~ScratchFolder() {
    std::error_code error, unknown;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      std::filesystem::remove_all(path_, error);
      if (std::filesystem::symlink_status(path_, unknown).type() == std::filesystem::file_type::not_found) return;
    }
    ADD_FAILURE() << path_ << " stays behind: " << error.message();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Absolute, without links in it.
  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes NAME anew in its place (no rename), makes the folders on the way, and returns its path.
  std::string file(std::string_view name, std::string_view content, mode_t mode = 0644) const {
    std::string file = path(name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    if (!out || ::chmod(file.c_str(), mode) != 0) throw std::runtime_error("cannot write " + file);
    return file;
  }
  // One that can be run.
  std::string script(std::string_view name, std::string_view content) const { return file(name, content, 0755); }

 private:
  static constexpr int kMostAttempts = 100;

  std::string path_;
};

}  // namespace hookd::test
