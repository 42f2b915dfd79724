// `resync`: every key again within each period, spread out over it. A key's place in the period is a hash of it,
// counted in wall time from 1970: the same after a restart, so that restarts neither skip keys nor bring them all at
// once. Thread: loop only. Source: product.md section 6 (`resync`); controllers.md section 4 (1000 parents at once).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"

namespace hookd::reconcile {

class Resync {
 public:
  // `period` 0 = never. `keys`: those that there are now. `call`: one is due (a background event, cause resync).
  Resync(Scheduler& scheduler, Duration period, std::function<std::vector<std::string>()> keys,
         std::function<void(const std::string& key)> call)
      : scheduler_(scheduler), period_(period), keys_(std::move(keys)), call_(std::move(call)) {}

  void start();
  void stop() { timer_.cancel(); }

  // Where in the period a key is due: 0 <= place < period.
  static Duration place_of(std::string_view key, Duration period);

  // Keys are called in at most kSlices portions a period, none closer together than kLeast.
  static constexpr int kSlices = 240;
  static constexpr Duration kLeast = std::chrono::milliseconds(100);

 private:
  void arm();
  void tick();

  Scheduler& scheduler_;
  Duration period_;
  std::function<std::vector<std::string>()> keys_;
  std::function<void(const std::string&)> call_;
  Timer timer_;
  Duration at_{0};  // the place in the period up to which keys were called
  SteadyTime looked_{};
};

}  // namespace hookd::reconcile
