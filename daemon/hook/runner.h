// Carries one batch of a hook's queue through: gather, call, answer, apply, verdict. Thread: loop only.
// Source: product.md sections 2 and 3.
//
//   batch ──► call (process, worker, URL) ──► answer ──► operations ──► outcomes ──► verdict of the queue
//   exit 0 and a whole answer               applied; all done or not needed = kDone
//   an operation that may go well later     kRetryTogether with what is left (no new call, unless events came
//   meanwhile) an operation refused for good           kGiveUp once the others are through; a requeue still holds exit
//   75                                 kLater exit 65, 78                             kGiveUp other exits, signals,
//   timeouts, bad answers    kRetry
// A call with several events that fails, for good or not, is kSplit: the one that fails it is to be found. Not where
// the fault is around it (kLater, Reply::at_least).
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apply/applier.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "hook/answer.h"
#include "hook/call_observer.h"
#include "hook/call_state.h"
#include "hook/call_writer.h"
#include "hook/caller.h"
#include "hook/done_operations.h"
#include "hook/event.h"
#include "hook/guard.h"
#include "hook/model.h"
#include "hook/own_writes.h"
#include "metrics/registry.h"
#include "process/launcher.h"
#include "queue/keyed_queue.h"
#include "state/store.h"

namespace hookd::hook {

struct BatchCarry;
class CallFaults;  // hook/call_faults.h
class PassRun;
class Reconciler;

// What an attempt left for the next one.
struct Carry {
  std::vector<apply::Operation> left;  // answered, not yet done
  SteadyTime answered{};               // when; an old decision is not carried out without asking again
  DoneOperations done;                 // not repeated when the hook answers it again
  std::optional<Duration> requeue_after;
  std::optional<std::string> state;  // answered, kept once all is done
  uint64_t state_seen = 0;           // mark of the state that the call got
  std::string refused;               // why something of the last answer was refused for good, "" = nothing was
  std::string last_error;
  std::shared_ptr<const BatchCarry> batch;  // of the batch it was last in; null: it was alone
};

// What an attempt at several items left, which belongs to none of them alone. Operations that are left are tried again
// when the same items come together again; else the hook is called anew for each, and only what was done counts.
struct BatchCarry {
  Carry carry;
  size_t items = 0;
};

using Queue = queue::KeyedQueue<Event, Carry>;

struct RunnerOptions {
  bool dry_run = false;
  size_t answer_limit_bytes = 32u << 20;
  std::string runtime_dir;  // private, for answer files
  std::string kubeconfig;   // for hooks
  std::string default_namespace;
  std::vector<std::string> environment;  // the daemon's own
  CallObserver* observer = nullptr;      // null = nobody looks; must outlive the runner
  CallFaults* faults = nullptr;          // null = no call fails without being made; the same
};

struct RunnerServices {
  Scheduler& scheduler;
  Random& random;
  process::Launcher& launcher;
  apply::Applier& applier;
  metrics::Registry& metrics;
  const RunnerOptions& options;
  net::HttpTransport* transport = nullptr;  // for hooks with a URL
  state::Store* store = nullptr;            // null: nothing outlives the process
  Breakers* breakers = nullptr;             // of the endpoints of hooks with a URL
  OwnWrites* own_writes = nullptr;          // null: nobody asks who wrote what
  // Set by the hook's unit: has the hook a binding with `ownWrites: ignore` of that type; the guard tripped.
  std::function<bool(const kube::ResourceType&)> ignores_own{};
  std::function<void(std::string why)> pause{};
};

class Runner {
 public:
  using Gather = std::function<Snapshot(const std::string& binding)>;
  // `requeue`: call again after that long, with the same events; with kDone and kGiveUp.
  using Done = std::function<void(Queue::Batch batch, Queue::Verdict verdict, Duration at_least,
                                  std::optional<Duration> requeue)>;

  Runner(std::shared_ptr<const Hook> hook, RunnerServices services, Gather gather);
  ~Runner();

  void run(Queue::Batch batch, Done done);
  // Would run() go on with what the last answer left, without a new call?
  bool carries_on(const Queue::Batch& batch) const;
  // From now on every item is a pass of it.
  void set_reconciler(Reconciler& reconciler) { reconciler_ = &reconciler; }
  size_t running() const { return active_.size() + passes_.size(); }
  void each_running(const std::function<void(const Queue::Item&)>& visit) const;
  void terminate();  // SIGTERM to every process that runs; their items end as failed
  CallState& state() { return state_; }
  void reset_guard() {
    if (guard_) guard_->reset();
  }
  Caller& caller() const { return *caller_; }

 private:
  class Active;
  friend class Active;
  void run_pass(Queue::Batch batch, Done done);

  std::shared_ptr<const Hook> hook_;
  RunnerServices services_;
  Gather gather_;
  CallState state_;
  std::unique_ptr<GuardFuse> guard_;  // null: the hook has none
  std::unique_ptr<Caller> caller_;    // outlives the calls it made
  std::list<std::unique_ptr<Active>> active_;
  Reconciler* reconciler_ = nullptr;
  std::list<std::unique_ptr<PassRun>> passes_;
  bool hinted_ = false;  // about text among documents
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The call that these would make now: their events and the snapshots they include, of one moment.
std::shared_ptr<const Call> make_call(const Hook& hook, const Queue::Batch& batch, const Runner::Gather& gather,
                                      std::string id, WallTime now, std::shared_ptr<const std::string> state = nullptr);
std::shared_ptr<const Call> make_call(const Hook& hook, const Queue::Item& item, const Runner::Gather& gather,
                                      std::string id, WallTime now);

// The operations of an answer, `status` among them. Errors: kInvalid where the call is not about exactly one object.
Result<std::vector<apply::Operation>> operations_of(Answer answer, const Call& call);

// The newest state of an object that the call tells of, in its events or its snapshots; null if it does not. `kind` may
// be any name that discovery understands, `api_version` any version of the group.
cache::ObjectPtr object_in_call(const Call& call, std::string_view api_version, std::string_view kind,
                                std::string_view ns, std::string_view name);
// Its uid, for apply::Request::uid_of.
std::optional<std::string> uid_in_call(const Call& call, std::string_view api_version, std::string_view kind,
                                       std::string_view ns, std::string_view name);

}  // namespace hookd::hook
