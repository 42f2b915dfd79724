#include "base/log.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/json_read.h"
#include "base/result.h"

namespace hookd {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class LogTest : public testing::Test {
 protected:
  LogTest() {
    log::set_tap([this](log::Level level, std::string_view line) { lines.emplace_back(level, line); });
  }
  ~LogTest() override {
    log::set_tap({});
    log::start({});
    log::shutdown();
  }
  // start() also sets the form; no writer thread is left running.
  static void form(log::Options options) {
    log::start(options);
    log::shutdown();
  }
  std::vector<std::pair<log::Level, std::string>> lines;
};

TEST_F(LogTest, TextQuotesWhatWouldNotReadBack) {
  log::warn("watch failed", {{"hook", "h"},
                             {"error", "a b"},
                             {"empty", ""},
                             {"n", 5},
                             {"f", 0.25},
                             {"b", true},
                             {"raw", log::Field::Raw{"[1]"}}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].first, log::Level::kWarn);
  EXPECT_THAT(lines[0].second, EndsWith(R"(warn  watch failed hook=h error="a b" empty="" n=5 f=0.25 b=true raw=[1])"));
}

TEST_F(LogTest, TextNeverSteersATerminal) {
  log::info("red \x1b[31m", {{"name", "\x1b[0m\x7f"}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].second.find('\x1b'), std::string::npos);
  EXPECT_THAT(lines[0].second, HasSubstr(R"(red \x1b[31m)"));
}

TEST_F(LogTest, JsonIsOneValidObjectALine) {
  form({.level = log::Level::kInfo, .format = log::Format::kJson});
  log::error("two\nlines \xff",
             {{"s", "q\""}, {"n", int64_t{-1}}, {"f", 0.5}, {"b", false}, {"raw", log::Field::Raw{"{\"a\":1}"}}});
  ASSERT_EQ(lines.size(), 1u);
  const std::string& line = lines[0].second;
  EXPECT_TRUE(validate_json(line)) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json_string_at(line, {"level"}), "error");
  EXPECT_EQ(json_string_at(line, {"msg"}), "two\nlines \xEF\xBF\xBD");
  EXPECT_EQ(json_raw_at(line, {"raw"}), "{\"a\":1}");
  EXPECT_EQ(json_string_at(line, {"time"})->size(), std::string_view("2026-01-31T12:00:00.123Z").size());
}

TEST_F(LogTest, RecordsBelowTheLevelAreNotWritten) {
  log::debug("no");
  form({.level = log::Level::kError, .format = log::Format::kText});
  log::warn("no");
  log::error("yes");
  log::set_level(log::Level::kDebug);
  log::debug("yes");
  EXPECT_EQ(lines.size(), 2u);
}

TEST(LogLevel, IsReadInAnyCase) {
  log::Level level = log::Level::kInfo;
  EXPECT_TRUE(log::parse_level("WARNING", level));
  EXPECT_EQ(level, log::Level::kWarn);
  EXPECT_TRUE(log::parse_level("Debug", level));
  EXPECT_EQ(level, log::Level::kDebug);
  EXPECT_FALSE(log::parse_level("loud", level));
  EXPECT_FALSE(log::parse_level("", level));
}

TEST(Error, KeepsItsPartsWhenContextIsAdded) {
  const Error error{Errc::kThrottled, "slow down", 429, "TooManyRequests", std::chrono::milliseconds(5)};
  const Error more = error.with("list pods");
  EXPECT_EQ(more.what, "list pods: slow down");
  EXPECT_EQ(more.http_status, 429);
  EXPECT_EQ(more.reason, "TooManyRequests");
  EXPECT_EQ(more.retry_after, std::chrono::milliseconds(5));
}

// k8s-client.md W16: what may pass by itself.
TEST(Error, KnowsWhatMaySucceedLater) {
  for (const Errc code : {Errc::kTimeout, Errc::kTransport, Errc::kThrottled, Errc::kUnavailable, Errc::kConflict,
                          Errc::kForbidden, Errc::kUnauthorized})
    EXPECT_TRUE((Error{code, "", 0, {}, {}}).retryable()) << to_string(code);
  for (const Errc code :
       {Errc::kInvalid, Errc::kNotFound, Errc::kExists, Errc::kConfig, Errc::kTooLarge, Errc::kCancelled})
    EXPECT_FALSE((Error{code, "", 0, {}, {}}).retryable()) << to_string(code);
}

TEST(Error, EveryCodeHasAName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Errc::kInternal); ++code)
    names.insert(to_string(static_cast<Errc>(code)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Errc::kInternal) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::kInvalid, "{} is odd", number);
  return number / 2;
}
Result<int> quarter(int number) {
  HOOKD_TRY(const int once, half(number));
  HOOKD_TRY(const int twice, half(once));
  return twice;
}

TEST(HookdTry, ReturnsTheErrorOfTheInnermostStep) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_EQ(quarter(6).error().what, "3 is odd");
}

}  // namespace
}  // namespace hookd
