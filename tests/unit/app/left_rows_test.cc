// app/left_rows.h on virtual time.
#include "app/left_rows.h"

#include <gmock/gmock.h>

#include <set>

#include "state/memory_store.h"
#include "unit/support/log_tap.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kDay = std::chrono::hours(24);

struct Kept final : state::MemoryStore {
  bool durable() const override { return true; }
};

class LeftRowsTest : public testing::Test {
 protected:
  LeftRowsTest() {
    for (const std::string hook : {"gone", "gone-too", "here"}) {
      store.put("state", hook + "\npods./a/x", "1");
      store.put("parked", hook + "\np1", "1");
      store.put("paused", hook, "1");
    }
    for (int i = 0; i < 1000; ++i) store.put("known", fmt::format("gone\npods\n1\na/x{}\nu", i), "1");
    store.put("finalizers", "gone\nf\nv1\nPod", "1");
    rows.start();
  }
  std::vector<std::string> keys(std::string_view table) const {
    std::vector<std::string> all;
    store.each(table, "", [&](std::string_view key, std::string_view) { all.emplace_back(key); });
    return all;
  }

  ManualScheduler scheduler;
  Kept store;
  std::set<std::string> there{"here", "gone-too"};
  bool certain = true;
  test::LogTap log;
  LeftRows rows{
      scheduler, store, {[this] { return certain; }, [this](const std::string& hook) { return there.contains(hook); }}};
};

TEST_F(LeftRowsTest, GoAfterThirtyDaysWithoutTheHookAndNoOthers) {
  scheduler.advance(30 * kDay);
  EXPECT_EQ(keys("known").size(), 1000u);
  EXPECT_EQ(log.count("what a hook that is no more kept stays"), 1u);
  scheduler.advance(2 * LeftRows::kLook);
  EXPECT_THAT(keys("known"), IsEmpty());
  EXPECT_THAT(keys("paused"), ElementsAre("gone-too", "here"));
  EXPECT_THAT(keys("parked"), ElementsAre("gone-too\np1", "here\np1"));
  EXPECT_THAT(keys("state"), ElementsAre("gone-too\npods./a/x", "here\npods./a/x"));
  EXPECT_THAT(keys("gone"), IsEmpty());
  EXPECT_EQ(keys("finalizers").size(), 1u);  // objects may still carry it
  EXPECT_EQ(log.count("what it kept is dropped"), 1u);
}

TEST_F(LeftRowsTest, AHookThatComesBackInBetweenBeginsAnew) {
  scheduler.advance(29 * kDay);
  EXPECT_THAT(keys("gone"), ElementsAre("gone"));
  there.insert("gone");
  scheduler.advance(LeftRows::kLook);
  EXPECT_THAT(keys("gone"), IsEmpty());
  there.erase("gone");
  scheduler.advance(29 * kDay);
  EXPECT_EQ(keys("known").size(), 1000u);
}

// Broken hooks, a folder that is not mounted, no hook at all: nobody knows what is gone.
TEST_F(LeftRowsTest, NothingCountsWhileSomethingDoesNotLoad) {
  certain = false;
  scheduler.advance(100 * kDay);
  EXPECT_THAT(keys("gone"), IsEmpty());
  EXPECT_EQ(keys("known").size(), 1000u);
}

TEST_F(LeftRowsTest, AClockThatJumpsDropsNothing) {
  scheduler.advance(2 * kDay);
  scheduler.set_wall(scheduler.wall_now() + 3650 * kDay);
  scheduler.advance(LeftRows::kLook);
  EXPECT_EQ(keys("known").size(), 1000u);
  scheduler.advance(6 * kDay);  // and seven days of looks at the least
  EXPECT_THAT(keys("known"), IsEmpty());
}

}  // namespace
}  // namespace hookd::app
