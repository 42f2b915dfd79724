// One loaded hook at work: its triggers, its queue, its runner. Thread: loop only.
//
//   trigger ──emit──► held until the snapshots it includes are known ──► queue ──► runner ──► verdict
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hook/runner.h"
#include "kube/informer.h"
#include "net/http_routes.h"
#include "queue/slots.h"
#include "trigger/schedule_trigger.h"
#include "trigger/watch_trigger.h"

namespace hookd::app {

struct UnitServices {
  hook::RunnerServices runner;
  kube::InformerPool& pool;
  queue::Slots& slots;
  net::HttpRoutes* routes = nullptr;
  bool once =
      false;  // schedules tick once at the start, a failing call is not tried for ever, requeues are not waited for
};

struct Parked {
  hook::Queue::Item item;
  std::string error;
  WallTime at{};
};

class HookUnit {
 public:
  HookUnit(std::shared_ptr<const hook::Hook> hook, UnitServices services);
  ~HookUnit();

  // `inherited`: what an older version of this hook had not handled yet; of it what this one would not hear of
  // otherwise.
  void start(std::vector<std::pair<std::string, hook::Event>> inherited = {});
  // For a hook with `startup`: its turn has come. `tried` once: after the first attempt, or when it cannot be made yet.
  void run_startup(std::function<void()> tried);

  void stop();           // nothing new is started; what runs goes on
  void terminate();      // SIGTERM to what runs
  void stop_watching();  // the snapshots stay as they are, nothing new comes
  size_t running() const { return runner_.running(); }
  std::vector<std::pair<std::string, hook::Event>> take_waiting();

  const hook::Hook& hook() const { return *hook_; }
  bool ready() const;  // every binding's snapshot is known
  bool idle() const;   // ready, and nothing waits, runs or is delayed
  bool quiet() const;  // no call runs, and none could start before time goes on
  // Bindings that do not follow the server now, with the reason.
  std::vector<std::pair<std::string, Error>> troubles() const;
  const std::deque<Parked>& parked() const { return parked_; }
  void inherit_parked(std::deque<Parked> parked) { parked_ = std::move(parked); }
  const hook::Queue& queue() const { return queue_; }
  bool failed() const { return failed_; }  // some call was given up
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  static constexpr size_t kMaxParked = 1000;
  static constexpr Duration kStartupTurn = std::chrono::seconds(30);
  static constexpr int kOnceAttempts = 3;

 private:
  void emit(const std::string& key, hook::Event event, bool exclusive);
  bool still_wanted(const hook::Event& event) const;
  bool includes_known(const hook::Event& event) const;
  void release_held();
  void run(hook::Queue::Item item);
  void call_again(const hook::Queue::Item& item, Duration after);
  void give_up(hook::Queue::Item item);
  hook::Snapshot gather(const std::string& binding) const;
  const trigger::WatchTrigger* find_watch(std::string_view binding) const;
  void startup_tried();

  std::shared_ptr<const hook::Hook> hook_;
  UnitServices services_;
  std::list<trigger::WatchTrigger> watches_;
  std::list<trigger::ScheduleTrigger> schedules_;
  hook::Runner runner_;
  hook::Queue queue_;
  struct Held {
    std::vector<hook::Event> events;
    bool exclusive = false;
  };
  std::map<std::string, Held> held_;
  std::vector<std::string> held_order_;
  std::deque<Parked> parked_;
  std::function<void()> on_startup_tried_;
  Timer startup_timer_;
  bool failed_ = false;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::app
