// Everything that a cluster's controllers would do here, as one value. Thread: loop only.
//
//   control::Loops loops(scheduler, store, registry, writer, {});     after the built-in kinds are in the registry
//
// Loops hear of changes through Store::subscribe and act in tasks posted to the Scheduler, never inside a write.
// There are no workload controllers: a Deployment makes no pods, a Job runs nothing, no scheduler binds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/scheduler.h"
#include "embedded/control/writer.h"
#include "embedded/resources/resource.h"
#include "embedded/store/store.h"

namespace hookd::embedded::control {

struct Options {
  bool garbage_collection = true;
  bool namespaces = true;          // a namespace being deleted is emptied and goes
  bool service_accounts = true;    // "default" in every namespace
  bool root_ca = true;             // ConfigMap kube-root-ca.crt in every namespace
  bool disruption_budgets = true;  // status of PodDisruptionBudgets
  bool event_expiry = true;        // Events go after an hour
  std::string ca_certificate{};    // PEM for kube-root-ca.crt
  // The versions that serve what is stored under this key were removed or replaced: watches of it end.
  std::function<void(std::string_view storage_key)> kind_changed{};
};

class Loops {
 public:
  Loops(Scheduler& scheduler, Store& store, Registry& registry, Writer& writer, Options options);
  ~Loops();
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  // Nothing left to do before the next event or timer.
  bool settled() const;
  // CRDs only, at once: after a write of a CustomResourceDefinition, so that the next request finds its kind.
  void crds_changed();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hookd::embedded::control
