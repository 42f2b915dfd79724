#include "trigger/schedule_trigger.h"

#include <gmock/gmock.h>

#include "base/time.h"
#include "unit/support/log_tap.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Overlap = hook::ScheduleBinding::Overlap;
using Missed = hook::ScheduleBinding::Missed;

class ScheduleTriggerTest : public testing::Test {
 protected:
  ScheduleTriggerTest() { binding.name = "sweep"; }

  void start() {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = "h";
    hook->schedules = {binding};
    trigger = std::make_unique<ScheduleTrigger>(
        hook, hook->schedules.front(), scheduler, random, metrics,
        [this](const std::string& key, const hook::Event& event, bool exclusive) {
          EXPECT_EQ(key, "schedule/sweep");
          EXPECT_EQ(event.binding, "sweep");
          EXPECT_EQ(event.type, hook::Event::Type::kSchedule);
          EXPECT_FALSE(exclusive);
          ticks.push_back(scheduler.now() - SteadyTime{});
          walls.push_back(format_rfc3339(scheduler.wall_now()).substr(5));
        },
        [this](const std::string&) { return busy; });
    trigger->start();
  }
  std::vector<Duration> taken() { return std::exchange(ticks, {}); }

  ManualScheduler scheduler;  // 2026-01-01T00:00:00Z
  SeededRandom random;
  metrics::Registry metrics;
  hook::ScheduleBinding binding;
  std::unique_ptr<ScheduleTrigger> trigger;
  std::vector<Duration> ticks;
  std::vector<std::string> walls;
  bool busy = false;
};

TEST_F(ScheduleTriggerTest, EveryTicksAtMultiplesOfItFromTheStart) {
  binding.every = 10s;
  scheduler.advance(3s);
  start();
  EXPECT_EQ(trigger->next(), scheduler.wall_now() + 10s);
  scheduler.advance(45s);
  EXPECT_THAT(taken(), ElementsAre(13s, 23s, 33s, 43s));
}

TEST_F(ScheduleTriggerTest, EveryDoesNotDriftInAYear) {
  binding.every = 7min;
  start();
  scheduler.advance(365 * 24h);
  ASSERT_EQ(ticks.size(), size_t{365} * 24 * 60 / 7);
  EXPECT_EQ(ticks.back(), Duration(7min) * ticks.size());
}

TEST_F(ScheduleTriggerTest, CronTicksAtItsTimesInItsZone) {
  binding.cron = "0 3 * * *";
  binding.time_zone = "Europe/Berlin";
  start();
  scheduler.advance(60h);
  EXPECT_THAT(walls, ElementsAre("01-01T02:00:00Z", "01-02T02:00:00Z", "01-03T02:00:00Z"));
}

TEST_F(ScheduleTriggerTest, CronHasSeconds) {
  binding.cron = "*/20 * * * * *";
  start();
  scheduler.advance(1min);
  EXPECT_THAT(taken(), ElementsAre(20s, 40s, 60s));
}

TEST_F(ScheduleTriggerTest, ACronThatCannotBeReadIsSaidAndDoesNothing) {
  test::LogTap tap;
  binding.cron = "61 * * * *";
  start();
  scheduler.advance(24h);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(tap.count("a schedule cannot run"), 1u);
}

TEST_F(ScheduleTriggerTest, JitterDelaysEachTickByUpToThatMuchWithoutDrift) {
  binding.every = 1min;
  binding.jitter = 20s;
  start();
  scheduler.advance(100min + 20s);
  ASSERT_EQ(ticks.size(), 100u);
  std::set<Duration> delays;
  for (size_t i = 0; i < ticks.size(); ++i) {
    const Duration delay = ticks[i] - Duration(1min) * (i + 1);
    EXPECT_GE(delay, Duration::zero());
    EXPECT_LT(delay, Duration(20s));
    delays.insert(delay);
  }
  EXPECT_GT(delays.size(), 50u);
}

TEST_F(ScheduleTriggerTest, JitterLongerThanTheIntervalDoesNotSwallowEveryTick) {
  binding.every = 10s;
  binding.jitter = 60s;
  start();
  scheduler.advance(1h);
  EXPECT_GT(ticks.size(), 60u);
  EXPECT_LE(ticks.size(), 360u);
}

TEST_F(ScheduleTriggerTest, OverlapSkipDropsATickWhileTheOneBeforeIsNotOver) {
  binding.every = 10s;
  start();
  scheduler.advance(10s);
  busy = true;
  scheduler.advance(25s);
  busy = false;
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre(10s, 40s));
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_schedule_skipped_total{binding="sweep",hook="h"} 2)"));
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_events_total{binding="sweep",hook="h",type="Schedule"} 2)"));
}

TEST_F(ScheduleTriggerTest, OverlapQueueTicksAllTheSame) {
  binding.every = 10s;
  binding.overlap = Overlap::kQueue;
  busy = true;
  start();
  scheduler.advance(30s);
  EXPECT_THAT(taken(), ElementsAre(10s, 20s, 30s));
}

// The machine slept: wall time went on, ours did not.
TEST_F(ScheduleTriggerTest, MissedTicksAreOneRunAtOnce) {
  binding.cron = "0 * * * *";
  start();
  scheduler.advance(30min);
  scheduler.set_wall(scheduler.wall_now() + 5h);
  scheduler.advance(31s);
  EXPECT_EQ(ticks.size(), 1u);
  scheduler.advance(30min);
  EXPECT_THAT(walls, ElementsAre(testing::StartsWith("01-01T05:30:"), "01-01T06:00:00Z"));
}

TEST_F(ScheduleTriggerTest, MissedTicksOfEveryToo) {
  binding.every = 10min;
  start();
  scheduler.advance(5min);
  scheduler.set_wall(scheduler.wall_now() + 61min);
  scheduler.advance(30s);
  EXPECT_EQ(ticks.size(), 1u);
  scheduler.advance(5min);
  EXPECT_THAT(walls, ElementsAre(testing::StartsWith("01-01T01:06:"), "01-01T01:10:00Z"));
}

TEST_F(ScheduleTriggerTest, MissedSkipRunsNone) {
  binding.cron = "0 * * * *";
  binding.missed = Missed::kSkip;
  start();
  scheduler.set_wall(scheduler.wall_now() + 5h + 30min);
  scheduler.advance(31s);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(30min);
  EXPECT_THAT(walls, ElementsAre("01-01T06:00:00Z"));
}

TEST_F(ScheduleTriggerTest, AClockSetBackALittleRepeatsNothing) {
  binding.cron = "0 * * * *";
  start();
  scheduler.advance(1h + 10min);
  scheduler.set_wall(scheduler.wall_now() - 30min);  // 00:40
  scheduler.advance(1h);                             // 01:40
  EXPECT_THAT(walls, ElementsAre("01-01T01:00:00Z"));
  scheduler.advance(20min);
  EXPECT_THAT(walls, ElementsAre("01-01T01:00:00Z", "01-01T02:00:00Z"));
}

// A machine that started with a wrong date must not wait for years.
TEST_F(ScheduleTriggerTest, AClockSetBackFarGoesOnFromTheNewTime) {
  scheduler.set_wall(scheduler.wall_now() + 10 * 365 * 24h);
  binding.cron = "0 * * * *";
  start();
  scheduler.advance(10min);
  scheduler.set_wall(scheduler.wall_now() - 10 * 365 * 24h);
  scheduler.advance(1h);
  EXPECT_EQ(ticks.size(), 1u);
}

TEST_F(ScheduleTriggerTest, EveryGoesOnWithinOneIntervalWhenTheClockIsSetBack) {
  binding.every = 10min;
  start();
  scheduler.advance(25min);
  EXPECT_EQ(taken().size(), 2u);
  for (int i = 0; i < 5; ++i) {
    scheduler.set_wall(scheduler.wall_now() - 24h);
    scheduler.advance(10min + 30s);
    EXPECT_EQ(taken().size(), 1u) << i;
  }
}

TEST_F(ScheduleTriggerTest, TickIsOneNow) {
  binding.cron = "0 3 * * *";
  start();
  trigger->tick();
  EXPECT_THAT(taken(), ElementsAre(0s));
}

TEST_F(ScheduleTriggerTest, GoneItTicksNoMore) {
  binding.every = 10s;
  binding.jitter = 5s;
  start();
  scheduler.advance(10s);
  taken();
  trigger.reset();
  scheduler.advance(1min);
  EXPECT_THAT(taken(), IsEmpty());
}

}  // namespace
}  // namespace hookd::trigger
