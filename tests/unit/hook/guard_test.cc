#include "hook/guard.h"

#include <gmock/gmock.h>

#include "state/memory_store.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class GuardFuseTest : public testing::Test {
 protected:
  void make(Guard limits, std::string name = "h") { fuse.emplace(std::move(name), limits, scheduler, &store); }
  bool deletes(int64_t count) { return !fuse->take({count, count}); }
  bool writes(int64_t count) { return !fuse->take({0, count}); }

  ManualScheduler scheduler;
  state::MemoryStore store;
  std::optional<GuardFuse> fuse;
};

TEST_F(GuardFuseTest, LetsThroughUpToItsLimitAndTripsOnce) {
  make({.deletes = Guard::Rate{20, 1min}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(15));
  EXPECT_TRUE(deletes(5));
  const auto trip = fuse->take({1, 1});
  ASSERT_TRUE(trip);
  EXPECT_TRUE(trip->first);
  EXPECT_EQ(trip->limit, "deletes");
  EXPECT_EQ(trip->text, "21 deletes within 1m (limit 20/1m)");
  EXPECT_FALSE(trip->alone);
  const auto again = fuse->take({0, 1});  // nothing passes any more, whatever it is
  EXPECT_TRUE(fuse->take({0, 0})) << "also what was counted before";
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->first);
  EXPECT_EQ(fuse->spent().deletes, 20);
}

TEST_F(GuardFuseTest, AnAnswerAboveTheLimitByItselfTripsToo) {
  make({.deletes = std::nullopt, .writes = Guard::Rate{600, 1min}});
  const auto trip = fuse->take({0, 601});
  ASSERT_TRUE(trip);
  EXPECT_EQ(trip->text, "601 writes within 1m (limit 600/1m)");
  EXPECT_TRUE(trip->alone) << "what is said has to tell that `hookd resume` alone does not help";
  EXPECT_EQ(fuse->spent().writes, 0);
}

TEST_F(GuardFuseTest, DeletesCountAsWritesToo) {
  make({.deletes = Guard::Rate{100, 1min}, .writes = Guard::Rate{10, 1min}});
  EXPECT_TRUE(deletes(10));
  const auto trip = fuse->take({1, 1});
  ASSERT_TRUE(trip);
  EXPECT_EQ(trip->limit, "writes");
}

// Never more than the limit in any window: the slots may only make it stricter.
TEST_F(GuardFuseTest, TheWindowSlides) {
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(4));
  scheduler.advance(30s);
  EXPECT_TRUE(deletes(6));
  scheduler.advance(30s - 1ms);
  EXPECT_EQ(fuse->spent().deletes, 10);
  scheduler.advance(1ms);
  EXPECT_EQ(fuse->spent().deletes, 6);
  EXPECT_TRUE(deletes(4));
  EXPECT_FALSE(deletes(1));
}

TEST_F(GuardFuseTest, HoldsLittleHoweverOftenItIsAsked) {
  make({.deletes = std::nullopt, .writes = Guard::Rate{1'000'000, 1min}});
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writes(1));
    scheduler.advance(11ms);
  }
  EXPECT_EQ(fuse->spent().writes, 5000);
  EXPECT_LT(store.get("guard", "h")->size(), 4000u);
}

TEST_F(GuardFuseTest, WhatWasNotNeededIsGivenBack) {
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(10));
  const SteadyTime taken = scheduler.now();
  scheduler.advance(5s);
  fuse->give_back({7, 7}, taken);
  EXPECT_EQ(fuse->spent().deletes, 3);
  EXPECT_TRUE(deletes(7));
  scheduler.advance(2min);
  EXPECT_TRUE(deletes(10));
  fuse->give_back({3, 3}, taken);  // long out of the window: it is not the later ones that were not needed
  EXPECT_EQ(fuse->spent().deletes, 10);
}

TEST_F(GuardFuseTest, AResetEmptiesTheWindow) {
  make({.deletes = Guard::Rate{2, 1h}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(2));
  EXPECT_FALSE(deletes(1));
  EXPECT_TRUE(fuse->tripped());
  fuse->reset();
  EXPECT_FALSE(fuse->tripped());
  EXPECT_TRUE(deletes(2));
  EXPECT_FALSE(deletes(1));
}

// A daemon that crashes again and again must not start with a fresh fuse each time.
TEST_F(GuardFuseTest, ItsCountOutlivesARestart) {
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(8));
  scheduler.advance(20s);
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_EQ(fuse->spent().deletes, 8);
  EXPECT_TRUE(deletes(2));
  EXPECT_FALSE(deletes(1));
  scheduler.advance(40s);
  EXPECT_EQ(fuse->spent().deletes, 2);
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt}, "another");
  EXPECT_EQ(fuse->spent().deletes, 0);
}

TEST_F(GuardFuseTest, AClockSetBackDoesNotLengthenTheWindow) {
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_TRUE(deletes(10));
  scheduler.set_wall(scheduler.wall_now() - 24h);
  make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
  EXPECT_EQ(fuse->spent().deletes, 10);
  scheduler.advance(1min);
  EXPECT_EQ(fuse->spent().deletes, 0);
}

TEST_F(GuardFuseTest, ABrokenRowIsNoRow) {
  for (const char* row : {"", "[]", "{\"deletes\":3}", "{\"deletes\":[[1]]}", "{\"deletes\":[[\"x\",1]]}",
                          "{\"deletes\":[[1767225600000,-5]]}", "{\"deletes\":[[1767225600000,1.5]]}"}) {
    store.put("guard", "h", row);
    make({.deletes = Guard::Rate{10, 1min}, .writes = std::nullopt});
    EXPECT_EQ(fuse->spent().deletes, 0) << row;
  }
}

TEST(CostOf, CountsWhatIsSentAboutObjects) {
  const auto cost = [](apply::Verb verb, bool dry_run = false) {
    apply::Operation op;
    op.verb = verb;
    op.dry_run = dry_run;
    const Spending spending = cost_of(op);
    return std::pair(spending.deletes, spending.writes);
  };
  EXPECT_EQ(cost(apply::Verb::kDelete), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cost(apply::Verb::kDeleteNonCascading), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cost(apply::Verb::kEvict), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cost(apply::Verb::kAnnotate), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(cost(apply::Verb::kEvent), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(cost(apply::Verb::kMetric), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(cost(apply::Verb::kDelete, true), std::pair(int64_t{0}, int64_t{0}));
}

}  // namespace
}  // namespace hookd::hook
