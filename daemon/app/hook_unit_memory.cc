// HookUnit: what it keeps over restarts beside parked items, and when that goes.
#include "app/hook_unit.h"

namespace hookd::app {

// What a hook was told of is on disk before it hears of it, or its deletion could be missed. Costs a transaction for
// new objects only.
void HookUnit::flush_what_is_told(const hook::Queue::Batch& batch) {
  using Type = hook::Event::Type;
  if (!services_.runner.store || !services_.runner.store->keeps("known")) return;
  for (const auto& item : batch)
    for (const hook::Event& event : item.events)
      if (event.type == Type::kAdded || event.type == Type::kSync) return services_.runner.store->flush();
}

// The hook is through with the item: done, or given up.
void HookUnit::handled(const hook::Queue::Item& item) {
  for (const hook::Event& event : item.events) {
    if (event.type == hook::Event::Type::kDeleted && event.object)
      for (auto& watch : watches_)
        if (watch.binding().name == event.binding) watch.deletion_handled(*event.object);
    if (event.type == hook::Event::Type::kSchedule)
      for (auto& schedule : schedules_)
        if (schedule.binding().name == event.binding && !queue_.waits(item.key)) schedule.handled();
  }
  if (!runner_.state().per_object()) return;
  for (auto event = item.events.rbegin(); event != item.events.rend(); ++event)
    if (event->object) return forget_state_soon(item.key, *event->object);
}

// A state of an object goes when no binding has the object any more and nothing about it waits, runs, is asked for
// later or is parked: that call still needs it. Looked at in a turn of its own, when the queue knows.
void HookUnit::forget_state_soon(const std::string& key, const cache::Object& object) {
  services_.runner.scheduler.post([this, alive = std::weak_ptr(alive_), key, object_key = object.key()] {
    if (!alive.lock() || queue_.has(key) || held_.contains(key)) return;
    if (std::ranges::any_of(parking_.all(), [&](const Parked& item) { return item.key == key; })) return;
    bool later = false;
    if (queue_.requeues() > 0)
      queue_.each([&](const hook::Queue::Look& look) {
        later = look.key == key;
        return !later;
      });
    if (later) return;
    // Whatever its uid: what is there may be a namesake's by now, and another binding may know of that later.
    const bool inside =
        std::ranges::any_of(watches_, [&](const auto& watch) { return watch.inside(object_key).has_value(); });
    if (!inside) runner_.state().erase_object(key);
  });
}

}  // namespace hookd::app
