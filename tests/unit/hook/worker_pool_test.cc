// Calls among workers, and workers that end.
#include "hook/worker_pool.h"

#include <unistd.h>

#include "worker_fixture.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(WorkerPoolTest, WorkersAreStartedBeforeTheFirstCall) {
  hook->run.worker.processes = 3;
  make();
  ASSERT_EQ(launcher.started.size(), 3u);
  const auto& spec = worker(0).spec;
  EXPECT_TRUE(spec.keep_stdin);
  EXPECT_EQ(spec.stdout_limit_bytes, 0u);
  EXPECT_EQ(spec.timeout, 0s);
  EXPECT_EQ(worker(0).environment("HOOKD_MODE"), "worker");
  EXPECT_EQ(worker(0).environment("HOOKD_HOOK"), "h");
  EXPECT_EQ(worker(0).environment("KUBECONFIG"), "/run/kubeconfig");
  for (const char* of_a_call : {"HOOKD_CALL_ID", "HOOKD_BINDING", "HOOKD_ATTEMPT", "HOOKD_ANSWER"})
    EXPECT_EQ(worker(0).environment(of_a_call), "") << of_a_call;
  EXPECT_EQ(pool->processes().at("ready"), 3u);
}

TEST_F(WorkerPoolTest, ACallIsALineAndItsAnswerALine) {
  make();
  auto& called = call("c1");
  EXPECT_EQ(worker(0).input_offers, 1u);
  EXPECT_EQ(
      worker(0).read_input(),
      R"({"hook":"h","id":"c1","attempt":1,"reason":"watch","time":"1970-01-01T00:00:00.000Z","events":[],"objects":{}})"
      "\n");
  answer(worker(0), "c1", R"(,"operations":[])");
  ASSERT_TRUE(called.reply);
  EXPECT_EQ(called.reply->kind, Reply::Kind::kAnswered);
  EXPECT_EQ(called.reply->text, R"({"operations":[]})");
  EXPECT_FALSE(called.reply->exit);
}

// The server's texts may hold line ends between their tokens; a text's own are \n.
TEST_F(WorkerPoolTest, LineEndsWithinObjectsAreTakenAway) {
  make();
  auto made = std::make_shared<Call>();
  made->id = "c1";
  Event event;
  event.resource = std::make_shared<const kube::ResourceType>(test::pods());
  event.object = test::make_object("a", "x", "u", "1", "{\n  \"a\": \"b\\nc\",\r\n  \"d\": 1\n}\n");
  made->events.push_back(event);
  CallRequest request;
  request.call = made;
  request.replied = [](Reply) {};
  const auto open = pool->start(std::move(request));
  const std::string line = worker(0).read_input();
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  EXPECT_EQ(std::ranges::count(line, '\r'), 0);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_TRUE(validate_json(line));
  EXPECT_THAT(line, HasSubstr(R"("b\nc")"));
}

TEST_F(WorkerPoolTest, ALargeCallIsStreamedAndOthersFollowIt) {
  make();
  auto made = std::make_shared<Call>();
  made->id = "big";
  Snapshot& snapshot = made->objects["pods"];
  snapshot.type = std::make_shared<const kube::ResourceType>(test::pods());
  for (int i = 0; i < 200; ++i)
    snapshot.entries.push_back(
        {test::make_object("a", "x", "u", "1", "{\"a\":\"" + std::string(10'000, 'x') + "\"}"), {}});
  CallRequest request;
  request.call = made;
  request.replied = [](Reply) {};
  const auto open = pool->start(std::move(request));
  call("small");
  EXPECT_THAT(taken(worker(0)), ElementsAre("big", "small"));
  EXPECT_LT(worker(0).largest_piece, CallWriter::kPieceBytes + 20'000);
}

TEST_F(WorkerPoolTest, SeveralAreOpenAtOnceAndAnsweredInAnyOrder) {
  make();
  auto &a = call("a"), &b = call("b"), &c = call("c");
  EXPECT_THAT(taken(worker(0)), ElementsAre("a", "b"));  // callsAtOnce 2
  answer(worker(0), "b");
  EXPECT_TRUE(b.reply);
  EXPECT_FALSE(a.reply);
  EXPECT_THAT(taken(worker(0)), ElementsAre("c"));
  worker(0).print("{\"id\":\"c\"}\n{\"id\":\"a\"}\n");
  EXPECT_TRUE(a.reply);
  EXPECT_TRUE(c.reply);
}

TEST_F(WorkerPoolTest, TheLeastLoadedWorkerGetsTheNextCall) {
  hook->run.worker.processes = 2;
  make();
  call("a"), call("b"), call("c");
  EXPECT_THAT(taken(worker(0)), ElementsAre("a", "c"));
  EXPECT_THAT(taken(worker(1)), ElementsAre("b"));
  answer(worker(0), "a");
  answer(worker(0), "c");
  call("d");
  EXPECT_THAT(taken(worker(0)), ElementsAre("d"));
}

TEST_F(WorkerPoolTest, WaitsForTheReadyLine) {
  hook->run.worker.says_ready = true;
  make();
  call("a");
  EXPECT_THAT(taken(worker(0)), IsEmpty());
  EXPECT_EQ(pool->processes().at("starting"), 1u);
  EXPECT_EQ(pool->at_work(), 1u);
  worker(0).print("{\"ready\":true}\n");
  EXPECT_THAT(taken(worker(0)), ElementsAre("a"));
}

TEST_F(WorkerPoolTest, OneThatIsNeverReadyIsEndedAndItsCallsFailWithTheReason) {
  hook->run.worker.says_ready = true;
  hook->run.worker.ready_timeout = 10s;
  make();
  auto& a = call("a");
  scheduler.advance(10s);
  EXPECT_TRUE(worker(0).terminated);
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_THAT(a.reply->why, HasSubstr(R"(it did not say {"ready":true} within 10s)"));
  EXPECT_EQ(launcher.started.size(), 2u);  // the first time at once
  worker(1).print("{\"ready\":true}\n");
  die(worker(0), 15);
  auto& b = call("b");
  EXPECT_THAT(taken(worker(1)), ElementsAre("b"));
  EXPECT_FALSE(b.reply);
}

TEST_F(WorkerPoolTest, ReadyWithoutBeingAskedIsFine) {
  make();
  worker(0).print("{\"ready\":true}\n");
  EXPECT_EQ(log.count("no answer"), 0u);
}

// ---- ends

TEST_F(WorkerPoolTest, TheCallsOfADeadWorkerGoOnceMoreToAnother) {
  hook->run.worker.processes = 2;
  make();
  auto& a = call("a");
  taken(worker(0));
  worker(0).complain("panic: x\n");
  die(worker(0));
  EXPECT_FALSE(a.reply);
  EXPECT_THAT(taken(worker(1)), ElementsAre("a"));
  answer(worker(1), "a");
  EXPECT_EQ(a.reply->kind, Reply::Kind::kAnswered);
  run();
  EXPECT_EQ(launcher.started.size(), 3u);
  const auto record = log.first("worker ended");
  EXPECT_EQ(record.level, log::Level::kWarn);
  EXPECT_THAT(record.line, HasSubstr("hook=h pid=1"));
  EXPECT_THAT(record.line, HasSubstr("killed by SIGKILL; its last words: panic: x"));
}

TEST_F(WorkerPoolTest, ACallThatEndsTwoWorkersFails) {
  make();
  auto& a = call("a");
  taken(worker(0));
  die(worker(0));
  run();
  ASSERT_EQ(launcher.started.size(), 2u);
  EXPECT_THAT(taken(worker(1)), ElementsAre("a"));
  die(worker(1), 11);
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_EQ(a.reply->result, "failed");
  EXPECT_THAT(a.reply->why, HasSubstr("worker 1: killed by SIGSEGV"));
  EXPECT_THAT(a.reply->why, HasSubstr("the second worker that ended with this call open"));
}

TEST_F(WorkerPoolTest, CallsTakenBackGoBeforeThoseThatWaitAndKeepTheirOrder) {
  make();
  call("a"), call("b"), call("c");
  taken(worker(0));
  die(worker(0));
  run();
  EXPECT_THAT(taken(worker(1)), ElementsAre("a"));
  answer(worker(1), "a");
  EXPECT_THAT(taken(worker(1)), ElementsAre("b"));
  answer(worker(1), "b");
  EXPECT_THAT(taken(worker(1)), ElementsAre("c"));
}

TEST_F(WorkerPoolTest, ACallThatEndsWorkersDoesNotFailThoseBesideIt) {
  make();
  auto &poison = call("poison"), &good = call("good");
  taken(worker(0));
  die(worker(0));
  run();
  EXPECT_THAT(taken(worker(1)), ElementsAre("poison"));
  die(worker(1));
  run();
  ASSERT_TRUE(poison.reply);
  EXPECT_EQ(poison.reply->kind, Reply::Kind::kFailed);
  EXPECT_FALSE(good.reply) << good.reply->why;
  scheduler.advance(1s);
  EXPECT_THAT(taken(worker(2)), ElementsAre("good"));
  answer(worker(2), "good");
  ASSERT_TRUE(good.reply);
  EXPECT_EQ(good.reply->kind, Reply::Kind::kAnswered);
}

TEST_F(WorkerPoolTest, AWorkerThatEndsByItselfAfterItsWorkIsReplacedAtOnce) {
  make();
  for (int i = 0; i < 20; ++i) {
    call(fmt::format("c{}", i));
    answer(worker(launcher.started.size() - 1), fmt::format("c{}", i));
    launcher.last().exit(0);
    run();
    ASSERT_EQ(launcher.started.size(), static_cast<size_t>(i + 2));
  }
  EXPECT_EQ(pool->trouble(), std::nullopt);
}

TEST_F(WorkerPoolTest, QuickEndsAreFollowedByAGrowingDelay) {
  make();
  launcher.last().exit(1);
  run();
  EXPECT_EQ(launcher.started.size(), 2u);  // the first time at once
  for (int failure = 0; failure < 12; ++failure) {
    launcher.last().exit(1);
    run();
    const size_t before = launcher.started.size();
    const Duration least = std::min<Duration>(WorkerPool::kFirstDelay * (1 << failure), WorkerPool::kMaxDelay);
    scheduler.advance(least - 1ms);
    EXPECT_EQ(launcher.started.size(), before) << failure;
    ASSERT_TRUE(pool->trouble());
    EXPECT_THAT(*pool->trouble(), HasSubstr("worker 1: exit code 1"));
    scheduler.advance(least / 4);  // jitter
    EXPECT_EQ(launcher.started.size(), before + 1) << failure;
  }
  EXPECT_THAT(*pool->trouble(), HasSubstr("exit code 1"));
  call("a");
  answer(launcher.last(), "a");
  EXPECT_EQ(pool->trouble(), std::nullopt);
}

TEST_F(WorkerPoolTest, WhatWaitsForAStartThatIsFarAwayFailsInsteadOfHoldingASlot) {
  make();
  for (int quick = 0; quick < 5; ++quick) {
    const size_t before = launcher.started.size();
    launcher.last().exit(1);
    while (launcher.started.size() == before) scheduler.advance(100ms);
  }
  auto &a = call("a"), &b = call("b");
  taken(launcher.last());
  die(launcher.last());
  for (const auto* waiting : {&a, &b}) {
    ASSERT_TRUE(waiting->reply);
    EXPECT_EQ(waiting->reply->kind, Reply::Kind::kFailed);
    EXPECT_THAT(waiting->reply->why, HasSubstr("killed by SIGKILL; next start in"));
  }
}

TEST_F(WorkerPoolTest, ReadyWhileAWorkerHasRoomAndTellsWhenOneHasAgain) {
  hook->run.worker.says_ready = true;
  make();
  int looks = 0;
  pool->on_ready([&looks] { ++looks; });
  EXPECT_FALSE(pool->ready()) << "it starts";
  worker(0).print("{\"ready\":true}\n");
  run();
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(pool->ready());
  call("a"), call("b");
  taken(worker(0));
  EXPECT_FALSE(pool->ready()) << "callsAtOnce";
  answer(worker(0), "a");
  EXPECT_EQ(looks, 1) << "in a turn of its own";
  run();
  EXPECT_EQ(looks, 2);
  EXPECT_TRUE(pool->ready());
  answer(worker(0), "b");
  run();
  EXPECT_EQ(looks, 2) << "nobody was sent away";
  die(worker(0));
  EXPECT_FALSE(pool->ready());
}

TEST_F(WorkerPoolTest, OneThatDiesAtItsStartFailsTheCallsThatWait) {
  hook->run.worker.says_ready = true;
  make();
  auto& a = call("a");
  launcher.last().complain("ModuleNotFoundError: x\n");
  launcher.last().exit(1);
  ASSERT_TRUE(a.reply);
  EXPECT_THAT(a.reply->why, HasSubstr("exit code 1; its last words: ModuleNotFoundError: x"));
}

TEST_F(WorkerPoolTest, AMissingProgramFailsTheCallsWithItsReason) {
  launcher.refusal = Error{Errc::kHookFailed, "/hooks/w: no such file", 0, "", {}};
  make();
  auto& a = call("a");
  scheduler.advance(1s);
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_THAT(a.reply->why, HasSubstr("/hooks/w: no such file"));
  EXPECT_THAT(pool->trouble().value_or(""), HasSubstr("/hooks/w: no such file; next start in"));
  EXPECT_GT(log.count("a worker could not be started"), 1u);
  launcher.refusal.reset();
  auto& b = call("b");
  scheduler.advance(10s);
  answer(launcher.last(), "b");
  EXPECT_TRUE(b.reply);
  EXPECT_EQ(pool->trouble(), std::nullopt);
}

TEST_F(WorkerPoolTest, SomeThatFailAreTroubleThoughOthersWork) {
  hook->run.worker.processes = 2;
  make();
  for (int i = 0; i < 3; ++i) {
    scheduler.advance(1s);
    launcher.last().exit(1);
  }
  // Worker 0 works; the other slot waits.
  EXPECT_THAT(pool->trouble().value_or(""), HasSubstr("1 of 2 workers do not run; worker 1: exit code 1"));
  call("a");
  EXPECT_THAT(taken(worker(0)), ElementsAre("a"));
}

TEST_F(WorkerPoolTest, OneThatStaysUpIsNoTroubleThoughNothingCallsIt) {
  hook->run.worker.processes = 2;
  make();
  for (int quick = 0; quick < 2; ++quick) {
    launcher.last().exit(1);
    run();
  }
  scheduler.advance(250ms);
  ASSERT_EQ(launcher.started.size(), 4u);
  EXPECT_THAT(pool->trouble().value_or(""), testing::StartsWith("worker 1: exit code 1")) << "all of them run";
  scheduler.advance(WorkerPool::kQuick);
  EXPECT_EQ(pool->trouble(), std::nullopt);
}

// ---- deadlines

TEST_F(WorkerPoolTest, ACallWithoutAnAnswerTimesOutAndItsWorkerIsEnded) {
  make();
  auto& a = call("a");
  taken(worker(0));
  scheduler.advance(10s);
  auto& b = call("b");
  scheduler.advance(20s - 1ms);
  EXPECT_FALSE(worker(0).terminated);
  scheduler.advance(1ms);
  EXPECT_TRUE(worker(0).terminated);
  EXPECT_FALSE(a.reply) << "its process may still be at it";
  ASSERT_EQ(launcher.started.size(), 2u);  // a fresh one at once
  auto& c = call("c");
  EXPECT_THAT(taken(worker(1)), ElementsAre("c"));
  die(worker(0), 15);
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->result, "timeout");
  EXPECT_THAT(a.reply->why, HasSubstr("worker 1: no answer within 30s, it is taken for hung (killed by SIGTERM)"));
  EXPECT_FALSE(b.reply) << "retried elsewhere";
  EXPECT_THAT(taken(worker(1)), ElementsAre("b"));
  answer(worker(1), "b");
  answer(worker(1), "c");
  EXPECT_TRUE(b.reply);
  EXPECT_TRUE(c.reply);
}

TEST_F(WorkerPoolTest, WhatAHungWorkerStillAnswersCountsButForTheCallThatIsOverItsTime) {
  make();
  auto& a = call("a");
  scheduler.advance(10s);
  auto& b = call("b");
  scheduler.advance(20s);
  answer(worker(0), "b");
  answer(worker(0), "a");
  EXPECT_EQ(b.reply->kind, Reply::Kind::kAnswered);
  EXPECT_FALSE(a.reply);
  die(worker(0));
  EXPECT_EQ(a.reply->result, "timeout");
}

TEST_F(WorkerPoolTest, TheTimeOfACallBeginsWhenAWorkerGetsIt) {
  hook->run.worker.calls_at_once = 1;
  make();
  call("a");
  scheduler.advance(20s);
  auto& b = call("b");
  scheduler.advance(9s);
  answer(worker(0), "a");
  scheduler.advance(29s);
  EXPECT_FALSE(worker(0).terminated);
  answer(worker(0), "b");
  EXPECT_EQ(b.reply->kind, Reply::Kind::kAnswered);
}

TEST_F(WorkerPoolTest, IdleWorkersWaitForNothing) {
  make();
  call("a");
  answer(worker(0), "a");
  scheduler.advance(1min);  // the deadline of the call that was there
  EXPECT_TRUE(scheduler.idle());
}

// ---- replacing

TEST_F(WorkerPoolTest, ReplacedAfterMaxCallsAndNoCallIsLost) {
  hook->run.worker.max_calls = 3;
  hook->run.worker.calls_at_once = 10;
  make();
  for (const char* id : {"a", "b", "c", "d"}) call(id);
  run();
  EXPECT_THAT(taken(worker(0)), ElementsAre("a", "b", "c"));
  EXPECT_THAT(taken(worker(1)), ElementsAre("d"));
  EXPECT_FALSE(worker(0).input_closed);
  for (const char* id : {"b", "c", "a"}) answer(worker(0), id);
  EXPECT_TRUE(worker(0).input_closed);
  EXPECT_FALSE(worker(0).terminated);
  worker(0).exit(0);
  answer(worker(1), "d");
  for (const auto& called : calls) EXPECT_EQ(called->reply->kind, Reply::Kind::kAnswered) << called->id;
  EXPECT_EQ(log.first("worker ended").level, log::Level::kInfo);
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_worker_restarts_total{hook="h",reason="max_calls"} 1)"));
}

TEST_F(WorkerPoolTest, ReplacedAboveMaxMemory) {
  hook->run.worker.max_memory_bytes = 100 << 20;
  make();
  memory = 50 << 20;
  call("a");
  answer(worker(0), "a");
  scheduler.advance(1s);
  EXPECT_EQ(launcher.started.size(), 1u);
  memory = 200 << 20;
  call("b");
  call("c");
  answer(worker(0), "b");
  memory = 0;
  run();
  EXPECT_EQ(launcher.started.size(), 2u);
  EXPECT_FALSE(worker(0).input_closed);  // c is open
  answer(worker(0), "c");
  EXPECT_TRUE(worker(0).input_closed);
  EXPECT_THAT(log.first("a worker is replaced").line,
              HasSubstr("it holds 200.0Mi of memory, more than 100.0Mi (maxMemory)"));
}

TEST_F(WorkerPoolTest, MemoryIsLookedAtWhileACallGoesOn) {
  hook->run.worker.max_memory_bytes = 100 << 20;
  hook->run.timeout = 1h;
  make();
  auto& a = call("a");
  memory = 200 << 20;
  scheduler.advance(WorkerPool::kMemoryTimer);
  EXPECT_EQ(launcher.started.size(), 2u);
  answer(worker(0), "a");
  EXPECT_EQ(a.reply->kind, Reply::Kind::kAnswered);
}

TEST_F(WorkerPoolTest, AReplacedOneThatDoesNotEndIsEnded) {
  hook->run.worker.max_calls = 1;
  make();
  call("a");
  answer(worker(0), "a");
  scheduler.advance(5s - 1ms);
  EXPECT_FALSE(worker(0).terminated);
  scheduler.advance(1ms);
  EXPECT_TRUE(worker(0).terminated);
  die(worker(0), 15);
  EXPECT_THAT(log.first("worker ended").line, HasSubstr("it did not end within 5s after the end of its input"));
}

TEST_F(WorkerPoolTest, ThoseThatDoNotGoHoldUpNewOnes) {
  hook->run.worker.max_calls = 1;
  make();
  for (int i = 0; i < 5; ++i) {
    call(fmt::format("c{}", i));
    run();
  }
  EXPECT_EQ(launcher.started.size(), WorkerPool::kLeavingForEach);
  die(worker(0));  // with its call: that goes on in a fresh one
  run();
  EXPECT_EQ(launcher.started.size(), WorkerPool::kLeavingForEach + 1);
  EXPECT_THAT(taken(worker(2)), ElementsAre("c0"));
}

TEST(ResidentBytes, OfThisProcessAndOfNone) {
  EXPECT_GT(resident_bytes(::getpid()), 1u << 20);
  EXPECT_EQ(resident_bytes(0x7ffffff0), 0u);
}

// ---- from outside

TEST_F(WorkerPoolTest, ClosingEndsStdinThenAsksThenIsOver) {
  hook->run.worker.processes = 2;
  make();
  call("a");
  answer(worker(0), "a");
  EXPECT_EQ(pool->lingering(), 0u);
  pool->close();
  EXPECT_EQ(pool->lingering(), 2u);
  EXPECT_TRUE(worker(0).input_closed);
  worker(0).exit(0);
  EXPECT_EQ(pool->lingering(), 1u);
  scheduler.advance(5s);
  EXPECT_TRUE(worker(1).terminated);
  die(worker(1), 15);
  EXPECT_EQ(pool->lingering(), 0u);
  scheduler.advance(1min);
  EXPECT_EQ(launcher.started.size(), 2u);
}

TEST_F(WorkerPoolTest, ClosingWithAnOpenCallWaitsForItsAnswer) {
  make();
  auto& a = call("a");
  auto& b = call("b");
  auto& c = call("c");  // waits
  pool->close();
  run();
  EXPECT_FALSE(worker(0).input_closed);
  ASSERT_TRUE(c.reply);
  EXPECT_THAT(c.reply->why, HasSubstr("the hook's workers are being ended"));
  answer(worker(0), "a");
  EXPECT_FALSE(worker(0).input_closed);
  die(worker(0));
  EXPECT_EQ(a.reply->kind, Reply::Kind::kAnswered);
  EXPECT_EQ(b.reply->kind, Reply::Kind::kFailed);
  EXPECT_EQ(pool->lingering(), 0u);
}

TEST_F(WorkerPoolTest, TerminateAsksThoseThatLingerToGo) {
  make();
  pool->close();
  pool->terminate();
  EXPECT_TRUE(worker(0).terminated);
}

TEST_F(WorkerPoolTest, TerminateStartsNothingInThePlaceOfThoseThatGo) {
  make();
  auto& a = call("a");
  taken(worker(0));
  pool->terminate();
  EXPECT_TRUE(worker(0).terminated);
  die(worker(0), 15);
  scheduler.advance(1min);
  EXPECT_EQ(launcher.started.size(), 1u);
  ASSERT_TRUE(a.reply);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
}

TEST_F(WorkerPoolTest, ATerminatedCallEndsItsWorkerAndIsNotTriedElsewhere) {
  make();
  auto &a = call("a"), &b = call("b"), &c = call("c");
  c.open->terminate();  // waits still
  run();
  EXPECT_EQ(c.reply->kind, Reply::Kind::kFailed);
  a.open->terminate();
  EXPECT_TRUE(worker(0).terminated);
  die(worker(0), 15);
  EXPECT_EQ(a.reply->kind, Reply::Kind::kFailed);
  EXPECT_FALSE(b.reply);
  run();
  EXPECT_THAT(taken(worker(1)), ElementsAre("b"));
}

TEST_F(WorkerPoolTest, ACallThatNobodyWaitsForIsNotSentOrItsAnswerGoesNowhere) {
  make();
  auto& a = call("a");
  taken(worker(0));
  auto& b = call("b");
  auto& c = call("c");
  a.open.reset();
  b.open.reset();
  c.open.reset();
  EXPECT_THAT(taken(worker(0)), IsEmpty());
  answer(worker(0), "a");
  EXPECT_FALSE(a.reply);
  auto& d = call("d");
  EXPECT_THAT(taken(worker(0)), ElementsAre("d"));
  answer(worker(0), "d");
  EXPECT_TRUE(d.reply);
}

TEST_F(WorkerPoolTest, MayBeDestroyedWithinAReply) {
  make();
  auto made = std::make_shared<Call>();
  made->id = "a";
  CallRequest request;
  request.call = made;
  bool replied = false;
  request.replied = [&](Reply) {
    replied = true;
    pool.reset();
  };
  const auto open = pool->start(std::move(request));
  const auto started = launcher.started.at(0);
  // The pool's process objects go with it: what is after the answer must not be read by them.
  const auto on_stdout = started->handlers.on_stdout;
  on_stdout("{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  EXPECT_TRUE(replied);
  EXPECT_TRUE(started->killed);
  run();
}

TEST_F(WorkerPoolTest, MayBeDestroyedWithinTheReplyToACallOfAnEndedWorker) {
  make();
  auto made = std::make_shared<Call>();
  made->id = "a";
  CallRequest request;
  request.call = made;
  bool replied = false;
  request.replied = [&](Reply) {
    replied = true;
    pool.reset();
  };
  const auto open = pool->start(std::move(request));
  pool->close();  // so that it is not tried elsewhere
  die(worker(0));
  EXPECT_TRUE(replied);
  run();
}

}  // namespace
}  // namespace hookd::hook
