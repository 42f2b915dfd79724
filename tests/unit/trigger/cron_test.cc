#include "trigger/cron.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/time.h"

namespace hookd::trigger {
namespace {

using std::chrono::seconds;

WallTime at(std::string_view text) {
  const auto time = parse_rfc3339(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(WallTime{});
}

Cron cron(std::string_view text, std::string_view zone = "") {
  auto parsed = Cron::parse(text, zone);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().what);
  return parsed ? *parsed : *Cron::parse("* * * * *", "");
}

// The next `count` times in UTC, with "Z" left out.
std::vector<std::string> times(std::string_view text, std::string_view zone, std::string_view after, int count) {
  const Cron schedule = cron(text, zone);
  std::vector<std::string> result;
  WallTime time = at(after);
  for (int i = 0; i < count; ++i) {
    const auto next = schedule.next(time);
    if (!next) break;
    EXPECT_GT(*next, time) << text;
    time = *next;
    std::string shown = format_rfc3339(time);
    shown.pop_back();
    result.push_back(shown);
  }
  return result;
}

std::string first(std::string_view text, std::string_view after, std::string_view zone = "") {
  const auto list = times(text, zone, after, 1);
  return list.empty() ? "never" : list.front();
}

std::string error_of(std::string_view text, std::string_view zone = "") {
  const auto parsed = Cron::parse(text, zone);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Errc::kConfig);
  return parsed.error().what;
}

using List = std::vector<std::string>;

TEST(Cron, FiveFieldsBeginWithMinutes) {
  EXPECT_EQ(times("0 3 * * *", "", "2026-01-01T00:00:00Z", 2), (List{"2026-01-01T03:00:00", "2026-01-02T03:00:00"}));
  EXPECT_EQ(times("*/20 * * * *", "", "2026-01-01T00:00:00Z", 3),
            (List{"2026-01-01T00:20:00", "2026-01-01T00:40:00", "2026-01-01T01:00:00"}));
}

TEST(Cron, SixFieldsBeginWithSeconds) {
  EXPECT_EQ(times("*/25 * * * * *", "", "2026-01-01T00:00:00Z", 3),
            (List{"2026-01-01T00:00:25", "2026-01-01T00:00:50", "2026-01-01T00:01:00"}));
  EXPECT_EQ(first("30 15 10 * * *", "2026-01-01T10:15:30Z"), "2026-01-02T10:15:30");
}

TEST(Cron, NextIsStrictlyLaterAndOnAWholeSecond) {
  EXPECT_EQ(first("0 0 * * *", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00");
  EXPECT_EQ(first("0 0 * * *", "2025-12-31T23:59:59.999999999Z"), "2026-01-01T00:00:00");
  EXPECT_EQ(first("0 0 * * *", "2026-01-01T00:00:00.000000001Z"), "2026-01-02T00:00:00");
}

TEST(Cron, RangesStepsAndLists) {
  EXPECT_EQ(times("5,10-12 8-18/5 * * *", "", "2026-01-01T08:11:00Z", 3),
            (List{"2026-01-01T08:12:00", "2026-01-01T13:05:00", "2026-01-01T13:10:00"}));
  EXPECT_EQ(times("50/5 0 * * *", "", "2026-01-01T00:00:00Z", 3),
            (List{"2026-01-01T00:50:00", "2026-01-01T00:55:00", "2026-01-02T00:50:00"}));
  EXPECT_EQ(times("*/90 * * * *", "", "2026-01-01T00:00:00Z", 2), (List{"2026-01-01T01:00:00", "2026-01-01T02:00:00"}));
}

TEST(Cron, NamesInAnyCase) {
  EXPECT_EQ(first("0 0 1 mAr *", "2026-01-01T00:00:00Z"), "2026-03-01T00:00:00");
  EXPECT_EQ(first("0 0 * * fri", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00");
  EXPECT_EQ(times("0 0 * nov-DEC mon,Tue", "", "2026-11-28T00:00:00Z", 3),
            (List{"2026-11-30T00:00:00", "2026-12-01T00:00:00", "2026-12-07T00:00:00"}));
}

TEST(Cron, SundayIsZeroAndSeven) {
  for (const auto* text : {"0 0 * * 0", "0 0 * * 7", "0 0 * * SUN", "0 0 ? * 7"})
    EXPECT_EQ(first(text, "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00") << text;
  EXPECT_EQ(times("0 0 * * 5-7", "", "2026-01-01T00:00:00Z", 4),
            (List{"2026-01-02T00:00:00", "2026-01-03T00:00:00", "2026-01-04T00:00:00", "2026-01-09T00:00:00"}));
  EXPECT_EQ(times("0 0 * * sat-SUN", "", "2026-01-01T00:00:00Z", 2),
            (List{"2026-01-03T00:00:00", "2026-01-04T00:00:00"}));
}

// cron(5); shell-operator.md 1
TEST(Cron, DayOfMonthOrDayOfWeekIfBothAreRestricted) {
  EXPECT_EQ(times("0 0 13 * FRI", "", "2026-01-01T00:00:00Z", 4),
            (List{"2026-01-02T00:00:00", "2026-01-09T00:00:00", "2026-01-13T00:00:00", "2026-01-16T00:00:00"}));
  EXPECT_EQ(times("0 0 13 * *", "", "2026-01-01T00:00:00Z", 2), (List{"2026-01-13T00:00:00", "2026-02-13T00:00:00"}));
  EXPECT_EQ(times("0 0 ? * FRI", "", "2026-01-01T00:00:00Z", 2), (List{"2026-01-02T00:00:00", "2026-01-09T00:00:00"}));
}

TEST(Cron, AStarWithAStepStillMeansThatBothMustMatch) {
  EXPECT_EQ(times("0 0 */10 * FRI", "", "2026-01-01T00:00:00Z", 2),
            (List{"2026-05-01T00:00:00", "2026-07-31T00:00:00"}));
}

TEST(Cron, LeapYearsAndMonthEnds) {
  EXPECT_EQ(times("0 0 29 2 *", "", "2026-01-01T00:00:00Z", 2), (List{"2028-02-29T00:00:00", "2032-02-29T00:00:00"}));
  EXPECT_EQ(first("0 0 29 2 *", "2096-03-01T00:00:00Z"), "2104-02-29T00:00:00");  // 2100 is no leap year
  EXPECT_EQ(times("0 0 31 * *", "", "2026-01-31T00:00:00Z", 3),
            (List{"2026-03-31T00:00:00", "2026-05-31T00:00:00", "2026-07-31T00:00:00"}));
  EXPECT_EQ(first("59 59 23 31 12 *", "2025-12-31T23:59:59Z"), "2026-12-31T23:59:59");
}

TEST(Cron, NamedSchedules) {
  const auto* after = "2026-05-05T05:05:05Z";
  EXPECT_EQ(first("@yearly", after), "2027-01-01T00:00:00");
  EXPECT_EQ(first("@annually", after), "2027-01-01T00:00:00");
  EXPECT_EQ(first("@monthly", after), "2026-06-01T00:00:00");
  EXPECT_EQ(first("@weekly", after), "2026-05-10T00:00:00");
  EXPECT_EQ(first("@daily", after), "2026-05-06T00:00:00");
  EXPECT_EQ(first("@midnight", after), "2026-05-06T00:00:00");
  EXPECT_EQ(first("@Hourly", after), "2026-05-05T06:00:00");
  EXPECT_EQ(first("TZ=Asia/Tokyo @daily", after), "2026-05-05T15:00:00");
}

TEST(Cron, EveryIsAnIntervalInWholeSeconds) {
  EXPECT_EQ(first("@every 1h30m", "2026-01-01T00:00:00.7Z"), "2026-01-01T01:30:00");
  EXPECT_EQ(first("@every 1.5s", "2026-01-01T00:00:00Z"), "2026-01-01T00:00:01");
  EXPECT_NE(error_of("@every 500ms").find("at least 1s"), std::string::npos);
  EXPECT_NE(error_of("@every").find("not a duration"), std::string::npos);
  EXPECT_NE(error_of("@every soon").find("not a duration"), std::string::npos);
  EXPECT_NE(error_of("@everyday").find("@everyday is unknown"), std::string::npos);
}

TEST(Cron, ZoneByArgumentAndByPrefix) {
  EXPECT_EQ(first("0 3 * * *", "2026-01-01T00:00:00Z", "Europe/Berlin"), "2026-01-01T02:00:00");
  EXPECT_EQ(first("0 3 * * *", "2026-07-01T00:00:00Z", "Europe/Berlin"), "2026-07-01T01:00:00");
  EXPECT_EQ(first("TZ=Europe/Berlin 0 3 * * *", "2026-01-01T00:00:00Z"), "2026-01-01T02:00:00");
  EXPECT_EQ(first(" CRON_TZ=America/New_York  0 3 * * * ", "2026-01-01T00:00:00Z"), "2026-01-01T08:00:00");
  EXPECT_EQ(first("TZ=UTC 0 3 * * *", "2026-01-01T00:00:00Z"), "2026-01-01T03:00:00");
  EXPECT_EQ(first("0 0 1 * *", "2026-01-31T20:00:00Z", "Asia/Kathmandu"), "2026-02-28T18:15:00");
  EXPECT_EQ(cron("TZ=Europe/Berlin * * * * *").zone_name(), "Europe/Berlin");
  EXPECT_EQ(cron("* * * * *").zone_name(), "UTC");
}

TEST(Cron, LocalIsTheZoneOfTheDaemon) {
  const char* before = std::getenv("TZ");
  const std::string kept = before ? before : "";
  ::setenv("TZ", ":Asia/Tokyo", 1);
  EXPECT_EQ(cron("0 3 * * *", "Local").zone_name(), "Asia/Tokyo");
  ::setenv("TZ", "JST-9", 1);  // no name of the tz database: UTC, with a warning
  EXPECT_EQ(cron("0 3 * * *", "Local").zone_name(), "UTC");
  before ? ::setenv("TZ", kept.c_str(), 1) : ::unsetenv("TZ");
}

TEST(Cron, TheTextMayNotContradictTheZone) {
  EXPECT_NE(error_of("TZ=Europe/Berlin 0 3 * * *", "Europe/Rome").find("contradicts timeZone \"Europe/Rome\""),
            std::string::npos);
  EXPECT_EQ(error_of("TZ=Europe/Berlin 0 3 * * *", "Europe/Berlin"), "");
}

// Berlin 2026: 29 March 02:00 -> 03:00 (01:00Z), 25 October 03:00 -> 02:00 (01:00Z).
TEST(Cron, ASkippedTimeFiresOnceAfterTheGap) {
  EXPECT_EQ(times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
            (List{"2026-03-28T01:30:00", "2026-03-29T01:00:00", "2026-03-30T00:30:00"}));
  EXPECT_EQ(
      times("*/10 2,3 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", 2),  // all of hour 2, and 03:00 itself: once
      (List{"2026-03-29T01:00:00", "2026-03-29T01:10:00"}));
}

TEST(Cron, ATimeThatComesTwiceFiresTheFirstTime) {
  EXPECT_EQ(times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            (List{"2026-10-25T00:30:00", "2026-10-26T01:30:00"}));
  // asked while the hour comes the second time
  EXPECT_EQ(first("30 2 * * *", "2026-10-25T01:10:00Z", "Europe/Berlin"), "2026-10-26T01:30:00");
  EXPECT_EQ(times("*/30 1-3 * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", 5),
            (List{"2026-10-25T00:00:00", "2026-10-25T00:30:00", "2026-10-25T02:00:00", "2026-10-25T02:30:00",
                  "2026-10-26T00:00:00"}));
}

TEST(Cron, AllHoursMeansEachRealHour) {
  EXPECT_EQ(times("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3),
            (List{"2026-03-29T00:30:00", "2026-03-29T01:30:00", "2026-03-29T02:30:00"}));
  EXPECT_EQ(times("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
            (List{"2026-10-25T00:30:00", "2026-10-25T01:30:00", "2026-10-25T02:30:00"}));
  EXPECT_EQ(times("0 0-23 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", 2),
            (List{"2026-10-25T01:00:00", "2026-10-25T02:00:00"}));
}

// New York 2026: 8 March 02:00 -> 03:00 (07:00Z), 1 November 02:00 -> 01:00 (06:00Z).
TEST(Cron, NewYorkChanges) {
  EXPECT_EQ(times("15 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2),
            (List{"2026-03-08T07:00:00", "2026-03-09T06:15:00"}));
  EXPECT_EQ(times("15 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", 2),
            (List{"2026-11-01T05:15:00", "2026-11-02T06:15:00"}));
  EXPECT_EQ(times("0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", 3),
            (List{"2026-11-01T05:00:00", "2026-11-01T06:00:00", "2026-11-01T07:00:00"}));
}

// Lord Howe moves by 30 minutes. 2026: 5 April 02:00 (+11) -> 01:30 (+10:30) at 15:00Z the day before,
// 4 October 02:00 (+10:30) -> 02:30 (+11) at 15:30Z the day before.
TEST(Cron, LordHoweChangesByHalfAnHour) {
  EXPECT_EQ(times("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T20:00:00Z", 2),
            (List{"2026-04-04T14:45:00", "2026-04-05T15:15:00"}));
  EXPECT_EQ(times("10 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", 2),
            (List{"2026-10-03T15:30:00", "2026-10-04T15:10:00"}));
  EXPECT_EQ(times("45 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", 1), (List{"2026-10-03T15:45:00"}));
  EXPECT_EQ(times("45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", 3),
            (List{"2026-04-04T14:45:00", "2026-04-04T15:15:00", "2026-04-04T16:15:00"}));
}

// Samoa left out 30 December 2011; Beirut changes at midnight.
TEST(Cron, SkippedMidnightsAndDays) {
  EXPECT_EQ(times("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 3),
            (List{"2011-12-29T22:00:00", "2011-12-30T10:00:00", "2011-12-30T22:00:00"}));
  EXPECT_EQ(times("0 0 * * *", "Asia/Beirut", "2026-03-28T00:00:00Z", 2),
            (List{"2026-03-28T22:00:00", "2026-03-29T21:00:00"}));
}

TEST(Cron, WalkingAYearNeverGoesBackAndFiresOnceADay) {
  for (const auto* zone : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"}) {
    for (const auto* text : {"0 2 * * *", "30 1 * * *", "45 1 * * *", "15 2 * * *"}) {
      const Cron schedule = cron(text, zone);
      WallTime time = at("2026-01-01T00:00:00Z");
      int fired = 0;
      while (time < at("2027-01-01T00:00:00Z")) {
        const auto next = schedule.next(time);
        ASSERT_TRUE(next);
        ASSERT_GT(*next, time);
        ASSERT_GE(*next - time, std::chrono::hours(fired ? 22 : 0))
            << zone << " " << text << " " << format_rfc3339(*next);
        time = *next;
        ++fired;
      }
      EXPECT_NEAR(fired, 365, 1) << zone << " " << text;
    }
  }
}

// The answer may not depend on where in the wait it is asked for.
TEST(Cron, NextIsTheSameFromEverySecondBefore) {
  for (const auto* text : {"30 2 * * *", "*/7 1-3 * * *", "*/7 * * * *"}) {
    for (const auto* start : {"2026-03-28T23:30:00Z", "2026-10-24T23:30:00Z"}) {
      const Cron schedule = cron(text, "Europe/Berlin");
      WallTime time = at(start);
      auto expected = schedule.next(time);
      for (int i = 0; i < 4 * 3600; i += 13) {
        const WallTime now = time + seconds(i);
        if (now >= *expected) expected = schedule.next(*expected);
        while (*expected <= now) expected = schedule.next(*expected);
        ASSERT_EQ(schedule.next(now), expected) << text << " at " << format_rfc3339(now);
      }
    }
  }
}

TEST(Cron, UnknownZonesAreNamedWithTheNearest) {
  EXPECT_EQ(error_of("0 3 * * *", "Europe/Berln"),
            "cron \"0 3 * * *\": time zone \"Europe/Berln\" is unknown; did you mean Europe/Berlin?");
  EXPECT_NE(error_of("TZ=berlin 0 3 * * *").find("did you mean Europe/Berlin?"), std::string::npos);
  EXPECT_NE(error_of("0 3 * * *", "europe/berlin").find("did you mean Europe/Berlin?"), std::string::npos);
  EXPECT_NE(error_of("0 3 * * *", "Mars/Olympus_Mons_Base").find("such as Europe/Berlin"), std::string::npos);
  EXPECT_NE(error_of("0 3 * * *", "../../etc/passwd").find("is unknown"), std::string::npos);
  EXPECT_NE(error_of("TZ= 0 3 * * *").find("a time zone is missing"), std::string::npos);
  EXPECT_NE(error_of("TZ=Europe/Berlin").find("it is empty"), std::string::npos);
}

TEST(Cron, ErrorsNameTheFieldAndWhatIsAllowed) {
  EXPECT_EQ(error_of("61 * * * *"), "cron \"61 * * * *\": minute \"61\": 61 is not in 0-59");
  EXPECT_NE(error_of("* 24 * * *").find("hour \"24\": 24 is not in 0-23"), std::string::npos);
  EXPECT_NE(error_of("* * 0 * *").find("day of month \"0\": 0 is not in 1-31"), std::string::npos);
  EXPECT_NE(error_of("* * * 13 *").find("month \"13\": 13 is not in 1-12"), std::string::npos);
  EXPECT_NE(error_of("* * * * 8").find("day of week \"8\": 8 is not in 0-7"), std::string::npos);
  EXPECT_NE(error_of("60 * * * * *").find("second \"60\""), std::string::npos);
  EXPECT_NE(error_of("99999999999999999999 * * * *").find("is not in 0-59"), std::string::npos);
  EXPECT_NE(error_of("x * * * *").find("\"x\" is not a number"), std::string::npos);
  EXPECT_NE(error_of("-1 * * * *").find("minute \"-1\": a value is missing"), std::string::npos);
  EXPECT_NE(error_of("1, * * * *").find("a value is missing"), std::string::npos);
  EXPECT_NE(error_of("1/ * * * *").find("a value is missing"), std::string::npos);
  EXPECT_NE(error_of("* * * * FUN").find("neither a number nor a name (SUN-SAT)"), std::string::npos);
  EXPECT_NE(error_of("* * * JULY *").find("neither a number nor a name (JAN-DEC)"), std::string::npos);
  EXPECT_NE(error_of("* * * *").find("4 fields; expected 5"), std::string::npos);
  EXPECT_NE(error_of("* * * * * * 2026").find("a year is not supported"), std::string::npos);
  EXPECT_NE(error_of("").find("it is empty"), std::string::npos);
  EXPECT_NE(error_of("@reboot").find("use startup"), std::string::npos);
  EXPECT_NE(error_of("@fortnightly").find("@fortnightly is unknown"), std::string::npos);
  EXPECT_NE(error_of("* * * * FRI-MON").find("runs backwards; write it as two: 5-6,0-1"), std::string::npos);
  EXPECT_NE(error_of(std::string(2000, '*')).find("2000 characters"), std::string::npos);
}

TEST(Cron, AStepOfZeroIsRefused) {
  EXPECT_NE(error_of("*/0 * * * *").find("a step of 0 would never move on"), std::string::npos);
  EXPECT_NE(error_of("0-5/0 * * * *").find("a step of 0"), std::string::npos);
}

TEST(Cron, LWAndHashAreRefusedWithAHint) {
  EXPECT_NE(error_of("0 0 L * *").find("L (the last day) is not supported"), std::string::npos);
  EXPECT_NE(error_of("0 0 * * 5L").find("L (the last day)"), std::string::npos);
  EXPECT_NE(error_of("0 0 * * FRIL").find("L (the last day)"), std::string::npos);
  EXPECT_NE(error_of("0 0 15W * *").find("W (the nearest working day)"), std::string::npos);
  EXPECT_NE(error_of("0 0 * * FRI#2").find("# (the n-th weekday"), std::string::npos);
  EXPECT_NE(error_of("H * * * *").find("use jitter"), std::string::npos);
}

TEST(Cron, AScheduleThatNeverFiresIsRefused) {
  EXPECT_NE(error_of("0 0 30 2 *").find("it never fires"), std::string::npos);
  EXPECT_NE(error_of("0 0 31 4,6,9,11 *").find("it never fires"), std::string::npos);
  EXPECT_EQ(error_of("0 0 30 2 MON"), "");  // Mondays of February
}

TEST(Cron, TheEndsOfTime) {
  EXPECT_FALSE(cron("* * * * *").next(WallTime::max()));
  EXPECT_FALSE(cron("@every 2000000h").next(at("2060-01-01T00:00:00Z")));
  EXPECT_TRUE(cron("* * * * *", "Europe/Berlin").next(WallTime::min()));
  EXPECT_TRUE(cron("0 3 * * *", "Europe/Berlin").next(WallTime::min()));
}

// date 3.0.1 knows no rules, only the table in the file: it must reach some years ahead ("fat" files, as Debian
// builds).
TEST(Cron, TheZoneTablesReachAhead) {
  EXPECT_EQ(first("0 3 * * *", "2035-07-01T00:00:00Z", "Europe/Berlin"), "2035-07-01T01:00:00");
}

}  // namespace
}  // namespace hookd::trigger
