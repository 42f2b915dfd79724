#include "unit/support/scratch_folder.h"

#include <gtest/gtest-spi.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

namespace hookd::test {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithAllThatIsInIt) {
  std::string path;
  {
    const ScratchFolder folder(0755);
    path = folder.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(0755));
    EXPECT_EQ(folder.script("a/b/x.sh", "#!/bin/sh\n"), path + "/a/b/x.sh");
    EXPECT_EQ(fs::status(path + "/a/b/x.sh").permissions(), fs::perms(0755));
    fs::create_symlink("/nowhere", folder.path("link"));
    EXPECT_NE(ScratchFolder().path(), path);
  }
  EXPECT_FALSE(fs::exists(path));
}

// As the launcher's thread does it with the folders of children that ended.
TEST(ScratchFolder, GoesWhileSomebodyElseEmptiesIt) {
  for (int round = 0; round < 10; ++round) {
    std::optional<ScratchFolder> folder(std::in_place);
    for (int i = 0; i < 20; ++i) folder->file("d" + std::to_string(i) + "/a/b/c", "");
    const std::string path = folder->path();
    std::atomic<bool> begun = false;
    const std::jthread other([&] {
      std::error_code error;
      for (int i = 0; i < 20; ++i) {
        fs::remove_all(path + "/d" + std::to_string(i), error);
        begun = true;
        begun.notify_one();
      }
    });
    begun.wait(false);
    folder.reset();
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST(ScratchFolder, WhatStaysIsAFailureAndNoException) {
  std::string path;
  // Root may remove anything.
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  EXPECT_NONFATAL_FAILURE(
      {
        const ScratchFolder folder;
        path = folder.path();
        folder.file("closed/x", "");
        ::chmod(folder.path("closed").c_str(), 0500);
      },
      "stays behind: Permission denied");
  ::chmod((path + "/closed").c_str(), 0700);
  EXPECT_EQ(fs::remove_all(path), 3u);
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

}  // namespace
}  // namespace hookd::test
