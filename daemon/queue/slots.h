// How many calls may run at once in the whole daemon, shared fairly by its queues. Thread: loop only.
//
// With `one_each` an owner that holds none may take one although none is free: calls of others that hang, however many,
// cannot keep it from going on. So many more than `count` may be taken as there are owners.
#pragma once

#include <deque>
#include <functional>
#include <map>

namespace hookd::queue {

class Slots {
 public:
  explicit Slots(int count, bool one_each = false) : count_(count), free_(count), one_each_(one_each) {}

  // With fewer than are taken: those finish, and none is given out until so many are back.
  void resize(int count);

  bool try_take(const void* owner);
  // `wake` is called once when a slot is free again, first come first served; an owner waits at most once.
  void wait(const void* owner, std::function<void()> wake);
  void forget(const void* owner);
  void give_back(const void* owner);

 private:
  struct Waiter {
    const void* owner;
    std::function<void()> wake;
  };
  void wake_waiting();

  int count_;
  int free_;  // below 0: more are taken than there are
  const bool one_each_;
  std::map<const void*, int> taken_;  // with one_each_
  std::deque<Waiter> waiting_;
};

}  // namespace hookd::queue
