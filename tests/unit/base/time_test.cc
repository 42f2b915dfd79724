#include "base/time.h"

#include <gmock/gmock.h>

namespace hookd {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Case {
  const char* text;
  Duration duration;
};

TEST(ParseDuration, TakesWhatPeopleWrite) {
  for (const Case& one : {Case{"30s", 30s},
                          {"1h30m", 90min},
                          {"250ms", 250ms},
                          {"1.5h", 90min},
                          {"2d", 48h},
                          {"0", 0s},
                          {"0s", 0s},
                          {"10us", 10us},
                          {"10\xC2\xB5s", 10us},
                          {"10\xCE\xBCs", 10us},
                          {"7ns", 7ns},
                          {"1h0m0.5s", 1h + 500ms}}) {
    const auto parsed = parse_duration(one.text);
    ASSERT_TRUE(parsed) << one.text << ": " << parsed.error().what;
    EXPECT_EQ(*parsed, one.duration) << one.text;
  }
}

TEST(ParseDuration, RefusesTheRestAndSaysWhy) {
  for (const char* text :
       {"", "5", "5 s", " 5s", "5s ", "-5s", "s", "5x", "1.2.3s", ".s", "5sm", "1e3s", "300y", "+5s"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kConfig);
    EXPECT_THAT(parsed.error().what, HasSubstr("write it like 30s"));
  }
  EXPECT_THAT(parse_duration("5").error().what, HasSubstr("the unit is missing"));
  EXPECT_THAT(parse_duration("5x").error().what, HasSubstr("the unit is unknown"));
  EXPECT_THAT(parse_duration("99999999h").error().what, HasSubstr("over 292 years"));
  EXPECT_THAT(parse_duration("9999999999999999999999999999999s").error().what, HasSubstr("over 292 years"));
}

TEST(FormatDuration, IsShortAndReadsBack) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(250ms), "250ms");
  EXPECT_EQ(format_duration(1500ms), "1.5s");
  EXPECT_EQ(format_duration(25h), "25h");
  EXPECT_EQ(format_duration(3us), "3us");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
  for (const Duration one : {Duration(1s), Duration(61min), Duration(2h + 3min + 4s), Duration(17ms)})
    EXPECT_EQ(parse_duration(format_duration(one)), one);
}

TEST(ParseRfc3339, TakesFractionsAndOffsets) {
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00Z"), WallTime(1769860800s));
  EXPECT_EQ(parse_rfc3339("2026-01-31t12:00:00z"), WallTime(1769860800s));
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00.25Z"), WallTime(1769860800s + 250ms));
  EXPECT_EQ(parse_rfc3339("2026-01-31T12:00:00.1234567891Z"), WallTime(1769860800s + 123456789ns));
  EXPECT_EQ(parse_rfc3339("2026-01-31T13:30:00+01:30"), WallTime(1769860800s));
  EXPECT_EQ(parse_rfc3339("2026-01-31T04:00:00-08:00"), WallTime(1769860800s));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), WallTime(1483228800s));  // a leap second is the one after
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"), WallTime(0s));
}

TEST(ParseRfc3339, RefusesTheRest) {
  for (const char* text :
       {"", "2026-01-31", "2026-01-31T12:00Z", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z", "2026-01-31T12:00:61Z", "2026-01-31T12:00:00", "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00+1:00", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:60", "2026-01-31T12:00:00Z ",
        "26-01-31T12:00:00Z", "+026-01-31T12:00:00Z"}) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kDecode);
  }
}

// Go's zero time is a time to the server; 64 bits of nanoseconds do not reach it.
TEST(ParseRfc3339, RefusesYearsThatDoNotFitInsteadOfWrapping) {
  for (const char* text :
       {"0001-01-01T00:00:00Z", "1677-12-31T00:00:00Z", "2262-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().what, HasSubstr("1678 to 2261"));
  }
  EXPECT_TRUE(parse_rfc3339("1678-01-01T00:00:00+23:59"));
  EXPECT_TRUE(parse_rfc3339("2261-12-31T23:59:59-23:59"));
}

TEST(FormatRfc3339, HasAsManyDigitsAsAsked) {
  const WallTime time(1769860800s + 123456789ns);
  EXPECT_EQ(format_rfc3339(time), "2026-01-31T12:00:00Z");
  EXPECT_EQ(format_rfc3339(time, 3), "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(format_rfc3339(time, 6), "2026-01-31T12:00:00.123456Z");
  EXPECT_EQ(format_rfc3339(WallTime(-1ns), 9), "1969-12-31T23:59:59.999999999Z");
}

}  // namespace
}  // namespace hookd
