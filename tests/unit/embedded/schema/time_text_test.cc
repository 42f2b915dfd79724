#include "embedded/schema/time_text.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

std::string problem(std::string_view text, bool micro = false) {
  const auto read = canonical_time(text, micro);
  return read ? "fine" : read.error();
}

TEST(TimeText, IsUtcAndWithoutFraction) {
  EXPECT_EQ(canonical_time("2024-01-02T03:04:05+02:00", false), "2024-01-02T01:04:05Z");
  EXPECT_EQ(canonical_time("2024-01-02T03:04:05.999Z", false), "2024-01-02T03:04:05Z");
  EXPECT_EQ(canonical_time("2024-01-02T03:04:05.123456-01:00", true), "2024-01-02T04:04:05.123456Z");
  EXPECT_EQ(canonical_time("0001-01-01T00:00:00Z", false), "");
}

TEST(TimeText, SaysWhichPartDoesNotFit) {
  EXPECT_EQ(problem("2024-01-02"),
            "parsing time \"2024-01-02\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\"");
  EXPECT_EQ(problem("2024-13-02T00:00:00Z"), "parsing time \"2024-13-02T00:00:00Z\": month out of range");
  EXPECT_EQ(problem("2024-02-30T00:00:00Z"), "parsing time \"2024-02-30T00:00:00Z\": day out of range");
  EXPECT_EQ(problem("2024-01-02T03:04:05Zx"), "parsing time \"2024-01-02T03:04:05Zx\": extra text: \"x\"");
  EXPECT_EQ(problem("2024-01-02T03:04:05Z", true),
            "parsing time \"2024-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as "
            "\".000000\"");
}

}  // namespace
}  // namespace hookd::embedded
