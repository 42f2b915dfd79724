#include "process/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hookd::process {
namespace {

using testing::ElementsAre;

struct Lines {
  std::vector<std::string> lines;
  LineSplitter splitter;
  explicit Lines(size_t limit = 64u << 10)
      : splitter([this](std::string_view line) { lines.emplace_back(line); }, limit) {}
};

TEST(LineSplitter, SplitsWhateverThePieces) {
  const std::string text = "one\n\ntwo\r\nthree \r x\nlast";
  for (size_t size = 1; size <= text.size(); ++size) {
    Lines all(16);
    for (size_t at = 0; at < text.size(); at += size) all.splitter.feed(std::string_view(text).substr(at, size));
    EXPECT_THAT(all.lines, ElementsAre("one", "", "two", "three \r x"));
    all.splitter.finish();
    EXPECT_THAT(all.lines, ElementsAre("one", "", "two", "three \r x", "last"));
    all.splitter.finish();
    EXPECT_EQ(all.lines.size(), 5u);
  }
}

TEST(LineSplitter, NothingGivesNoLine) {
  Lines all;
  all.splitter.feed("");
  all.splitter.finish();
  EXPECT_TRUE(all.lines.empty());
}

TEST(LineSplitter, CutsLongLinesWithAMark) {
  const std::string text = std::string(16, 'a') + std::string(16, 'b') + "c\nnext\n";
  for (const size_t size : {1u, 7u, 16u, 17u, 100u}) {
    Lines all(16);
    for (size_t at = 0; at < text.size(); at += size) all.splitter.feed(std::string_view(text).substr(at, size));
    EXPECT_THAT(all.lines, ElementsAre(std::string(16, 'a') + "…", "…" + std::string(16, 'b') + "…", "…c", "next"))
        << size;
  }
}

TEST(LineSplitter, ALineOfJustTheBoundIsWhole) {
  Lines all(16);
  all.splitter.feed(std::string(16, 'a') + "\n");
  all.splitter.feed(std::string(10, 'b'));
  all.splitter.feed(std::string(6, 'b'));
  all.splitter.feed("\n");
  all.splitter.feed(std::string(16, 'c'));
  all.splitter.finish();
  EXPECT_THAT(all.lines, ElementsAre(std::string(16, 'a'), std::string(16, 'b'), std::string(16, 'c')));
}

TEST(LineSplitter, CutsBetweenCharacters) {
  Lines all(16);
  all.splitter.feed("123456789012345ü3456\n");  // the ü begins at byte 15
  EXPECT_THAT(all.lines, ElementsAre("123456789012345…", "…ü3456"));
}

TEST(LineSplitter, RubbishThatIsNotUtf8IsCutToo) {
  Lines all(16);
  all.splitter.feed(std::string(40, '\x80') + "\n");
  EXPECT_THAT(all.lines, ElementsAre(std::string(16, '\x80') + "…", "…" + std::string(16, '\x80') + "…",
                                     "…" + std::string(8, '\x80')));
}

TEST(LineSplitter, AnEndlessLineComesInBoundedPieces) {
  size_t bytes = 0, longest = 0;
  LineSplitter splitter([&](std::string_view line) {
    bytes += line.size();
    longest = std::max(longest, line.size());
  });
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 100; ++i) splitter.feed(piece);
  splitter.finish();
  EXPECT_GE(bytes, 10'000'000u);
  EXPECT_EQ(longest, (64u << 10) + 6);
}

}  // namespace
}  // namespace hookd::process
