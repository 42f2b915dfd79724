// The background line of keyed_queue.h, and keys that come forward after an outage.
#include <gmock/gmock.h>

#include "queue/keyed_queue.h"
#include "queue/outage.h"

namespace hookd::queue {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// An event is a text; waiting ones become one ("1,2"), as causes of a reconcile do, unless batches are the matter.
using Numbers = KeyedQueue<std::string, std::string>;
using Verdict = Numbers::Verdict;

class BackgroundTest : public testing::Test {
 protected:
  Numbers& make(Numbers::Options options = {}) {
    queue = std::make_unique<Numbers>(
        scheduler, random, slots, options, [this](Numbers::Batch batch) { start(std::move(batch)); },
        [joins = options.batch_max == 1](std::vector<std::string>& waiting, std::string next) {
          if (joins && !waiting.empty())
            waiting.back() += "," + next;
          else
            waiting.push_back(std::move(next));
        },
        [this](Numbers::Item item) { given_up.push_back(std::move(item)); });
    return *queue;
  }
  // "a:1,2", in the background "(a:1,2)".
  void start(Numbers::Batch batch) {
    std::string line;
    for (const auto& item : batch)
      line += fmt::format("{}{}{}:{}{}", line.empty() ? "" : " ", item.background ? "(" : "", item.key,
                          fmt::join(item.events, ","), item.background ? ")" : "");
    log.push_back(line);
    running.push_back(std::move(batch));
  }
  void finish(Verdict verdict = Verdict::kDone, Duration at_least = {}) {
    ASSERT_FALSE(running.empty());
    auto batch = std::move(running.front());
    running.pop_front();
    queue->finish(std::move(batch), verdict, at_least);
  }
  void serve() {
    while (!running.empty()) finish();
  }
  std::vector<std::string> taken() { return std::exchange(log, {}); }

  ManualScheduler scheduler;
  SeededRandom random;
  Slots slots{100};
  std::unique_ptr<Numbers> queue;
  std::deque<Numbers::Batch> running;
  std::vector<Numbers::Item> given_up;
  std::vector<std::string> log;
};

TEST_F(BackgroundTest, StandsBehindWhatIsLiveInItsOwnOrder) {
  make();
  queue->add("first", "0");
  queue->add_background("b", "1");
  queue->add_background("a", "2");
  queue->add("x", "3");
  queue->add("y", "4");
  serve();
  EXPECT_THAT(taken(), ElementsAre("first:0", "x:3", "y:4", "(b:1)", "(a:2)"));
  EXPECT_TRUE(queue->idle());
}

TEST_F(BackgroundTest, RunsAtOnceWhenNothingIsLive) {
  make();
  queue->add_background("a", "1");
  EXPECT_THAT(taken(), ElementsAre("(a:1)"));
}

TEST_F(BackgroundTest, OneTurnInEightIsItsOwnSoThatItNeverStarves) {
  make();
  queue->add("live", "0");
  for (int i = 0; i < 3; ++i) queue->add_background("b" + std::to_string(i), std::to_string(i));
  // There is always a live key more.
  for (int i = 1; i < 40 && !running.empty(); ++i) {
    queue->add("k" + std::to_string(i), std::to_string(i));
    finish();
  }
  std::vector<size_t> at;
  for (size_t i = 0; i < log.size(); ++i)
    if (log[i].starts_with("(")) at.push_back(i);
  ASSERT_EQ(at.size(), 3u);
  EXPECT_EQ(at[0], 8u);  // the first turn was taken before there was a background, then seven
  EXPECT_EQ(at[1] - at[0], 8u);
  EXPECT_EQ(at[2] - at[1], 8u);
}

TEST_F(BackgroundTest, ALiveEventMovesAKeyUpWithAllItsEvents) {
  make();
  queue->add("first", "0");
  for (const char* key : {"a", "b", "c"}) queue->add_background(key, "1");
  queue->add("b", "2");
  serve();
  EXPECT_THAT(taken(), ElementsAre("first:0", "b:1,2", "(a:1)", "(c:1)"));
}

TEST_F(BackgroundTest, ABackgroundEventDoesNotMoveALiveKeyDown) {
  make();
  queue->add("first", "0");
  queue->add("a", "1");
  queue->add("b", "2");
  queue->add_background("a", "3");
  serve();
  EXPECT_THAT(taken(), ElementsAre("first:0", "a:1,3", "b:2"));
}

TEST_F(BackgroundTest, WhatComesWhileAKeyRunsKeepsItsKind) {
  make();
  queue->add("a", "1");
  queue->add_background("a", "2");
  queue->add("b", "3");
  serve();
  EXPECT_THAT(taken(), ElementsAre("a:1", "b:3", "(a:2)"));
  queue->add_background("a", "4");
  queue->add_background("a", "5");
  queue->add("a", "6");
  queue->add("c", "7");
  serve();
  EXPECT_THAT(taken(), ElementsAre("(a:4)", "c:7", "a:5,6"));  // ready when it was over
}

TEST_F(BackgroundTest, AFailedOneComesAgainInTheBackground) {
  make();
  queue->add_background("a", "1");
  finish(Verdict::kRetry);
  queue->add("x", "2");  // it runs while the back-off of `a` ends
  scheduler.advance(2s);
  queue->add("y", "3");
  serve();
  EXPECT_THAT(taken(), ElementsAre("(a:1)", "x:2", "y:3", "(a:1)"));
}

TEST_F(BackgroundTest, AFailedOneThatIsReadyMovesUpWithLiveNews) {
  make();
  queue->add_background("a", "1");
  finish(Verdict::kRetry);
  queue->add("x", "2");
  scheduler.advance(2s);  // `a` stands in the background line, with nothing but its failed item
  queue->add("y", "3");
  queue->add("a", "4");
  queue->add("z", "5");
  serve();
  EXPECT_THAT(taken(), ElementsAre("(a:1)", "x:2", "y:3", "a:1,4", "z:5"));
}

TEST_F(BackgroundTest, AFailedLiveOneStaysLiveWhateverComes) {
  make();
  queue->add("a", "1");
  finish(Verdict::kRetry);
  queue->add_background("a", "2");
  queue->add("x", "3");
  queue->add_background("y", "4");
  scheduler.advance(2s);
  serve();
  EXPECT_THAT(taken(), ElementsAre("a:1", "x:3", "a:1,2", "(y:4)"));
}

TEST_F(BackgroundTest, ABackgroundEventDoesNotShortenABackOff) {
  make({.retry_initial = 1s});
  queue->add("a", "1");
  for (int i = 0; i < 6; ++i) {  // up to 32 s
    finish(Verdict::kRetry);
    scheduler.advance(40s);
  }
  finish(Verdict::kRetry);  // now about a minute
  taken();
  queue->add_background("a", "2");
  scheduler.advance(10s);
  EXPECT_THAT(taken(), IsEmpty());
  queue->add("a", "3");  // news does
  scheduler.advance(2s);
  EXPECT_THAT(taken(), ElementsAre("a:1,2,3"));
}

TEST_F(BackgroundTest, ABackgroundEventThatCameWhileItRanDoesNotShortenItEither) {
  make({.retry_initial = 1s});
  queue->add("a", "1");
  for (int i = 0; i < 6; ++i) {
    finish(Verdict::kRetry);
    scheduler.advance(40s);
  }
  taken();
  queue->add_background("a", "2");
  finish(Verdict::kRetry);
  scheduler.advance(10s);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(BackgroundTest, BatchesAreFilledFromOneLine) {
  make({.batch_max = 3});
  queue->set_paused(true);
  for (int i = 1; i <= 4; ++i) queue->add_background("b" + std::to_string(i), std::to_string(i));
  queue->add("x", "9");
  queue->set_paused(false);
  serve();
  EXPECT_THAT(taken(), ElementsAre("x:9", "(b1:1) (b2:2) (b3:3)", "(b4:4)"));
}

TEST_F(BackgroundTest, AKeyOfABatchThatFailedByItselfIsCalledAlone) {
  make({.batch_max = 3});
  queue->set_paused(true);
  queue->add_background("b1", "1");
  queue->add_background("b2", "2");
  queue->set_paused(false);
  finish(Verdict::kRetry);
  queue->set_paused(true);
  scheduler.advance(5s);
  queue->add_background("b3", "3");
  queue->set_paused(false);
  serve();
  EXPECT_THAT(taken(), ElementsAre("(b1:1) (b2:2)", "(b1:1)", "(b2:2)", "(b3:3)"));
}

TEST_F(BackgroundTest, ASplitBatchStaysWholeAndInTheBackground) {
  make({.batch_max = 4});
  queue->set_paused(true);
  for (int i = 1; i <= 4; ++i) queue->add_background("b", std::to_string(i));
  queue->set_paused(false);
  queue->add_background("b", "5");
  finish(Verdict::kSplit);
  serve();
  EXPECT_THAT(taken(), ElementsAre("(b:1,2,3,4)", "(b:1,2)", "(b:3,4,5)"));
}

TEST_F(BackgroundTest, WhatDoesNotFitIntoABatchIsInTheBackgroundToo) {
  make({.batch_max = 2});
  queue->set_paused(true);
  for (int i = 1; i <= 3; ++i) queue->add_background("b", std::to_string(i));
  queue->set_paused(false);
  queue->add("x", "9");
  serve();
  EXPECT_THAT(taken(), ElementsAre("(b:1,2)", "x:9", "(b:3)"));
}

TEST_F(BackgroundTest, ABackgroundEventOfALiveKeyCountsForAFullBatch) {
  make({.batch_max = 2, .batch_window = 10s});
  queue->add("a", "1");
  EXPECT_THAT(taken(), IsEmpty());
  queue->add_background("a", "2");
  EXPECT_THAT(taken(), ElementsAre("a:1,2"));
}

TEST_F(BackgroundTest, AWindowThatWaitsDoesNotHoldTheBackgroundUp) {
  make({.batch_max = 2, .batch_window = 10s});
  queue->add("a", "1");
  queue->add_background("b", "2");
  EXPECT_THAT(taken(), ElementsAre("(b:2)"));
  scheduler.advance(10s);
  EXPECT_THAT(taken(), IsEmpty());  // one call at a time
  serve();
  EXPECT_THAT(taken(), ElementsAre("a:1"));
}

TEST_F(BackgroundTest, AnExclusiveKeyLeavesTheLine) {
  make();
  queue->add("first", "0");
  queue->add_background("a", "1");
  queue->add_background("b", "2");
  queue->add("a", "3", true);
  queue->add("x", "4");
  serve();
  EXPECT_THAT(taken(), ElementsAre("first:0", "a:1,3", "x:4", "(b:2)"));
}

TEST_F(BackgroundTest, NothingStartsWhileItIsPausedOrTheGateIsShut) {
  make();
  bool open = false;
  queue->set_gate([&] { return open; });
  queue->add_background("a", "1");
  EXPECT_FALSE(queue->can_start());
  EXPECT_THAT(taken(), IsEmpty());
  open = true;
  queue->set_paused(true);
  queue->look_again();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_TRUE(queue->busy("a"));
  queue->set_paused(false);
  EXPECT_THAT(taken(), ElementsAre("(a:1)"));
}

TEST_F(BackgroundTest, WhatWaitsIsHandedOver) {
  make();
  queue->add("first", "0");
  queue->add_background("a", "1");
  queue->add_background("first", "2");
  queue->stop();
  const auto waiting = queue->take_waiting();
  EXPECT_THAT(waiting, ElementsAre(testing::Pair("a", "1"), testing::Pair("first", "2")));
  finish();
  EXPECT_TRUE(queue->idle());
}

// ---------------------------------------------------------------- an outage

class OutageTest : public BackgroundTest {
 protected:
  OutageTest() { make({.concurrency = 4, .retry_initial = 5ms, .retry_max = 1000s}); }
  void serve(const std::set<std::string>& poison = {}) {
    while (!running.empty()) {
      auto batch = std::move(running.front());
      running.pop_front();
      const std::string key = batch.front().key;
      const bool ok = works && !poison.contains(key);
      ++calls;
      if (ok) done[key] = scheduler.now();
      queue->finish(std::move(batch), ok ? Verdict::kDone : Verdict::kRetry, at_least);
      ok ? outage.succeeded() : outage.failed(key);
    }
  }
  void pass(Duration time, const std::set<std::string>& poison = {}) {
    const SteadyTime until = scheduler.now() + time;
    for (serve(poison); scheduler.now() < until; serve(poison)) scheduler.advance(100ms);
  }

  Outage outage{scheduler,
                {[this] { queue->bring_one_forward(); },
                 [this] {
                   ++releases;
                   queue->bring_forward(Outage::kSpread);
                 }}};
  bool works = false;
  Duration at_least{0};
  int releases = 0, calls = 0;
  std::map<std::string, SteadyTime> done;
};

TEST_F(OutageTest, AllKeysAreHandledWithinSecondsOfItsEnd) {
  for (int i = 0; i < 100; ++i) queue->add("k" + std::to_string(i), std::to_string(i));
  pass(20min);
  EXPECT_EQ(queue->delayed(), 100u);
  EXPECT_TRUE(outage.on());
  works = true;
  const SteadyTime end = scheduler.now();
  pass(30s);
  EXPECT_EQ(done.size(), 100u);
  for (const auto& [key, at] : done) EXPECT_LE(at - end, Outage::kProbe + Outage::kSpread + 1s) << key;
  EXPECT_EQ(releases, 1);
  EXPECT_FALSE(outage.on());
  EXPECT_TRUE(queue->idle());
  // Not all at once.
  std::map<int64_t, int> per_second;
  for (const auto& [key, at] : done) ++per_second[(at - SteadyTime{}) / 1s];
  EXPECT_GE(per_second.size(), 4u);
}

TEST_F(OutageTest, WithoutAnOutageNothingComesForward) {
  queue->add("a", "1");
  queue->add("b", "2");
  pass(10min);  // many failures, but only two keys
  EXPECT_FALSE(outage.on());
  works = true;
  queue->add("c", "3");
  pass(1s);
  EXPECT_EQ(releases, 0);
  EXPECT_THAT(done, ElementsAre(testing::Pair("c", testing::_)));
}

TEST_F(OutageTest, AnOutageCostsOneCallAProbe) {
  for (int i = 0; i < 100; ++i) queue->add("k" + std::to_string(i), std::to_string(i));
  pass(20min);
  calls = 0;
  pass(60s);
  EXPECT_LE(calls, 30);  // four probes, and what falls due by itself
  EXPECT_GE(calls, 3);
}

TEST_F(OutageTest, KeysThatFailByThemselvesKeepTheirBackOff) {
  std::set<std::string> poison;
  for (int i = 0; i < 20; ++i) {
    poison.insert("p" + std::to_string(i));
    queue->add("p" + std::to_string(i), std::to_string(i));
  }
  works = true;
  pass(10min, poison);
  calls = 0;
  // A healthy key has news all the time.
  for (int i = 0; i < 360; ++i) {
    queue->add("ok", std::to_string(i));
    pass(10s, poison);
  }
  EXPECT_LE(releases, 12);                     // in an hour: 1, 2, 4, 8, 16 minutes between, then 1000 s
  EXPECT_LE(calls - 360, 20 * (12 + 6) + 30);  // poisoned calls: each release, and their own back-off
}

TEST_F(OutageTest, WhatAskedForALaterTimeIsNotBroughtForwardBeforeIt) {
  at_least = 10min;
  for (int i = 0; i < 10; ++i) queue->add("k" + std::to_string(i), std::to_string(i));
  pass(1s);
  EXPECT_EQ(queue->delayed(), 10u);
  works = true;
  queue->add("new", "1");
  pass(5min);
  EXPECT_EQ(releases, 1);
  EXPECT_EQ(done.size(), 1u);
  pass(6min);
  EXPECT_EQ(done.size(), 11u);
}

}  // namespace
}  // namespace hookd::queue
