// A rate limit: `per_second` tokens flow in, at most `burst` wait to be taken. Thread: loop only.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/scheduler.h"

namespace hookd {

class TokenBucket {
 public:
  // Starts full. per_second 0 = no limit.
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(std::max(burst, 1.0)), tokens_(burst_) {}

  // Takes a token if there is one.
  bool take(SteadyTime now) {
    if (per_second_ <= 0) return true;
    refill(now);
    if (tokens_ < kWhole) return false;
    tokens_ -= 1;
    return true;
  }

  // How long until take() will succeed; 0 = now.
  Duration wait(SteadyTime now) {
    if (per_second_ <= 0) return Duration::zero();
    refill(now);
    if (tokens_ >= kWhole) return Duration::zero();
    return Duration(static_cast<int64_t>(std::ceil((1 - tokens_) / per_second_ * 1e9)));
  }

 private:
  static constexpr double kWhole = 1 - 1e-6;  // sums of fractions must not fall short of a whole token for ever

  void refill(SteadyTime now) {
    if (started_) tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - at_).count() * per_second_);
    started_ = true;
    at_ = now;
  }

  double per_second_;
  double burst_;
  double tokens_;
  bool started_ = false;
  SteadyTime at_{};
};

}  // namespace hookd
