#include "reconcile/resync.h"

#include <algorithm>

#include "hook/content_hash.h"

namespace hookd::reconcile {

Duration Resync::place_of(std::string_view key, Duration period) {
  if (period <= Duration::zero()) return Duration::zero();
  return Duration(static_cast<Duration::rep>(hook::content_hash(key) % static_cast<uint64_t>(period.count())));
}

void Resync::start() {
  if (period_ <= Duration::zero()) return;
  at_ = scheduler_.wall_now().time_since_epoch() % period_;
  if (at_ < Duration::zero()) at_ += period_;
  looked_ = scheduler_.now();
  arm();
}

void Resync::arm() {
  timer_ = scheduler_.after(std::max(period_ / kSlices, kLeast), [this] { tick(); });
}

// Steady time moves it on: a clock that is set brings no storm. A machine that slept for longer than a period calls
// everybody once.
void Resync::tick() {
  const Duration passed = std::min(scheduler_.now() - looked_, period_);
  looked_ = scheduler_.now();
  const Duration from = at_;
  at_ = (at_ + passed) % period_;
  std::vector<std::string> due;
  for (std::string& key : keys_()) {
    const Duration place = place_of(key, period_);
    const Duration ahead = place >= from ? place - from : place - from + period_;
    if (ahead < passed) due.push_back(std::move(key));
  }
  arm();
  for (const std::string& key : due) call_(key);
}

}  // namespace hookd::reconcile
