#include "app/folder_watch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "unit/support/scratch_folder.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FolderWatchTest : public testing::Test {
 protected:
  FolderWatchTest() {}

  // Runs the loop until a change was told; fails if none comes.
  void until_changed() {
    context.restart();
    const Timer late = scheduler.after(10s, [this] {
      ADD_FAILURE() << "no change was told";
      context.stop();
    });
    context.run();
  }

  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};
  int changes = 0;
  std::function<void()> on_change = [this] {
    ++changes;
    context.stop();
  };
};

TEST_F(FolderWatchTest, SeveralChangesAtOnceAreOne) {
  FolderWatch watch(scheduler, {folder}, on_change);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(write_file(folder + "/h" + std::to_string(i) + ".yaml", "x"));
  until_changed();
  EXPECT_EQ(changes, 1);
}

TEST_F(FolderWatchTest, SeesFilesInFoldersMadeSince) {
  FolderWatch watch(scheduler, {folder}, on_change);
  fs::create_directory(folder + "/new");
  until_changed();
  ASSERT_TRUE(write_file(folder + "/new/hook.yaml", "x"));
  until_changed();
  EXPECT_EQ(changes, 2);
}

TEST_F(FolderWatchTest, SeesRunBitsAndRemovals) {
  ASSERT_TRUE(write_file(folder + "/h.sh", "x"));
  FolderWatch watch(scheduler, {folder}, on_change);
  fs::permissions(folder + "/h.sh", fs::perms::owner_all);
  until_changed();
  fs::remove(folder + "/h.sh");
  until_changed();
  EXPECT_EQ(changes, 2);
}

// A ConfigMap mount: files are links through ..data, which is swapped.
TEST_F(FolderWatchTest, SeesTheSwapOfAConfigMapMount) {
  for (const char* version : {"/..one", "/..two"}) {
    fs::create_directory(folder + version);
    ASSERT_TRUE(write_file(folder + version + "/hook.yaml", version));
  }
  fs::create_directory_symlink("..one", folder + "/..data");
  fs::create_symlink("..data/hook.yaml", folder + "/hook.yaml");
  FolderWatch watch(scheduler, {folder}, on_change);
  fs::create_directory_symlink("..two", folder + "/..tmp");
  fs::rename(folder + "/..tmp", folder + "/..data");
  until_changed();
  EXPECT_EQ(changes, 1);
}

TEST_F(FolderWatchTest, AFolderThatChangesAllTheTimeIsStillTold) {
  FolderWatch watch(scheduler, {folder}, on_change);
  Timer writer;
  int writes = 0;
  std::function<void()> write = [&] {
    ASSERT_TRUE(write_file(folder + "/log", std::to_string(++writes)));
    writer = scheduler.after(100ms, write);
  };
  write();
  until_changed();
  EXPECT_EQ(changes, 1);
}

TEST_F(FolderWatchTest, MissingFoldersAndItsOwnEndDoNoHarm) {
  auto watch = std::make_unique<FolderWatch>(scheduler, std::vector<std::string>{folder + "/none", folder}, on_change);
  ASSERT_TRUE(write_file(folder + "/x", "y"));
  const Timer end = scheduler.after(50ms, [&] { watch.reset(); });
  const Timer stop = scheduler.after(700ms, [&] { context.stop(); });
  context.run();
  EXPECT_EQ(changes, 0);
}

}  // namespace
}  // namespace hookd::app
