#include "hook/guard.h"

#include <algorithm>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace hookd::hook {
namespace {

constexpr std::string_view kTable = "guard";

int64_t milliseconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

Spending cost_of(const apply::Operation& operation) {
  if (!apply::is_write(operation.verb) || operation.dry_run) return {};
  const bool deletes = apply::is_delete(operation.verb) || operation.verb == apply::Verb::kEvict;
  return {deletes ? 1 : 0, 1};
}

GuardFuse::GuardFuse(std::string hook, Guard limits, Scheduler& scheduler, state::Store* store)
    : hook_(std::move(hook)), scheduler_(scheduler), store_(store) {
  deletes_.rate = limits.deletes;
  writes_.rate = limits.writes;
  if (!store_) return;
  const auto kept = store_->read(kTable, hook_);
  for (Window* window : {&deletes_, &writes_}) {
    if (kept && *kept) load(*window, **kept);
    if (!kept && window->rate) add(*window, window->rate->count);  // as if all had just been spent: a person decides
  }
}

void GuardFuse::expire(Window& window) const {
  while (!window.slots.empty() && window.slots.front().last + window.rate->per <= scheduler_.now()) {
    window.count -= window.slots.front().count;
    window.slots.pop_front();
  }
}

void GuardFuse::add(Window& window, int64_t count) const {
  if (!window.rate || count == 0) return;
  const SteadyTime now = scheduler_.now();
  if (window.slots.empty() || now - window.slots.back().begin >= window.rate->per / kSlots)
    window.slots.push_back({now, now, 0});
  window.slots.back().last = now;
  window.slots.back().count += count;
  window.count += count;
}

// Out of where it was counted: what has left the window by now takes nothing from what came after it.
void GuardFuse::take_back(Window& window, int64_t count, SteadyTime taken) {
  for (Slot& slot : window.slots) {
    if (slot.last < taken) continue;
    const int64_t part = slot.begin <= taken ? std::min(count, slot.count) : 0;
    slot.count -= part;
    window.count -= part;
    break;
  }
  std::erase_if(window.slots, [](const Slot& slot) { return slot.count == 0; });
}

std::optional<GuardFuse::Trip> GuardFuse::check(Window& window, int64_t wanted) const {
  if (!window.rate || wanted == 0) return std::nullopt;
  expire(window);
  const int64_t total = window.count + wanted;
  if (total <= window.rate->count) return std::nullopt;
  const std::string per = format_duration(window.rate->per);
  return Trip{window.name,
              fmt::format("{} {} within {} (limit {}/{})", total, window.name, per, window.rate->count, per), true,
              wanted > window.rate->count};
}

std::optional<GuardFuse::Trip> GuardFuse::take(const Spending& wanted) {
  if (tripped_) {
    Trip again = *tripped_;
    again.first = false;
    return again;
  }
  if (wanted.writes == 0) return std::nullopt;
  tripped_ = check(deletes_, wanted.deletes);
  if (!tripped_) tripped_ = check(writes_, wanted.writes);
  if (tripped_) return tripped_;
  add(deletes_, wanted.deletes);
  add(writes_, wanted.writes);
  save();
  return std::nullopt;
}

void GuardFuse::give_back(const Spending& unused, SteadyTime taken) {
  if (unused.writes == 0) return;
  take_back(deletes_, unused.deletes, taken);
  take_back(writes_, unused.writes, taken);
  save();
}

void GuardFuse::reset() {
  tripped_.reset();
  for (Window* window : {&deletes_, &writes_}) {
    window->slots.clear();
    window->count = 0;
  }
  if (store_) store_->erase(kTable, hook_);
}

Spending GuardFuse::spent() {
  for (Window* window : {&deletes_, &writes_})
    if (window->rate) expire(*window);
  return {deletes_.count, writes_.count};
}

// {"deletes":[[MILLISECONDS SINCE 1970, COUNT],…],"writes":[…]}; what does not read so is as if it were not there.
void GuardFuse::load(Window& window, std::string_view json) const {
  if (!window.rate) return;
  const auto document = parse_json(json);
  if (!document || !document->is_object()) return;
  const auto* slots = document->get_object().if_contains(window.name);
  if (!slots || !slots->is_array()) return;
  const int64_t now = milliseconds_of(scheduler_.wall_now());
  for (const auto& slot : slots->get_array()) {
    if (!slot.is_array() || slot.get_array().size() != 2) return;
    const int64_t* at = slot.get_array()[0].if_int64();
    const int64_t* count = slot.get_array()[1].if_int64();
    if (!at || !count || *count <= 0) return;
    // A clock that was set back must not lengthen the window beyond its length.
    const Duration age = std::chrono::milliseconds(std::clamp<int64_t>(now - *at, 0, int64_t{1} << 40));
    if (age >= window.rate->per) continue;
    window.slots.push_back({scheduler_.now() - age, scheduler_.now() - age, *count});
    window.count += *count;
    if (window.slots.size() > 2 * kSlots) return;
  }
}

void GuardFuse::save() const {
  if (!store_) return;
  JsonWriter out;
  out.begin_object();
  for (const Window* window : {&deletes_, &writes_}) {
    out.key(window->name).begin_array();
    for (const Slot& slot : window->slots)
      out.begin_array()
          .number(milliseconds_of(scheduler_.wall_now() - (scheduler_.now() - slot.last)))
          .number(slot.count)
          .end_array();
    out.end_array();
  }
  out.end_object();
  store_->put(kTable, hook_, std::move(out).take());
}

}  // namespace hookd::hook
