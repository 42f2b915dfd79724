// Keys that wait for a control loop, each once, in the order of their coming; worked off in tasks posted to the
// Scheduler, a few at a time so that no task holds the loop thread for long. Thread: loop only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/scheduler.h"

namespace hookd::embedded::control {

template <class Key>
class WorkQueue {
 public:
  // `work` may add keys, also the one it works on.
  WorkQueue(Scheduler& scheduler, std::function<void(const Key&)> work)
      : scheduler_(scheduler), work_(std::move(work)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(Key key) {
    if (!waiting_.insert(key).second) return;
    order_.push_back(std::move(key));
    post();
  }

  bool settled() const { return order_.empty() && !working_; }

  // Everything that waits, now; nothing if it is called out of `work`, which gets to the rest by itself.
  void run_all() {
    while (!order_.empty() && !working_) run_one();
  }

 private:
  static constexpr int kSlice = 20;

  void post() {
    if (posted_ || working_) return;
    posted_ = true;
    scheduler_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      posted_ = false;
      for (int i = 0; i < kSlice && !order_.empty(); ++i) run_one();
      if (!order_.empty()) post();
    });
  }

  void run_one() {
    Key key = std::move(order_.front());
    order_.pop_front();
    waiting_.erase(key);
    working_ = true;
    work_(key);
    working_ = false;
    if (!order_.empty()) post();
  }

  Scheduler& scheduler_;
  std::function<void(const Key&)> work_;
  std::deque<Key> order_;
  std::set<Key> waiting_;
  bool posted_ = false;
  bool working_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::embedded::control
