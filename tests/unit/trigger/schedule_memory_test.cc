// Schedules over restarts of the daemon.
#include <gmock/gmock.h>

#include "base/time.h"
#include "state/sqlite_store.h"
#include "trigger/schedule_trigger.h"
#include "unit/support/scratch_folder.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Missed = hook::ScheduleBinding::Missed;

class ScheduleMemoryTest : public testing::Test {
 protected:
  ScheduleMemoryTest() {
    EXPECT_TRUE(store.emplace(scheduler, state::SqliteStore::Options{folder.path()}).open());
    binding.name = "nightly";
  }
  void start() {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = "h";
    hook->schedules = {binding};
    trigger = std::make_unique<ScheduleTrigger>(
        hook, hook->schedules.front(), scheduler, random, metrics,
        [this](const std::string&, const hook::Event&, bool) {
          walls.push_back(format_rfc3339(scheduler.wall_now()).substr(5, 14));
          if (works) trigger->handled();
        },
        [](const std::string&) { return false; }, &*store);
    trigger->start();
  }
  void down_for(Duration time) {
    trigger.reset();
    scheduler.advance(time);
  }
  std::vector<std::string> taken() { return std::exchange(walls, {}); }

  const test::ScratchFolder folder;
  ManualScheduler scheduler;  // 2026-01-01T00:00:00Z
  SeededRandom random;
  metrics::Registry metrics;
  std::optional<state::SqliteStore> store;
  hook::ScheduleBinding binding;
  std::unique_ptr<ScheduleTrigger> trigger;
  std::vector<std::string> walls;
  bool works = true;
};

TEST_F(ScheduleMemoryTest, ATickWhileDownIsRunOnceAfterIt) {
  binding.cron = "0 3 * * *";
  start();
  scheduler.advance(1h);
  down_for(50h);  // two nights
  start();
  scheduler.advance(1s);
  EXPECT_THAT(taken(), ElementsAre("01-03T03:00:00"));
  down_for(10min);
  start();
  scheduler.advance(24h);
  EXPECT_THAT(taken(), ElementsAre("01-04T03:00:00")) << "nothing was missed this time";
}

TEST_F(ScheduleMemoryTest, MissedSkipRunsNothingLate) {
  binding.cron = "0 3 * * *";
  binding.missed = Missed::kSkip;
  start();
  down_for(10h);
  start();
  scheduler.advance(1h);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(ScheduleMemoryTest, ATickWhoseCallWasCutOffIsMissed) {
  binding.cron = "0 3 * * *";
  start();
  works = false;
  scheduler.advance(4h);
  EXPECT_THAT(taken(), ElementsAre("01-01T03:00:00"));
  down_for(1min);
  works = true;
  start();
  scheduler.advance(1s);
  EXPECT_THAT(taken(), ElementsAre("01-01T04:01:00"));
}

// The call of one tick ends while the next one waits for its jitter: that one is not handled by it.
TEST_F(ScheduleMemoryTest, ATickThatWaitsForItsJitterIsMissedToo) {
  binding.every = 1h;
  binding.jitter = 10min;
  works = false;
  start();
  scheduler.advance(2h);
  EXPECT_EQ(taken().size(), 1u);
  trigger->handled();
  down_for(0s);
  works = true;
  start();
  scheduler.advance(10min);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(ScheduleMemoryTest, EveryGoesOnInStep) {
  binding.every = 1h;
  start();
  scheduler.advance(150min);
  EXPECT_THAT(taken(), ElementsAre("01-01T01:00:00", "01-01T02:00:00"));
  down_for(10min);
  start();
  scheduler.advance(30min);
  EXPECT_THAT(taken(), ElementsAre("01-01T03:00:00")) << "as if nothing had happened";
  down_for(130min);
  start();
  scheduler.advance(1s);
  EXPECT_THAT(taken(), ElementsAre("01-01T05:20:00")) << "once for both";
  scheduler.advance(1h);
  EXPECT_THAT(taken(), ElementsAre("01-01T06:00:00"));
}

TEST_F(ScheduleMemoryTest, AnotherScheduleBeginsAnew) {
  binding.every = 1h;
  start();
  down_for(5h);
  binding.every = 2h;
  start();
  scheduler.advance(119min);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(1min);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(ScheduleMemoryTest, AClockThatWasAheadIsNoReasonToWait) {
  binding.every = 1h;
  start();
  scheduler.advance(1h);
  taken();
  down_for(0s);
  scheduler.set_wall(scheduler.wall_now() - 24h);
  start();
  scheduler.advance(1h);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(ScheduleMemoryTest, ShortOnesAreNotKept) {
  binding.every = 30s;
  start();
  scheduler.advance(5min);
  size_t rows = 0;
  store->each("ticked", "", [&](std::string_view, std::string_view) { ++rows; });
  EXPECT_EQ(rows, 0u);
}

}  // namespace
}  // namespace hookd::trigger
