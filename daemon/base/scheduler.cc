#include "base/scheduler.h"

#include <boost/asio/post.hpp>

namespace hookd {

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  scheduler_ = std::exchange(other.scheduler_, nullptr);
  due_ = other.due_;
  id_ = other.id_;
  return *this;
}

void Timer::cancel() {
  if (!scheduler_) return;
  auto* scheduler = std::exchange(scheduler_, nullptr);
  // Taken out first and destroyed last: what the task holds may cancel other timers.
  const auto task = scheduler->tasks_.extract({due_, id_});
  if (!task.empty()) scheduler->earliest_changed();
}

bool Timer::pending() const { return scheduler_ && scheduler_->tasks_.contains({due_, id_}); }

Scheduler::~Scheduler() {
  // A task may hold the last reference to its own Timer, which then looks for itself here and finds nothing.
  const auto last = std::exchange(tasks_, {});
}

Timer Scheduler::at(SteadyTime due, Task task) {
  Timer timer;
  timer.scheduler_ = this;
  timer.due_ = due;
  timer.id_ = ++last_id_;
  tasks_.emplace(std::pair(due, timer.id_), std::move(task));
  earliest_changed();
  return timer;
}

std::optional<SteadyTime> Scheduler::next_due() const {
  if (tasks_.empty()) return std::nullopt;
  return tasks_.begin()->first.first;
}

void Scheduler::run_due(SteadyTime now) {
  // What a task schedules for now runs in the next round: a task that re-arms itself with no delay must not starve the
  // loop.
  const uint64_t last = last_id_;
  for (auto it = tasks_.begin(); it != tasks_.end() && it->first.first <= now;) {
    if (it->first.second > last) {
      ++it;
      continue;
    }
    Task task = std::move(it->second);
    tasks_.erase(it);
    task();
    it = tasks_.begin();
  }
}

void AsioScheduler::post(Task task) { boost::asio::post(context_, std::move(task)); }

void AsioScheduler::earliest_changed() {
  const auto due = next_due();
  if (due == armed_) return;
  armed_ = due;
  if (!due) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(*due));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_.reset();
    run_due(now());
    earliest_changed();
  });
}

ManualScheduler::ManualScheduler(WallTime start) : wall_start_(start) {}

void ManualScheduler::run_posted() {
  while (run_posted_round()) {
  }
}

bool ManualScheduler::run_posted_round() {
  const size_t count = posted_.size();
  for (size_t i = 0; i < count; ++i) {
    Task task = std::move(posted_.front());
    posted_.pop_front();
    task();
  }
  return count > 0;
}

void ManualScheduler::advance(Duration step) {
  const SteadyTime end = now_ + step;
  settle();
  while (const auto due = next_due()) {
    if (*due > end) break;
    now_ = std::max(now_, *due);
    run_due(now_);
    settle();
  }
  now_ = end;
}

}  // namespace hookd
