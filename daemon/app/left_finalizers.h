// Finalizers that hooks put on objects and that nobody takes off any more: the hook was removed, does not use them now,
// or does not look at the objects' namespace any more. Which were ever used, and where, stands in the table
// "finalizers" of the store; what carries them is asked of the server.
// Thread: loop only. Source: issue 6 ("finalizer left behind when the hook is removed"); Kubernetes docs "Finalizers".
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apply/applier.h"
#include "hook/model.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "state/store.h"

namespace hookd::app {

class LeftFinalizers {
 public:
  struct Use {
    std::string hook;
    hook::HeldKind held;             // its namespaces: where nobody looks after it
    std::vector<std::string> but{};  // with held.namespaces empty: somebody does there
    std::string file{};              // of the hook, when it was loaded last; "" = not known
    std::string row{};               // as it stands in the store
    size_t starts = 0;               // of the hook, until now
    bool operator==(const Use&) const = default;
  };
  struct Found {
    Use use;
    size_t objects = 0;              // that carry it
    size_t ending = 0;               // of them: deleted already, they only wait for it
    bool whole = true;               // false: only the first kMostObjects of the kind were looked at
    std::vector<std::string> names;  // "ns/name", at most kNames; those that wait first
    std::string trouble;             // why it is not known
  };
  struct Dropped {
    size_t taken = 0;                   // off so many objects
    std::vector<std::string> problems;  // at most kNames, and how many more
    bool dry_run = false;               // nothing was changed
  };
  using OnFound = std::function<void(std::vector<Found>)>;
  using OnDropped = std::function<void(Result<Dropped>)>;

  struct Parts {
    kube::Api& api;
    kube::Discovery& discovery;
    Scheduler& scheduler;
    apply::Applier& applier;
    state::Store& store;
    bool dry_run = false;
  };
  explicit LeftFinalizers(Parts parts) : parts_(std::move(parts)) {}
  ~LeftFinalizers();

  // The hook starts: what it puts on objects is kept from now on. Not in a dry run.
  void used(const hook::Hook& hook);
  // Those that no loaded hook uses, in the namespaces that none of them looks at.
  std::vector<Use> left(const std::vector<const hook::Hook*>& loaded) const;

  // Lists metadata only. What nothing carries any more is forgotten. `done` comes once, unless this goes before, never
  // from inside.
  void count(std::vector<Use> uses, OnFound done);
  // Takes them off by patches with the uid and version of what was listed. `object`: "ns/name" or "name", "" = all. A
  // kind that is not served any more has no objects. Errors: kNotFound: `object` does not carry any of them; the list
  // failed.
  void drop(std::vector<Use> uses, std::string object, OnDropped done);

  static constexpr size_t kPage = 500;
  static constexpr size_t kMostObjects = 10'000;  // of one kind, that a count looks at
  static constexpr size_t kNames = 20;
  static constexpr int kRounds = 3;  // of a drop: what changed between list and patch is listed again

 private:
  void forget(const Use& use);  // nothing carries it there any more

  class Job;
  class Count;
  class Drop;
  void over(Job& job);

  Parts parts_;
  std::map<std::string, size_t> starts_;  // calls of used(), by key in the store
  std::list<std::shared_ptr<Job>> jobs_;
};

}  // namespace hookd::app
