// The work queue of one hook: events by key. One key's items never overlap nor reorder; other keys run up to
// `concurrency`. Failed items come again with back-off, together with what arrived meanwhile. Thread: loop only.
// Source: k8s-client.md Q1-Q3; product.md `concurrency`, `retry`, `coalesce`.
//
//   a key is   because                        leaves it by
//   ready      it has events                  a free slot -> running
//   running    start() was called for it      finish(): done -> forgotten, or ready if events came meanwhile
//                                                       retry -> delayed with its events
//                                                       give up -> handed to on_give_up
//   delayed    it failed                      its time -> ready; news brings it forward to `retry_initial` from now
//
// A key may also have one requeue: events that come again at an exact time, whatever happens to the key meanwhile.
// An exclusive item (startup, sync) runs alone: it waits for what runs, and what comes after it waits for its success.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "queue/slots.h"

namespace hookd::queue {

template <class Event, class Carry>
class KeyedQueue {
 public:
  struct Options {
    int concurrency = 1;
    Duration retry_initial = std::chrono::seconds(1);
    Duration retry_max = std::chrono::minutes(5);
    int attempts = 0;  // 0 = for ever
  };
  struct Item {
    std::string key;
    std::vector<Event> events;
    int attempt = 1;
    bool exclusive = false;
    Carry carry{};              // what the last attempt left to do; empty at first
    bool fresh_events = false;  // events were added since the last attempt
  };
  enum class Verdict { kDone, kRetry, kGiveUp };
  using Start = std::function<void(Item)>;  // must lead to exactly one finish()
  using Merge = std::function<void(std::vector<Event>& waiting, Event next)>;
  using GiveUp = std::function<void(Item)>;

  KeyedQueue(Scheduler& scheduler, Random& random, Slots& slots, Options options, Start start, Merge merge,
             GiveUp on_give_up)
      : scheduler_(scheduler),
        random_(random),
        slots_(slots),
        options_(options),
        start_(std::move(start)),
        merge_(std::move(merge)),
        on_give_up_(std::move(on_give_up)) {}
  // What still runs gives its slots back: its finish() will never come.
  ~KeyedQueue() {
    slots_.forget(this);
    stopped_ = true;
    for (; running_ > 0; --running_) slots_.give_back();
  }
  KeyedQueue(const KeyedQueue&) = delete;
  KeyedQueue& operator=(const KeyedQueue&) = delete;

  // An item that is `first` runs before every other exclusive one (start-up before sync).
  void add_first(const std::string& key, Event event) {
    if (std::find(exclusive_.begin(), exclusive_.end(), key) == exclusive_.end()) exclusive_.push_front(key);
    add(key, std::move(event), true);
  }

  void add(const std::string& key, Event event, bool exclusive = false) {
    std::vector<Event> events;
    events.push_back(std::move(event));
    add_all(key, std::move(events), exclusive);
  }

  // Several events of one key that belong into one call.
  void add_all(const std::string& key, std::vector<Event> events, bool exclusive = false) {
    Entry& entry = entries_[key];
    entry.exclusive |= exclusive;
    if (exclusive) note_exclusive(key);
    for (Event& event : events) merge_(entry.waiting, std::move(event));
    if (entry.running || entry.ready) return;
    if (entry.failed) {
      const SteadyTime soon = news_due(entry);
      if (soon < entry.due) delay(key, entry, soon);
      return;
    }
    make_ready(key, entry);
  }

  // The events come again after `delay`, whatever else happens to their key. A later wish for the same key takes the
  // place of this one: else every call that asks for the next one would add a chain of calls that never ends.
  void add_after(const std::string& key, std::vector<Event> events, Duration delay) {
    Requeue& requeue = requeues_[key];
    requeue.events = std::move(events);
    requeue.timer = scheduler_.after(delay, [this, key] {
      auto due = requeues_.extract(key);
      add_all(key, std::move(due.mapped().events));
    });
  }

  // What became of an item that start() was given. `at_least` is the least delay before a retry.
  void finish(Item item, Verdict verdict, Duration at_least = Duration::zero()) {
    --running_;
    Entry& entry = entries_[item.key];
    entry.running = false;
    const bool spent = verdict == Verdict::kRetry && options_.attempts > 0 && item.attempt >= options_.attempts;
    if (verdict == Verdict::kRetry && !spent) {
      entry.not_before = scheduler_.now() + at_least;
      SteadyTime due = std::max(entry.not_before, scheduler_.now() + back_off(item.attempt));
      if (!entry.waiting.empty()) due = std::min(due, news_due(entry));
      const std::string key = item.key;
      item.attempt += 1;
      entry.failed = std::make_unique<Item>(std::move(item));
      delay(key, entry, due);
    } else {
      const std::string key = item.key;
      if (verdict != Verdict::kDone) on_give_up_(std::move(item));
      if (entry.waiting.empty()) {
        entries_.erase(key);
        forget_exclusive(key);
      } else {
        make_ready(key, entry);
      }
    }
    slots_.give_back();
    pump();
  }

  // No new item is started any more; running ones still finish.
  void stop() { stopped_ = true; }
  void resume() {
    stopped_ = false;
    pump();
  }

  // What waits, also of failed items, taken out: for a successor of this queue.
  std::vector<std::pair<std::string, Event>> take_waiting() {
    std::vector<std::pair<std::string, Event>> taken;
    for (auto it = entries_.begin(); it != entries_.end();) {
      Entry& entry = it->second;
      if (entry.failed)
        for (auto& event : entry.failed->events) taken.emplace_back(it->first, std::move(event));
      for (auto& event : entry.waiting) taken.emplace_back(it->first, std::move(event));
      entry.failed.reset();
      entry.waiting.clear();
      if (entry.running)
        ++it;
      else
        it = entries_.erase(it);
    }
    for (auto& [key, requeue] : requeues_)
      for (auto& event : requeue.events) taken.emplace_back(key, std::move(event));
    ready_.clear();
    delayed_.clear();
    exclusive_.clear();
    requeues_.clear();
    timer_.cancel();
    return taken;
  }

  size_t keys() const { return entries_.size(); }  // with anything waiting, running or delayed
  size_t running() const { return static_cast<size_t>(running_); }
  size_t delayed() const { return delayed_.size(); }    // failed and waiting for their next try
  size_t requeues() const { return requeues_.size(); }  // asked for later
  bool idle() const { return entries_.empty() && requeues_.empty(); }
  // Some key has its turn: as soon as there is a slot, or in this moment.
  bool can_start() const {
    if (stopped_ || ready_.empty()) return false;
    return exclusive_.empty() || std::find(ready_.begin(), ready_.end(), exclusive_.front()) != ready_.end();
  }
  bool has(const std::string& key) const { return entries_.contains(key); }
  // Waits for its turn or runs; not: failed and waiting for its next try.
  bool busy(const std::string& key) const {
    const auto it = entries_.find(key);
    return it != entries_.end() && (it->second.running || it->second.ready);
  }

 private:
  struct Entry {
    std::vector<Event> waiting;
    std::unique_ptr<Item> failed;  // to be tried again, before `waiting`
    SteadyTime due{};
    SteadyTime not_before{};  // of `failed`: the least delay that was asked for
    bool ready = false;
    bool running = false;
    bool exclusive = false;
  };
  struct Requeue {
    std::vector<Event> events;
    Timer timer;
  };

  // News is worth an earlier try, but a key that changes all the time must not turn the back-off into a busy loop.
  SteadyTime news_due(const Entry& entry) const {
    return std::max(entry.not_before, scheduler_.now() + options_.retry_initial);
  }

  Duration back_off(int attempt) {
    Backoff backoff({options_.retry_initial, options_.retry_max, 2.0, 0.1}, random_);
    Duration delay{};
    for (int i = 0; i < std::min(attempt, 64); ++i) delay = backoff.next();
    return delay;
  }

  void note_exclusive(const std::string& key) {
    if (std::find(exclusive_.begin(), exclusive_.end(), key) == exclusive_.end()) exclusive_.push_back(key);
  }
  void forget_exclusive(const std::string& key) { std::erase(exclusive_, key); }

  void make_ready(const std::string& key, Entry& entry) {
    if (std::exchange(entry.ready, true)) return;
    ready_.push_back(key);
    pump();
  }

  void delay(const std::string& key, Entry& entry, SteadyTime due) {
    delayed_.erase({entry.due, key});
    entry.due = due;
    delayed_.insert({due, key});
    arm();
  }

  void arm() {
    if (delayed_.empty()) return timer_.cancel();
    timer_ = scheduler_.at(delayed_.begin()->first, [this] {
      const SteadyTime now = scheduler_.now();
      while (!delayed_.empty() && delayed_.begin()->first <= now) {
        const std::string key = delayed_.begin()->second;
        delayed_.erase(delayed_.begin());
        Entry& entry = entries_[key];
        entry.ready = true;
        ready_.push_back(key);
      }
      arm();
      pump();
    });
  }

  // The next key that may run now; "" = none.
  std::deque<std::string>::iterator choose() {
    if (exclusive_.empty()) return ready_.begin();
    if (running_ > 0) return ready_.end();
    return std::find(ready_.begin(), ready_.end(), exclusive_.front());
  }

  void pump() {
    // start_ may add to this very queue; the outer call goes on with what that brought.
    if (pumping_) return;
    pumping_ = true;
    while (!stopped_ && running_ < options_.concurrency) {
      const auto chosen = choose();
      if (chosen == ready_.end()) break;
      if (!slots_.try_take()) {
        slots_.wait(this, [this] { pump(); });
        break;
      }
      const std::string key = *chosen;
      ready_.erase(chosen);
      start_(take(key));
    }
    pumping_ = false;
  }

  Item take(const std::string& key) {
    Entry& entry = entries_[key];
    entry.ready = false;
    entry.running = true;
    ++running_;
    Item item;
    if (entry.failed) item = std::move(*std::exchange(entry.failed, nullptr));
    item.key = key;
    item.exclusive = entry.exclusive;
    item.fresh_events = !entry.waiting.empty();
    for (auto& event : std::exchange(entry.waiting, {})) merge_(item.events, std::move(event));
    return item;
  }

  Scheduler& scheduler_;
  Random& random_;
  Slots& slots_;
  Options options_;
  Start start_;
  Merge merge_;
  GiveUp on_give_up_;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> ready_;
  std::deque<std::string> exclusive_;  // keys of exclusive items not yet done, oldest first
  std::set<std::pair<SteadyTime, std::string>> delayed_;
  std::map<std::string, Requeue> requeues_;
  Timer timer_;
  int running_ = 0;
  bool stopped_ = false;
  bool pumping_ = false;
};

}  // namespace hookd::queue
