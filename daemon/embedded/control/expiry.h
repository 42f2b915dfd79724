// Kubernetes Events go an hour after they were last written, as by the lease that kube-apiserver gives them in etcd
// (--event-ttl). Without it a scenario that runs for days would keep them all. Thread: loop only.
#pragma once

#include <deque>

#include "embedded/control/context.h"

namespace hookd::embedded::control {

class Expiry {
 public:
  explicit Expiry(const Context& context);

  static constexpr Duration kEventsLive = std::chrono::hours(1);

 private:
  struct Entry {
    SteadyTime due;
    std::string ns, name;
    uint64_t revision = 0;  // of the write; a later one has an entry of its own
  };
  void arm();
  void expire();

  Context context_;
  std::deque<Entry> entries_;  // by due
  Timer timer_;
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
