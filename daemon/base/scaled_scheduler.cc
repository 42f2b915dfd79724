#include "base/scaled_scheduler.h"

#include <boost/asio/post.hpp>
#include <cmath>

namespace hookd {
namespace {

// Far timers stay within what the clock can hold.
Duration times(Duration duration, double factor) {
  constexpr double kMost = 0.25 * static_cast<double>(Duration::max().count());
  return Duration(static_cast<int64_t>(std::min(std::ceil(static_cast<double>(duration.count()) * factor), kMost)));
}

}  // namespace

ScaledScheduler::ScaledScheduler(boost::asio::io_context& context, double factor)
    : context_(context),
      timer_(context),
      factor_(factor),
      start_(std::chrono::steady_clock::now()),
      wall_start_(std::chrono::system_clock::now()) {}

SteadyTime ScaledScheduler::scaled(SteadyTime real) const { return start_ + times(real - start_, factor_); }
SteadyTime ScaledScheduler::real(SteadyTime scaled) const { return start_ + times(scaled - start_, 1 / factor_); }

void ScaledScheduler::post(Task task) { boost::asio::post(context_, std::move(task)); }

void ScaledScheduler::earliest_changed() {
  const auto due = next_due();
  if (due == armed_) return;
  armed_ = due;
  if (!due) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(real(*due)));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_.reset();
    run_due(now());
    earliest_changed();
  });
}

}  // namespace hookd
