#include "queue/slots.h"

#include <algorithm>
#include <utility>

namespace hookd::queue {

bool Slots::try_take(const void* owner) {
  if (free_ <= 0 && !(one_each_ && !taken_.contains(owner))) return false;
  --free_;
  if (one_each_) ++taken_[owner];
  return true;
}

void Slots::wait(const void* owner, std::function<void()> wake) {
  const bool known = std::ranges::any_of(waiting_, [owner](const Waiter& waiter) { return waiter.owner == owner; });
  if (!known) waiting_.push_back({owner, std::move(wake)});
}

void Slots::forget(const void* owner) {
  std::erase_if(waiting_, [owner](const Waiter& waiter) { return waiter.owner == owner; });
}

void Slots::resize(int count) {
  free_ += count - std::exchange(count_, count);
  wake_waiting();
}

void Slots::give_back(const void* owner) {
  ++free_;
  if (const auto taken = taken_.find(owner); taken != taken_.end() && --taken->second == 0) taken_.erase(taken);
  wake_waiting();
}

void Slots::wake_waiting() {
  // One that has no use for the slot any more (it was stopped meanwhile) must not keep it from the next.
  while (free_ > 0 && !waiting_.empty()) {
    const auto waiter = std::move(waiting_.front());
    waiting_.pop_front();
    waiter.wake();
  }
}

}  // namespace hookd::queue
