#include "cache/resource_version.h"

#include <gtest/gtest.h>

namespace hookd::cache {
namespace {

TEST(CompareVersions, AreNumbersOfAnyLength) {
  EXPECT_EQ(compare_versions("9", "10"), -1);
  EXPECT_EQ(compare_versions("10", "10"), 0);
  EXPECT_EQ(compare_versions("010", "10"), 0);
  EXPECT_EQ(compare_versions("99999999999999999999999", "100000000000000000000000"), -1);
  EXPECT_EQ(compare_versions("2", "1"), 1);
  EXPECT_EQ(compare_versions("0", "00"), 0);
  EXPECT_EQ(compare_versions("", "1"), std::nullopt);
  EXPECT_EQ(compare_versions("1a", "1"), std::nullopt);
}

TEST(NewerVersion, IsTheGreaterNumberOrAnyOtherText) {
  EXPECT_TRUE(newer_version("10", "9"));
  EXPECT_FALSE(newer_version("9", "10"));
  EXPECT_FALSE(newer_version("10", "010"));
  EXPECT_TRUE(newer_version("b", "a"));
  EXPECT_TRUE(newer_version("a", "b"));
  EXPECT_FALSE(newer_version("a", "a"));
}

}  // namespace
}  // namespace hookd::cache
