// One loaded hook at work: its triggers, its queue, its runner. Thread: loop only.
//
//   trigger ──emit──► held until the snapshots it includes are known ──► queue ──► runner ──► verdict
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/hook_look.h"
#include "app/parking.h"
#include "hook/loop_detector.h"
#include "hook/reconciler.h"
#include "hook/runner.h"
#include "kube/informer.h"
#include "net/http_routes.h"
#include "queue/outage.h"
#include "queue/slots.h"
#include "trigger/schedule_trigger.h"
#include "trigger/source_trigger.h"
#include "trigger/watch_trigger.h"

namespace hookd::app {

struct UnitServices {
  hook::RunnerServices runner;
  kube::InformerPool& pool;
  queue::Slots& slots;
  net::HttpRoutes* routes = nullptr;
  bool once =
      false;  // schedules tick once at the start, a failing call is not tried for ever, requeues are not waited for
  std::string cluster{};                 // the API server's address
  PathWatcher* paths = nullptr;          // for sources that are files
  kube::Api* api = nullptr;              // for the secrets of sources, and to reconcile
  kube::Discovery* discovery = nullptr;  // to reconcile
  bool sources = true;                   // false: only POSTs are taken, other events by give_source_event()
};

// What an older version of a hook had not handled yet.
struct Inheritance {
  std::vector<std::pair<std::string, hook::Event>> waiting;  // by key, also of items that failed
  std::vector<hook::Queue::Requeued> requeues;
  std::optional<Parking> parking;  // unset: what the store has
  std::string paused;
  std::map<std::string, std::shared_ptr<const std::string>> sources{};  // what each told last, by its identity()
};

class HookUnit {
 public:
  HookUnit(std::shared_ptr<const hook::Hook> hook, UnitServices services);
  ~HookUnit();

  // Of what is inherited that counts which this version would not hear of otherwise.
  void start(Inheritance inherited = {});
  // For a hook with `startup`: its turn has come. `tried` once: after the first attempt, or when it cannot be made yet.
  void run_startup(std::function<void()> tried);

  // Nothing new is started; what runs goes on. With a successor sources go on until over(): what they tell is handed
  // over, and what nobody hears would be lost.
  void stop(bool successor_comes = false);
  bool over();           // after stop(): nothing of it runs any more; closes the sources when the calls are over
  void terminate();      // SIGTERM to what runs
  void stop_watching();  // the snapshots stay as they are, nothing new comes
  // The same with --once, as soon as that may be: one that reconciles hears on until it is at rest, since what it
  // writes has to come back to it.
  void watch_no_more();
  // Calls, and after stop() workers and programs of sources that are not gone yet.
  size_t running() const {
    size_t lingering = 0;
    for (const hook::Caller* one : callers()) lingering += one->lingering();
    return runner_.running() + lingering + sources_stopping();
  }
  const hook::Caller& caller() const { return runner_.caller(); }
  std::vector<hook::Caller*> callers() const;  // the hook's own, and those of its reconciler
  Inheritance hand_over();                     // once its calls are over; nothing is left here

  const hook::Hook& hook() const { return *hook_; }
  bool ready() const;  // every binding's snapshot is known
  bool idle() const;   // ready, and nothing waits, runs or is delayed
  bool quiet() const;  // no call runs, and none could start before time goes on
  // Bindings that do not follow the server now, with the reason.
  std::vector<std::pair<std::string, Error>> troubles() const;
  // Of keys that are reconciled: what lastingly does not work although all kinds are followed.
  std::vector<std::string> reconcile_troubles() const {
    return reconciler_ ? reconciler_->troubles() : std::vector<std::string>();
  }
  const std::deque<Parked>& parked() const { return parking_.all(); }
  const hook::Queue& queue() const { return queue_; }
  // ---- events from outside (hook_unit_sources.cc)
  // As if it came from the source of that name; JSON texts. Errors: kConfig: there is no such source.
  Result<void> give_source_event(const std::string& binding, std::string data, std::optional<std::string> old);
  const std::list<std::unique_ptr<trigger::SourceTrigger>>& sources() const { return sources_; }
  std::vector<std::pair<std::string, Error>> source_troubles() const;
  void update_source_gauges() const;
  bool failed() const { return failed_; }  // some call was given up
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  // ---- what people see and do (hook_unit_look.cc)
  HookLook look() const;
  std::vector<QueueRow> rows(size_t limit) const;  // running, parked, held ones, then the others by key
  // As a call would get it now; nullopt = no such watch.
  std::optional<hook::Snapshot> snapshot(const std::string& binding) const {
    if (reconciler_) return reconciler_->snapshot(binding);
    if (!find_watch(binding)) return std::nullopt;
    return gather(binding);
  }
  // Parked items and delayed keys run now. By key, or by the id of a parked item; "" = all. Returns how many.
  size_t retry(const std::string& key_or_id);
  // Parked items go, delayed keys forget the item that failed.
  size_t drop(const std::string& key_or_id);
  // Nothing new starts, events keep coming; outlives restarts. `why` must not be empty.
  void pause(std::string why);
  void resume();
  const std::string& paused() const { return paused_; }  // why, "" = it is not
  std::string loop_trouble() const;                      // of keys that are slowed (hook/loop_detector.h), "" = none
  size_t loops() const { return loops_ ? loops_->slowed() : 0; }

  // With `coalesce: none` so many events of one key may wait: above it they become one as with `latest`, and if that
  // does not help (namesakes), the oldest goes. Both is counted and told.
  static constexpr size_t kMaxWaitingOfKey = 10'000;
  static constexpr Duration kStartupTurn = std::chrono::seconds(30);
  static constexpr int kOnceAttempts = 3;

 private:
  void emit(const std::string& key, hook::Event event, bool exclusive);
  bool has_binding_of(const hook::Event& event) const;
  bool still_wanted(const hook::Event& event) const;
  bool includes_known(const hook::Event& event) const;
  void release_held();
  void merge(std::vector<hook::Event>& waiting, hook::Event next);
  void run(hook::Queue::Batch batch);
  void bring_up_to_date(hook::Queue::Item& item) const;
  std::optional<hook::Event> namesake_of(const hook::Event& event) const;
  void finish(hook::Queue::Batch batch, hook::Queue::Verdict verdict, Duration at_least);
  void close_caller();
  void call_again(const hook::Queue::Item& item, Duration after);
  void give_up(hook::Queue::Item item);
  hook::Snapshot gather(const std::string& binding) const;
  const trigger::WatchTrigger* find_watch(std::string_view binding) const;
  void startup_tried();
  void start_sources(const trigger::Emit& emitter, const Inheritance& inherited);
  void make_reconciler();  // hook_unit_reconcile.cc
  void close_sources();
  void adopt(hook::Event& event);
  size_t sources_stopping() const;
  void run_again(Parked item);
  void restore_pause(std::string inherited);
  void handled(const hook::Queue::Item& item);  // hook_unit_memory.cc
  hook::RunnerServices with_safety(hook::RunnerServices services);
  trigger::Emit through_safety(trigger::Emit emit);
  void report_loop(const hook::LoopDetector::Loop& loop);
  void flush_what_is_told(const hook::Queue::Batch& batch);
  void forget_state_soon(const std::string& key, const cache::Object& object);

  std::shared_ptr<const hook::Hook> hook_;
  UnitServices services_;
  std::list<trigger::WatchTrigger> watches_;
  std::list<trigger::ScheduleTrigger> schedules_;
  std::unique_ptr<hook::LoopDetector> loops_;     // null: nobody remembers who wrote what
  std::unique_ptr<hook::Reconciler> reconciler_;  // null: the hook is called for events; outlives the passes
  hook::Runner runner_;
  hook::Queue queue_;
  std::unique_ptr<queue::Outage> outage_;  // of a hook that reconciles
  struct Held {
    std::vector<hook::Event> events;
    bool exclusive = false;
  };
  std::map<std::string, Held> held_;
  std::vector<std::string> held_order_;
  Parking parking_;
  std::list<std::unique_ptr<trigger::SourceTrigger>> sources_;
  uint64_t crowded_ = 0;  // events that came when too many of their key waited
  std::function<void()> on_startup_tried_;
  Timer startup_timer_;
  std::string paused_;
  bool failed_ = false;
  bool stopped_ = false;
  bool watching_stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::app
