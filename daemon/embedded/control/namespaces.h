// The end of a namespace: what is in it goes, pods first, then it goes itself. Thread: loop only.
// Source: API docs "Namespaces: deleting a namespace"; conditions as the namespace controller of Kubernetes 1.36 sets
// them (OrderedNamespaceDeletion, KEP-5080). Without its five seconds of waiting before it begins.
#pragma once

#include <map>
#include <set>
#include <string>

#include "embedded/control/context.h"
#include "embedded/control/work_queue.h"

namespace hookd::embedded::control {

class Namespaces {
 public:
  explicit Namespaces(const Context& context);
  bool settled() const { return queue_.settled(); }

 private:
  struct Remaining;

  void on_event(const StoreEvent& event);
  void sync(const std::string& name);
  // Deletes what is left of one kind; false = not yet done for this time, come again.
  bool empty_kind(const Resource& resource, const std::string& ns, Remaining& remaining);
  void tell_conditions(const Target& target, const Remaining& remaining, bool totals);

  Context context_;
  std::set<std::string, std::less<>> ending_;
  std::map<std::string, Timer> retries_;  // after something could not be deleted
  WorkQueue<std::string> queue_;
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
