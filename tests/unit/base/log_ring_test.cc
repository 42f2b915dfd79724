#include "base/log_ring.h"

#include <gtest/gtest.h>

#include "base/json_read.h"
#include "unit/support/log_tap.h"

namespace hookd::log {
namespace {

std::string joined(const std::vector<Ring::Line>& lines) {
  std::string text;
  for (const auto& line : lines) text += line.json + " ";
  return text;
}

TEST(LogRing, KeepsTheLastLinesAndTheirNumbers) {
  Ring ring({.lines = 3});
  for (const char* line : {"1", "2", "3", "4"}) ring.add(line, line == std::string_view("3") ? "a" : "");
  EXPECT_EQ(joined(ring.last(10)), "2 3 4 ");
  EXPECT_EQ(joined(ring.last(1)), "4 ");
  EXPECT_EQ(joined(ring.last(10, "a")), "3 ");
  EXPECT_EQ(joined(ring.after(3)), "4 ");
  EXPECT_EQ(joined(ring.after(0, 2)), "2 3 ");
  EXPECT_EQ(ring.after(0).front().number, 2u);
  EXPECT_EQ(ring.newest(), 4u);
  EXPECT_TRUE(ring.after(4).empty());
}

TEST(LogRing, IsBoundedInBytes) {
  Ring ring({.bytes = 10});
  ring.add("aaaaaa", "");
  ring.add("bbbbbb", "");
  EXPECT_EQ(joined(ring.last(10)), "bbbbbb ");
}

TEST(LogRing, MarksALineThatIsTooLong) {
  Ring ring({.line_bytes = 100});
  ring.add(R"({"time":"t","level":"warn","msg":")" + std::string(200, 'x') + "\"}", "h");
  const std::string line = ring.last(1).at(0).json;
  EXPECT_EQ(json_string_at(line, {"level"}), "warn");
  EXPECT_EQ(json_string_at(line, {"hook"}), "h");
  EXPECT_NE(line.find("bytes"), std::string::npos);
  EXPECT_LT(line.size(), 200u);
}

TEST(LogRing, HearsWhatIsLoggedAsJsonWithItsHook) {
  test::LogTap quiet;
  Ring ring;
  set_ring(&ring);
  info("hello", {{"hook", "h"}, {"n", 3}});
  debug("not at this level");
  set_ring(nullptr);
  info("later");
  const auto lines = ring.last(10);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].hook, "h");
  EXPECT_EQ(json_string_at(lines[0].json, {"msg"}), "hello");
}

}  // namespace
}  // namespace hookd::log
