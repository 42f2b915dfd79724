#include "queue/slots.h"

#include <gtest/gtest.h>

namespace hookd::queue {
namespace {

TEST(Slots, GrowAtOnceAndWakeWhoWaits) {
  Slots slots(1);
  EXPECT_TRUE(slots.try_take());
  EXPECT_FALSE(slots.try_take());
  int woken = 0;
  slots.wait(&woken, [&] { woken += slots.try_take(); });
  slots.resize(2);
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(slots.try_take());
}

TEST(Slots, ShrinkAsThoseTakenComeBack) {
  Slots slots(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(slots.try_take());
  slots.resize(1);
  slots.give_back();
  slots.give_back();
  EXPECT_FALSE(slots.try_take());
  slots.give_back();
  EXPECT_TRUE(slots.try_take());
  EXPECT_FALSE(slots.try_take());
}

}  // namespace
}  // namespace hookd::queue
