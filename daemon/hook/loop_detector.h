// Finds calls that cause each other: a hook (or several that fight) that keeps changing what calls it. Such a key's
// events are slowed with a growing delay, never stopped, and people are told which path keeps changing. Sits between a
// hook's watches and its queue. Thread: loop only. Source: issue 5 point 10.
//
//   a call's depth   0 if anything from outside is among its events; else one more than that of the call that wrote
//   a key is slow    from the call of depth above kFree on, if the kFree before it came within kWindow;
//                    until something from outside comes, or nothing at all for its delay and kQuiet more
//
// Events are told by resource version (hook/own_writes.h). A finite chain (a status that goes through phases) is
// shorter than kFree, or is slowed by seconds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "hook/event.h"
#include "hook/own_writes.h"

namespace hookd::hook {

class LoopDetector {
 public:
  struct Loop {  // for people
    std::string key;
    std::vector<std::string> hooks;  // that take part
    std::vector<std::string> paths;  // that keep changing; empty: not known
    int calls = 0;                   // one after another without anything from outside
    Duration delay{0};
    Event event;               // the last one
    std::string text() const;  // one line: who, what, where, what to do
  };
  using Forward = std::function<void(const std::string& key, Event event)>;
  using Report = std::function<void(const Loop& loop)>;  // now and then, see kToldEach

  LoopDetector(std::string hook, OwnWrites& writes, Scheduler& scheduler, Forward forward, Report report);

  void pass(const std::string& key, Event event);
  // A call with these events of the key begins.
  void starting(const std::string& key, const std::vector<Event>& events);

  size_t slowed() const { return slow_.size(); }
  bool holds() const;
  std::optional<Loop> worst() const;                       // the one with the most calls
  std::vector<std::pair<std::string, Event>> take_held();  // for a successor; nothing is slow any more

  static constexpr int kFree = 10;
  static constexpr Duration kWindow = std::chrono::minutes(10);
  static constexpr Duration kFirstDelay = std::chrono::seconds(1);
  static constexpr Duration kMaxDelay = std::chrono::minutes(5);
  static constexpr Duration kQuiet = std::chrono::minutes(1);
  static constexpr Duration kToldEach = std::chrono::minutes(10);
  static constexpr size_t kUndecided = 1024;  // keys whose last call waits for a word on its cause
  static constexpr size_t kPaths = 3;

 private:
  struct Slow {
    Loop loop;
    std::vector<Event> held;
    SteadyTime started{};  // of the last call
    SteadyTime told{};
    Timer timer;
  };
  void look(const std::string& key, const std::vector<Event>& events, SteadyTime started);
  void slow_down(const std::string& key, const Chain& chain, const std::vector<Event>& events, SteadyTime started);
  void release(const std::string& key);
  void settled(const std::string& resource, const std::string& object_key);
  void arm(const std::string& key, Slow& slow);

  std::string hook_;
  OwnWrites& writes_;
  Scheduler& scheduler_;
  Forward forward_;
  Report report_;
  std::map<std::string, Slow> slow_;
  struct Begun {
    std::vector<Event> events;
    SteadyTime started{};
  };
  std::map<std::string, Begun> undecided_;  // calls whose cause was not known when they began
  std::shared_ptr<void> subscription_;
};

}  // namespace hookd::hook
