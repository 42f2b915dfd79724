#include "base/log_room.h"

#include <gtest/gtest.h>

#include <string>

#include "base/log.h"
#include "unit/support/stuck_log.h"

namespace hookd::log {
namespace {

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

size_t told(const std::string& text) {
  const size_t at = text.rfind("log lines are missing");
  if (at == std::string::npos) return 0;
  return std::stoul(text.substr(text.find("lines=", at) + 6));
}

TEST(LogRoom, LinesThatAreLostAreCountedAndTold) {
  test::StuckLog stuck;
  constexpr size_t kLines = 3 * kQueueRecords;
  for (size_t i = 0; i < kLines; ++i) info("one of ours");
  EXPECT_GT(lost_lines(), kQueueRecords);
  EXPECT_EQ(tell_lost(), 0u);  // not while the queue is full: it would push out one more
  const std::string text = stuck.end();
  EXPECT_GE(count(text, "one of ours") + told(text), kLines - 1);  // the telling line itself may push out one
  EXPECT_LE(count(text, "one of ours") + told(text), kLines);
}

TEST(LogRoom, HooksLinesAreLeftOutBeforeOwnOnes) {
  test::StuckLog stuck;
  constexpr size_t kLines = 3 * kQueueRecords;
  for (size_t i = 0; i < kLines; ++i) {
    if (i % 100 == 0) info("one of ours");
    if (room_for_chatter()) info("chatter");
  }
  const std::string text = stuck.end();
  EXPECT_EQ(count(text, "one of ours"), kLines / 100 + 1);
  EXPECT_GE(count(text, "chatter"), kQueueRecords / 2);
  EXPECT_EQ(count(text, "chatter") + told(text), kLines);
}

TEST(LogRoom, NothingIsToldWhenNothingIsLost) {
  test::StuckLog stuck;
  info("one of ours");
  EXPECT_TRUE(room_for_chatter());
  EXPECT_EQ(tell_lost(), 0u);
  EXPECT_EQ(told(stuck.end()), 0u);
}

}  // namespace
}  // namespace hookd::log
