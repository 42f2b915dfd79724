#include "queue/keyed_queue.h"

#include <gmock/gmock.h>

namespace hookd::queue {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// An event is a number; waiting ones are all kept.
using Numbers = KeyedQueue<int, std::string>;

class KeyedQueueTest : public testing::Test {
 protected:
  Numbers& make(
      Numbers::Options options = {},
      Numbers::Merge merge = [](std::vector<int>& waiting, int next) { waiting.push_back(next); }) {
    queue = std::make_unique<Numbers>(
        scheduler, random, slots, options, [this](Numbers::Batch batch) { start(std::move(batch)); }, std::move(merge),
        [this](Numbers::Item item) { given_up.push_back(std::move(item)); });
    return *queue;
  }
  // "a:1,2#1", and with others in the same batch "a:1#1 b:3#1".
  void start(Numbers::Batch batch) {
    std::string line;
    for (auto& item : batch) {
      line += fmt::format("{}{}:{}#{}", line.empty() ? "" : " ", item.key, fmt::join(item.events, ","), item.attempt);
      const std::string key = item.key;
      EXPECT_TRUE(running.emplace(key, std::move(item)).second) << key << " runs twice";
    }
    log.push_back(line);
    most_running = std::max(most_running, running.size());
  }
  void finish_all(Numbers::Verdict verdict, Duration at_least = {}) {
    Numbers::Batch batch;
    for (auto& [key, item] : std::exchange(running, {})) batch.push_back(std::move(item));
    queue->finish(std::move(batch), verdict, at_least);
  }
  void finish(const std::string& key, Numbers::Verdict verdict = Numbers::Verdict::kDone, Duration at_least = {}) {
    const auto found = running.find(key);
    ASSERT_NE(found, running.end()) << key << " does not run";
    Numbers::Item item = std::move(found->second);
    running.erase(found);
    queue->finish(std::move(item), verdict, at_least);
  }
  std::vector<std::string> taken() { return std::exchange(log, {}); }

  using Verdict = Numbers::Verdict;
  ManualScheduler scheduler;
  SeededRandom random;
  Slots slots{100};
  std::unique_ptr<Numbers> queue;
  std::map<std::string, Numbers::Item> running;
  std::vector<Numbers::Item> given_up;
  std::vector<std::string> log;
  size_t most_running = 0;
};

TEST_F(KeyedQueueTest, OneKeyNeverOverlapsAndKeepsItsOrder) {
  make({.concurrency = 10});
  queue->add("a", 1);
  queue->add("a", 2);
  queue->add("b", 3);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "b:3#1"));
  finish("a");
  EXPECT_THAT(taken(), ElementsAre("a:2#1"));
  finish("a");
  finish("b");
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_TRUE(queue->idle());
  EXPECT_FALSE(queue->has("a"));
}

TEST_F(KeyedQueueTest, WithoutBatchesEachEventIsACallOfItsOwnInOrder) {
  make();
  queue->add("a", 1);
  queue->add("b", 2);
  queue->add("b", 3);
  queue->add("b", 4);
  queue->add("c", 5);
  finish("a");
  finish("b");
  finish("c");
  finish("b");
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "b:2#1", "c:5#1", "b:3#1", "b:4#1"));
}

TEST_F(KeyedQueueTest, ConcurrencyBoundsKeysAndFirstComeIsFirstServed) {
  make({.concurrency = 2});
  for (const char* key : {"a", "b", "c", "d"}) queue->add(key, 1);
  EXPECT_EQ(queue->running(), 2u);
  EXPECT_EQ(queue->keys(), 4u);
  finish("b");
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "b:1#1", "c:1#1"));
  finish("a");
  finish("c");
  finish("d");
  EXPECT_EQ(most_running, 2u);
}

TEST_F(KeyedQueueTest, ABusyKeyDoesNotKeepOthersWaiting) {
  make();
  queue->add("a", 1);
  queue->add("b", 1);
  for (int i = 2; i < 5; ++i) {
    queue->add("a", i);
    finish(running.begin()->first);
  }
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "b:1#1", "a:2#1", "a:3#1"));
}

TEST_F(KeyedQueueTest, AFailedItemComesAgainWithBackOffThatDoubles) {
  make({.retry_initial = 1s, .retry_max = 8s});
  queue->add("a", 1);
  std::vector<Duration> waits;
  for (int i = 0; i < 6; ++i) {
    finish("a", Verdict::kRetry);
    EXPECT_EQ(queue->delayed(), 1u);
    const SteadyTime failed = scheduler.now();
    while (running.empty()) scheduler.advance(10ms);
    waits.push_back(scheduler.now() - failed);
  }
  const Duration want[] = {1s, 2s, 4s, 8s, 8s, 8s};
  for (size_t i = 0; i < waits.size(); ++i) {
    EXPECT_GE(waits[i], want[i]);
    EXPECT_LE(waits[i], want[i] + want[i] / 10 + 10ms);
  }
  EXPECT_THAT(taken(), testing::Contains("a:1#7"));
  finish("a");
  queue->add("a", 2);  // a success forgets the failures
  EXPECT_THAT(taken(), ElementsAre("a:2#1"));
}

TEST_F(KeyedQueueTest, NewsBringsARetryForwardButNeverIntoABusyLoop) {
  make({.retry_initial = 1s, .retry_max = 5min});
  queue->add("a", 0);
  for (int i = 0; i < 6; ++i) {  // up to about 32 s of back-off
    finish("a", Verdict::kRetry);
    if (i < 5)
      while (running.empty()) scheduler.advance(100ms);
  }
  taken();
  scheduler.advance(5s);
  queue->add("a", 1);
  scheduler.advance(999ms);
  EXPECT_THAT(taken(), IsEmpty());
  queue->add("a", 2);  // does not push it away again
  scheduler.advance(1ms);
  EXPECT_THAT(taken(), ElementsAre("a:0#7"));
  // Changing all the time: one try a retry_initial, not more.
  finish("a", Verdict::kRetry);
  int calls = 0;
  for (int i = 0; i < 1000; ++i) {  // 10 s
    queue->add("a", i);
    scheduler.advance(10ms);
    if (!running.empty()) {
      ++calls;
      finish("a", Verdict::kRetry);
    }
  }
  EXPECT_GE(calls, 9);
  EXPECT_LE(calls, 10);
}

TEST_F(KeyedQueueTest, NewsThatCameDuringAFailingCallBringsItsRetryForwardToo) {
  make({.retry_initial = 1s, .retry_max = 5min});
  queue->add("a", 0);
  for (int i = 0; i < 8; ++i) {
    finish("a", Verdict::kRetry);
    while (running.empty()) scheduler.advance(1s);
  }
  queue->add("a", 1);
  taken();
  finish("a", Verdict::kRetry);
  scheduler.advance(1s);
  EXPECT_THAT(taken(), ElementsAre("a:0#10"));
}

TEST_F(KeyedQueueTest, TheLeastDelayThatTheServerAskedForHoldsAgainstNews) {
  make({.retry_initial = 1s, .retry_max = 5min});
  queue->add("a", 0);
  taken();
  finish("a", Verdict::kRetry, 60s);
  queue->add("a", 1);
  scheduler.advance(59s);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(1s);
  EXPECT_THAT(taken(), ElementsAre("a:0#2"));
}

TEST_F(KeyedQueueTest, SaysWhetherEventsWereAddedSinceTheLastAttempt) {
  make({}, [](std::vector<int>& waiting, int next) { waiting = {next}; });
  queue->add("a", 1);
  EXPECT_TRUE(running.at("a").fresh_events);
  running.at("a").carry = "half done";
  finish("a", Verdict::kRetry);
  scheduler.advance(2s);
  EXPECT_FALSE(running.at("a").fresh_events);
  EXPECT_EQ(running.at("a").carry, "half done");
  queue->add("a", 2);
  finish("a", Verdict::kRetry);
  scheduler.advance(10s);
  EXPECT_TRUE(running.at("a").fresh_events);
  EXPECT_EQ(running.at("a").carry, "half done");
}

// The last attempt's operations that are left stay valid while its events are the same.
TEST_F(KeyedQueueTest, NewsThatHasToWaitForItsOwnCallMakesNoItemFresh) {
  make();
  queue->add("a", 1);
  finish("a", Verdict::kRetry);
  queue->add("a", 2);
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:1#2"));
  EXPECT_FALSE(running.at("a").fresh_events);
  finish("a");
  EXPECT_THAT(taken(), ElementsAre("a:2#1"));
  EXPECT_TRUE(running.at("a").fresh_events);
}

TEST_F(KeyedQueueTest, AskingForAnotherTimeIsNoFailedAttempt) {
  make({.attempts = 2});
  queue->add("a", 1);
  for (int i = 0; i < 5; ++i) {
    finish("a", Verdict::kLater);
    scheduler.advance(10min);
  }
  finish("a", Verdict::kNotTried);
  scheduler.advance(10min);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:1#2", "a:1#3", "a:1#4", "a:1#5", "a:1#6", "a:1#6"));
  finish("a", Verdict::kRetry);
  EXPECT_THAT(given_up, IsEmpty());
  scheduler.advance(10min);
  finish("a", Verdict::kRetry);
  EXPECT_EQ(given_up.size(), 1u);
  EXPECT_EQ(queue->retries(), 7u);
}

TEST_F(KeyedQueueTest, WhereLaterCountsItIsGivenUpToo) {
  make({.attempts = 2, .later_counts = true});
  queue->add("a", 1);
  finish("a", Verdict::kLater);
  scheduler.advance(10min);
  finish("a", Verdict::kLater);
  EXPECT_EQ(given_up.size(), 1u);
}

TEST_F(KeyedQueueTest, AttemptsBoundRetriesAndGiveUpComesOnce) {
  make({.attempts = 3});
  queue->add("a", 1);
  finish("a", Verdict::kRetry);
  scheduler.advance(10s);
  finish("a", Verdict::kRetry);
  scheduler.advance(10s);
  queue->add("a", 2);
  finish("a", Verdict::kRetry);
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_THAT(given_up[0].events, ElementsAre(1));
  EXPECT_EQ(given_up[0].attempt, 3);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:1#2", "a:1#3", "a:2#1"));  // what came meanwhile starts anew
}

TEST_F(KeyedQueueTest, GivenUpAtOnceWhereTheVerdictSaysSo) {
  make();
  queue->add("a", 1);
  finish("a", Verdict::kGiveUp);
  EXPECT_EQ(given_up.size(), 1u);
  EXPECT_TRUE(queue->idle());
  scheduler.advance(1h);
  EXPECT_THAT(taken(), ElementsAre("a:1#1"));
}

TEST_F(KeyedQueueTest, GiveUpMayAddToItsOwnKey) {
  queue = std::make_unique<Numbers>(
      scheduler, random, slots, Numbers::Options{.concurrency = 5},
      [this](Numbers::Batch batch) { start(std::move(batch)); },
      [](std::vector<int>& waiting, int next) { waiting.push_back(next); },
      [this](Numbers::Item item) { queue->add(item.key, 9); });
  queue->add("a", 1);
  finish("a", Verdict::kGiveUp);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:9#1"));
  finish("a");
  EXPECT_TRUE(queue->idle());
}

TEST_F(KeyedQueueTest, ARequeueComesExactlyWhenAsked) {
  make({.batch_max = 10});
  queue->add_after("a", {7, 8}, 20s);
  EXPECT_FALSE(queue->idle());
  EXPECT_EQ(queue->requeues(), 1u);
  scheduler.advance(20s - 1ns);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(1ns);
  EXPECT_THAT(taken(), ElementsAre("a:7,8#1"));  // its events in one call
  EXPECT_EQ(queue->requeues(), 0u);
}

TEST_F(KeyedQueueTest, ARequeueComesThoughItsKeyWasCalledMeanwhile) {
  make();
  queue->add_after("a", {7}, 20s);
  scheduler.advance(10s);
  queue->add("a", 1);
  finish("a");
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre("a:1#1", "a:7#1"));
}

// Every call asks for the next one: events between must not add chains of their own.
TEST_F(KeyedQueueTest, ALaterRequeueTakesThePlaceOfTheFormer) {
  make();
  queue->add("a", 0);
  int calls = 0;
  for (int second = 0; second < 200; ++second) {
    while (!running.empty()) {
      ++calls;
      queue->add_after("a", {1}, 20s);
      finish("a");
    }
    if (second < 50) queue->add("a", 2);
    scheduler.advance(1s);
  }
  EXPECT_EQ(queue->requeues(), 1u);
  EXPECT_LE(calls, 51 + 150 / 20 + 1);
  EXPECT_GE(calls, 51 + 150 / 20 - 1);
}

TEST_F(KeyedQueueTest, RequeuesOfOneKeyInSeveralSlotsKeepOutOfEachOthersWay) {
  make({.batch_max = 10});
  queue->add_after("a", {1}, 20s, "x");
  queue->add_after("a", {2}, 20s, "y");
  queue->add_after("a", {3}, 30s, "x");
  queue->add_after("ab", {4}, 20s, "x");
  scheduler.advance(20s);
  EXPECT_THAT(taken(), ElementsAre("a:2#1"));
  finish("a");
  EXPECT_THAT(taken(), ElementsAre("ab:4#1"));
  finish("ab");
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre("a:3#1"));
}

TEST_F(KeyedQueueTest, ExclusiveRunsAloneAndWhatComesAfterWaitsForItsSuccess) {
  make({.concurrency = 5});
  queue->add("a", 1);
  queue->add("sync", 2, true);
  queue->add("b", 3);
  EXPECT_THAT(taken(), ElementsAre("a:1#1"));  // it waits for what runs
  finish("a");
  EXPECT_THAT(taken(), ElementsAre("sync:2#1"));
  EXPECT_TRUE(running.at("sync").exclusive);
  finish("sync", Verdict::kRetry);
  queue->add("c", 4);
  EXPECT_THAT(taken(), IsEmpty());  // still: it did not succeed
  scheduler.advance(2s);
  EXPECT_THAT(taken(), ElementsAre("sync:2#2"));
  finish("sync");
  EXPECT_THAT(taken(), ElementsAre("b:3#1", "c:4#1"));
}

TEST_F(KeyedQueueTest, SeveralExclusivesRunOneAfterAnotherInTheirOrder) {
  make({.concurrency = 5});
  queue->stop();
  queue->add("x", 0);
  queue->add("startup", 1, true);
  queue->add("sync/a", 2, true);
  queue->resume();
  finish("startup");
  finish("sync/a");
  EXPECT_THAT(taken(), ElementsAre("startup:1#1", "sync/a:2#1", "x:0#1"));
}

TEST_F(KeyedQueueTest, AnExclusiveThatIsGivenUpLetsTheOthersGo) {
  make({.attempts = 1});
  queue->add("startup", 1, true);
  queue->add("a", 2);
  finish("startup", Verdict::kRetry);
  EXPECT_EQ(given_up.size(), 1u);
  EXPECT_THAT(taken(), ElementsAre("startup:1#1", "a:2#1"));
}

TEST_F(KeyedQueueTest, StopStartsNothingAndResumeGoesOn) {
  make();
  queue->add("a", 1);
  queue->stop();
  queue->add("b", 2);
  finish("a", Verdict::kRetry);
  scheduler.advance(1min);
  EXPECT_THAT(taken(), ElementsAre("a:1#1"));
  queue->resume();
  finish("b");
  EXPECT_THAT(taken(), ElementsAre("b:2#1", "a:1#2"));
}

TEST_F(KeyedQueueTest, TakeWaitingGivesEverythingThatIsNotRunning) {
  make();
  queue->add("run", 1);
  queue->add("fail", 2);
  finish("run");
  finish("fail", Verdict::kRetry);
  queue->add("fail", 3);
  queue->add("run", 4);
  queue->add("run", 5);
  queue->add("wait", 6);
  queue->add_after("later", {7}, 1h);
  queue->stop();
  EXPECT_THAT(queue->take_waiting(),
              ElementsAre(std::pair("fail", 2), std::pair("fail", 3), std::pair("run", 5), std::pair("wait", 6)));
  const auto requeues = queue->take_requeues();
  ASSERT_EQ(requeues.size(), 1u);
  EXPECT_EQ(requeues[0].key, "later");
  EXPECT_THAT(requeues[0].events, ElementsAre(7));
  EXPECT_EQ(requeues[0].due, scheduler.now() + 1h);
  taken();
  finish("run", Verdict::kRetry);
  EXPECT_THAT(queue->take_waiting(), ElementsAre(std::pair("run", 4)));
  EXPECT_TRUE(queue->idle());
  queue->resume();
  scheduler.advance(2h);
  EXPECT_THAT(taken(), IsEmpty());
}

// ---------------------------------------------------------------- slots

TEST(Slots, GiveBackWakesTheNextInLine) {
  Slots slots(1);
  ASSERT_TRUE(slots.try_take(&slots));
  EXPECT_FALSE(slots.try_take(&slots));
  std::vector<int> woken;
  int a = 0, b = 0;
  slots.wait(&a, [&] { woken.push_back(slots.try_take(&slots) ? 1 : -1); });
  slots.wait(&a, [&] { woken.push_back(99); });  // waits already
  slots.wait(&b, [&] { woken.push_back(slots.try_take(&slots) ? 2 : -2); });
  slots.give_back(&slots);
  EXPECT_THAT(woken, ElementsAre(1));
  slots.give_back(&slots);
  EXPECT_THAT(woken, ElementsAre(1, 2));
}

TEST(Slots, OneThatHasNoUseForItDoesNotKeepItFromTheNext) {
  Slots slots(1);
  ASSERT_TRUE(slots.try_take(&slots));
  int a = 0, b = 0, gone = 0;
  bool got = false;
  slots.wait(&a, [] {});
  slots.wait(&gone, [] { FAIL(); });
  slots.wait(&b, [&] { got = slots.try_take(&slots); });
  slots.forget(&gone);
  slots.give_back(&slots);
  EXPECT_TRUE(got);
}

struct TwoQueues : testing::Test {
  using Queue = KeyedQueue<int, int>;
  std::unique_ptr<Queue> make(char name, int concurrency) {
    return std::make_unique<Queue>(
        scheduler, random, slots, Queue::Options{.concurrency = concurrency},
        [this, name](Queue::Batch batch) {
          log += name;
          running.emplace_back(name, std::move(batch.front()));
        },
        [](std::vector<int>& waiting, int next) { waiting.push_back(next); }, [](Queue::Item) {});
  }
  void finish_one() {
    auto [name, item] = std::move(running.front());
    running.erase(running.begin());
    (name == 'a' ? a : b)->finish(std::move(item), Queue::Verdict::kDone);
  }
  ManualScheduler scheduler;
  SeededRandom random;
  Slots slots{2};
  std::unique_ptr<Queue> a, b;
  std::vector<std::pair<char, Queue::Item>> running;
  std::string log;
};

TEST_F(TwoQueues, ShareTheSlotsFairly) {
  a = make('a', 10);
  b = make('b', 10);
  for (int i = 0; i < 20; ++i) a->add("k" + std::to_string(i), i);  // floods
  for (int i = 0; i < 4; ++i) b->add("k" + std::to_string(i), i);
  while (!running.empty()) {
    EXPECT_LE(running.size(), 2u);
    finish_one();
  }
  EXPECT_EQ(log.size(), 24u);
  EXPECT_EQ(log.substr(0, 2), "aa");
  EXPECT_EQ(std::count(log.begin(), log.begin() + 10, 'b'), 4) << log;
}

TEST_F(TwoQueues, AStoppedOneDoesNotKeepTheOtherFromASlot) {
  slots.try_take(&slots);
  a = make('a', 1);
  b = make('b', 1);
  a->add("x", 1);  // takes the only slot
  a->add("y", 2);
  b->add("z", 3);
  a->stop();
  finish_one();
  EXPECT_EQ(log, "ab");
}

TEST_F(TwoQueues, OneThatIsGoneIsNotWoken) {
  slots.try_take(&slots);
  a = make('a', 1);
  b = make('b', 1);
  a->add("x", 1);
  b->add("z", 3);
  b.reset();
  finish_one();
  EXPECT_EQ(log, "a");
}

// ---------------------------------------------------------------- nothing is lost

// Product.md `queue`: nothing lost while a hook fails for an hour. Only the newest number of a key is kept here.
TEST_F(KeyedQueueTest, NothingIsLostWhileAThousandKeysChangeAndEveryCallFailsForAnHour) {
  make({.concurrency = 4, .retry_initial = 1s, .retry_max = 5min},
       [](std::vector<int>& waiting, int next) { waiting = {next}; });
  std::map<std::string, int> newest, delivered;
  bool healthy = false;
  const SteadyTime end = scheduler.now() + 1h;
  uint64_t calls = 0;
  int number = 0;
  const auto serve = [&] {
    for (auto& [key, item] : std::exchange(running, {})) {
      ++calls;
      const bool ok = healthy;
      if (ok) delivered[key] = item.events.back();
      queue->finish(item, ok ? Verdict::kDone : Verdict::kRetry);
    }
    log.clear();
  };
  while (scheduler.now() < end) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = "k" + std::to_string(random.bits() % 1000);
      newest[key] = ++number;
      queue->add(key, number);
    }
    scheduler.advance(500ms);
    serve();
  }
  EXPECT_EQ(newest.size(), 1000u);
  healthy = true;
  EXPECT_EQ(queue->keys(), 1000u);  // bounded by the keys, not by the events
  for (int i = 0; i < 20'000 && !queue->idle(); ++i) {
    scheduler.advance(500ms);
    serve();
  }
  EXPECT_TRUE(queue->idle());
  EXPECT_EQ(delivered, newest);
  EXPECT_LT(calls, 60'000u);
}

}  // namespace
}  // namespace hookd::queue
