#include "rehearsal/counting_launcher.h"

#include <gmock/gmock.h>

#include "unit/support/fake_launcher.h"

namespace hookd::rehearsal {
namespace {

class CountingLauncherTest : public testing::Test {
 protected:
  std::unique_ptr<process::Child> start(const std::string& hook, bool stays = false) {
    process::ChildSpec spec;
    spec.keep_stdin = stays;
    spec.command = {"/x"};
    spec.environment = {"PATH=/bin", "HOOKD_CALL_ID=c", "HOOKD_HOOK=" + hook};
    process::ChildHandlers handlers;
    handlers.on_exit = [](const process::ChildExit&) {};
    return *launcher.start(std::move(spec), std::move(handlers));
  }

  ManualScheduler scheduler;
  test::FakeLauncher real{scheduler};
  CountingLauncher launcher{real};
};

TEST_F(CountingLauncherTest, CountsRealProcessesUntilTheyEndOrAreDropped) {
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
TEST_F(CountingLauncherTest, ProcessesThatStayAreNotCounted) {
  const auto worker = start("h", true);
  scheduler.run_posted();
  EXPECT_EQ(real.started.size(), 1u);
  EXPECT_EQ(launcher.running(), 0u);
}

}  // namespace
}  // namespace hookd::rehearsal
