// Random events, live and in the background, poison, failures, outages, slow calls, batches, requeues, exclusive items,
// pauses, hands and hand-overs to a new queue, over many seeds: a key is never called twice at once, its events never
// change their order, the last one is delivered, what is given up is the poison and nothing else, an exclusive call is
// alone.
#include <gmock/gmock.h>

#include "queue/keyed_queue.h"

namespace hookd::queue {
namespace {

using namespace std::chrono_literals;

struct Event {
  int version = 0;
  bool again = false;
  bool poison = false;  // fails every call it is in
  bool background = false;
};
using Queue = KeyedQueue<Event, int>;

struct Trial {
  explicit Trial(uint64_t seed) : random(seed), slots(static_cast<int>(1 + dice(4))) {
    options.concurrency = static_cast<int>(1 + dice(5));
    options.retry_max = 1min;
    options.batch_max = dice(2) == 0 ? 1 : 1 + dice(8);
    if (options.batch_max > 1 && dice(2) == 0) options.batch_window = std::chrono::milliseconds(dice(3000));
    make();
  }
  uint64_t dice(uint64_t sides) { return random.bits() % sides; }
  Duration up_to(int milliseconds) { return std::chrono::milliseconds(dice(static_cast<uint64_t>(milliseconds))); }

  void make() {
    queue = std::make_unique<Queue>(
        scheduler, random, slots, options, [this](Queue::Batch batch) { start(std::move(batch)); },
        [this](std::vector<Event>& waiting, Event next) { merge(waiting, next); },
        [this](Queue::Item item) { give_up(item); });
    queue->set_paused(paused);
    if (stopped) queue->stop();
  }

  void merge(std::vector<Event>& waiting, Event next) {
    if (next.again && !waiting.empty()) return;
    if (!waiting.empty() && !waiting.back().poison && !next.poison && (waiting.back().again || dice(2) == 0)) {
      next.background &= waiting.back().background;
      waiting.back() = next;
    } else {
      waiting.push_back(next);
    }
  }

  void start(Queue::Batch batch) {
    size_t events = 0;
    for (const auto& item : batch) {
      if (running[item.key]++ != 0) complain(item.key + " runs twice");
      events += item.events.size();
      if (item.events.empty()) complain(item.key + " runs without events");
      int before = settled[item.key];
      for (const Event& event : item.events) {
        if (event.again) continue;
        if (event.version <= before) complain(item.key + " goes back in time");
        before = event.version;
      }
      const bool live = std::ranges::any_of(item.events, [](const Event& event) { return !event.background; });
      if (item.background && live) complain(item.key + " is in the background with live events");
      background_starts += item.background ? 1 : 0;
      if (item.exclusive && batch.size() > 1) complain("an exclusive item shares its call");
      if (item.exclusive && open > 0) complain("an exclusive call is not alone");
      if (exclusive_open) complain("a call runs beside an exclusive one");
    }
    if (events > options.batch_max) complain("a batch is too large");
    ++open;
    exclusive_open |= batch.front().exclusive;
    const uint64_t id = ++call;
    const bool at_once = dice(4) == 0;
    calls[id] = scheduler.after(at_once ? 0s : up_to(5000), [this, id, batch = std::move(batch)]() mutable {
      auto keep = calls.extract(id);
      end(std::move(batch));
    });
  }

  void end(Queue::Batch batch) {
    --open;
    exclusive_open = false;
    size_t events = 0;
    bool poison = false;
    for (const auto& item : batch) {
      --running[item.key];
      events += item.events.size();
      for (const Event& event : item.events) poison |= event.poison;
    }
    if (poison)
      return queue->finish(std::move(batch), events > 1 ? Verdict::kSplit
                                             : healthy  ? Verdict::kGiveUp
                                                        : Verdict::kRetry);
    if (!healthy && dice(3) == 0) {
      const Verdict verdicts[] = {events > 1 ? Verdict::kSplit : Verdict::kRetry, Verdict::kRetryTogether,
                                  Verdict::kLater, Verdict::kNotTried};
      return queue->finish(std::move(batch), verdicts[dice(4)], up_to(2000));
    }
    for (const auto& item : batch) {
      for (const Event& event : item.events)
        if (!event.again) settle(item.key, event.version);
      if (!healthy && dice(4) == 0)
        queue->add_after(item.key, {Event{0, true}}, up_to(20'000), dice(2) == 0 ? "x" : "y");
    }
    if (batch.size() > 1 && dice(3) == 0) {  // one is over before the others
      Queue::Item first = std::move(batch.front());
      batch.erase(batch.begin());
      queue->finish(std::move(first), Verdict::kDone);
    }
    queue->finish(std::move(batch), Verdict::kDone);
  }

  void settle(const std::string& key, int done) { settled[key] = std::max(settled[key], done); }
  void give_up(const Queue::Item& item) {
    if (item.events.size() != 1 || !item.events[0].poison) complain(item.key + " was given up without poison");
    settle(item.key, item.events.front().version);
    ++given_up;
  }

  void step() {
    switch (dice(24)) {
      case 0:
        stopped = true;
        return queue->stop();
      case 1:
      case 2:
        stopped = false;
        return queue->resume();
      case 3:
        return queue->set_paused(paused = true);
      case 4:
      case 5:
        return queue->set_paused(paused = false);
      case 6:
        for (const std::string& key : queue->delayed_keys()) queue->hurry(key);
        return;
      case 7:
        if (dice(2) == 0) return queue->bring_forward(up_to(3000));
        return hand_over();
      case 8:
      case 9: {
        const std::string key = "x" + std::to_string(dice(2));
        return queue->add(key, {last[key] = ++version}, true);
      }
      default: {
        const std::string key = "k" + std::to_string(dice(6));
        const bool poison = dice(25) == 0;
        poisons += poison ? 1 : 0;
        if (dice(3) == 0)
          queue->add_background(key, {last[key] = ++version, false, poison, true});
        else
          queue->add(key, {last[key] = ++version, false, poison});
      }
    }
  }

  // As a reload does it: the calls end, and what waits goes to a new queue.
  void hand_over() {
    queue->stop();
    while (!calls.empty()) scheduler.advance(100ms);
    auto waiting = queue->take_waiting();
    auto requeues = queue->take_requeues();
    if (!queue->idle()) complain("something stayed in the old queue");
    make();
    for (auto& [key, event] : waiting) {
      if (event.background)
        queue->add_background(key, event);
      else
        queue->add(key, event, key.starts_with("x"));
    }
    for (auto& requeue : requeues)
      queue->add_after(requeue.key, std::move(requeue.events), requeue.due - scheduler.now(), requeue.slot);
  }

  void run() {
    for (int i = 0; i < 400 && complaints.empty(); ++i) {
      step();
      scheduler.advance(dice(3) == 0 ? 0s : up_to(1500));
    }
    healthy = true;
    stopped = paused = false;
    queue->set_paused(false);
    queue->resume();
    scheduler.advance(2h);
    if (!queue->idle()) complain("it does not come to rest");
    if (settled != last) complain("not every last event was delivered");
    if (given_up != poisons) complain(fmt::format("{} poisons, {} given up", poisons, given_up));
    for (int i = 0; i < 4; ++i) slots.try_take(&slots);
  }
  void complain(std::string what) { complaints.push_back(std::move(what)); }

  ManualScheduler scheduler;
  SeededRandom random;
  Slots slots;
  Queue::Options options;
  std::unique_ptr<Queue> queue;
  std::map<std::string, int> last, settled, running;
  std::map<uint64_t, Timer> calls;
  uint64_t call = 0;
  int version = 0, poisons = 0, given_up = 0, open = 0, background_starts = 0;
  bool healthy = false, stopped = false, paused = false, exclusive_open = false;
  std::vector<std::string> complaints;
};

class QueueProperty : public testing::TestWithParam<int> {};

TEST_P(QueueProperty, HoldsWhateverHappens) {
  int background = 0;
  for (int seed = GetParam() * 100; seed < GetParam() * 100 + 100; ++seed) {
    Trial trial(static_cast<uint64_t>(seed));
    trial.run();
    ASSERT_THAT(trial.complaints, testing::IsEmpty()) << "seed " << seed;
    background += trial.background_starts;
  }
  EXPECT_GT(background, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, QueueProperty, testing::Range(0, 10));

}  // namespace
}  // namespace hookd::queue
