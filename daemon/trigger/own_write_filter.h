// `ownWrites: ignore` of one binding: which of its events its own hook alone caused; those are dropped. An event that
// comes while a write of the hook to its object is under way is held until the answer tells, and so is what comes for
// the same object behind it. Thread: loop only. Source: issue 5 point 10; hook/own_writes.h for what counts as proof.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/scheduler.h"
#include "cache/object_store.h"
#include "hook/event.h"
#include "hook/own_writes.h"

namespace hookd::trigger {

class OwnWriteFilter {
 public:
  using Forward = std::function<void(const std::string& queue_key, hook::Event event)>;

  using Dropped = std::function<void(const std::string& queue_key, const hook::Event& event)>;

  OwnWriteFilter(std::string hook, hook::OwnWrites& writes, Scheduler& scheduler, Forward forward, Dropped dropped);

  // `change` null: time or another object made the event, so it is always delivered, in its order.
  void pass(const std::string& queue_key, hook::Event event, const cache::Change* change, std::string_view text);
  void flush();  // what is held is delivered now
  size_t held() const { return held_.size(); }

  // A write whose answer takes longer must not hide what happened.
  static constexpr Duration kLongestHold = std::chrono::seconds(10);

 private:
  struct Held {
    std::string queue_key;
    hook::Event event;
    bool judged = false;  // false: to be delivered whatever is known
    bool ends = false;    // it was not ending before: it got its deletionTimestamp, or went at once
    bool gone = false;    // it does not exist any more, or is out of the selection
    SteadyTime until{};
  };
  hook::Cause judge(const Held& held);
  void settled();
  void arm();

  std::string hook_;
  hook::OwnWrites& writes_;
  Scheduler& scheduler_;
  Forward forward_;
  Dropped dropped_;
  std::map<std::string, std::deque<Held>> held_;  // by key of the queue
  std::shared_ptr<void> subscription_;
  Timer timer_;
};

}  // namespace hookd::trigger
