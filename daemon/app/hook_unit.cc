#include "app/hook_unit.h"

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
  return options;
}

}  // namespace

HookUnit::HookUnit(std::shared_ptr<const hook::Hook> hook, UnitServices services)
    : hook_(std::move(hook)),
      services_(services),
      runner_(hook_, services.runner, [this](const std::string& binding) { return gather(binding); }),
      queue_(
          services.runner.scheduler, services.runner.random, services.slots, queue_options(*hook_, services.once),
          [this](hook::Queue::Item item) { run(std::move(item)); }, hook::merge,
          [this](hook::Queue::Item item) { give_up(std::move(item)); }) {
  // Nothing of this hook runs before its start-up call succeeded.
  if (hook_->startup) queue_.stop();
}

HookUnit::~HookUnit() = default;

void HookUnit::start(std::vector<std::pair<std::string, hook::Event>> inherited) {
  const auto emitter = [this](const std::string& key, hook::Event event, bool exclusive) {
    emit(key, std::move(event), exclusive);
  };
  for (const auto& binding : hook_->watches)
    watches_.emplace_back(hook_, binding, services_.pool, services_.runner.scheduler, services_.runner.metrics, emitter,
                          [this] { release_held(); });
  for (auto& watch : watches_) watch.start();
  for (const auto& binding : hook_->schedules) {
    auto& schedule = schedules_.emplace_back(
        hook_, binding, services_.runner.scheduler, services_.runner.random, services_.runner.metrics, emitter,
        [this](const std::string& key) { return queue_.busy(key) || held_.contains(key); });
    if (services_.once)
      schedule.tick();
    else
      schedule.start();
  }
  for (auto& [key, event] : inherited)
    if (still_wanted(event)) emit(key, std::move(event), false);
}

// Of what an older version had not handled yet: what this version will not be told anyway by its own first list.
bool HookUnit::still_wanted(const hook::Event& event) const {
  using Type = hook::Event::Type;
  if (event.type == Type::kSchedule)
    return std::ranges::any_of(hook_->schedules, [&](const auto& schedule) { return schedule.name == event.binding; });
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
  } else if (const auto* watch = hook_->find_watch(event.binding)) {
    includes = &watch->include;
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
  hook::merge(it->second.events, std::move(event));
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

void HookUnit::run(hook::Queue::Item item) {
  // A call that the hook asked for again is about the object as it is now; an object that went needs none.
  // Not while something of its last answer is left to do: that has to be done whatever became of the object.
  if (item.carry.left.empty())
    std::erase_if(item.events, [&](hook::Event& event) {
      if (!event.again || !event.object || event.type == hook::Event::Type::kDeleted) return false;
      const auto* watch = find_watch(event.binding);
      const auto latest = watch ? watch->inside(event.object->key(), event.object->uid) : std::nullopt;
      if (latest && latest->value) event.value = latest->value;
      // With `keep: value` the newest text is not in memory: the one of the event is better than none.
      if (latest && !latest->object->text.empty()) event.object = latest->object;
      return !latest;
    });
  if (item.events.empty()) {
    services_.runner.scheduler.post([this, alive = std::weak_ptr(alive_), item = std::move(item)]() mutable {
      if (alive.lock()) queue_.finish(std::move(item), hook::Queue::Verdict::kDone);
    });
    return;
  }
  runner_.run(std::move(item), [this](hook::Queue::Item done, hook::Queue::Verdict verdict, Duration at_least,
                                      std::optional<Duration> requeue) {
    const std::string key = done.key;
    if (requeue) call_again(done, *requeue);
    queue_.finish(std::move(done), verdict, at_least);
    if (key == kStartupKey) startup_tried();
  });
}

void HookUnit::call_again(const hook::Queue::Item& item, Duration after) {
  if (services_.once)
    return log::info("not called again, because of --once",
                     {{"hook", hook_->name}, {"key", item.key}, {"after", format_duration(after)}});
  std::vector<hook::Event> events = item.events;
  for (hook::Event& event : events) {
    event.again = true;
    event.old = nullptr;
    event.old_value = nullptr;
    event.seen = {};  // nobody waits for it
  }
  queue_.add_after(item.key, std::move(events), after);
}

void HookUnit::give_up(hook::Queue::Item item) {
  failed_ = true;
  const bool park = hook_->retry.on_give_up == hook::Retry::GiveUp::kPark;
  log::error(park ? "given up, parked" : "given up, dropped",
             {{"hook", hook_->name}, {"key", item.key}, {"attempts", item.attempt}, {"error", item.carry.last_error}});
  if (!park) return;
  const std::string error = item.carry.last_error;
  parked_.push_back({std::move(item), error, services_.runner.scheduler.wall_now()});
  if (parked_.size() > kMaxParked) {
    log::error("too many parked items, the oldest is dropped",
               {{"hook", hook_->name}, {"key", parked_.front().item.key}, {"limit", kMaxParked}});
    parked_.pop_front();
  }
}

void HookUnit::stop() {
  stopped_ = true;
  queue_.stop();
  startup_timer_.cancel();
}

void HookUnit::terminate() { runner_.terminate(); }

void HookUnit::stop_watching() {
  for (auto& watch : watches_) watch.stop();
}

std::vector<std::pair<std::string, hook::Event>> HookUnit::take_waiting() {
  // What the stores have not told yet must reach this hook's queue first, or nobody would hear of it.
  for (const auto& informer : informers()) informer->flush();
  auto waiting = queue_.take_waiting();
  for (auto& [key, held] : held_)
    for (auto& event : held.events) waiting.emplace_back(key, std::move(event));
  held_.clear();
  held_order_.clear();
  return waiting;
}

bool HookUnit::ready() const {
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch.ready(); });
}

bool HookUnit::idle() const { return ready() && held_.empty() && queue_.idle() && runner_.running() == 0; }

bool HookUnit::quiet() const { return runner_.running() == 0 && (stopped_ || !queue_.can_start()); }

std::vector<std::shared_ptr<kube::Informer>> HookUnit::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  for (const auto& watch : watches_)
    for (auto& informer : watch.informers()) all.push_back(std::move(informer));
  return all;
}

std::vector<std::pair<std::string, Error>> HookUnit::troubles() const {
  std::vector<std::pair<std::string, Error>> list;
  for (const auto& watch : watches_)
    for (const auto& informer : watch.informers())
      if (auto error = informer->error()) list.emplace_back(watch.binding().name, *error);
  return list;
}

}  // namespace hookd::app
