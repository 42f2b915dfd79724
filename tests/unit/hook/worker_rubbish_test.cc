// Workers that do not keep to the rules (issue 5, "Bad input"): each a clear line that names hook, pid and what.
#include "worker_fixture.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WorkerRubbishTest : public WorkerPoolTest {};

TEST_F(WorkerRubbishTest, TextIsLoggedWithOneHintAndTheCallStaysOpen) {
  make();
  auto& a = call("a");
  worker(0).print("pod \"x\" deleted\npod \"y\" deleted\n");
  EXPECT_EQ(log.count("deleted"), 2u);
  EXPECT_EQ(log.count("a JSON object a line"), 1u);
  EXPECT_THAT(log.first("a JSON object a line").line, HasSubstr("hook=h pid=1"));
  EXPECT_FALSE(a.reply);
  answer(worker(0), "a");
  EXPECT_EQ(a.reply->kind, Reply::Kind::kAnswered);
}

// It may be half of an answer with a Secret in it.
TEST_F(WorkerRubbishTest, OfABrokenDocumentOnlyTheFaultIsLogged) {
  make();
  auto& a = call("a");
  worker(0).print(R"({"operations":[{"password":"s3cret")"
                  "\n");
  EXPECT_EQ(log.count("s3cret"), 0u);
  EXPECT_THAT(log.first("a line of a worker's output is no answer").line, HasSubstr("hook=h pid=1 error="));
  EXPECT_FALSE(a.reply);
  worker(0).print(R"({"id":"a","operations":[{"password":"s3cret")"
                  "\n");
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_THAT(a.reply->why, HasSubstr("the answer was not understood, nothing was applied"));
  EXPECT_THAT(a.reply->why, Not(HasSubstr("s3cret")));
}

TEST_F(WorkerRubbishTest, AnObjectWithoutAnIdIsNoAnswer) {
  make();
  auto& a = call("a");
  worker(0).print("{\"operations\":[]}\n");
  EXPECT_THAT(log.first("no answer").line, HasSubstr("it has no \\\"id\\\""));
  EXPECT_FALSE(a.reply);
}

TEST_F(WorkerRubbishTest, BytesThatAreNoTextAreNoEnd) {
  make();
  auto& a = call("a");
  worker(0).print(std::string("\0\xff\xfe\x01\n\x80\n", 7));
  answer(worker(0), "a");
  EXPECT_TRUE(a.reply);
}

TEST_F(WorkerRubbishTest, AnUnknownIdIsNamed) {
  make();
  auto& a = call("a");
  answer(worker(0), "zzz");
  EXPECT_THAT(log.first("that it was not given").line, HasSubstr("hook=h pid=1 id=zzz"));
  answer(worker(0), "a");
  EXPECT_TRUE(a.reply);
}

TEST_F(WorkerRubbishTest, ASecondAnswerDoesNotCount) {
  make();
  auto& a = call("a");
  worker(0).print("{\"id\":\"a\",\"message\":\"1\"}\n{\"id\":\"a\",\"message\":\"2\"}\n");
  EXPECT_EQ(a.reply->text, R"({"message":"1"})");
  EXPECT_THAT(log.first("answered a call twice").line, HasSubstr("hook=h pid=1 id=a"));
}

// A worker cannot answer for another one.
TEST_F(WorkerRubbishTest, TheIdOfAnotherWorkersCallIsUnknown) {
  hook->run.worker.processes = 2;
  make();
  auto& a = call("a");
  auto& b = call("b");
  answer(worker(1), "a");
  EXPECT_FALSE(a.reply);
  EXPECT_FALSE(b.reply);
  EXPECT_EQ(log.count("that it was not given"), 1u);
}

TEST_F(WorkerRubbishTest, AnAnswerOverTheLimitFailsItsCallAtOnce) {
  make();  // answer limit 1000
  auto &a = call("a"), &b = call("b");
  worker(0).print(R"({"id":"a","message":")");
  for (int i = 0; i < 1000; ++i) worker(0).print(std::string(1000, 'x'));
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_THAT(a.reply->why, HasSubstr("longer than 1000 bytes"));
  worker(0).print("\"}\n");
  answer(worker(0), "b");
  EXPECT_EQ(b.reply->kind, Reply::Kind::kAnswered);
}

TEST_F(WorkerRubbishTest, ALineOverTheLimitWithoutAnIdIsTold) {
  make();
  auto& a = call("a");
  worker(0).print(std::string(5000, 'x') + "\n");
  EXPECT_THAT(log.first("no answer").line, HasSubstr("a line is longer than 1000 bytes"));
  EXPECT_EQ(log.count("xxxxx"), 0u);
  EXPECT_FALSE(a.reply);
}

TEST_F(WorkerRubbishTest, AFloodOnStderrIsCountedAndNotLogged) {
  make();
  const size_t flood = 100'000;
  for (size_t i = 0; i < flood / 100; ++i) {
    std::string lines;
    for (int line = 0; line < 100; ++line) lines += "noise\n";
    worker(0).complain(lines);
  }
  EXPECT_EQ(log.count("noise"), WorkerProcess::kLogLinesBurst);
  scheduler.advance(1s);
  EXPECT_THAT(
      log.first("lines were left out").line,
      AllOf(HasSubstr("hook=h pid=1"), HasSubstr(fmt::format("lines={}", flood - WorkerProcess::kLogLinesBurst))));
  worker(0).complain("again\n");
  EXPECT_EQ(log.count("again"), 1u);
}

TEST_F(WorkerRubbishTest, ALongStderrLineComesInPieces) {
  make();
  worker(0).complain(std::string(1 << 20, 'x'));
  worker(0).complain("\n");
  EXPECT_GT(log.count("xxx"), 60u);
  for (const auto& record : log.records) EXPECT_LT(record.line.size(), WorkerProcess::kStderrLineBytes + 1000);
}

TEST_F(WorkerRubbishTest, AFloodOfRubbishOnStdoutIsHeldBack) {
  make();
  std::string lines;
  for (size_t i = 0; i < WorkerProcess::kPauseAfterRubbish; ++i) lines += "y\n";
  worker(0).print(lines);
  EXPECT_TRUE(worker(0).paused);
  scheduler.advance(WorkerProcess::kRubbishPause);
  EXPECT_FALSE(worker(0).paused);
  auto& a = call("a");
  answer(worker(0), "a");
  EXPECT_TRUE(a.reply);
  worker(0).print("y\n");
  EXPECT_FALSE(worker(0).paused) << "an answer in between: no flood";
}

TEST_F(WorkerRubbishTest, AFloodOfWhateverAnswersNothingIsHeldBack) {
  for (const std::string line : {"\n", "{\"ready\":true}\n", "{\"id\":\"x\"}\n"}) {
    SCOPED_TRACE(line);
    launcher.started.clear();
    make();
    std::string lines;
    for (size_t i = 0; i < WorkerProcess::kPauseAfterRubbish; ++i) lines += line;
    worker(0).print(lines);
    EXPECT_TRUE(worker(0).paused);
    scheduler.advance(WorkerProcess::kRubbishPause);
    EXPECT_FALSE(worker(0).paused);
  }
}

TEST_F(WorkerRubbishTest, StderrBelongsToTheCallWhenThereIsJustOne) {
  make();
  worker(0).complain("none\n");
  auto& a = call("a");
  worker(0).complain("one\n");
  call("b");
  worker(0).complain("two\n");
  EXPECT_THAT(a.said, testing::ElementsAre("one"));
  for (const char* text : {"none", "two"})
    EXPECT_THAT(log.first(text).line, AllOf(HasSubstr("hook=h"), Not(HasSubstr("call=")), Not(HasSubstr("binding="))));
}

TEST_F(WorkerRubbishTest, OneThatClosesItsStdinIsEnded) {
  make();
  auto& a = call("a");
  worker(0).handlers.on_input_refused();
  auto& b = call("b");
  EXPECT_THAT(taken(worker(0)), testing::ElementsAre("a")) << "no more calls";
  scheduler.advance(WorkerProcess::kSettle);
  EXPECT_TRUE(worker(0).terminated);
  die(worker(0), 15);
  EXPECT_THAT(log.first("worker ended").line, HasSubstr("it closed its standard input (killed by SIGTERM)"));
  run();
  EXPECT_THAT(taken(worker(1)), testing::ElementsAre("b"));  // which had not been sent
  answer(worker(1), "b");
  EXPECT_THAT(taken(worker(1)), testing::ElementsAre("a"));
  EXPECT_FALSE(a.reply);
  EXPECT_TRUE(b.reply);
}

TEST_F(WorkerRubbishTest, OneThatClosesItsStdoutIsEnded) {
  make();
  worker(0).handlers.on_stdout_end();
  scheduler.advance(WorkerProcess::kSettle);
  EXPECT_TRUE(worker(0).terminated);
  die(worker(0), 15);
  EXPECT_THAT(log.first("worker ended").line, HasSubstr("it closed its standard output"));
}

// Its pipes close when it dies: that is no fault of its own, its exit is.
TEST_F(WorkerRubbishTest, OneThatDiesIsNamedByItsExit) {
  make();
  worker(0).handlers.on_stdout_end();
  worker(0).handlers.on_input_refused();
  worker(0).exit(3);
  EXPECT_FALSE(worker(0).terminated);
  EXPECT_THAT(log.first("worker ended").line, AllOf(HasSubstr("exit code 3"), Not(HasSubstr("closed its"))));
}

TEST_F(WorkerRubbishTest, ALastAnswerWithoutItsLineEndCountsAndACutOneIsTriedAgain) {
  make();
  auto &a = call("a"), &b = call("b");
  worker(0).print("{\"id\":\"a\"}\n{\"id\":\"b\",\"mess");
  worker(0).exit(0);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kAnswered);
  EXPECT_FALSE(b.reply);
  run();
  EXPECT_THAT(taken(worker(1)), testing::ElementsAre("b"));
  worker(1).print("{\"id\":\"b\"}");
  EXPECT_FALSE(b.reply);
  worker(1).exit(0);
  EXPECT_EQ(b.reply->kind, Reply::Kind::kAnswered);
}

TEST_F(WorkerRubbishTest, RandomBytesNeverAnswerACall) {
  make();
  auto& a = call("a");
  SeededRandom bytes(7);
  for (int round = 0; round < 200; ++round) {
    std::string piece;
    for (int i = 0; i < 500; ++i) piece += static_cast<char>(bytes.bits() & 0xff);
    worker(0).print(piece);
  }
  worker(0).print("\n");
  EXPECT_FALSE(a.reply);
  answer(worker(0), "a");
  EXPECT_TRUE(a.reply);
}

}  // namespace
}  // namespace hookd::hook
