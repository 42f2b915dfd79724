#include "base/scheduler.h"

#include <gmock/gmock.h>

#include "base/backoff.h"
#include "base/ids.h"

namespace hookd {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(ManualScheduler, RunsTimersInOrderOfTheirTimeEachAtItsOwn) {
  ManualScheduler scheduler;
  std::vector<std::pair<int, Duration>> seen;
  const auto note = [&](int id) { return [&, id] { seen.emplace_back(id, scheduler.now() - SteadyTime{}); }; };
  const Timer late = scheduler.after(5s, note(3));
  const Timer early = scheduler.after(1s, note(1));
  const Timer same = scheduler.after(1s, note(2));
  scheduler.advance(10s);
  EXPECT_THAT(seen, ElementsAre(std::pair(1, Duration(1s)), std::pair(2, Duration(1s)), std::pair(3, Duration(5s))));
  EXPECT_EQ(scheduler.now() - SteadyTime{}, 10s);
}

TEST(ManualScheduler, PostedTasksRunInOrderAndNeverInline) {
  ManualScheduler scheduler;
  std::vector<int> seen;
  scheduler.post([&] {
    scheduler.post([&] { seen.push_back(3); });
    seen.push_back(1);
  });
  scheduler.post([&] { seen.push_back(2); });
  EXPECT_TRUE(seen.empty());
  scheduler.run_posted();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(ManualScheduler, WallTimeStartsWhereToldAndCanBeSet) {
  ManualScheduler scheduler(WallTime(100s));
  scheduler.advance(5s);
  EXPECT_EQ(scheduler.wall_now(), WallTime(105s));
  scheduler.set_wall(WallTime(50s));
  EXPECT_EQ(scheduler.now() - SteadyTime{}, 5s);
  scheduler.advance(1s);
  EXPECT_EQ(scheduler.wall_now(), WallTime(51s));
}

TEST(Timer, CancelledOrDroppedDoesNotRun) {
  ManualScheduler scheduler;
  int runs = 0;
  Timer cancelled = scheduler.after(1s, [&] { ++runs; });
  {
    const Timer dropped = scheduler.after(1s, [&] { ++runs; });
  }
  EXPECT_TRUE(cancelled.pending());
  cancelled.cancel();
  EXPECT_FALSE(cancelled.pending());
  scheduler.advance(2s);
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(scheduler.idle());
}

TEST(Timer, AssigningAnotherCancelsTheFirst) {
  ManualScheduler scheduler;
  std::vector<int> seen;
  Timer timer = scheduler.after(1s, [&] { seen.push_back(1); });
  timer = scheduler.after(2s, [&] { seen.push_back(2); });
  scheduler.advance(3s);
  EXPECT_THAT(seen, ElementsAre(2));
  EXPECT_FALSE(timer.pending());
}

TEST(Timer, MayBeReplacedInItsOwnTask) {
  ManualScheduler scheduler;
  int runs = 0;
  Timer timer;
  std::function<void()> again = [&] {
    if (++runs < 3) timer = scheduler.after(1s, again);
  };
  timer = scheduler.after(1s, again);
  scheduler.advance(10s);
  EXPECT_EQ(runs, 3);
}

TEST(Timer, ATaskMayHoldTheLastReferenceToItselfAndToOthers) {
  ManualScheduler scheduler;
  int runs = 0;
  struct Chain {
    Timer own, other;
  };
  {
    auto chain = std::make_shared<Chain>();
    chain->other = scheduler.after(3s, [&] { ++runs; });
    Timer outer = scheduler.after(2s, [chain, &runs] { ++runs; });
    chain.reset();
    outer.cancel();  // destroys the task, which destroys the other timer
  }
  scheduler.advance(5s);
  EXPECT_EQ(runs, 0);
}

TEST(Scheduler, MayGoWhileATaskKeepsItsOwnTimerAlive) {
  auto scheduler = std::make_unique<ManualScheduler>();
  auto kept = std::make_shared<Timer>();
  *kept = scheduler->after(1s, [kept] { FAIL(); });
  const std::weak_ptr weak = kept;
  kept.reset();
  EXPECT_FALSE(weak.expired());
  scheduler.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(Scheduler, ATaskThatCancelsTheNextOneIsObeyed) {
  ManualScheduler scheduler;
  int runs = 0;
  Timer second;
  const Timer first = scheduler.after(1s, [&] { second.cancel(); });
  second = scheduler.after(1s, [&] { ++runs; });
  scheduler.advance(2s);
  EXPECT_EQ(runs, 0);
}

TEST(AsioScheduler, RunsTimersInOrderAndPostedTasksBetween) {
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  std::vector<int> seen;
  const Timer second = scheduler.after(4ms, [&] { seen.push_back(3); });
  const Timer first = scheduler.after(1ms, [&] { seen.push_back(2); });
  const Timer never = scheduler.after(2ms, [&] { seen.push_back(9); });
  Timer gone = scheduler.after(3ms, [&] { seen.push_back(8); });
  gone.cancel();
  scheduler.post([&] { seen.push_back(1); });
  Timer stop = scheduler.after(8ms, [&] { context.stop(); });
  {
    Timer moved = scheduler.after(1ms, [] {});
  }
  context.run();
  EXPECT_THAT(seen, ElementsAre(1, 2, 9, 3));
}

TEST(AsioScheduler, AnEarlierTimerSetLaterIsNotHeldUpByALaterOne) {
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  const Timer far = scheduler.after(std::chrono::hours(1), [] { FAIL(); });
  const Timer near = scheduler.after(1ms, [&] { context.stop(); });
  context.run();
}

TEST(AsioScheduler, ATaskThatArmsItselfWithoutDelayLetsOthersRun) {
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  Timer busy;
  std::function<void()> again = [&] { busy = scheduler.after(Duration{0}, again); };
  busy = scheduler.after(Duration{0}, again);
  const Timer stop = scheduler.after(3ms, [&] { context.stop(); });
  context.run();
}

TEST(AsioScheduler, EndsWhenNothingIsLeft) {
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  Timer timer = scheduler.after(std::chrono::hours(1), [] { FAIL(); });
  scheduler.post([&] { timer.cancel(); });
  context.run();  // would hang if the cancelled timer still counted
}

TEST(Backoff, DoublesUpToItsMaximumAndStartsAnewAfterReset) {
  SeededRandom random;
  Backoff backoff({.initial = 1s, .max = 10s, .factor = 2, .jitter = 0}, random);
  std::vector<Duration> delays;
  for (int i = 0; i < 6; ++i) delays.push_back(backoff.next());
  EXPECT_THAT(delays, ElementsAre(1s, 2s, 4s, 8s, 10s, 10s));
  EXPECT_EQ(backoff.failures(), 6);
  backoff.reset();
  EXPECT_EQ(backoff.next(), 1s);
}

TEST(Backoff, JitterAddsAtMostItsShare) {
  SeededRandom random;
  Backoff backoff({.initial = 1s, .max = 8s, .factor = 2, .jitter = 0.5}, random);
  bool differ = false;
  for (int i = 0; i < 100; ++i) {
    const Duration delay = backoff.next();
    const Duration base = std::min<Duration>(8s, Duration(1s) * (1 << std::min(i, 10)));
    EXPECT_GE(delay, base);
    EXPECT_LE(delay, base + base / 2);
    differ |= delay != base;
  }
  EXPECT_TRUE(differ);
}

TEST(Backoff, ALongOutageDoesNotOverflow) {
  SeededRandom random;
  Backoff backoff({.initial = 1s, .max = 300s, .factor = 2, .jitter = 0}, random);
  for (int i = 0; i < 20'000; ++i) backoff.next();
  EXPECT_EQ(backoff.next(), 300s);
}

TEST(MakeId, HasThirteenPlainCharactersAndIsRepeatable) {
  SeededRandom random(7), same(7);
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = make_id(random);
    EXPECT_EQ(id, make_id(same));
    EXPECT_EQ(id.size(), 13u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace hookd
