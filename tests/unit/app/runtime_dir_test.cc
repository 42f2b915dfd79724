#include "app/runtime_dir.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/fd.h"
#include "process/leftovers.h"
#include "process/proc.h"
#include "unit/support/scratch_folder.h"

namespace hookd::app {
namespace {

namespace fs = std::filesystem;

class RuntimeDirTest : public testing::Test {
 protected:
  RuntimeDirTest() {
    if (const char* old = ::getenv("TMPDIR")) before = old;
    ::setenv("TMPDIR", parent.c_str(), 1);
  }
  ~RuntimeDirTest() override { before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1); }
  const test::ScratchFolder scratch;
  const std::string& parent = scratch.path();
  std::string before;
};

// As of two containers with one /tmp, in each of which hookd is process 1.
TEST_F(RuntimeDirTest, LeavesTheFolderOfOneThatLivesEvenWithItsOwnNumber) {
  auto first = RuntimeDir::make();
  ASSERT_TRUE(first) << first.error().what;
  const std::string path = first->path();
  {
    auto second = RuntimeDir::make();
    ASSERT_TRUE(second) << second.error().what;
    EXPECT_NE(second->path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(RuntimeDirTest, OthersPassThroughItButCannotLookOrWrite) {
  auto made = RuntimeDir::make();
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(made->path().starts_with(parent + "/hookd-"));
  struct stat status{};
  ASSERT_EQ(::stat(made->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0711u);
}

TEST_F(RuntimeDirTest, GoesWithAllThatIsInIt) {
  std::string path;
  {
    auto made = RuntimeDir::make();
    ASSERT_TRUE(made);
    path = made->path();
    RuntimeDir moved = *std::move(made);
    ASSERT_TRUE(write_file(path + "/x", "y"));
    fs::create_directory(path + "/answers");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RuntimeDirTest, EndsHooksThatAKilledDaemonLeftAndNoOthers) {
  // As no other test has it, which may run at the same time: it looks at every process of the machine.
  const std::string gone = "hookd-4100000-" + parent.substr(parent.size() - 6);
  fs::create_directory(parent + "/" + gone);
  const auto start = [](std::string mark) {
    std::string program = "/bin/sleep", time = "1000";
    char* argv[] = {program.data(), time.data(), nullptr};
    char* envp[] = {mark.data(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, envp), 0);
    while (!process::has_variable(pid, mark)) ::sched_yield();  // posix_spawn returns in the middle of its exec
    return pid;
  };
  const pid_t left = start(process::child_mark(gone, "1"));
  const pid_t other = start(process::child_mark("hookd-4100001-" + parent.substr(parent.size() - 6), "1"));
  ASSERT_TRUE(RuntimeDir::make());
  int status = 0;
  EXPECT_EQ(::waitpid(left, &status, 0), left);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(::waitpid(other, &status, WNOHANG), 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, &status, 0);
}

TEST_F(RuntimeDirTest, ClearsAwayWhatAKilledDaemonLeftAndNothingElse) {
  const int gone = 4'100'000;  // over the greatest process number of any kernel
  for (const std::string& name : {fmt::format("hookd-{}-abcdef", gone), fmt::format("hookd-{}-abcdef", ::getppid()),
                                  std::string("hookd-x-abcdef"), fmt::format("hookd-{}-abcdef-mine", gone)})
    fs::create_directory(parent + "/" + name);
  const auto made = RuntimeDir::make();
  ASSERT_TRUE(made);
  EXPECT_FALSE(fs::exists(fmt::format("{}/hookd-{}-abcdef", parent, gone)));
  EXPECT_TRUE(fs::exists(fmt::format("{}/hookd-{}-abcdef", parent, ::getppid())));
  EXPECT_TRUE(fs::exists(parent + "/hookd-x-abcdef"));
  EXPECT_TRUE(fs::exists(fmt::format("{}/hookd-{}-abcdef-mine", parent, gone)));
}

TEST_F(RuntimeDirTest, FallsBackWhereTmpdirIsNoPlace) {
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  auto made = RuntimeDir::make();
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(made->path().starts_with("/tmp/hookd-") || made->path().starts_with("/dev/shm/hookd-"));
}

}  // namespace
}  // namespace hookd::app
