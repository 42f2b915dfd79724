#include "base/backoff.h"

#include <cmath>

namespace hookd {

Duration Backoff::next() {
  // Computed in double so that a long outage cannot overflow.
  const double grown = static_cast<double>(options_.initial.count()) * std::pow(options_.factor, failures_);
  const double base = std::min(grown, static_cast<double>(options_.max.count()));
  if (failures_ < 10'000) ++failures_;
  return Duration(static_cast<int64_t>(base + base * options_.jitter * random_.uniform()));
}

}  // namespace hookd
