// The one way to know the time and to wait. Everything in daemon/ takes a Scheduler&, so that unit tests
// and `hookd test` run on virtual time. Thread: loop only.
//
//   AsioScheduler    real time on an io_context
//   ScaledScheduler  the same, N times as fast (scaled_scheduler.h)
//   ManualScheduler  virtual time: advance() runs what falls due, in order
//   VirtualScheduler the same, while processes and sockets of an io_context work in real time (virtual_scheduler.h)
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace hookd {

using Duration = std::chrono::nanoseconds;
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class Scheduler;

// A pending timer; destroying or cancelling it means that the task will not run. Must not outlive its Scheduler.
class [[nodiscard]] Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept { *this = std::move(other); }
  Timer& operator=(Timer&& other) noexcept;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { cancel(); }

  void cancel();
  bool pending() const;  // not yet run nor cancelled

 private:
  friend class Scheduler;
  Scheduler* scheduler_ = nullptr;
  SteadyTime due_{};
  uint64_t id_ = 0;
};

class Scheduler {
 public:
  using Task = std::move_only_function<void()>;

  virtual ~Scheduler();
  virtual SteadyTime now() const = 0;
  virtual WallTime wall_now() const = 0;

  // Runs `task` once at `due` (at once but not inline if that is past), unless the Timer is dropped before.
  Timer at(SteadyTime due, Task task);
  Timer after(Duration delay, Task task) { return at(now() + delay, std::move(task)); }

  // Runs `task` soon, never inline, in the order posted.
  virtual void post(Task task) = 0;

 protected:
  std::optional<SteadyTime> next_due() const;
  void run_due(SteadyTime now);
  virtual void earliest_changed() = 0;

 private:
  friend class Timer;
  std::map<std::pair<SteadyTime, uint64_t>, Task> tasks_;  // id keeps equal times in order
  uint64_t last_id_ = 0;
};

class AsioScheduler final : public Scheduler {
 public:
  explicit AsioScheduler(boost::asio::io_context& context) : context_(context), timer_(context) {}
  SteadyTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  void post(Task task) override;
  boost::asio::io_context& context() { return context_; }

 private:
  void earliest_changed() override;
  boost::asio::io_context& context_;
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
};

class ManualScheduler : public Scheduler {
 public:
  static constexpr WallTime kStart{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z

  explicit ManualScheduler(WallTime start = kStart);
  SteadyTime now() const override { return now_; }
  WallTime wall_now() const override { return wall_start_ + (now_ - SteadyTime{}); }
  void post(Task task) override { posted_.push_back(std::move(task)); }

  void run_posted();            // until nothing is posted
  void advance(Duration step);  // settles, then runs every timer due up to now + step, each at its own time
  void set_wall(WallTime wall) { wall_start_ = wall - (now_ - SteadyTime{}); }  // the clock is set; steady time goes on
  bool idle() const { return posted_.empty() && !next_due(); }

 protected:
  // Everything that happens before time may go on.
  virtual void settle() { run_posted(); }
  bool run_posted_round();  // what is posted now, not what that posts; false = there was nothing

 private:
  void earliest_changed() override {}
  WallTime wall_start_;
  SteadyTime now_{};
  std::deque<Task> posted_;
};

}  // namespace hookd
