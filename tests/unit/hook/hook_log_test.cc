#include "hook/hook_log.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "base/log_room.h"
#include "unit/support/log_tap.h"
#include "unit/support/stuck_log.h"

namespace hookd::hook {
namespace {

using log::Level;
using testing::HasSubstr;
using testing::Not;

class HookLogTest : public testing::Test {
 protected:
  HookLogTest() { log::set_level(Level::kDebug); }
  ~HookLogTest() override { log::set_level(Level::kInfo); }
  test::LogTap::Record write(std::string_view line) {
    tap.records.clear();
    log_hook_line({"h", "stuck", "c1"}, line);
    return tap.records.empty() ? test::LogTap::Record{Level::kDebug, ""} : tap.records.front();
  }
  test::LogTap tap;
};

TEST_F(HookLogTest, PlainTextIsAMessageOfLevelInfo) {
  const auto record = write("hello world\r");
  EXPECT_EQ(record.level, Level::kInfo);
  EXPECT_THAT(record.line, testing::EndsWith("hello world hook=h binding=stuck call=c1"));
}

TEST_F(HookLogTest, EmptyLinesSayNothing) {
  write("");
  EXPECT_TRUE(tap.records.empty());
  write(" \t\r");
  EXPECT_TRUE(tap.records.empty());
}

// product.md section 3: a JSON line keeps its own level and fields.
TEST_F(HookLogTest, JsonKeepsItsLevelMessageAndFields) {
  const auto record =
      write(R"({"level":"ERROR","msg":"it broke","pod":"a/b","n":12345678901234567890123,"nested":{"x":[1.50]}})");
  EXPECT_EQ(record.level, Level::kError);
  EXPECT_THAT(record.line, HasSubstr("it broke hook=h"));
  EXPECT_THAT(record.line, HasSubstr(R"(pod="a/b")"));
  EXPECT_THAT(record.line, HasSubstr("n=12345678901234567890123"));  // every digit
  EXPECT_THAT(record.line, HasSubstr(R"(nested={"x":[1.50]})"));
}

TEST_F(HookLogTest, KnowsTheWordsAndNumbersOfUsualLoggers) {
  EXPECT_EQ(write(R"({"severity":"WARNING","message":"m"})").level, Level::kWarn);
  EXPECT_EQ(write(R"({"level":"fatal","msg":"m"})").level, Level::kError);
  EXPECT_EQ(write(R"({"severity":"CRITICAL","msg":"m"})").level, Level::kError);
  EXPECT_EQ(write(R"({"level":"trace","msg":"m"})").level, Level::kDebug);
  EXPECT_EQ(write(R"({"level":"odd","msg":"m"})").level, Level::kInfo);
  EXPECT_EQ(write(R"({"level":50,"msg":"pino"})").level, Level::kError);
  EXPECT_EQ(write(R"({"level":20,"msg":"pino"})").level, Level::kDebug);
}

TEST_F(HookLogTest, WhatTheDaemonSaysOfTheCallCannotBeForged) {
  const auto record =
      write(R"({"msg":"m","message":"other","hook":"x","binding":"y","call":"z","time":"t","level":{"a":1}})");
  EXPECT_THAT(record.line, HasSubstr("m hook=h binding=stuck call=c1"));
  for (const char* forged : {"hook=\"x\"", "binding=\"y\"", "call=\"z\"", "time=", "level="})
    EXPECT_THAT(record.line, Not(HasSubstr(forged)));
  EXPECT_THAT(record.line, HasSubstr(R"(message="other")"));
}

TEST_F(HookLogTest, WithoutAMessageTheFieldsAreStillThere) {
  EXPECT_THAT(write(R"({"event":"started"})").line,
              HasSubstr(R"((no message) hook=h binding=stuck call=c1 event="started")"));
}

TEST_F(HookLogTest, WhatIsNoWholeObjectIsText) {
  EXPECT_THAT(write(R"({"msg":"cut)").line, HasSubstr(R"({"msg":"cut)"));
  EXPECT_THAT(write(R"({"msg":"a"} tail)").line, HasSubstr("tail"));
  EXPECT_THAT(write("{}").line, HasSubstr("{} hook=h"));
  EXPECT_THAT(write("{not json}").line, HasSubstr("{not json} hook=h"));
}

TEST_F(HookLogTest, TheRecordIsValidJsonWhateverTheHookWrites) {
  log::start({.level = Level::kDebug, .format = log::Format::kJson});
  log::shutdown();
  for (const std::string_view line : {"{\"msg\":\"\xff\",\"x\":\"\xff\"}", "\xff\xfe", "{\"msg\":5,\"level\":null}",
                                      "{\"a\":1,\"a\":2}", "{\"msg\":\"\\ud800\"}"}) {
    const auto record = write(line);
    EXPECT_TRUE(validate_json(record.line)) << record.line;
    EXPECT_TRUE(is_utf8(record.line)) << record.line;
  }
  log::start({.level = Level::kDebug, .format = log::Format::kText});
  log::shutdown();
}

TEST(HookLogRoom, AHookThatSaysTooMuchDoesNotPushOutWhatHookdSays) {
  test::StuckLog stuck;
  for (size_t i = 0; i < 4 * log::kQueueRecords; ++i) {
    if (i == log::kQueueRecords / 2) log::info("deleted Pod a/b");
    log_hook_line({"h", "", "c1"}, "chatter");
  }
  EXPECT_GT(log::lost_lines(), log::kQueueRecords);
  EXPECT_THAT(stuck.end(), testing::AllOf(HasSubstr("deleted Pod a/b"), HasSubstr("log lines are missing")));
}

}  // namespace
}  // namespace hookd::hook
