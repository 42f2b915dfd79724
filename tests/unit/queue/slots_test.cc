#include "queue/slots.h"

#include <gtest/gtest.h>

namespace hookd::queue {
namespace {

TEST(Slots, GrowAtOnceAndWakeWhoWaits) {
  Slots slots(1);
  EXPECT_TRUE(slots.try_take(&slots));
  EXPECT_FALSE(slots.try_take(&slots));
  int woken = 0;
  slots.wait(&woken, [&] { woken += slots.try_take(&slots); });
  slots.resize(2);
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(slots.try_take(&slots));
}

TEST(Slots, ShrinkAsThoseTakenComeBack) {
  Slots slots(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(slots.try_take(&slots));
  slots.resize(1);
  slots.give_back(&slots);
  slots.give_back(&slots);
  EXPECT_FALSE(slots.try_take(&slots));
  slots.give_back(&slots);
  EXPECT_TRUE(slots.try_take(&slots));
  EXPECT_FALSE(slots.try_take(&slots));
}

TEST(Slots, WithOneEachNobodyIsStarvedByOthers) {
  Slots slots(1, true);
  int a = 0, b = 0;
  EXPECT_TRUE(slots.try_take(&a));
  EXPECT_FALSE(slots.try_take(&a)) << "beyond the count it is one for each";
  EXPECT_TRUE(slots.try_take(&b));
  EXPECT_FALSE(slots.try_take(&b));
  slots.give_back(&b);
  EXPECT_TRUE(slots.try_take(&b)) << "it holds none again, although none is free";
  slots.give_back(&b);
  slots.give_back(&a);
  EXPECT_TRUE(slots.try_take(&b));
  EXPECT_FALSE(slots.try_take(&b)) << "as many as there are, and not one more for those given beyond them";
}

}  // namespace
}  // namespace hookd::queue
