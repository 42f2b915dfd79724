#include "process/reaper.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_child.h"

namespace hookd::process {
namespace {

class ReaperTest : public SubreaperTest {
 protected:
  static bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
  }

  // Starts a process that no launcher knows and that ends at once. (fork: in a test, with one thread)
  static int start_other(int code) {
    const int pid = ::fork();
    if (pid == 0) ::_exit(code);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);  // a zombie from here on
    return pid;
  }
};

TEST_F(ReaperTest, ReapsOrphansAndLeavesTheExitOfOurs) {
  Reaper reaper(scheduler_, [this](int pid) { return launcher_.owns(pid); });
  // The first shell leaves its child behind in another session; that one lives a little longer.
  for (int i = 0; i < 20; ++i) {
    const Ran ran = run(shell("setsid sh -c 'sleep 0.05' >/dev/null 2>&1 </dev/null & exit 7"));
    EXPECT_EQ(ran.exit.describe(), "exit code 7");
  }
  EXPECT_TRUE(run_until([] { return !has_children(); }));
  EXPECT_GE(reaper.reaped(), 20u);
}

TEST_F(ReaperTest, ReapsWhatIsThereAtItsStart) {
  const int pid = start_other(0);
  Reaper reaper(scheduler_, [](int) { return false; });
  EXPECT_EQ(reaper.reaped(), 1u);
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
}

// The kernel names the same zombie again and again as long as it is not reaped.
TEST_F(ReaperTest, AZombieOfOursDoesNotHideTheOrphansBehindIt) {
  const int ours = start_other(42);
  for (int i = 0; i < 3; ++i) start_other(0);
  Reaper reaper(scheduler_, [&](int pid) { return pid == ours; });
  EXPECT_EQ(reaper.reaped(), 3u);
  int status = 0;
  ASSERT_EQ(::waitpid(ours, &status, WNOHANG), ours);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_FALSE(has_children());
}

TEST_F(ReaperTest, LeavesALivingChildThatIsNotOurs) {
  auto child = launcher_.start(shell("exec sleep 1000"), {});
  ASSERT_TRUE(child);
  Reaper reaper(scheduler_, [](int) { return false; });
  reaper.reap_now();
  EXPECT_EQ(reaper.reaped(), 0u);
  EXPECT_FALSE(is_dead((*child)->pid()));
  child->reset();
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0; }));
}

TEST_F(ReaperTest, MayGoWhileASignalIsOnItsWay) {
  {
    Reaper reaper(scheduler_, [](int) { return false; });
    ::raise(SIGCHLD);
  }
  context_.restart();
  context_.poll();
  EXPECT_FALSE(run(shell("exit 1")).exit.code == 0);
}

}  // namespace
}  // namespace hookd::process
