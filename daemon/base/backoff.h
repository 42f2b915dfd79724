// Exponential delay with jitter: delay n = base*factor^n + uniform(0, jitter*that), capped at max before jitter.
// Thread: loop only.
#pragma once

#include "base/random.h"
#include "base/scheduler.h"

namespace hookd {

class Backoff {
 public:
  struct Options {
    Duration initial = std::chrono::milliseconds(800);
    Duration max = std::chrono::seconds(30);
    double factor = 2.0;
    double jitter = 1.0;  // share of the delay that is added at random; 0 = none
  };
  Backoff(Options options, Random& random) : options_(options), random_(random) {}

  Duration next();
  void reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  Options options_;
  Random& random_;
  int failures_ = 0;
};

}  // namespace hookd
