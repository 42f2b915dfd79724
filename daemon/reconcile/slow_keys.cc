#include "reconcile/slow_keys.h"

#include <algorithm>

namespace hookd::reconcile {

void SlowKeys::emit(const std::string& key, hook::Event event) {
  if (!slow_.contains(key)) return world_.emit(key, std::move(event));
  hold(key, std::move(event));
  is_slow(key);  // if not, it is released, as one with what was held before
}

// It may have been on the queue already when it was slowed.
bool SlowKeys::holds(const std::string& key, const hook::Event& event) {
  const bool asked_for = !event.causes.empty() && event.causes.back().type == "Requeue";
  if (asked_for || !is_slow(key)) return false;
  hold(key, event);
  return true;
}

bool SlowKeys::is_slow(const std::string& key) {
  const auto found = slow_.find(key);
  if (found == slow_.end()) return false;
  Slow& slow = found->second;
  const auto parent = world_.parent(key);
  if (slow.until > scheduler_.now() && parent) {
    if (slow.running || parent->resource_version == slow.version) return true;
    const uint64_t now = world_.reason(key, parent->text.unpack());
    if (now == slow.seen || now == slow.written) {
      slow.version = parent->resource_version;
      return true;
    }
  }
  release(key);
  return false;
}

void SlowKeys::hold(const std::string& key, hook::Event event) {
  event.type = hook::Event::Type::kReconcile;
  hook::merge(slow_[key].held, std::move(event));
}

std::optional<WriteRepeats::Finding> SlowKeys::wrote(const std::string& key, const std::string& object,
                                                     uint64_t because, std::string_view before, std::string_view after,
                                                     bool once) {
  auto finding = repeats_.wrote(key, object, because, before, after);
  if (!finding) return std::nullopt;
  if (once) {
    given_up_.insert(key);
  } else if (world_.parent(key) && finding->delay > Duration::zero()) {
    Slow& slow = slow_[key];
    slow.running = true;
    slow.until = std::max(slow.until, scheduler_.now() + finding->delay);
    slow.timer = scheduler_.at(slow.until, [this, key] { release(key); });
  }
  return finding;
}

void SlowKeys::ended(const std::string& key, const cache::ObjectPtr& told, std::string_view left) {
  const auto found = slow_.find(key);
  if (found == slow_.end() || !told || !std::exchange(found->second.running, false)) return;
  Slow& slow = found->second;
  slow.seen = world_.reason(key, told->text.unpack());
  slow.written = left.empty() ? slow.seen : world_.reason(key, left);
  slow.version.clear();
  is_slow(key);  // it may be another by now
}

void SlowKeys::release_all() {
  while (!slow_.empty()) release(std::string(slow_.begin()->first));
}

void SlowKeys::release(const std::string& key) {
  auto found = slow_.extract(key);
  if (found.empty()) return;
  for (hook::Event& event : found.mapped().held) world_.emit(key, std::move(event));
}

void SlowKeys::forget(const std::string& key) {
  release(key);
  given_up_.erase(key);
  repeats_.forget(key);
}

}  // namespace hookd::reconcile
