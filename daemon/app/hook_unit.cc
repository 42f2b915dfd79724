#include "app/hook_unit.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/time.h"

namespace hookd::app {
namespace {

constexpr char kStartupKey[] = "startup";

hook::Queue::Options queue_options(const hook::Hook& hook, bool once) {
  hook::Queue::Options options;
  options.concurrency = hook.concurrency;
  options.retry_initial = hook.retry.initial;
  options.retry_max = hook.retry.max;
  options.attempts = hook.retry.attempts;
  if (once && options.attempts == 0) options.attempts = HookUnit::kOnceAttempts;
  options.later_counts = once;  // or it would never end
  options.batch_max = static_cast<size_t>(hook.batch.max);
  options.batch_window = hook.batch.window;
  return options;
}

}  // namespace

HookUnit::HookUnit(std::shared_ptr<const hook::Hook> hook, UnitServices services)
    : hook_(std::move(hook)),
      services_(services),
      runner_(hook_, with_safety(services.runner), [this](const std::string& binding) { return gather(binding); }),
      queue_(
          services.runner.scheduler, services.runner.random, services.slots, queue_options(*hook_, services.once),
          [this](hook::Queue::Batch batch) { run(std::move(batch)); },
          [this](std::vector<hook::Event>& waiting, hook::Event next) { merge(waiting, std::move(next)); },
          [this](hook::Queue::Item item) { give_up(std::move(item)); }),
      parking_(hook_->name, services.runner.store, &services.runner.metrics) {
  if (hook_->reconciles()) make_reconciler();
  // While its endpoint does not work, calls wait in the queue. With `once` they fail instead, or it would never end.
  if (!services_.once && !reconciler_) {
    queue_.set_gate([this] { return runner_.caller().ready(); });
    runner_.caller().on_ready([this] { queue_.look_again(); });
  }
  // Nothing of this hook runs before its start-up call succeeded.
  if (hook_->startup) queue_.stop();
}

HookUnit::~HookUnit() = default;

void HookUnit::start(Inheritance inherited) {
  if (inherited.parking)
    parking_ = *std::move(inherited.parking);
  else
    parking_.load();
  restore_pause(std::move(inherited.paused));
  const auto emitter = [this](const std::string& key, hook::Event event, bool exclusive) {
    emit(key, std::move(event), exclusive);
  };
  const auto watch_emitter = through_safety(emitter);
  for (const auto& binding : hook_->watches)
    watches_.emplace_back(
        hook_, binding, services_.pool, services_.runner.scheduler, services_.runner.metrics, watch_emitter,
        [this] { release_held(); }, trigger::WatchMemory{services_.runner.store, services_.cluster});
  if (runner_.state().per_object())
    for (auto& watch : watches_)
      watch.on_silent_leave(
          [this](const std::string& key, const cache::Object& object) { forget_state_soon(key, object); });
  if (services_.runner.own_writes)
    for (auto& watch : watches_)
      if (watch.binding().ignore_own_writes) watch.ignore_own_writes(*services_.runner.own_writes);
  // Older than what the first lists tell: the deletion of an object comes before its namesake.
  for (auto& [key, event] : inherited.waiting) {
    if (event.type == hook::Event::Type::kSource || !still_wanted(event)) continue;
    if (event.type == hook::Event::Type::kDeleted)
      for (auto& watch : watches_)
        if (watch.binding().name == event.binding) watch.deletion_taken_over(*event.object);
    emit(key, std::move(event), false);
  }
  for (auto& watch : watches_) watch.start();
  for (const auto& binding : hook_->schedules) {
    auto& schedule = schedules_.emplace_back(
        hook_, binding, services_.runner.scheduler, services_.runner.random, services_.runner.metrics, emitter,
        [this](const std::string& key) { return queue_.busy(key) || held_.contains(key); }, services_.runner.store);
    if (services_.once)
      schedule.tick();
    else
      schedule.start();
  }
  if (reconciler_) reconciler_->start();
  start_sources(reconciler_ ? trigger::Emit([this](const std::string&, hook::Event event, bool) {
                  reconciler_->source_event(event);
                })
                            : emitter,
                inherited);
  for (auto& [key, event] : inherited.waiting) {
    if (event.type != hook::Event::Type::kSource || !still_wanted(event)) continue;
    adopt(event);
    if (reconciler_)
      reconciler_->source_event(event);
    else
      emit(key, std::move(event), false);
  }
  for (auto& requeue : inherited.requeues) {
    std::erase_if(requeue.events, [this](const hook::Event& event) { return !still_wanted(event); });
    const Duration left = std::max<Duration>(requeue.due - services_.runner.scheduler.now(), Duration::zero());
    if (!requeue.events.empty()) queue_.add_after(requeue.key, std::move(requeue.events), left, requeue.slot);
  }
}

// Of what an older version had not handled yet: what this version will not be told anyway by its own first list.
bool HookUnit::still_wanted(const hook::Event& event) const {
  using Type = hook::Event::Type;
  // A parent that went is told to nobody else; the first list calls the others, but not with the same causes.
  if (event.type == Type::kReconcile) return reconciler_ && !event.background;
  if (event.type == Type::kSchedule)
    return std::ranges::any_of(hook_->schedules, [&](const auto& schedule) { return schedule.name == event.binding; });
  if (event.type == Type::kSource)
    return std::ranges::any_of(hook_->sources, [&](const auto& source) { return source.name == event.binding; });
  const auto* watch = hook_->find_watch(event.binding);
  if (!watch || !event.object) return false;
  const bool told_anyway = watch->existing != hook::WatchBinding::Existing::kNone;
  switch (event.type) {
    case Type::kDeleted:
      return watch->deleted;
    case Type::kAdded:
      return watch->added && (event.again || !told_anyway);
    case Type::kModified:
      return watch->modified && (event.again || !told_anyway);
    default:
      return false;
  }
}

void HookUnit::run_startup(std::function<void()> tried) {
  on_startup_tried_ = std::move(tried);
  startup_timer_ = services_.runner.scheduler.after(kStartupTurn, [this] { startup_tried(); });
  hook::Event event;
  event.type = hook::Event::Type::kStartup;
  event.binding = kStartupKey;
  event.seen = services_.runner.scheduler.now();
  emit(kStartupKey, std::move(event), true);
}

void HookUnit::startup_tried() {
  startup_timer_.cancel();
  if (const auto tried = std::exchange(on_startup_tried_, nullptr)) tried();
}

// No call is made before the snapshots it includes are known: an unknown one is never [].
bool HookUnit::includes_known(const hook::Event& event) const {
  const std::vector<std::string>* includes = nullptr;
  if (event.type == hook::Event::Type::kStartup) {
    if (hook_->startup) includes = &hook_->startup->include;
  } else if (event.type == hook::Event::Type::kSchedule) {
    for (const auto& schedule : hook_->schedules)
      if (schedule.name == event.binding) includes = &schedule.include;
  } else if (event.type == hook::Event::Type::kSource) {
    for (const auto& source : hook_->sources)
      if (source.name == event.binding) includes = &source.include;
  } else if (const auto* watch = hook_->find_watch(event.binding)) {
    includes = &watch->include;
    // It is brought up to date from its own binding.
    const auto* own = event.again || event.overtaken ? find_watch(event.binding) : nullptr;
    if (own && !own->ready()) return false;
  }
  if (!includes) return true;
  return std::ranges::all_of(*includes, [&](const std::string& name) {
    const auto* watch = find_watch(name);
    return watch && watch->ready();
  });
}

void HookUnit::emit(const std::string& key, hook::Event event, bool exclusive) {
  if (!held_.contains(key) && includes_known(event)) {
    if (key == kStartupKey)
      queue_.add_first(key, std::move(event));
    else
      queue_.add(key, std::move(event), exclusive);
    if (key == kStartupKey && !stopped_) queue_.resume();
    return;
  }
  auto [it, fresh] = held_.try_emplace(key);
  if (fresh) held_order_.push_back(key);
  it->second.exclusive |= exclusive;
  merge(it->second.events, std::move(event));
}

void HookUnit::release_held() {
  std::vector<std::string> still;
  for (const std::string& key : std::exchange(held_order_, {})) {
    const auto it = held_.find(key);
    if (!std::ranges::all_of(it->second.events, [&](const hook::Event& event) { return includes_known(event); })) {
      still.push_back(key);
      continue;
    }
    Held held = std::move(it->second);
    held_.erase(it);
    if (key == kStartupKey)
      queue_.add_first(key, std::move(held.events.front()));
    else
      queue_.add_all(key, std::move(held.events), held.exclusive);
    if (key == kStartupKey && !stopped_) queue_.resume();
  }
  held_order_.insert(held_order_.begin(), still.begin(), still.end());
}

const trigger::WatchTrigger* HookUnit::find_watch(std::string_view binding) const {
  for (const auto& watch : watches_)
    if (watch.binding().name == binding) return &watch;
  return nullptr;
}

hook::Snapshot HookUnit::gather(const std::string& binding) const {
  const auto* watch = find_watch(binding);
  return watch ? watch->snapshot() : hook::Snapshot{};
}

void HookUnit::merge(std::vector<hook::Event>& waiting, hook::Event next) {
  if (waiting.size() < kMaxWaitingOfKey) return hook::merge(waiting, std::move(next));
  const metrics::Labels labels{{"hook", hook_->name}, {"binding", next.binding}};
  if (crowded_++ % kMaxWaitingOfKey == 0)
    log::error("too many events of one key wait: they become one where they can, and where not the oldest is dropped",
               {{"hook", hook_->name}, {"binding", next.binding}, {"limit", kMaxWaitingOfKey}, {"total", crowded_}});
  next.coalesce = true;
  hook::merge(waiting, std::move(next));
  if (waiting.size() <= kMaxWaitingOfKey) return services_.runner.metrics.count("hookd_events_folded_total", labels);
  waiting.erase(waiting.begin());
  services_.runner.metrics.count("hookd_events_dropped_total", labels);
}

// A call that the hook asked for again, or that waited in parking, is about the object as it is now; an object that
// went needs none. Not while something of its last answer is left to do: that has to be done whatever became of the
// object.
void HookUnit::bring_up_to_date(hook::Queue::Item& item) const {
  std::erase_if(item.events, [&](hook::Event& event) {
    if (!event.object) return false;
    const auto* watch = find_watch(event.binding);
    // A deletion that comes late, of an object that left and is back (`when`): the hook was told of its return since.
    if (event.type == hook::Event::Type::kDeleted)
      return (event.again || event.overtaken) && watch && watch->inside(event.object->key(), event.object->uid);
    // The hook's own writes behind the event bring none themselves.
    const bool quiet_writes = watch && watch->binding().ignore_own_writes;
    if (!event.again && !event.overtaken && !quiet_writes) return false;
    const auto latest = watch ? watch->inside(event.object->key(), event.object->uid) : std::nullopt;
    if (latest && latest->value) event.value = latest->value;
    // With `keep: value` the newest text is not in memory: the one of the event is better than none.
    if (latest && !latest->object->text.empty()) event.object = latest->object;
    return !latest && (event.again || event.overtaken);
  });
}

void HookUnit::run(hook::Queue::Batch batch) {
  if (!runner_.carries_on(batch))
    for (hook::Queue::Item& item : batch) bring_up_to_date(item);
  const auto nothing = std::ranges::stable_partition(batch, [](const auto& item) { return !item.events.empty(); });
  if (!nothing.empty()) {
    hook::Queue::Batch done(std::make_move_iterator(nothing.begin()), std::make_move_iterator(nothing.end()));
    batch.erase(nothing.begin(), nothing.end());
    services_.runner.scheduler.post([this, alive = std::weak_ptr(alive_), done = std::move(done)]() mutable {
      if (alive.lock()) finish(std::move(done), hook::Queue::Verdict::kDone, {});
    });
  }
  if (batch.empty()) return;
  if (loops_)
    for (const auto& item : batch)
      if (item.attempt == 1 || item.fresh_events) loops_->starting(item.key, item.events);
  flush_what_is_told(batch);
  runner_.run(std::move(batch), [this](hook::Queue::Batch done, hook::Queue::Verdict verdict, Duration at_least,
                                       std::optional<Duration> requeue) {
    if (requeue)
      for (const auto& item : done) call_again(item, *requeue);
    finish(std::move(done), verdict, at_least);
    close_caller();
  });
}

void HookUnit::finish(hook::Queue::Batch batch, hook::Queue::Verdict verdict, Duration at_least) {
  const bool startup = batch.front().key == kStartupKey;
  // Before the queue hears of it: an item that is given up once more is parked anew.
  std::vector<std::pair<std::string, hook::Event>> namesakes;
  if (verdict == hook::Queue::Verdict::kDone)
    for (const auto& item : batch) {
      parking_.settled(item.key);
      handled(item);
      for (const hook::Event& event : item.events)
        if (event.answer) (*event.answer)(true);
      for (const hook::Event& event : item.events)
        if (auto namesake = namesake_of(event)) namesakes.emplace_back(item.key, *std::move(namesake));
    }
  if (verdict == hook::Queue::Verdict::kSplit)
    services_.runner.metrics.count("hookd_batch_splits_total", {{"hook", hook_->name}});
  for (auto& [key, event] : namesakes) emit(key, std::move(event), false);
  std::vector<std::string> failed;
  if (outage_ && (verdict == hook::Queue::Verdict::kRetry || verdict == hook::Queue::Verdict::kRetryTogether))
    for (const auto& item : batch) failed.push_back(item.key);
  const uint64_t before = queue_.retries();
  queue_.finish(std::move(batch), verdict, at_least);
  if (const uint64_t retries = queue_.retries() - before; retries > 0)
    services_.runner.metrics.count("hookd_retries_total", {{"hook", hook_->name}}, static_cast<double>(retries));
  for (const std::string& key : failed) outage_->failed(key);
  if (outage_ && verdict == hook::Queue::Verdict::kDone) outage_->succeeded();
  if (startup) startup_tried();
}

// A deletion that comes late, as asked for or from parking: what the hook undoes by the object's name, it must do anew
// for the namesake that is there by now.
std::optional<hook::Event> HookUnit::namesake_of(const hook::Event& event) const {
  if (event.type != hook::Event::Type::kDeleted || (!event.again && !event.overtaken)) return std::nullopt;
  const auto* watch = find_watch(event.binding);
  if (!watch || !watch->binding().added) return std::nullopt;  // it did nothing for one that came
  const auto now = watch->inside(event.object->key());
  if (!now || now->object->uid == event.object->uid) return std::nullopt;
  hook::Event namesake = event;
  namesake.type = hook::Event::Type::kAdded;
  namesake.object = now->object;
  namesake.value = now->value;
  namesake.final_state_unknown = namesake.again = false;
  namesake.overtaken = true;
  namesake.seen = services_.runner.scheduler.now();
  return namesake;
}

void HookUnit::call_again(const hook::Queue::Item& item, Duration after) {
  if (services_.once)
    return log::info("not called again, because of --once",
                     {{"hook", hook_->name}, {"key", item.key}, {"after", format_duration(after)}});
  // Each binding has its wish: with one event a call, that of another must not take its place.
  std::map<std::string, std::vector<hook::Event>> by_binding;
  for (hook::Event event : item.events) {
    event.again = true;
    event.old = nullptr;
    event.old_value = nullptr;
    event.ticket.reset();  // handled: its source goes on
    event.answer.reset();
    event.seen = {};  // nobody waits for it
    event.background = false;
    if (event.type == hook::Event::Type::kReconcile) event.causes = {{"requeue", "Requeue", "", "", ""}};
    by_binding[event.binding].push_back(std::move(event));
  }
  for (auto& [binding, events] : by_binding) queue_.add_after(item.key, std::move(events), after, binding);
}

void HookUnit::give_up(hook::Queue::Item item) {
  failed_ = true;
  // A key that is reconciled comes again with the next change of anything that it is about.
  const bool park = !reconciler_ && hook_->retry.on_give_up == hook::Retry::GiveUp::kPark;
  log::error(park ? "given up, parked" : "given up, dropped",
             {{"hook", hook_->name}, {"key", item.key}, {"attempts", item.attempt}, {"error", item.carry.last_error}});
  parking_.settled(item.key);
  for (hook::Event& event : item.events)
    if (const auto answer = std::exchange(event.answer, nullptr)) (*answer)(false);
  if (!park) return handled(item);
  const hook::Queue::Item over{item.key, item.events};
  Parked parked;
  parked.key = std::move(item.key);
  parked.events = std::move(item.events);
  parked.exclusive = item.exclusive;
  parked.attempts = item.attempt;
  parked.error = std::move(item.carry.last_error);
  parked.at = services_.runner.scheduler.wall_now();
  parking_.add(std::move(parked));
  handled(over);  // only now: whatever happens, it is known or parked
}

void HookUnit::stop(bool successor_comes) {
  stopped_ = true;
  if (!successor_comes) close_sources();
  queue_.stop();
  if (outage_) outage_->stop();
  startup_timer_.cancel();
  close_caller();
}

// Workers go when the last call is over.
void HookUnit::close_caller() {
  if (!stopped_ || runner_.running() > 0) return;
  for (hook::Caller* one : callers()) one->close();
}

void HookUnit::terminate() {
  runner_.terminate();
  for (hook::Caller* one : callers()) one->terminate();
}

void HookUnit::stop_watching() {
  for (auto& watch : watches_) watch.stop();
  if (reconciler_) reconciler_->stop();
}

void HookUnit::watch_no_more() {
  if (watching_stopped_ || (reconciler_ && !idle())) return;
  watching_stopped_ = true;
  stop_watching();
}

Inheritance HookUnit::hand_over() {
  // What the stores have not told yet must reach this hook's queue first, or nobody would hear of it.
  for (const auto& informer : informers()) informer->flush();
  for (auto& watch : watches_) watch.flush_held();
  auto early = reconciler_ ? reconciler_->hand_over() : std::vector<hook::Event>();
  Inheritance all;
  all.waiting = queue_.take_waiting();
  for (auto& [key, held] : held_)
    for (auto& event : held.events) all.waiting.emplace_back(key, std::move(event));
  if (loops_) std::ranges::move(loops_->take_held(), std::back_inserter(all.waiting));
  for (auto& event : early) all.waiting.emplace_back(event.binding, std::move(event));
  held_.clear();
  held_order_.clear();
  all.requeues = queue_.take_requeues();
  all.parking = parking_;
  all.paused = paused_;
  for (const auto& source : sources_)
    if (auto told = source->told()) all.sources.emplace(source->identity(), std::move(told));
  return all;
}

bool HookUnit::ready() const {
  if (reconciler_ && !reconciler_->ready()) return false;
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch.ready(); });
}

bool HookUnit::idle() const {
  // A paused one has nothing to do until somebody lifts that.
  return ready() && runner_.running() == 0 && (!reconciler_ || reconciler_->idle()) &&
         std::ranges::all_of(watches_, [](const auto& watch) { return watch.caught_up(); }) &&
         (!paused_.empty() || (held_.empty() && queue_.idle() && !(loops_ && loops_->holds())));
}

bool HookUnit::quiet() const { return runner_.running() == 0 && (stopped_ || !queue_.can_start()); }

std::vector<std::shared_ptr<kube::Informer>> HookUnit::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  for (const auto& watch : watches_)
    for (auto& informer : watch.informers()) all.push_back(std::move(informer));
  if (reconciler_) std::ranges::move(reconciler_->informers(), std::back_inserter(all));
  return all;
}

std::vector<std::pair<std::string, Error>> HookUnit::troubles() const {
  std::vector<std::pair<std::string, Error>> list;
  for (const auto& watch : watches_)
    for (const auto& informer : watch.informers())
      if (auto error = informer->error()) list.emplace_back(watch.binding().name, *error);
  if (reconciler_)
    for (const auto& informer : reconciler_->informers())
      if (auto error = informer->error()) list.emplace_back("reconcile", *error);
  return list;
}

}  // namespace hookd::app
