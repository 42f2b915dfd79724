#include "hook/worker_line.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using Kind = WorkerLine::Kind;
using testing::HasSubstr;

TEST(WorkerLine, AnAnswerCarriesTheIdOfItsCall) {
  const WorkerLine read = read_worker_line(R"( {"id":"c1","operations":[{"operation":"Delete"}],"message":"m"} )"
                                           "\r");
  EXPECT_EQ(read.kind, Kind::kReply);
  EXPECT_EQ(read.id, "c1");
  EXPECT_EQ(read.reply.kind, Reply::Kind::kAnswered);
  EXPECT_EQ(read.reply.text, R"({"operations":[{"operation":"Delete"}],"message":"m"})");
}

TEST(WorkerLine, NothingToDoIsAnAnswer) { EXPECT_EQ(read_worker_line(R"({"id":"c1"})").reply.text, "{}"); }

TEST(WorkerLine, AnErrorOfNullIsNone) {
  const WorkerLine read = read_worker_line(R"({"error":null,"id":"c1","later":false,"permanent":null,"message":"m"})");
  EXPECT_EQ(read.reply.kind, Reply::Kind::kAnswered);
  EXPECT_EQ(read.reply.text, R"({"message":"m"})");
}

TEST(WorkerLine, AnErrorFailsTheCall) {
  const WorkerLine read = read_worker_line(R"({"id":"c1","error":"no \"x\""})");
  EXPECT_EQ(read.kind, Kind::kReply);
  EXPECT_EQ(read.reply.kind, Reply::Kind::kFailed);
  EXPECT_EQ(read.reply.result, "failed");
  EXPECT_EQ(read.reply.why, R"(no "x")");
}

TEST(WorkerLine, LaterIsExitCode75) {
  const WorkerLine read = read_worker_line(R"({"id":"c1","error":"db is away","later":true})");
  EXPECT_EQ(read.reply.kind, Reply::Kind::kLater);
  EXPECT_EQ(read.reply.result, "later");
  EXPECT_EQ(read.reply.at_least, 0s);
  EXPECT_THAT(read.reply.why, HasSubstr("db is away"));
  EXPECT_EQ(read_worker_line(R"({"id":"c1","later":"20s"})").reply.at_least, 20s);
}

TEST(WorkerLine, PermanentIsExitCode65) {
  const WorkerLine read = read_worker_line(R"({"id":"c1","error":"nonsense","permanent":true})");
  EXPECT_EQ(read.reply.kind, Reply::Kind::kRefused);
  EXPECT_EQ(read.reply.result, "refused");
  EXPECT_EQ(read.reply.why, "the hook gave up on this event for good: nonsense");
}

TEST(WorkerLine, AnErrorWithOperationsIsAFailureThatSaysSo) {
  const WorkerLine read = read_worker_line(R"({"id":"c1","error":"e","operations":[]})");
  EXPECT_EQ(read.reply.kind, Reply::Kind::kFailed);
  EXPECT_THAT(read.reply.why, HasSubstr("both an error and \"operations\""));
}

TEST(WorkerLine, ALaterThatIsNoTimeIsAFailureThatSaysSo) {
  EXPECT_THAT(read_worker_line(R"({"id":"c1","later":5})").reply.why, HasSubstr("must be true or a text such as"));
  EXPECT_EQ(read_worker_line(R"({"id":"c1","later":"soon"})").reply.kind, Reply::Kind::kFailed);
}

TEST(WorkerLine, ALongErrorIsCut) {
  const std::string line = R"({"id":"c1","error":")" + std::string(100'000, 'x') + "\"}";
  EXPECT_EQ(read_worker_line(line).reply.why.size(), 1000u);
}

TEST(WorkerLine, Ready) {
  EXPECT_EQ(read_worker_line(R"({"ready":true})").kind, Kind::kReady);
  EXPECT_EQ(read_worker_line(R"({"ready":false})").kind, Kind::kBroken);
  EXPECT_EQ(read_worker_line(R"({"ready":true,"operations":[]})").kind, Kind::kBroken);
}

TEST(WorkerLine, TextIsForTheLogAndBrokenDocumentsAreNot) {
  EXPECT_EQ(read_worker_line("pod deleted").kind, Kind::kText);
  EXPECT_EQ(read_worker_line("\x01\xff").kind, Kind::kText);
  EXPECT_EQ(read_worker_line("  \r").kind, Kind::kEmpty);
  EXPECT_EQ(read_worker_line("[1]").kind, Kind::kBroken);
  EXPECT_EQ(read_worker_line(R"({"operations":[]})").kind, Kind::kBroken);
  EXPECT_EQ(read_worker_line(R"({"id":5})").kind, Kind::kBroken);
  EXPECT_EQ(read_worker_line(R"({"id":"a"} {"id":"b"})").kind, Kind::kBroken);
  EXPECT_EQ(read_worker_line(R"({"id":"a","id":"b"})").kind, Kind::kBroken);
}

TEST(WorkerLine, TheIdOfABrokenLineIsFoundWhereItStandsFirst) {
  EXPECT_EQ(read_worker_line(R"({"id":"c1","operations":[{)").id, "c1");
  EXPECT_EQ(leading_id(R"(  { "id" : "c1" , "oper)"), "c1");
  EXPECT_EQ(leading_id(R"({"operations":[],"id":"c1")"), "");
  EXPECT_EQ(leading_id(R"({"id":"c)"), "");
  EXPECT_EQ(leading_id(R"({"id":7)"), "");
  EXPECT_EQ(leading_id(R"({"id":"a\"b")"), "");
  EXPECT_EQ(leading_id(""), "");
}

struct Lines {
  explicit Lines(size_t limit) : lines(limit) {}
  void feed(std::string_view piece) {
    lines.feed(
        piece,
        [this](std::string_view line) {
          got.emplace_back(line);
          return got.size() < stop_at;
        },
        [this](std::string_view beginning) {
          long_ones.emplace_back(beginning);
          return true;
        });
  }
  WorkerLines lines;
  std::vector<std::string> got, long_ones;
  size_t stop_at = 1000;
};

TEST(WorkerLines, LinesComeWholeWhateverThePieces) {
  const std::string text = "one\n\nthree\nfour";
  for (size_t size = 1; size <= text.size(); ++size) {
    Lines lines(100);
    for (size_t at = 0; at < text.size(); at += size) lines.feed(std::string_view(text).substr(at, size));
    EXPECT_THAT(lines.got, testing::ElementsAre("one", "", "three")) << size;
    EXPECT_EQ(lines.lines.take_rest(), "four");
  }
}

TEST(WorkerLines, ALineOfJustTheLimitIsWhole) {
  Lines lines(5);
  lines.feed("12345\n123456\n12");
  lines.feed("345\n");
  EXPECT_THAT(lines.got, testing::ElementsAre("12345", "12345"));
  EXPECT_THAT(lines.long_ones, testing::ElementsAre("123456"));
}

TEST(WorkerLines, OfALineOverTheLimitOnlyItsBeginningIsKept) {
  Lines lines(10'000);
  lines.feed("{\"id\":\"a\"");
  for (int piece = 0; piece < 1000; ++piece) lines.feed(std::string(1000, 'x'));
  lines.feed("x\nnext\n");
  ASSERT_EQ(lines.long_ones.size(), 1u);
  EXPECT_THAT(lines.long_ones[0], testing::StartsWith("{\"id\":\"a\"xxx"));
  EXPECT_EQ(lines.long_ones[0].size(), WorkerLines::kBeginning);
  EXPECT_THAT(lines.got, testing::ElementsAre("next"));
}

TEST(WorkerLines, StopsWhenItsReaderIsGone) {
  Lines lines(100);
  lines.stop_at = 2;
  lines.feed("a\nb\nc\n");
  EXPECT_THAT(lines.got, testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace hookd::hook
