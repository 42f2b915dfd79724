#include "base/fd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "unit/support/scratch_folder.h"

namespace hookd {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() {}
  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
};

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesWhatItOwnsOnce) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  Fd second(pipe[1]);
  {
    Fd first(pipe[0]);
    Fd moved = std::move(first);
    EXPECT_EQ(moved.get(), pipe[0]);
    EXPECT_TRUE(is_open(pipe[0]));
  }
  EXPECT_FALSE(is_open(pipe[0]));
  const int kept = second.release();
  EXPECT_TRUE(is_open(kept));
  EXPECT_FALSE(second);
  second = Fd(kept);
  second.reset();
  EXPECT_FALSE(is_open(kept));
}

TEST_F(FileTest, WriteFileIsWholeHasItsModeAndLeavesNothingBeside) {
  const std::string path = folder + "/x";
  ASSERT_TRUE(write_file(path, "one", 0644));
  ASSERT_TRUE(write_file(path, std::string(200'000, 'z'), 0600));
  EXPECT_EQ(read_file(path)->size(), 200'000u);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(FileTest, WriteFileThatFailsLeavesNothingBehind) {
  fs::create_directory(folder + "/x");  // rename() of a file over a folder fails
  const auto written = write_file(folder + "/x", "one");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kConfig);
  EXPECT_FALSE(fs::exists(folder + "/x.new"));
}

TEST_F(FileTest, ReadFileTellsMissingUnreadableAndTooLargeApart) {
  EXPECT_EQ(read_file(folder + "/none").error().code, Errc::kNotFound);
  EXPECT_EQ(read_file(folder).error().code, Errc::kConfig);
  ASSERT_TRUE(write_file(folder + "/x", "12345"));
  EXPECT_EQ(read_file(folder + "/x", 5), "12345");
  const auto large = read_file(folder + "/x", 4);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_THAT(large.error().what, HasSubstr("over 4 bytes"));
}

// A hook chooses what lies at the path of its answer file.
TEST_F(FileTest, ReadRegularFileTakesNeitherLinksNorPipesAndNeverBlocks) {
  ASSERT_TRUE(write_file(folder + "/x", "12345"));
  EXPECT_EQ(read_regular_file(folder + "/x"), "12345");
  EXPECT_EQ(read_regular_file(folder + "/none").error().code, Errc::kNotFound);
  ASSERT_EQ(::symlink("x", (folder + "/link").c_str()), 0);
  EXPECT_THAT(read_regular_file(folder + "/link").error().what, HasSubstr("symbolic link"));
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_regular_file(folder + "/pipe").error().what, HasSubstr("not a regular file"));
  EXPECT_THAT(read_regular_file(folder).error().what, HasSubstr("not a regular file"));
  EXPECT_EQ(read_regular_file(folder + "/x", 4).error().code, Errc::kTooLarge);
}

TEST_F(FileTest, APipeOrDeviceIsRefusedAndNeverWaitedFor) {
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder + "/pipe", std::string("/dev/zero"), std::string("/dev/tty")}) {
    const auto read = read_file(path);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, Errc::kConfig);
  }
  EXPECT_THAT(read_file(folder + "/pipe").error().what, HasSubstr("/pipe: not a regular file but a pipe or device"));
  EXPECT_THAT(read_file(folder).error().what, HasSubstr("a folder, not a regular file"));
}

// `hookd call --object <(kubectl get … -o yaml)`: the writer may take its time.
TEST_F(FileTest, WhatTheCommandLineNamesMayBeAPipeOrDevice) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&pipe] {
    const Fd out(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(::write(out.get(), std::string(100, 'x').data(), 100), 100);
  });
  EXPECT_EQ(read_named_file(pipe).value_or("").size(), 200'000u);
  EXPECT_EQ(read_named_file("/dev/null"), "");
  EXPECT_EQ(read_named_file("/dev/zero", 1000).error().code, Errc::kTooLarge);
  EXPECT_EQ(read_named_file(folder).error().code, Errc::kConfig);
  EXPECT_EQ(read_named_file(folder + "/none").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace hookd
