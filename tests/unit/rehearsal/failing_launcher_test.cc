#include "rehearsal/failing_launcher.h"

#include <gmock/gmock.h>

#include "unit/support/fake_launcher.h"

namespace hookd::rehearsal {
namespace {

using testing::ElementsAre;

class FailingLauncherTest : public testing::Test {
 protected:
  std::unique_ptr<process::Child> start(const std::string& hook, bool stays = false) {
    process::ChildSpec spec;
    spec.keep_stdin = stays;
    spec.command = {"/x"};
    spec.environment = {"PATH=/bin", "HOOKD_CALL_ID=c", "HOOKD_HOOK=" + hook};
    process::ChildHandlers handlers;
    handlers.on_exit = [this](const process::ChildExit& exit) { exits.push_back(exit.code); };
    return *launcher.start(std::move(spec), std::move(handlers));
  }

  ManualScheduler scheduler;
  test::FakeLauncher real{scheduler};
  FailingLauncher launcher{real, scheduler};
  std::vector<int> exits;
};

TEST_F(FailingLauncherTest, TheNextCallsOfThatHookEndWithoutAProcess) {
  int started = 0;
  real.script = [&](const auto& child) {
    ++started;
    child->exit(0);
  };
  launcher.fail_next("h", 75, 2);
  const auto a = start("h"), other = start("other"), b = start("h");
  EXPECT_TRUE(exits.empty());  // never inline
  scheduler.run_posted();
  EXPECT_FALSE(launcher.has_fault_left("h"));
  const auto c = start("h");
  scheduler.run_posted();
  EXPECT_THAT(exits, testing::UnorderedElementsAre(75, 0, 75, 0));
  EXPECT_EQ(started, 2);
}

TEST_F(FailingLauncherTest, CountsRealProcessesUntilTheyEndOrAreDropped) {
  std::vector<std::shared_ptr<test::FakeLauncher::Started>> children;
  real.script = [&](const auto& child) { children.push_back(child); };
  auto a = start("h");
  auto b = start("h");
  scheduler.run_posted();
  EXPECT_EQ(launcher.running(), 2u);
  children[0]->exit(0);
  EXPECT_EQ(launcher.running(), 1u);
  a.reset();
  b.reset();
  EXPECT_EQ(launcher.running(), 0u);
}

// A worker is no call, and idle most of the time: a virtual clock must go on.
TEST_F(FailingLauncherTest, ProcessesThatStayAreNeitherCountedNorMadeToFail) {
  launcher.fail_next("h", 1, 1);
  const auto worker = start("h", true);
  scheduler.run_posted();
  EXPECT_EQ(real.started.size(), 1u);
  EXPECT_TRUE(exits.empty());
  EXPECT_EQ(launcher.running(), 0u);
  EXPECT_TRUE(launcher.has_fault_left("h"));
}

TEST_F(FailingLauncherTest, ADroppedFailureTellsNothing) {
  launcher.fail_next("h", 1, 1);
  start("h").reset();
  scheduler.run_posted();
  EXPECT_TRUE(exits.empty());
  EXPECT_EQ(launcher.running(), 0u);
}

}  // namespace
}  // namespace hookd::rehearsal
