// How many calls may run at once in the whole daemon, shared fairly by its queues. Thread: loop only.
#pragma once

#include <deque>
#include <functional>

namespace hookd::queue {

class Slots {
 public:
  explicit Slots(int count) : count_(count), free_(count) {}

  // With fewer than are taken: those finish, and none is given out until so many are back.
  void resize(int count);

  bool try_take();
  // `wake` is called once when a slot is free again, first come first served; an owner waits at most once.
  void wait(const void* owner, std::function<void()> wake);
  void forget(const void* owner);
  void give_back();

 private:
  struct Waiter {
    const void* owner;
    std::function<void()> wake;
  };
  void wake_waiting();

  int count_;
  int free_;
  std::deque<Waiter> waiting_;
};

}  // namespace hookd::queue
