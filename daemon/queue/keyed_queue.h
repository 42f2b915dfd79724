// The work queue of one hook: events by key, handed out in batches. One key's events never overlap nor reorder; other
// keys run up to `concurrency` calls. Failed items come again with back-off. Thread: loop only.
// Source: k8s-client.md Q1-Q3; product.md `concurrency`, `batch`, `retry`, `coalesce`.
//
//   a key is   because                        leaves it by
//   ready      it has events                  a free slot -> running, with others up to `batch_max` events
//   running    start() was called for it      finish(): done -> forgotten, or ready if events came meanwhile
//                                                       retry -> delayed with its events
//                                                       split -> ready again, in one of the two halves of its batch
//                                                       give up -> handed to on_give_up
//   delayed    it failed                      its time -> ready; news brings it forward to `retry_initial` from now
//
// A key may also have requeues: events that come again at an exact time, whatever happens to the key meanwhile.
// An exclusive item (startup, sync) runs alone: it waits for what runs, and what comes after it waits for its success.
//
// Four lines of ready keys: the exclusive ones; `solo_`, calls whose keys are settled (halves of a split batch, keys
// that failed by themselves); `ready_`, keys that may share a call; `background_`, keys of which only a first list or a
// resync tells: they stand behind what is live, but one of kAgeing turns is theirs, so that none starves. A live event
// moves a key up; a background one neither moves a key nor shortens its back-off. A place in line that is not valid any
// more is skipped when its turn comes, so that no line is ever searched.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "queue/slots.h"
#include "queue/verdict.h"

namespace hookd::queue {

template <class Event, class Carry>
class KeyedQueue {
 public:
  struct Options {
    int concurrency = 1;  // batches at once
    Duration retry_initial = std::chrono::seconds(1);
    Duration retry_max = std::chrono::minutes(5);
    int attempts = 0;  // 0 = for ever
    bool later_counts = false;
    size_t batch_max = 1;      // events in a batch
    Duration batch_window{0};  // how long the first key of a batch that is not full waits for others
  };
  struct Item {
    std::string key;
    std::vector<Event> events;
    int attempt = 1;
    int failures = 0;  // attempts that count
    bool exclusive = false;
    bool alone = false;         // in no batch with other keys
    size_t limit = 0;           // events of it in one batch, 0 = what the batch takes
    Carry carry{};              // what the last attempt left to do; empty at first
    bool background = false;    // nothing live is among its events
    bool fresh_events = false;  // its events are not those of the last attempt
    uint64_t batch = 0;         // which one it was started in
  };
  using Batch = std::vector<Item>;  // never empty; in the order in which the keys became ready
  using Verdict = queue::Verdict;
  using Start = std::function<void(Batch)>;  // must lead to exactly one finish() of each item
  using Merge = std::function<void(std::vector<Event>& waiting, Event next)>;
  using GiveUp = std::function<void(Item)>;
  struct Requeued {
    std::string key, slot;
    std::vector<Event> events;
    SteadyTime due{};
  };
  struct Look {  // of one key, for people; `failed` null = nothing of it failed
    const std::string& key;
    const char* state;  // ready, running, delayed, requeued
    const std::vector<Event>& waiting;
    const Item* failed;
    std::optional<SteadyTime> due;
  };

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
    for (size_t running = std::exchange(open_, {}).size(); running > 0; --running) slots_.give_back(this);
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

  // The same, behind what is live. A key that has live events already stays where it is.
  void add_background(const std::string& key, Event event) {
    Entry& entry = entries_[key];
    if (entry.waiting.empty()) entry.background = true;
    merge_(entry.waiting, std::move(event));
    entry.news = true;
    if (entry.running) return;
    if (entry.ready) return counted_anew(entry);
    if (entry.failed) return;  // it comes again when its back-off is over
    make_ready(key, entry);
    pump();
  }

  // Several events of one key, in one call as far as `batch_max` allows.
  void add_all(const std::string& key, std::vector<Event> events, bool exclusive = false) {
    Entry& entry = entries_[key];
    if (exclusive) make_exclusive(key, entry);
    entry.background = false;
    for (Event& event : events) merge_(entry.waiting, std::move(event));
    entry.news = true;
    if (entry.running) return;
    if (entry.ready && entry.low) {  // it moves up
      entry.ready = false;
      make_ready(key, entry);
      return pump();
    }
    if (entry.ready) return counted_anew(entry);
    if (entry.failed) {
      const SteadyTime soon = news_due(entry);
      if (soon < entry.due) delay(key, entry, soon);
      return;
    }
    make_ready(key, entry);
    pump();
  }

  // The events come again after `delay`, whatever else happens to their key. A later wish of the same key and slot
  // takes the place of this one: else every call that asks for the next one would add a chain of calls that never ends.
  void add_after(const std::string& key, std::vector<Event> events, Duration delay, const std::string& slot = {}) {
    Requeue& requeue = requeues_[{key, slot}];
    requeue.events = std::move(events);
    requeue.due = scheduler_.now() + delay;
    requeue.timer = scheduler_.at(requeue.due, [this, key] { requeues_due(key); });
  }

  void finish(Item item, Verdict verdict, Duration at_least = Duration::zero()) {
    Batch batch;
    batch.push_back(std::move(item));
    finish(std::move(batch), verdict, at_least);
  }

  // What became of items of one batch that start() was given; those left out come in a finish() of their own.
  // `at_least` is the least delay before a retry.
  void finish(Batch batch, Verdict verdict, Duration at_least = Duration::zero()) {
    const bool outer = std::exchange(pumping_, true);  // nothing starts before all of them are where they belong
    size_t over = 0;
    size_t events = 0;
    for (const Item& item : batch) {
      events += item.events.size();
      entries_[item.key].running = false;
      const auto open = open_.find(item.batch);
      if (open == open_.end() || --open->second > 0) continue;
      open_.erase(open);
      ++over;
    }
    if (verdict == Verdict::kSplit && events < 2) verdict = Verdict::kRetry;
    // Before all are given up: perhaps one of them alone is to blame. Not where a pause was asked for.
    const auto last_try = [this](const Item& item) {
      return options_.attempts > 0 && item.failures + 1 >= options_.attempts;
    };
    if (verdict == Verdict::kRetryTogether && events > 1 && at_least == Duration::zero() &&
        std::ranges::any_of(batch, last_try))
      verdict = Verdict::kSplit;
    if (verdict == Verdict::kSplit) {
      split(std::move(batch));
    } else {
      std::map<int, Duration> back_offs;  // by attempt: what failed together comes again together
      for (Item& item : batch) finish_one(std::move(item), verdict, at_least, back_offs);
    }
    pumping_ = outer;
    for (; over > 0; --over) slots_.give_back(this);
    pump();
  }

  // No new item is started any more; running ones still finish.
  void stop() { stopped_ = true; }
  void resume() {
    stopped_ = false;
    pump();
  }
  // The same by another hand: nothing starts while the queue is either stopped or paused.
  void set_paused(bool paused) {
    paused_ = paused;
    pump();
  }

  // Asked before each start: while it says no (an endpoint does not work), nothing starts; look_again() when it may
  // have changed its mind.
  void set_gate(std::function<bool()> gate) { gate_ = std::move(gate); }
  void look_again() { pump(); }

  // A delayed key runs as soon as it can. Returns false for a key that is not delayed.
  bool hurry(const std::string& key) {
    const auto it = entries_.find(key);
    if (it == entries_.end() || !is_delayed(it->second)) return false;
    delayed_.erase({it->second.due, key});
    make_ready(key, it->second);
    arm();
    pump();
    return true;
  }
  // Delayed keys come earlier, each at a moment of its own within `spread`; not before what was asked for (at_least).
  void bring_forward(Duration spread) {
    for (const auto& [due, key] : std::set(delayed_)) {
      Entry& entry = entries_[key];
      const Duration after(static_cast<Duration::rep>(random_.uniform() * static_cast<double>(spread.count())));
      const SteadyTime sooner = std::max(entry.not_before, scheduler_.now() + after);
      if (sooner < entry.due) delay(key, entry, sooner);
    }
  }
  // Any one of them, as soon as it can.
  void bring_one_forward() {
    if (delayed_.empty()) return;
    const auto one = std::next(delayed_.begin(), static_cast<ptrdiff_t>(random_.bits() % delayed_.size()));
    const std::string key = one->second;
    if (entries_[key].not_before <= scheduler_.now()) hurry(key);
  }
  // The item that failed, which is forgotten; what came since runs. Nothing for a key that is not delayed.
  std::optional<Item> forget_failed(const std::string& key) {
    const auto it = entries_.find(key);
    if (it == entries_.end() || !is_delayed(it->second)) return std::nullopt;
    delayed_.erase({it->second.due, key});
    std::optional<Item> forgotten(std::move(*std::exchange(it->second.failed, nullptr)));
    if (it->second.waiting.empty()) {
      entries_.erase(it);
      std::erase(exclusive_, key);
    } else {
      make_ready(key, it->second);
    }
    arm();
    pump();
    return forgotten;
  }
  std::vector<std::string> delayed_keys() const {
    std::vector<std::string> keys;
    for (const auto& [due, key] : delayed_) keys.push_back(key);
    return keys;
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
      entry.left.reset();
      if (entry.running)
        ++it;
      else
        it = entries_.erase(it);
    }
    ready_.clear();
    background_.clear();
    solo_.clear();
    delayed_.clear();
    exclusive_.clear();
    in_line_ = 0;
    timer_.cancel();
    return taken;
  }
  // The wishes for later, taken out.
  std::vector<Requeued> take_requeues() {
    std::vector<Requeued> taken;
    for (auto& [name, requeue] : std::exchange(requeues_, {}))
      taken.push_back({name.first, name.second, std::move(requeue.events), requeue.due});
    return taken;
  }

  size_t keys() const { return entries_.size(); }  // with anything waiting, running or delayed
  size_t running() const { return open_.size(); }  // batches
  size_t running_keys() const {
    size_t keys = 0;
    for (const auto& [batch, items] : open_) keys += items;
    return keys;
  }
  size_t delayed() const { return delayed_.size(); }    // failed and waiting for their next try
  size_t requeues() const { return requeues_.size(); }  // asked for later
  uint64_t retries() const { return retries_; }         // items that were put off to be tried again, ever
  bool idle() const { return entries_.empty() && requeues_.empty(); }
  // Some key has its turn: as soon as there is a slot, or in this moment.
  bool can_start() const { return !stopped_ && !paused_ && gate_open() && next_line() != Line::kNone; }
  bool has(const std::string& key) const { return entries_.contains(key); }
  // Has it events behind those that run?
  bool waits(const std::string& key) const {
    const auto it = entries_.find(key);
    return it != entries_.end() && !it->second.waiting.empty();
  }
  // Waits for its turn or runs; not: failed and waiting for its next try.
  bool busy(const std::string& key) const {
    const auto it = entries_.find(key);
    return it != entries_.end() && (it->second.running || it->second.ready);
  }
  // By key; at last the requeues. `visit` returns false to end.
  void each(const std::function<bool(const Look&)>& visit) const {
    for (const auto& [key, entry] : entries_) {
      const char* state = entry.running ? "running" : entry.ready ? "ready" : "delayed";
      std::optional<SteadyTime> due;
      if (is_delayed(entry)) due = entry.due;
      if (!visit({key, state, entry.waiting, entry.failed.get(), due})) return;
    }
    for (const auto& [name, requeue] : requeues_)
      if (!visit({name.first, "requeued", requeue.events, nullptr, requeue.due})) return;
  }

  static constexpr int kAgeing = 8;

 private:
  enum class Line { kNone, kExclusive, kSolo, kReady, kBackground };
  struct Entry {
    std::vector<Event> waiting;    // merged as they came
    std::unique_ptr<Item> failed;  // to be tried again, before `waiting`
    std::unique_ptr<Carry> left;   // of an attempt that `waiting` was part of: the second half of a split
    SteadyTime due{};
    SteadyTime not_before{};  // of `failed`: the least delay that was asked for
    uint64_t ticket = 0;      // of its place in line
    size_t counted = 0;       // its share of in_line_
    bool ready = false;
    bool shares = false;  // its place is in ready_
    bool running = false;
    bool exclusive = false;
    bool background = false;  // `waiting` has nothing live
    bool low = false;         // its place is in background_
    bool news = false;        // not all of `waiting` was in the attempt that `left` is of
  };
  struct Requeue {
    std::vector<Event> events;
    SteadyTime due{};
    Timer timer;
  };
  struct Place {
    uint64_t ticket;
    SteadyTime since;
    std::string key;
  };
  struct Call {
    uint64_t order;  // against the tickets of ready_; 0 = before all
    uint64_t ticket;
    std::vector<std::string> keys;
  };

  static bool is_delayed(const Entry& entry) { return entry.failed && !entry.ready && !entry.running; }

  void finish_one(Item item, Verdict verdict, Duration at_least, std::map<int, Duration>& back_offs) {
    const std::string key = item.key;
    const bool failed = verdict == Verdict::kRetry || verdict == Verdict::kRetryTogether;
    const bool again = failed || verdict == Verdict::kLater || verdict == Verdict::kNotTried;
    const bool counts = failed || (again && options_.later_counts);
    if (counts) ++item.failures;
    const bool spent = counts && options_.attempts > 0 && item.failures >= options_.attempts;
    if (again && !spent) {
      Entry& entry = entries_[key];
      const auto [pause, unknown] = back_offs.try_emplace(item.attempt);
      if (unknown) pause->second = back_off(item.attempt);
      entry.not_before = scheduler_.now() + at_least;
      SteadyTime due = std::max(entry.not_before, scheduler_.now() + pause->second);
      if (!entry.waiting.empty() && !entry.background) due = std::min(due, news_due(entry));
      if (verdict == Verdict::kRetry) {
        item.alone = true;
        item.limit = std::max<size_t>(1, item.events.size());
      }
      if (verdict != Verdict::kNotTried) item.attempt += 1;
      entry.failed = std::make_unique<Item>(std::move(item));
      ++retries_;
      return delay(key, entry, due);
    }
    if (verdict != Verdict::kDone) on_give_up_(std::move(item));
    Entry& entry = entries_[key];
    if (entry.waiting.empty()) {
      entries_.erase(key);
      std::erase(exclusive_, key);
    } else {
      make_ready(key, entry);
    }
  }

  // Both halves stand before everything else, so that the event that fails them all is found soon.
  void split(Batch batch) {
    if (batch.size() > 1) {
      const size_t middle = batch.size() / 2;
      for (const auto& [from, to] : {std::pair{middle, batch.size()}, std::pair{size_t{0}, middle}}) {
        Call call{0, ++tickets_, {}};
        for (size_t i = from; i < to; ++i) {
          Entry& entry = entries_[batch[i].key];
          call.keys.push_back(batch[i].key);
          batch[i].limit = std::max<size_t>(1, batch[i].events.size());
          entry.failed = std::make_unique<Item>(std::move(batch[i]));
          entry.ready = true;
          entry.ticket = call.ticket;
        }
        solo_.push_front(std::move(call));
      }
      return;
    }
    // Events of one key, in order: the second half waits for the first.
    Item& item = batch.front();
    Entry& entry = entries_[item.key];
    const auto middle = item.events.begin() + static_cast<ptrdiff_t>(item.events.size() / 2);
    entry.background = item.background && (entry.waiting.empty() || entry.background);
    entry.waiting.insert(entry.waiting.begin(), std::make_move_iterator(middle),
                         std::make_move_iterator(item.events.end()));
    entry.left = std::make_unique<Carry>(item.carry);
    item.events.erase(middle, item.events.end());
    item.limit = item.events.size();
    Call call{0, ++tickets_, {item.key}};
    entry.failed = std::make_unique<Item>(std::move(item));
    entry.ready = true;
    entry.ticket = call.ticket;
    solo_.push_front(std::move(call));
  }

  void requeues_due(const std::string& key) {
    std::vector<Event> events;
    const SteadyTime now = scheduler_.now();
    for (auto it = requeues_.lower_bound({key, ""}); it != requeues_.end() && it->first.first == key;) {
      if (it->second.due > now) {
        ++it;
        continue;
      }
      std::ranges::move(it->second.events, std::back_inserter(events));
      it = requeues_.erase(it);
    }
    if (!events.empty()) add_all(key, std::move(events));
  }

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

  void make_exclusive(const std::string& key, Entry& entry) {
    if (std::find(exclusive_.begin(), exclusive_.end(), key) == exclusive_.end()) exclusive_.push_back(key);
    entry.exclusive = true;
    entry.low = false;
    entry.ticket = 0;  // its place in another line, if it has one, is no longer valid
    entry.shares = false;
    recount(entry);
  }

  // How many events wait in ready_: is a batch full?
  void recount(Entry& entry) {
    const size_t now = entry.shares ? entry.waiting.size() + (entry.failed ? entry.failed->events.size() : 0) : 0;
    in_line_ += now - std::exchange(entry.counted, now);
  }

  // The events of a key that is ready became more: a batch may be full now.
  void counted_anew(Entry& entry) {
    recount(entry);
    if (options_.batch_max > 1) pump();
  }

  void make_ready(const std::string& key, Entry& entry) {
    if (std::exchange(entry.ready, true)) return;
    entry.low = false;
    if (entry.exclusive) return;  // its line is exclusive_
    entry.ticket = ++tickets_;
    entry.low = (!entry.failed || entry.failed->background) && (entry.waiting.empty() || entry.background);
    entry.shares = !entry.low && (options_.batch_max == 1 || !entry.failed || !entry.failed->alone);
    if (entry.low)
      background_.push_back({entry.ticket, scheduler_.now(), key});
    else if (!entry.shares)
      solo_.push_back({entry.ticket, entry.ticket, {key}});
    else
      ready_.push_back({entry.ticket, scheduler_.now(), key});
    recount(entry);
  }

  void delay(const std::string& key, Entry& entry, SteadyTime due) {
    delayed_.erase({entry.due, key});
    entry.due = due;
    delayed_.insert({due, key});
    arm();
  }

  void arm() {
    if (delayed_.empty()) return timer_.cancel();
    const SteadyTime due = delayed_.begin()->first;
    if (timer_.pending() && timer_due_ == due) return;
    timer_due_ = due;
    timer_ = scheduler_.at(due, [this] {
      const SteadyTime now = scheduler_.now();
      while (!delayed_.empty() && delayed_.begin()->first <= now) {
        const std::string key = delayed_.begin()->second;
        delayed_.erase(delayed_.begin());
        make_ready(key, entries_[key]);
      }
      arm();
      pump();
    });
  }

  bool valid(const std::string& key, uint64_t ticket) const {
    const auto it = entries_.find(key);
    return it != entries_.end() && it->second.ready && it->second.ticket == ticket;
  }
  bool valid(const Call& call) const {
    return std::ranges::any_of(call.keys, [&](const std::string& key) { return valid(key, call.ticket); });
  }

  // From where the next batch is taken now; without regard to slots.
  Line next_line() const {
    if (!exclusive_.empty()) {
      const auto it = entries_.find(exclusive_.front());
      return open_.empty() && it != entries_.end() && it->second.ready ? Line::kExclusive : Line::kNone;
    }
    const auto call = std::ranges::find_if(solo_, [this](const Call& c) { return valid(c); });
    const auto place = std::ranges::find_if(ready_, [this](const Place& p) { return valid(p.key, p.ticket); });
    if (call != solo_.end() && (place == ready_.end() || call->order < place->ticket)) return Line::kSolo;
    const bool waits = place != ready_.end() && in_line_ < options_.batch_max &&
                       place->since + options_.batch_window > scheduler_.now();
    const bool low = std::ranges::any_of(background_, [this](const Place& p) { return valid(p.key, p.ticket); });
    if (low && live_turns_ >= kAgeing - 1) return Line::kBackground;
    if (place != ready_.end() && !waits) return Line::kReady;
    if (call == solo_.end() && low) return Line::kBackground;
    return call != solo_.end() ? Line::kSolo : Line::kNone;
  }

  void drop_invalid() {
    while (!ready_.empty() && !valid(ready_.front().key, ready_.front().ticket)) ready_.pop_front();
    while (!solo_.empty() && !valid(solo_.front())) solo_.pop_front();
    while (!background_.empty() && !valid(background_.front().key, background_.front().ticket)) background_.pop_front();
  }

  bool gate_open() const { return !gate_ || gate_(); }

  void pump() {
    // start_ may add to this very queue; the outer call goes on with what that brought.
    if (pumping_) return;
    pumping_ = true;
    while (!stopped_ && !paused_ && gate_open() && open_.size() < static_cast<size_t>(options_.concurrency)) {
      drop_invalid();
      const Line line = next_line();
      if (line == Line::kNone) {
        if (exclusive_.empty() && !ready_.empty()) arm_window(ready_.front().since + options_.batch_window);
        break;
      }
      if (!slots_.try_take(this)) {
        slots_.wait(this, [this] { pump(); });
        break;
      }
      start_(take(line));
    }
    pumping_ = false;
  }

  void arm_window(SteadyTime due) {
    if (window_timer_.pending() && window_due_ == due) return;
    window_due_ = due;
    window_timer_ = scheduler_.at(due, [this] { pump(); });
  }

  Batch take(Line line) {
    Batch batch;
    const uint64_t id = ++batches_;
    live_turns_ = line == Line::kBackground || background_.empty() ? 0 : live_turns_ + 1;
    if (line == Line::kExclusive) {
      batch.push_back(take_key(exclusive_.front(), options_.batch_max));
    } else if (line == Line::kSolo) {
      const Call call = std::move(solo_.front());
      solo_.pop_front();
      for (const std::string& key : call.keys)
        if (valid(key, call.ticket)) batch.push_back(take_key(key, options_.batch_max));
    } else {
      std::deque<Place>& places = line == Line::kBackground ? background_ : ready_;
      for (size_t room = options_.batch_max; room > 0 && !places.empty(); drop_invalid()) {
        const std::string key = places.front().key;
        const auto& failed = entries_[key].failed;
        const bool alone = failed && failed->alone;
        if (failed && failed->events.size() > room && !batch.empty()) break;  // it stays whole
        if (alone && !batch.empty()) break;
        places.pop_front();
        batch.push_back(take_key(key, room));
        room -= std::min(room, batch.back().events.size());
        if (alone) break;
      }
    }
    open_[id] = batch.size();
    for (Item& item : batch) item.batch = id;
    return batch;
  }

  Item take_key(const std::string& key, size_t room) {
    Entry& entry = entries_[key];
    entry.ready = entry.shares = entry.low = false;
    entry.running = true;
    recount(entry);
    Item item;
    const bool failed_live = entry.failed && !entry.failed->background;
    const std::unique_ptr<Carry> left = entry.failed ? nullptr : std::move(entry.left);
    if (entry.failed)
      item = std::move(*std::exchange(entry.failed, nullptr));
    else if (left)
      item.carry = *left;
    item.key = key;
    item.exclusive = entry.exclusive;
    const bool news_live = !entry.waiting.empty() && !entry.background;
    item.background = !failed_live && !news_live;
    entry.background = false;
    const size_t most = item.limit > 0 ? std::min(item.limit, room) : room;
    const size_t before = item.events.size();
    const size_t news = entry.waiting.size();
    if (before == 0)
      item.events = std::exchange(entry.waiting, {});
    else
      for (auto& event : std::exchange(entry.waiting, {})) merge_(item.events, std::move(event));
    // News that all stands behind the last attempt's events, and does not fit, is not part of this one.
    const bool came = std::exchange(entry.news, false);
    item.fresh_events = came && !(before >= most && item.events.size() == before + news);
    if (item.events.size() > most) {
      const auto rest = item.events.begin() + static_cast<ptrdiff_t>(most);
      entry.waiting.assign(std::make_move_iterator(rest), std::make_move_iterator(item.events.end()));
      item.events.erase(rest, item.events.end());
      entry.background = item.background;
      entry.news = came;
      if (left) entry.left = std::make_unique<Carry>(*left);
    }
    return item;
  }

  Scheduler& scheduler_;
  Random& random_;
  Slots& slots_;
  Options options_;
  Start start_;
  Merge merge_;
  GiveUp on_give_up_;
  std::function<bool()> gate_;
  std::map<std::string, Entry> entries_;
  std::deque<Place> ready_;
  std::deque<Place> background_;
  std::deque<Call> solo_;
  std::deque<std::string> exclusive_;  // keys of exclusive items not yet done, oldest first
  std::set<std::pair<SteadyTime, std::string>> delayed_;
  std::map<std::pair<std::string, std::string>, Requeue> requeues_;  // by key and slot
  std::map<uint64_t, size_t> open_;                                  // items that each running batch still has
  Timer timer_;
  SteadyTime timer_due_{};
  Timer window_timer_;
  SteadyTime window_due_{};
  uint64_t tickets_ = 0;
  uint64_t batches_ = 0;
  uint64_t retries_ = 0;
  size_t in_line_ = 0;  // events in ready_
  int live_turns_ = 0;  // since a key of background_ had its turn
  bool stopped_ = false;
  bool paused_ = false;
  bool pumping_ = false;
};

}  // namespace hookd::queue
