#include "reconcile/resync.h"

#include <gmock/gmock.h>

#include <map>

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::Pair;

class ResyncTest : public testing::Test {
 protected:
  ResyncTest() {
    for (int i = 0; i < 1000; ++i) keys.push_back("ns/p" + std::to_string(i));
  }
  std::unique_ptr<Resync> make(Duration period) {
    auto resync = std::make_unique<Resync>(
        scheduler, period, [this] { return keys; },
        [this](const std::string& key) {
          ++calls[key];
          ++total;
          last[key] = scheduler.wall_now();
        });
    resync->start();
    return resync;
  }
  ManualScheduler scheduler;
  std::vector<std::string> keys;
  std::map<std::string, int> calls;
  std::map<std::string, WallTime> last;
  int total = 0;
};

TEST_F(ResyncTest, EveryKeyComesOnceAPeriod) {
  const auto resync = make(10min);
  scheduler.advance(10min);
  EXPECT_EQ(calls.size(), 1000u);
  EXPECT_THAT(calls, Each(Pair(testing::_, 1)));
  scheduler.advance(50min);
  EXPECT_THAT(calls, Each(Pair(testing::_, 6)));
}

TEST_F(ResyncTest, TheyAreSpreadOut) {
  const auto resync = make(10min);
  for (int minute = 0; minute < 10; ++minute) {
    const int before = total;
    scheduler.advance(1min);
    EXPECT_GT(total - before, 60) << minute;  // 100 on average
    EXPECT_LT(total - before, 140) << minute;
  }
}

TEST_F(ResyncTest, ARestartKeepsEachKeysMoment) {
  auto resync = make(10min);
  scheduler.advance(7min);
  const auto before = last;
  resync = make(10min);
  scheduler.advance(10min);
  for (const auto& [key, at] : before) {
    const auto off = last.at(key) - at - 10min;
    EXPECT_LE(std::chrono::abs(off), 5s) << key;  // two slices
  }
}

TEST_F(ResyncTest, AClockThatIsSetBringsNoStorm) {
  const auto resync = make(10min);
  scheduler.advance(1min);
  total = 0;
  scheduler.set_wall(scheduler.wall_now() + 24h);
  scheduler.advance(1min);
  EXPECT_LT(total, 140);
}

TEST_F(ResyncTest, ZeroIsNever) {
  const auto resync = make(0s);
  scheduler.advance(24h);
  EXPECT_EQ(total, 0);
  EXPECT_TRUE(scheduler.idle());
}

TEST_F(ResyncTest, AShortPeriodStillReachesAll) {
  const auto resync = make(1s);
  scheduler.advance(3s);
  EXPECT_THAT(calls, Each(Pair(testing::_, 3)));
  EXPECT_EQ(calls.size(), 1000u);
}

TEST_F(ResyncTest, ANewKeyIsTakenInAndOneThatWentIsNot) {
  const auto resync = make(10min);
  keys = {"new"};
  scheduler.advance(10min);
  EXPECT_THAT(calls, testing::ElementsAre(Pair("new", 1)));
}

TEST_F(ResyncTest, StopEndsIt) {
  const auto resync = make(1min);
  resync->stop();
  scheduler.advance(1h);
  EXPECT_EQ(total, 0);
}

}  // namespace
}  // namespace hookd::reconcile
