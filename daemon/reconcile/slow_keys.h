// Keys whose writes are undone again and again (write_repeats.h): what calls them is held, outside of the queue and its
// slots, until the delay is over, unless their parent is another by then: that may be the cure. Of both kinds of
// reconcilers. Thread: loop only. Source: issue 6 point 1; controllers.md section 4 (hot loops).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "cache/object.h"
#include "hook/event.h"
#include "reconcile/write_repeats.h"

namespace hookd::reconcile {

class SlowKeys {
 public:
  struct World {
    std::function<void(const std::string& key, hook::Event event)> emit;       // onto the queue
    std::function<cache::ObjectPtr(const std::string& key)> parent;            // as it is known now; null = it is none
    std::function<uint64_t(const std::string& key, std::string_view)> reason;  // a hash of what of its text may cure
  };
  SlowKeys(Scheduler& scheduler, World world) : scheduler_(scheduler), world_(std::move(world)), repeats_(scheduler) {}

  // Onto the queue, or held if the key is slow.
  void emit(const std::string& key, hook::Event event);
  // A run of the key begins: is it to wait? Then what called it is held. A `requeueAfter` has a time of its own.
  bool holds(const std::string& key, const hook::Event& event);

  // A run of the key wrote an object (WriteRepeats::wrote). A finding has slowed it, or with `once` given it up.
  std::optional<WriteRepeats::Finding> wrote(const std::string& key, const std::string& object, uint64_t because,
                                             std::string_view before, std::string_view after, bool once);
  // The run is over. Its hook was told of its parent as `told`; `left`: as the run's own writes beyond the status left
  // it, "" = there were none. What it wrote there itself is no cure.
  void ended(const std::string& key, const cache::ObjectPtr& told, std::string_view left = {});
  void release_all();  // nobody waits any more for the delays to be over
  bool given_up(const std::string& key) const { return given_up_.contains(key); }
  const WriteRepeats& repeats() const { return repeats_; }
  void forget(const std::string& key);  // its parent is no more; what was held is emitted

 private:
  struct Slow {
    SteadyTime until{};
    bool running = true;             // no cure is looked for before the run is over
    std::string version;             // of the parent that was looked at last
    uint64_t seen = 0, written = 0;  // reason() of it as the hook was told of it, and as the run left it
    std::vector<hook::Event> held;
    Timer timer;
  };
  bool is_slow(const std::string& key);
  void hold(const std::string& key, hook::Event event);
  void release(const std::string& key);

  Scheduler& scheduler_;
  World world_;
  WriteRepeats repeats_;
  std::map<std::string, Slow> slow_;
  std::set<std::string> given_up_;
};

}  // namespace hookd::reconcile
