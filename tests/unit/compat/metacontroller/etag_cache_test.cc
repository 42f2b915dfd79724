#include "compat/metacontroller/etag_cache.h"

#include <gtest/gtest.h>

namespace hookd::metacontroller {
namespace {

using namespace std::chrono_literals;

TEST(EtagCache, KeepsTheLastAnswerOfAKey) {
  EtagCache cache;
  EXPECT_FALSE(cache.get("a", {}, 0s));
  cache.put("a", {"1", "one", {}});
  cache.put("a", {"2", "two", {}});
  EXPECT_EQ(cache.get("a", {}, 0s)->body, "two");
  EXPECT_EQ(cache.size(), 1u);
  cache.forget("a");
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(EtagCache, AnswersGrowOldIfTheyAreToldTo) {
  EtagCache cache;
  cache.put("a", {"1", "one", SteadyTime{}});
  EXPECT_TRUE(cache.get("a", SteadyTime{} + 24h, 0s));
  EXPECT_TRUE(cache.get("a", SteadyTime{} + 60s, 60s));
  EXPECT_FALSE(cache.get("a", SteadyTime{} + 61s, 60s));
  EXPECT_EQ(cache.size(), 0u);
}

TEST(EtagCache, IsBoundedAndTheOneNotUsedForLongestGoes) {
  EtagCache cache;
  for (size_t i = 0; i < EtagCache::kMaxEntries; ++i) cache.put(std::to_string(i), {"e", "b", {}});
  EXPECT_TRUE(cache.get("0", {}, 0s));
  cache.put("new", {"e", "b", {}});
  EXPECT_EQ(cache.size(), EtagCache::kMaxEntries);
  EXPECT_TRUE(cache.get("0", {}, 0s));
  EXPECT_FALSE(cache.get("1", {}, 0s));

  cache.put("large", {"e", std::string(EtagCache::kMaxBytes - 100, 'x'), {}});
  EXPECT_LE(cache.bytes(), EtagCache::kMaxBytes);
  EXPECT_TRUE(cache.get("large", {}, 0s));
  cache.put("too large", {"e", std::string(EtagCache::kMaxBytes, 'x'), {}});
  EXPECT_FALSE(cache.get("too large", {}, 0s));
}

}  // namespace
}  // namespace hookd::metacontroller
