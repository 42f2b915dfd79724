// Carries one item of a hook's queue through: gather, call, answer, apply, verdict. Thread: loop only.
// Source: product.md sections 2 and 3.
//
//   item ──► call (process) ──► answer ──► operations ──► outcomes ──► verdict
//   exit 0 and a whole answer                       applied; all done or not needed = kDone
//   an operation that may go well later             kRetry with what is left (no new call, unless events came
//   meanwhile) an operation refused for good                   kGiveUp once the others are through; a requeue still
//   holds exit 75                                         kRetry exit 65, 78 kGiveUp other exits, signals, timeouts,
//   bad answers     kRetry
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
#include "hook/call_writer.h"
#include "hook/caller.h"
#include "hook/done_operations.h"
#include "hook/event.h"
#include "hook/model.h"
#include "metrics/registry.h"
#include "process/launcher.h"
#include "queue/keyed_queue.h"
#include "state/store.h"

namespace hookd::hook {

// What an attempt left for the next one.
struct Carry {
  std::vector<apply::Operation> left;  // answered, not yet done
  SteadyTime answered{};               // when; an old decision is not carried out without asking again
  DoneOperations done;                 // not repeated when the hook answers it again
  std::optional<Duration> requeue_after;
  std::string refused;  // why something of the last answer was refused for good, "" = nothing was
  std::string last_error;
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
};

class Runner {
 public:
  using Gather = std::function<Snapshot(const std::string& binding)>;
  // `requeue`: call again after that long, with the same events; with kDone and kGiveUp.
  using Done =
      std::function<void(Queue::Item item, Queue::Verdict verdict, Duration at_least, std::optional<Duration> requeue)>;

  Runner(std::shared_ptr<const Hook> hook, RunnerServices services, Gather gather);
  ~Runner();

  void run(Queue::Item item, Done done);
  size_t running() const { return active_.size(); }
  void terminate();  // SIGTERM to every process that runs; their items end as failed
  Caller& caller() { return *caller_; }
  const Caller& caller() const { return *caller_; }

 private:
  class Active;
  friend class Active;
  void hook_metric(const apply::MetricSample& sample);

  std::shared_ptr<const Hook> hook_;
  RunnerServices services_;
  Gather gather_;
  std::unique_ptr<Caller> caller_;  // outlives the calls it made
  std::list<std::unique_ptr<Active>> active_;
  bool hinted_ = false;  // about text among documents
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The call that `item` would make now: its events and the snapshots they include, of one moment.
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
