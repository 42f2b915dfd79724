// What people see of a hook and do to its queue: `hookd status, queue, retry, drop, pause, resume`. Thread: loop only.
#include "app/hook_unit.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/time.h"

namespace hookd::app {
namespace {

constexpr char kPausedTable[] = "paused";

std::string mode_name(hook::Run::Mode mode) {
  switch (mode) {
    case hook::Run::Mode::kOnce:
      return "once";
    case hook::Run::Mode::kWorker:
      return "worker";
    case hook::Run::Mode::kUrl:
      return "url";
  }
  return "";
}

std::string what_of(const hook::WatchBinding& watch) {
  std::string text = watch.kind;
  if (!watch.namespaces.names.empty()) text += fmt::format(" in {}", fmt::join(watch.namespaces.names, ", "));
  if (watch.namespaces.label_selector)
    text += fmt::format(" in namespaces with {}", watch.namespaces.label_selector->to_string());
  if (!watch.names.empty()) text += fmt::format(" named {}", fmt::join(watch.names, ", "));
  if (watch.label_selector) text += fmt::format(" with {}", watch.label_selector->to_string());
  if (!watch.field_selector.empty()) text += fmt::format(" where {}", watch.field_selector);
  return text;
}

std::string what_of(const hook::ScheduleBinding& schedule) {
  if (schedule.every) return "every " + format_duration(*schedule.every);
  return fmt::format("cron {}{}", schedule.cron, schedule.time_zone.empty() ? "" : " " + schedule.time_zone);
}

BindingLook binding_look(std::string name, std::string type, std::string what) {
  BindingLook look;
  look.name = std::move(name);
  look.type = std::move(type);
  look.what = std::move(what);
  return look;
}

}  // namespace

HookLook HookUnit::look() const {
  HookLook look;
  look.name = hook_->name;
  look.path = hook_->path;
  look.mode = mode_name(hook_->run.mode);
  look.ready = ready();
  look.paused = paused_;
  look.trouble = loop_trouble();
  for (const hook::Caller* one : callers())
    if (auto trouble = one->trouble()) look.trouble = *std::move(trouble);
  look.running = queue_.running();
  look.delayed = queue_.delayed();
  look.waiting = held_.size() + queue_.keys() - std::min(queue_.keys(), queue_.delayed() + queue_.running_keys());
  look.parked = parking_.all().size();
  if (hook_->startup)
    look.bindings.push_back(binding_look("startup", "startup", fmt::format("order {}", hook_->startup->order)));
  for (const auto& watch : watches_) {
    BindingLook binding = binding_look(watch.binding().name, "watch", what_of(watch.binding()));
    binding.ready = watch.ready();
    binding.objects = watch.objects();
    for (const auto& informer : watch.informers())
      if (const auto error = informer->error()) binding.trouble = error->what;
    look.bindings.push_back(std::move(binding));
  }
  for (const auto& schedule : schedules_) {
    BindingLook binding = binding_look(schedule.binding().name, "schedule", what_of(schedule.binding()));
    binding.next = schedule.next();
    look.bindings.push_back(std::move(binding));
  }
  if (reconciler_)
    for (auto& one : reconciler_->looks()) {
      BindingLook binding = binding_look(std::move(one.name), "reconcile", std::move(one.what));
      binding.ready = one.ready;
      binding.objects = one.objects;
      binding.trouble = std::move(one.trouble);
      if (binding.name == "for" && binding.trouble.empty())
        for (const std::string& trouble : reconciler_->troubles())
          binding.trouble += (binding.trouble.empty() ? "" : "; ") + trouble;
      if (binding.name == "for" || binding.name == "parent") look.waits = reconciler_->waits();
      look.bindings.push_back(std::move(binding));
    }
  for (const auto& source : sources_) {
    BindingLook binding = binding_look(source->binding().name, "source", source->what());
    binding.objects = source->waiting();
    if (const auto error = source->trouble()) binding.trouble = error->what;
    look.bindings.push_back(std::move(binding));
  }
  return look;
}

std::vector<QueueRow> HookUnit::rows(size_t limit) const {
  std::vector<QueueRow> rows;
  const SteadyTime now = services_.runner.scheduler.now();
  const WallTime wall = services_.runner.scheduler.wall_now();
  const auto since = [&](const std::vector<hook::Event>& events) -> std::optional<WallTime> {
    if (events.empty() || events.front().seen == SteadyTime{}) return std::nullopt;
    return wall - (now - events.front().seen);
  };
  const auto add = [&](const std::string& key, const char* state, size_t events) -> QueueRow& {
    QueueRow& row = rows.emplace_back();
    row.hook = hook_->name;
    row.key = key;
    row.state = state;
    row.events = events;
    return row;
  };
  runner_.each_running([&](const hook::Queue::Item& item) {
    if (rows.size() >= limit) return;
    QueueRow& row = add(item.key, "running", item.events.size());
    row.attempt = item.attempt;
    row.since = since(item.events);
  });
  for (const Parked& item : parking_.all()) {
    if (rows.size() >= limit) return rows;
    QueueRow& row = add(item.key, "parked", item.events.size());
    row.id = item.id;
    row.attempt = item.attempts;
    row.since = item.at;
    row.error = item.error;
  }
  for (const std::string& key : held_order_) {
    if (rows.size() >= limit) return rows;
    const auto& events = held_.at(key).events;
    add(key, "held", events.size()).since = since(events);
  }
  queue_.each([&](const hook::Queue::Look& look) {
    if (rows.size() >= limit) return false;
    const bool running = look.state == std::string_view("running");
    if (running && look.waiting.empty()) return true;  // above
    const size_t events = look.waiting.size() + (look.failed ? look.failed->events.size() : 0);
    QueueRow& row = add(look.key, running ? "ready" : look.state, events);
    row.since = since(look.failed ? look.failed->events : look.waiting);
    if (look.failed) {
      row.attempt = look.failed->attempt;
      row.error = look.failed->carry.last_error;
    }
    if (look.due) row.due = wall + (*look.due - now);
    return true;
  });
  return rows;
}

// ---------------------------------------------------------------- by hand

size_t HookUnit::retry(const std::string& key_or_id) {
  if (stopped_) return 0;
  size_t count = 0;
  for (const std::string& key : key_or_id.empty() ? queue_.delayed_keys() : std::vector{key_or_id})
    count += queue_.hurry(key) ? 1 : 0;
  for (Parked& item : parking_.take(key_or_id)) {
    ++count;
    run_again(std::move(item));
  }
  if (count > 0) log::info("tried again by hand", {{"hook", hook_->name}, {"what", key_or_id}, {"items", count}});
  return count;
}

bool HookUnit::has_binding_of(const hook::Event& event) const {
  const auto named = [&](const auto& binding) { return binding.name == event.binding; };
  switch (event.type) {
    case hook::Event::Type::kStartup:
      return hook_->startup.has_value();
    case hook::Event::Type::kSchedule:
      return std::ranges::any_of(hook_->schedules, named);
    case hook::Event::Type::kSource:
      return std::ranges::any_of(hook_->sources, named);
    case hook::Event::Type::kReconcile:
      return hook_->reconciles();
    default:
      return std::ranges::any_of(hook_->watches, named);
  }
}

// What came later may have been handled since: it must not go back in time.
void HookUnit::run_again(Parked item) {
  using Type = hook::Event::Type;
  size_t left = item.events.size();
  for (hook::Event& event : item.events) {
    const auto* watch = event.object ? find_watch(event.binding) : nullptr;
    const bool about_object =
        event.type == Type::kAdded || event.type == Type::kModified || event.type == Type::kDeleted;
    if (!has_binding_of(event) || (about_object && !watch)) {
      log::warn("a parked event is of a binding that the hook has no more, it is dropped",
                {{"hook", hook_->name}, {"key", item.key}, {"binding", event.binding}});
      --left;
      continue;
    }
    event.seen = services_.runner.scheduler.now();
    event.overtaken = about_object;
    emit(item.key, std::move(event), item.exclusive);
  }
  if (left == 0) parking_.settled(item.key);
}

size_t HookUnit::drop(const std::string& key_or_id) {
  if (runner_.state().per_object())
    for (const Parked& item : parking_.all())
      if (key_or_id.empty() || item.key == key_or_id || item.id == key_or_id)
        for (const hook::Event& event : item.events)
          if (event.object) forget_state_soon(item.key, *event.object);
  size_t count = parking_.drop(key_or_id);
  for (const std::string& key : key_or_id.empty() ? queue_.delayed_keys() : std::vector{key_or_id}) {
    const auto forgotten = queue_.forget_failed(key);
    if (!forgotten) continue;
    parking_.settled(key);
    handled(*forgotten);  // or its deletion would be told again after a restart
    ++count;
  }
  if (count > 0) log::warn("dropped by hand", {{"hook", hook_->name}, {"what", key_or_id}, {"items", count}});
  return count;
}

void HookUnit::pause(std::string why) {
  paused_ = std::move(why);
  log::warn("hook paused: nothing new starts until `hookd resume`", {{"hook", hook_->name}, {"why", paused_}});
  queue_.set_paused(true);
  if (!services_.runner.store) return;
  JsonWriter out;
  out.begin_object().key("why").string(paused_);
  out.key("at").string(format_rfc3339(services_.runner.scheduler.wall_now(), 3)).end_object();
  services_.runner.store->put(kPausedTable, hook_->name, std::move(out).take());
  services_.runner.store->flush();  // a guard's pause must outlive a crash right after it
}

void HookUnit::resume() {
  if (paused_.empty()) return;
  log::info("hook resumed", {{"hook", hook_->name}, {"why_it_was_paused", paused_}});
  paused_.clear();
  if (services_.runner.store) services_.runner.store->erase(kPausedTable, hook_->name);
  runner_.reset_guard();
  queue_.set_paused(false);
}

// A restart or a new version lifts no pause.
void HookUnit::restore_pause(std::string inherited) {
  paused_ = std::move(inherited);
  if (services_.runner.store) {
    const auto row = services_.runner.store->read(kPausedTable, hook_->name);
    if (!row)
      paused_ = "whether it was paused cannot be read: " + row.error().what;
    else if (*row)
      paused_ = json_string_at(**row, {"why"}).value_or("it was paused before the restart");
  }
  if (paused_.empty()) return;
  log::warn("hook is paused still: see `hookd resume`", {{"hook", hook_->name}, {"why", paused_}});
  queue_.set_paused(true);
}

}  // namespace hookd::app
