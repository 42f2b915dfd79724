// Real time, N times as fast: `hookd play --speed 60` shows an hour in a minute. Steady and wall time begin at the real
// ones and run `factor` times as fast from there. Thread: loop only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/scheduler.h"

namespace hookd {

class ScaledScheduler final : public Scheduler {
 public:
  // `factor` > 0. 1 = as AsioScheduler.
  ScaledScheduler(boost::asio::io_context& context, double factor);

  SteadyTime now() const override { return scaled(std::chrono::steady_clock::now()); }
  WallTime wall_now() const override { return wall_start_ + (now() - start_); }
  void post(Task task) override;

  double factor() const { return factor_; }
  SteadyTime scaled(SteadyTime real) const;  // what this clock shows at that moment
  SteadyTime real(SteadyTime scaled) const;  // when it shows that

 private:
  void earliest_changed() override;

  boost::asio::io_context& context_;
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
  double factor_;
  SteadyTime start_;
  WallTime wall_start_;
};

}  // namespace hookd
