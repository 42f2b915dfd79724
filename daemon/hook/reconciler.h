// The seam between a hook's unit and those who reconcile: whose keys are to be run, and what a run of a key is. The
// unit brings queue, slots, guard, parking, metrics, run history; a Reconciler brings triggers and passes. Native:
// reconcile/; other people's controllers: compat/. Thread: loop only.
//
//   Reconciler ──emit(key)──► queue ──► begin(item) ──► Pass: Ask | Write | Wait, step by step ──► Over ──► verdict
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apply/applier.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "hook/call_writer.h"
#include "hook/caller.h"
#include "hook/done_operations.h"
#include "hook/event.h"
#include "hook/model.h"
#include "kube/discovery.h"
#include "kube/informer.h"
#include "metrics/registry.h"
#include "queue/verdict.h"
#include "state/store.h"

namespace hookd::hook {

// One run of one key. Pulled: next() is called first, and again when what it asked for is done.
class Pass {
 public:
  struct Ask {  // the hook is called
    std::shared_ptr<const Call> call;
    Caller* caller = nullptr;  // null: the hook's own; else one of Reconciler::callers()
  };
  struct Write {  // not empty; guard, `allow` and dry run are looked after
    std::vector<apply::Operation> operations;
    bool answered = false;            // they stand in the hook's answer: for the run history
    std::string field_manager{};      // "" = "hookd-<hook>"
    std::string default_namespace{};  // of namespaced objects without one; "" = the daemon's
    bool declared = false;  // what `reconcile` itself tells (children, status, finalizers): not asked of `allow`
  };
  struct Wait {};  // until resume() is called
  struct Over {
    queue::Verdict verdict = queue::Verdict::kDone;  // kDone, kRetry, kLater, kNotTried, kGiveUp
    std::string result = "ok";                       // label of hookd_calls_total: "ok", "failed", "refused", …
    std::string why{};                               // unless kDone: one line for people
    Duration at_least{0};                            // before the next try
    std::optional<Duration> requeue_after{};         // with kDone and kGiveUp
    bool quiet = false;                              // nothing was to do: no line in the log, no count
  };
  using Step = std::variant<Ask, Write, Wait, Over>;

  virtual ~Pass() = default;
  virtual Step next() = 0;
  virtual void replied(Reply reply) = 0;
  // What became of the Write, by index. Refused by the guard: written() is not called, the pass ends there.
  virtual void written(const std::vector<apply::Operation>& operations,
                       const std::vector<apply::Outcome>& outcomes) = 0;
  // Lines that the hook's answer says to people.
  virtual std::vector<std::string> messages() const { return {}; }

  // Set before the first next(); ends a Wait, also from inside next().
  std::function<void()> resume;
};

// How a reply that is no answer ends a pass.
Pass::Over over_of(const Reply& reply);

struct PassContext {
  std::string id;  // of the call, in all its log lines
  int attempt = 1;
  // What earlier attempts at this key achieved of what the hook told them to do; outlives the pass. Null = nobody asks.
  DoneOperations* done = nullptr;
};

struct ReconcilerServices {
  Scheduler& scheduler;
  Random& random;
  kube::InformerPool& pool;
  kube::Discovery& discovery;
  kube::Api& api;
  apply::EventRecorder& events;
  metrics::Registry& metrics;
  state::Store* store = nullptr;  // null: nothing outlives the process
  CallerServices callers;         // for endpoints of its own
  std::string cluster{};          // the API server's address
  bool dry_run = false;
  bool once = false;
  // Set by the unit. `emit` puts a kReconcile event on the queue; `changed`: ready(), or a wait of a pass, is to be
  // looked at again.
  std::function<void(const std::string& key, Event event)> emit{};
  std::function<void()> changed{};
};

class Reconciler {
 public:
  struct Look {        // of a kind that it follows, for `hookd status`
    std::string name;  // "for", "children", the name of a related rule
    std::string what;  // "Deployment (apps/v1) in a, b"
    bool ready = false;
    size_t objects = 0;
    std::string trouble;
  };

  virtual ~Reconciler() = default;
  virtual void start() = 0;
  virtual void stop() = 0;                    // no event comes any more; passes under way go on, with what is known
  virtual bool ready() const = 0;             // all that a pass needs is known; no pass begins before
  virtual bool idle() const { return true; }  // nothing is on its way to the queue but what timers bring
  // `item` is of its queue: one kReconcile event.
  virtual std::unique_ptr<Pass> begin(const std::string& key, const Event& event, PassContext context) = 0;
  virtual std::vector<std::shared_ptr<kube::Informer>> informers() const = 0;
  virtual std::vector<Look> looks() const = 0;
  // What does not work although all kinds are followed: a filter that fails, a key that keeps being undone.
  virtual std::vector<std::string> troubles() const { return {}; }
  // What is as it should be and not at its end: a roll-out that a check holds.
  virtual std::vector<std::string> waits() const { return {}; }
  // An event of a source of the hook that `sources` names; its ticket is to be held until the keys it calls were run.
  virtual void source_event(const Event& event) { static_cast<void>(event); }
  // For a successor: what is held back goes onto the queue; taken out are events of sources that called no key yet.
  virtual std::vector<Event> hand_over() { return {}; }
  virtual std::vector<Caller*> callers() { return {}; }  // besides the hook's own
  // Of them those that nearly every pass asks: while one of these is not ready no pass begins. A pass that asks another
  // one in vain waits by itself.
  virtual std::vector<Caller*> asked_by_all() { return {}; }
  // `hookd snapshot HOOK NAME`: what it knows under one of its names; nullopt = no such name.
  virtual std::optional<Snapshot> snapshot(const std::string& name) const {
    static_cast<void>(name);
    return std::nullopt;
  }
};

class ReconcilerMaker {
 public:
  virtual ~ReconcilerMaker() = default;
  virtual std::unique_ptr<Reconciler> make(std::shared_ptr<const Hook> hook, ReconcilerServices services) const = 0;
  virtual bool starts_processes() const { return true; }  // false: all that its passes ask is asked over HTTP
};

// Are its calls processes (of its own, or lines to those that stay), or are all of them HTTP requests? Those wait for
// others, and cost this machine next to nothing meanwhile.
inline bool starts_processes(const Hook& hook) {
  return hook.reconciler ? hook.reconciler->starts_processes() : hook.run.mode != Run::Mode::kUrl;
}

}  // namespace hookd::hook
