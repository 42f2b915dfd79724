// Batches of keyed_queue.h: how they are filled, how long they wait, how the event that fails them is found.
#include <gmock/gmock.h>

#include "base/time.h"
#include "queue/keyed_queue.h"

namespace hookd::queue {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using Numbers = KeyedQueue<int, std::string>;
using Verdict = Numbers::Verdict;

class BatchTest : public testing::Test {
 protected:
  void make(Numbers::Options options) {
    options.retry_initial = 1s;
    queue = std::make_unique<Numbers>(
        scheduler, random, slots, options, [this](Numbers::Batch batch) { start(std::move(batch)); },
        [](std::vector<int>& waiting, int next) { waiting.push_back(next); },
        [this](Numbers::Item item) { given_up.push_back(std::move(item)); });
  }
  void start(Numbers::Batch batch) {
    std::string line;
    for (const auto& item : batch)
      line += fmt::format("{}{}:{}#{}", line.empty() ? "" : " ", item.key, fmt::join(item.events, ","), item.attempt);
    log.push_back(line);
    running.push_back(std::move(batch));
  }
  // The oldest one that runs.
  void finish(Verdict verdict = Verdict::kDone, Duration at_least = {}) {
    ASSERT_FALSE(running.empty());
    auto batch = std::move(running.front());
    running.pop_front();
    queue->finish(std::move(batch), verdict, at_least);
  }
  // Calls until nothing is left; one with 13 in it fails, for good where `for_good`.
  void serve(bool for_good) {
    while (!running.empty()) {
      bool poison = false;
      size_t events = 0;
      for (const auto& item : running.front()) {
        poison |= std::ranges::count(item.events, 13) > 0;
        events += item.events.size();
      }
      finish(!poison ? Verdict::kDone : events > 1 ? Verdict::kSplit : for_good ? Verdict::kGiveUp : Verdict::kRetry);
    }
  }
  void hold() { queue->set_paused(true); }
  void go() { queue->set_paused(false); }
  std::vector<std::string> taken() { return std::exchange(log, {}); }

  ManualScheduler scheduler;
  SeededRandom random;
  Slots slots{100};
  std::unique_ptr<Numbers> queue;
  std::deque<Numbers::Batch> running;
  std::vector<Numbers::Item> given_up;
  std::vector<std::string> log;
};

TEST_F(BatchTest, TakesWhatIsReadyUpToItsSize) {
  make({.concurrency = 2, .batch_max = 3});
  hold();
  for (int i = 1; i <= 7; ++i) queue->add("k" + std::to_string(i), i);
  go();
  EXPECT_THAT(taken(), ElementsAre("k1:1#1 k2:2#1 k3:3#1", "k4:4#1 k5:5#1 k6:6#1"));
  EXPECT_EQ(queue->running(), 2u);
  finish();
  EXPECT_THAT(taken(), ElementsAre("k7:7#1"));
  finish();
  finish();
  EXPECT_TRUE(queue->idle());
}

TEST_F(BatchTest, CountsEventsNotKeysAndKeepsTheOrderOfEachKey) {
  make({.concurrency = 5, .batch_max = 4});
  hold();
  for (int i = 1; i <= 3; ++i) queue->add("a", i);
  for (int i = 4; i <= 6; ++i) queue->add("b", i);
  queue->add("c", 7);
  go();
  // The rest of b waits for its first part, though there is room.
  EXPECT_THAT(taken(), ElementsAre("a:1,2,3#1 b:4#1", "c:7#1"));
  finish();
  EXPECT_THAT(taken(), ElementsAre("b:5,6#1"));
}

TEST_F(BatchTest, TakesOneSlotOfTheDaemon) {
  make({.concurrency = 5, .batch_max = 4});
  for (int i = 0; i < 99; ++i) ASSERT_TRUE(slots.try_take(&slots));
  hold();
  for (int i = 0; i < 4; ++i) queue->add("k" + std::to_string(i), i);
  go();
  EXPECT_FALSE(slots.try_take(&slots));
  finish();
  EXPECT_TRUE(slots.try_take(&slots));
  EXPECT_FALSE(slots.try_take(&slots));
}

TEST_F(BatchTest, WaitsForCompanyNoLongerThanItsWindow) {
  make({.concurrency = 5, .batch_max = 3, .batch_window = 1s});
  queue->add("a", 1);
  EXPECT_FALSE(queue->can_start());
  scheduler.advance(600ms);
  queue->add("b", 2);
  scheduler.advance(399ms);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(1ms);
  EXPECT_THAT(taken(), ElementsAre("a:1#1 b:2#1"));
  scheduler.advance(1h);
  queue->add("c", 3);
  queue->add("d", 4);
  EXPECT_THAT(taken(), IsEmpty());
  queue->add("e", 5);  // full: at once
  EXPECT_THAT(taken(), ElementsAre("c:3#1 d:4#1 e:5#1"));
  queue->add("f", 6);
  queue->add("f", 7);
  queue->add("f", 8);
  EXPECT_THAT(taken(), ElementsAre("f:6,7,8#1"));
}

TEST_F(BatchTest, AnExclusiveItemNeverSharesACall) {
  make({.concurrency = 5, .batch_max = 10});
  hold();
  queue->add("a", 1);
  queue->add("sync", 2, true);
  queue->add("b", 3);
  go();
  EXPECT_THAT(taken(), ElementsAre("sync:2#1"));
  finish();
  EXPECT_THAT(taken(), ElementsAre("a:1#1 b:3#1"));
}

TEST_F(BatchTest, AKeyThatBecomesExclusiveLeavesTheLineItStoodIn) {
  make({.concurrency = 5, .batch_max = 10});
  hold();
  queue->add("a", 1);
  queue->add("b", 2);
  queue->add("a", 3, true);
  go();
  EXPECT_THAT(taken(), ElementsAre("a:1,3#1"));
  finish();
  EXPECT_THAT(taken(), ElementsAre("b:2#1"));
}

TEST_F(BatchTest, AFailedOneIsSplitUntilThePoisonStandsAlone) {
  make({.batch_max = 8});
  hold();
  for (int i = 10; i < 18; ++i) queue->add("k" + std::to_string(i), i);
  go();
  serve(true);
  EXPECT_THAT(taken(), ElementsAre("k10:10#1 k11:11#1 k12:12#1 k13:13#1 k14:14#1 k15:15#1 k16:16#1 k17:17#1",
                                   "k10:10#1 k11:11#1 k12:12#1 k13:13#1", "k10:10#1 k11:11#1", "k12:12#1 k13:13#1",
                                   "k12:12#1", "k13:13#1", "k14:14#1 k15:15#1 k16:16#1 k17:17#1"));
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_THAT(given_up[0].events, ElementsAre(13));
  EXPECT_EQ(given_up[0].attempt, 1);  // no split counts
  EXPECT_TRUE(queue->idle());
}

TEST_F(BatchTest, SeveralEventsOfOneKeyAreSplitToo) {
  make({.batch_max = 8});
  hold();
  for (const int i : {11, 12, 13, 14, 15}) queue->add("a", i);
  go();
  serve(true);
  EXPECT_THAT(taken(), ElementsAre("a:11,12,13,14,15#1", "a:11,12#1", "a:13,14,15#1", "a:13#1", "a:14,15#1"));
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_THAT(given_up[0].events, ElementsAre(13));
}

// What the whole had done already is not to be done again by the half that waits.
TEST_F(BatchTest, BothHalvesOfOneKeyKnowWhatWasDone) {
  make({.batch_max = 8});
  hold();
  for (const int i : {1, 2}) queue->add("a", i);
  go();
  running.front().front().carry = "did something";
  finish(Verdict::kSplit);
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running.front().front().carry, "did something");
  finish();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_THAT(running.front().front().events, ElementsAre(2));
  EXPECT_EQ(running.front().front().carry, "did something");
  finish();
  queue->add("a", 3);
  EXPECT_EQ(running.front().front().carry, "");
}

// They were all in the attempt that failed.
TEST_F(BatchTest, EventsOfASplitKeyAreNoNewsButWhatCameSinceIs) {
  make({.batch_max = 8});
  hold();
  for (const int i : {1, 2, 3, 4}) queue->add("a", i);
  go();
  running.front().front().carry = "did something";
  finish(Verdict::kSplit);
  EXPECT_THAT(running.front().front().events, ElementsAre(1, 2));
  EXPECT_FALSE(running.front().front().fresh_events);
  finish(Verdict::kSplit);
  EXPECT_THAT(running.front().front().events, ElementsAre(1));
  EXPECT_FALSE(running.front().front().fresh_events);
  finish();
  EXPECT_THAT(running.front().front().events, ElementsAre(2, 3, 4));
  EXPECT_FALSE(running.front().front().fresh_events);
  finish(Verdict::kSplit);
  queue->add("a", 5);
  EXPECT_FALSE(running.front().front().fresh_events);
  finish();
  EXPECT_THAT(running.front().front().events, ElementsAre(3, 4, 5));
  EXPECT_TRUE(running.front().front().fresh_events);
  EXPECT_EQ(running.front().front().carry, "did something");
}

TEST_F(BatchTest, WhatOfAHalfHasNoRoomStillKnowsWhatWasDone) {
  make({.batch_max = 4});
  hold();
  for (const int i : {1, 2, 3, 4}) queue->add("a", i);
  go();
  running.front().front().carry = "did something";
  finish(Verdict::kSplit);
  for (const char* key : {"x", "y", "z"}) queue->add(key, 9);  // they leave room for one more
  finish();
  std::vector<std::string> carries;
  while (!running.empty()) {
    for (const auto& item : running.front())
      if (item.key == "a") {
        carries.push_back(item.carry);
        EXPECT_FALSE(item.fresh_events);
      }
    finish();
  }
  EXPECT_THAT(carries, ElementsAre("did something", "did something"));
}

TEST_F(BatchTest, ThePoisonIsTriedAgainAloneAndTheOthersGoOn) {
  make({.attempts = 3, .batch_max = 8});
  hold();
  for (const int i : {12, 13, 14}) queue->add("k" + std::to_string(i), i);
  go();
  serve(false);
  taken();
  queue->add("k13", 20);  // its news waits behind it
  queue->add("x", 1);
  scheduler.advance(999ms);
  queue->add("y", 2);
  queue->add("z", 3);
  scheduler.advance(1s);
  serve(false);
  scheduler.advance(1h);
  serve(false);
  EXPECT_THAT(taken(), ElementsAre("x:1#1", "y:2#1 z:3#1", "k13:13#2", "k13:13#3", "k13:20#1"));
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_TRUE(queue->idle());
}

// A worker that is down, a server that is away: not the fault of what is in the batch.
TEST_F(BatchTest, AnOutageLeavesItTogether) {
  make({.batch_max = 8});
  hold();
  for (const int i : {1, 2, 3}) queue->add("k" + std::to_string(i), i);
  go();
  finish(Verdict::kRetryTogether, 20s);
  scheduler.advance(20s - 1ns);
  EXPECT_EQ(taken().size(), 1u);
  scheduler.advance(1ns);
  EXPECT_THAT(taken(), ElementsAre("k1:1#2 k2:2#2 k3:3#2"));
  EXPECT_FALSE(running.front().front().fresh_events);
  finish(Verdict::kLater);
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre("k1:1#3 k2:2#3 k3:3#3"));
}

TEST_F(BatchTest, BeforeAllAreGivenUpTheOneToBlameIsLookedFor) {
  make({.attempts = 2, .batch_max = 4});
  hold();
  for (int i = 1; i <= 4; ++i) queue->add("k" + std::to_string(i), i == 3 ? 13 : i);
  go();
  const auto serve_together = [&] {
    while (!running.empty()) {
      const bool poison = std::ranges::any_of(running.front(), [](const auto& item) { return item.key == "k3"; });
      finish(poison ? Verdict::kRetryTogether : Verdict::kDone);
    }
  };
  serve_together();
  scheduler.advance(2s);
  serve_together();
  EXPECT_THAT(taken(), ElementsAre("k1:1#1 k2:2#1 k3:13#1 k4:4#1", "k1:1#2 k2:2#2 k3:13#2 k4:4#2", "k1:1#2 k2:2#2",
                                   "k3:13#2 k4:4#2", "k3:13#2", "k4:4#2"));
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_EQ(given_up[0].key, "k3");
  EXPECT_TRUE(queue->idle());
}

TEST_F(BatchTest, WhoWantsToBeLeftAloneIsNotAskedForEachOfABatch) {
  make({.attempts = 1, .batch_max = 4});
  hold();
  for (int i = 1; i <= 4; ++i) queue->add("k" + std::to_string(i), i);
  go();
  finish(Verdict::kRetryTogether, 20s);
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(given_up.size(), 4u);
}

TEST_F(BatchTest, NewsOfAKeyInASplitHalfWaitsForItsNextCall) {
  make({.batch_max = 4});
  hold();
  for (const int i : {1, 2, 3, 4}) queue->add("k" + std::to_string(i), i);
  go();
  hold();
  finish(Verdict::kSplit);
  queue->add("k1", 9);
  queue->add("n", 5);
  go();
  finish();
  finish();
  EXPECT_THAT(taken(), ElementsAre("k1:1#1 k2:2#1 k3:3#1 k4:4#1", "k1:1#1 k2:2#1", "k3:3#1 k4:4#1", "n:5#1 k1:9#1"));
}

TEST_F(BatchTest, PartOfItMayBeDoneBeforeTheRest) {
  make({.batch_max = 4});
  hold();
  for (const int i : {1, 2}) queue->add("k" + std::to_string(i), i);
  go();
  auto batch = std::move(running.front());
  running.clear();
  queue->finish(std::move(batch[0]), Verdict::kDone);
  queue->add("x", 3);
  EXPECT_EQ(queue->running(), 1u);
  EXPECT_EQ(taken().size(), 1u);
  queue->finish(std::move(batch[1]), Verdict::kDone);
  EXPECT_THAT(taken(), ElementsAre("x:3#1"));
}

// ---------------------------------------------------------------- by hand

TEST_F(BatchTest, ADelayedKeyCanBeHurried) {
  make({});
  queue->add("a", 1);
  finish(Verdict::kRetry, 1h);
  EXPECT_FALSE(queue->hurry("b"));
  EXPECT_THAT(queue->delayed_keys(), ElementsAre("a"));
  EXPECT_TRUE(queue->hurry("a"));
  EXPECT_FALSE(queue->hurry("a"));
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:1#2"));
  finish();
  scheduler.advance(2h);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(BatchTest, ADelayedKeyForgetsWhatFailedButNotItsNews) {
  make({});
  queue->add("a", 1);
  finish(Verdict::kRetry, 1h);
  queue->add("a", 2);
  EXPECT_TRUE(queue->forget_failed("a"));
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:2#1"));
  finish(Verdict::kRetry);
  EXPECT_TRUE(queue->forget_failed("a"));
  EXPECT_TRUE(queue->idle());
  EXPECT_FALSE(queue->forget_failed("a"));
}

TEST_F(BatchTest, AForgottenExclusiveLetsTheOthersGo) {
  make({});
  queue->add("sync", 1, true);
  finish(Verdict::kRetry);
  queue->add("a", 2);
  EXPECT_TRUE(queue->forget_failed("sync"));
  EXPECT_THAT(taken(), ElementsAre("sync:1#1", "a:2#1"));
}

TEST_F(BatchTest, PausedItTakesEventsAndStartsNone) {
  make({});
  queue->add("a", 1);
  hold();
  EXPECT_FALSE(queue->can_start());
  queue->add("b", 2);
  finish(Verdict::kRetry);
  scheduler.advance(1min);
  queue->resume();  // stop() and resume() are another hand
  EXPECT_EQ(taken().size(), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("b:2#1"));
}

TEST_F(BatchTest, ShowsEveryKey) {
  make({.concurrency = 1});
  queue->add("failed", 1);
  finish(Verdict::kRetry, 1h);
  queue->add("failed", 2);
  queue->add("runs", 3);
  queue->add("waits", 4);
  queue->add_after("later", {5, 6}, 2h);
  std::vector<std::string> seen;
  queue->each([&](const Numbers::Look& look) {
    seen.push_back(fmt::format("{} {} {}+{}{}", look.key, look.state, look.failed ? look.failed->events.size() : 0,
                               look.waiting.size(),
                               look.due ? fmt::format(" in {}", format_duration(*look.due - scheduler.now())) : ""));
    return true;
  });
  EXPECT_THAT(
      seen, ElementsAre("failed delayed 1+1 in 1h", "runs running 0+0", "waits ready 0+1", "later requeued 0+2 in 2h"));
}

// ---------------------------------------------------------------- size

// Linear: nothing is searched however many keys are ready, exclusive or delayed. Memory: nothing stays of a done key.
TEST_F(BatchTest, AHundredThousandKeysAreNoTrouble) {
  make({.concurrency = 4, .batch_max = 1});
  hold();
  queue->add("sync", 0, true);
  for (int i = 0; i < 100'000; ++i) queue->add("k" + std::to_string(i), i);
  go();
  const auto began = std::chrono::steady_clock::now();
  while (!running.empty()) finish();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);  // searching would take minutes
  EXPECT_EQ(log.size(), 100'001u);
  EXPECT_TRUE(queue->idle());
  EXPECT_EQ(queue->keys(), 0u);
}

}  // namespace
}  // namespace hookd::queue
