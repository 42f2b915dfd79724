// A binding's objects to a client, a line each: {"object":…,"value":…}. In slices, so that neither the loop stands nor
// memory grows however large the snapshot is. Thread: loop only.
#pragma once

#include <memory>

#include "base/scheduler.h"
#include "control/mask.h"
#include "hook/event.h"
#include "net/http_server.h"

namespace hookd::control {

class SnapshotSender : public std::enable_shared_from_this<SnapshotSender> {
 public:
  // Keeps itself until all is sent or the client is gone.
  static void start(Scheduler& scheduler, net::ResponseStream stream, hook::Snapshot snapshot, Mask mask);

  static constexpr size_t kSliceBytes = 128u << 10;
  static constexpr size_t kQueueBytes = 512u << 10;
  static constexpr Duration kWait = std::chrono::milliseconds(10);

 private:
  SnapshotSender(Scheduler& scheduler, net::ResponseStream stream, hook::Snapshot snapshot, Mask mask);
  void step();

  Scheduler& scheduler_;
  net::ResponseStream stream_;
  hook::Snapshot snapshot_;
  Mask mask_;
  size_t next_ = 0;
  Timer timer_;
};

}  // namespace hookd::control
