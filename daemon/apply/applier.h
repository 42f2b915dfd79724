// Carries out the operations of one answer: allow check, types, stages, requests, an outcome for each. Thread: loop
// only. Source: product.md section 3; k8s-client.md W1-W16, E1-E5, A24-A25, section 11.
//
// Nothing is sent if one operation is not allowed, is malformed for its type (a namespace on a cluster-scoped kind) or
// is of a kind that the server does not know, unless the same answer makes that CustomResourceDefinition. After an
// operation that failed, the later ones on the same object are not sent; other objects go on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/allow.h"
#include "apply/event_recorder.h"
#include "apply/operation.h"
#include "apply/outcome.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "kube/client.h"
#include "kube/resource_type.h"

namespace hookd::apply {

// kube::Discovery::resolve in the daemon. The callback may come at once, later, or after the Run is gone.
using TypeResolver = std::function<void(std::string_view api_version, std::string_view kind,
                                        std::function<void(Result<kube::ResourceType>)> callback)>;

struct Request {
  std::vector<Operation> operations;
  std::string hook;
  std::string call_id;
  std::string field_manager;                    // "" = "hookd-<hook>"; cut to 128 bytes
  std::string default_namespace;                // for namespaced objects without one; "" = such are refused
  bool dry_run = false;                         // server-side dry run of everything
  std::optional<std::vector<AllowRule>> allow;  // unset = everything the daemon may
  // The uid of an object that the call was about (its events and snapshots); may be empty.
  std::function<std::optional<std::string>(std::string_view api_version, std::string_view kind, std::string_view ns,
                                           std::string_view name)>
      uid_of;
  // For those who must know who made which version (hook/own_writes.h); all may be empty. `sending` is called before
  // the first request of a write, `settled` once behind it, unless the Run is destroyed before.
  std::function<void(size_t index, const Operation&, const kube::ResourceType&)> sending;
  std::function<void(size_t index, const Operation&, const Outcome&)> settled;
  // Must the outcome tell whether this write made the version that it ends with? Then with the version of the object
  // that is known ("" = none), which becomes the patch's precondition. nullopt = it need not.
  std::function<std::optional<std::string>(const Operation&, const kube::ResourceType&)> version_of;
  // As shell-operator does: later operations on the same object are sent although one before was refused.
  bool go_on_after_refusal = false;
};

// The operations under way; destroying it stops them silently: no callback comes, what was sent may still happen.
class Run {
 public:
  virtual ~Run() = default;
};

class Applier {
 public:
  using Callback = std::function<void(std::vector<Outcome>)>;  // one per operation, by index

  // `unserved` is called when a path that the resolver knew gave 404: what it knows is old (k8s-client.md D10).
  Applier(kube::Api& api, TypeResolver resolver, Scheduler& scheduler, Random& random,
          std::function<void()> unserved = {});

  // `callback` comes once, never from inside apply(); the Run may be destroyed in it. A Run must not outlive its
  // Applier.
  [[nodiscard]] std::unique_ptr<Run> apply(Request request, Callback callback);

  const EventRecorder& events() const { return *events_; }
  EventRecorder& events() { return *events_; }

  static constexpr size_t kConcurrent = 8;  // objects written at the same time, per request

 private:
  kube::Api& api_;
  TypeResolver resolver_;
  Scheduler& scheduler_;
  Random& random_;
  std::function<void()> unserved_;
  std::shared_ptr<EventRecorder> events_;
};

}  // namespace hookd::apply
