#include "reconcile/handled.h"

#include <gmock/gmock.h>

#include "unit/support/kept_store.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;

cache::Identity object(std::string uid, std::string version) { return {"a", "n", std::move(uid), std::move(version)}; }

TEST(Digest, IsOfAllThatTheHookWasTold) {
  const auto text = [](uint64_t hook, uint64_t parent, std::string kind, std::string uid, std::string version) {
    Digest digest(hook, parent);
    digest.add(kind);
    digest.add(object(uid, version));
    return digest.text();
  };
  const std::string base = text(1, 2, "Pod.v1", "u", "5");
  EXPECT_EQ(base, text(1, 2, "Pod.v1", "u", "5"));
  EXPECT_EQ(base.size(), 16u);
  EXPECT_NE(base, text(9, 2, "Pod.v1", "u", "5"));
  EXPECT_NE(base, text(1, 9, "Pod.v1", "u", "5"));
  EXPECT_NE(base, text(1, 2, "Node.v1", "u", "5"));
  EXPECT_NE(base, text(1, 2, "Pod.v1", "w", "5"));
  EXPECT_NE(base, text(1, 2, "Pod.v1", "u", "6"));
  EXPECT_NE(text(1, 2, "ab", "c", "5"), text(1, 2, "a", "bc", "5"));
}

class HandledTest : public testing::Test {
 protected:
  ManualScheduler scheduler;
  test::KeptStore store;
};

TEST_F(HandledTest, IsKnownAfterARestart) {
  {
    Handled handled(&store, scheduler, "h");
    EXPECT_TRUE(handled.keeps());
    EXPECT_FALSE(handled.was_at_rest("u1", "d1"));
    handled.at_rest("u1", "d1");
    handled.at_rest("u2", "d2");
    EXPECT_TRUE(handled.was_at_rest("u1", "d1"));
    EXPECT_EQ(store.writes, 0);  // not yet
    scheduler.advance(Handled::kWriteAfter);
    EXPECT_EQ(store.writes, 2);
    handled.not_at_rest("u2");
  }
  Handled again(&store, scheduler, "h");
  EXPECT_TRUE(again.was_at_rest("u1", "d1"));
  EXPECT_FALSE(again.was_at_rest("u1", "d2"));
  EXPECT_FALSE(again.was_at_rest("u2", "d2"));
  EXPECT_FALSE(Handled(&store, scheduler, "other").was_at_rest("u1", "d1"));
}

TEST_F(HandledTest, WritesOnlyWhatIsNewAndTogether) {
  Handled handled(&store, scheduler, "h");
  for (int i = 0; i < 10; ++i) handled.at_rest("u1", "d" + std::to_string(i));
  scheduler.advance(10s);
  EXPECT_EQ(store.writes, 1);
  handled.at_rest("u1", "d9");
  handled.not_at_rest("never");
  scheduler.advance(10s);
  EXPECT_EQ(store.writes, 1);
  handled.not_at_rest("u1");
  handled.not_at_rest("u1");
  scheduler.advance(10s);
  EXPECT_EQ(store.writes, 2);
  EXPECT_EQ(store.rows("handled"), 0u);
}

TEST_F(HandledTest, ManyAreWrittenInPortions) {
  Handled handled(&store, scheduler, "h");
  for (int i = 0; i < 2000; ++i) handled.at_rest("u" + std::to_string(i), "d");
  scheduler.advance(Handled::kWriteAfter);
  EXPECT_EQ(store.rows("handled"), 2000u);
  EXPECT_TRUE(scheduler.idle());
}

TEST_F(HandledTest, SweepForgetsParentsThatAreNoMore) {
  {
    Handled handled(&store, scheduler, "h");
    for (int i = 0; i < 1000; ++i) handled.at_rest("u" + std::to_string(i), "d");
    Handled(&store, scheduler, "h2").at_rest("u1", "d");
  }
  Handled handled(&store, scheduler, "h");
  handled.sweep({"u1", "u999"});
  handled.at_rest("fresh", "d");
  scheduler.advance(10s);
  EXPECT_EQ(store.rows("handled"), 4u);
  EXPECT_TRUE(handled.was_at_rest("u999", "d"));
  EXPECT_FALSE(handled.was_at_rest("u2", "d"));
  EXPECT_TRUE(Handled(&store, scheduler, "h2").was_at_rest("u1", "d"));
}

TEST_F(HandledTest, AStoreThatForgetsIsNotUsed) {
  state::MemoryStore forgets;
  for (state::Store* none : {static_cast<state::Store*>(nullptr), static_cast<state::Store*>(&forgets)}) {
    Handled handled(none, scheduler, "h");
    EXPECT_FALSE(handled.keeps());
    handled.at_rest("u", "d");
    handled.not_at_rest("u");
    handled.sweep({});
    EXPECT_FALSE(handled.was_at_rest("u", "d"));
    scheduler.advance(1min);
  }
}

}  // namespace
}  // namespace hookd::reconcile
