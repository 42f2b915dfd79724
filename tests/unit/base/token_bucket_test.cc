#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace hookd {
namespace {

using namespace std::chrono_literals;

TEST(TokenBucket, StartsFullAndRefillsEvenly) {
  SteadyTime now{};
  TokenBucket bucket(2, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(now));
  EXPECT_FALSE(bucket.take(now));
  EXPECT_EQ(bucket.wait(now), 500ms);
  EXPECT_FALSE(bucket.take(now + 499ms));
  EXPECT_TRUE(bucket.take(now + 500ms));
  EXPECT_EQ(bucket.wait(now + 600ms), 400ms);
}

TEST(TokenBucket, NeverHoldsMoreThanItsBurst) {
  TokenBucket bucket(100, 2);
  const SteadyTime now = SteadyTime{} + 24h;
  EXPECT_TRUE(bucket.take(SteadyTime{}));
  EXPECT_TRUE(bucket.take(now));
  EXPECT_TRUE(bucket.take(now));
  EXPECT_FALSE(bucket.take(now));
}

TEST(TokenBucket, AfterTheWaitThereIsAToken) {  // whatever the fractions
  for (const double rate : {0.1, 0.3, 1.0, 3.0, 7.0, 33.3, 50.0, 999.0}) {
    TokenBucket bucket(rate, 1);
    SteadyTime now{};
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(bucket.take(now)) << rate << " at " << i;
      ASSERT_FALSE(bucket.take(now));
      now += bucket.wait(now);
    }
    EXPECT_NEAR(std::chrono::duration<double>(now - SteadyTime{}).count(), 1000 / rate, 0.01 * 1000 / rate);
  }
}

TEST(TokenBucket, ZeroIsNoLimit) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.take({}));
  EXPECT_EQ(bucket.wait({}), 0ns);
}

}  // namespace
}  // namespace hookd
