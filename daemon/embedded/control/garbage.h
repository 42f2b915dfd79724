// Objects whose owners are gone go too. Thread: loop only.
// Source: API docs "Garbage collection", "Owners and dependents"; rules as the garbage collector of Kubernetes 1.36
// applies them: an owner is absent if no object has its kind, name and uid in the dependent's namespace (or in the
// cluster's scope); a cluster-scoped object never follows a namespaced owner; an owner of an unknown kind proves
// nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "embedded/control/context.h"
#include "embedded/control/work_queue.h"

namespace hookd::embedded::control {

class Garbage {
 public:
  explicit Garbage(const Context& context);
  bool settled() const { return queue_.settled(); }

 private:
  struct Owner {
    std::string api_version, kind, name, uid;
    bool blocks = false;
    bool operator==(const Owner&) const = default;
  };
  // An object with owners, or one that waits for its dependents.
  struct Node {
    Target target;
    std::vector<Owner> owners;
    uint64_t order = 0;  // of being seen first: dependents are gone through in it
    bool ending = false;
    bool foreground = false;  // ending, and waits until its dependents are gone
  };
  struct Verdict {
    std::vector<std::string> solid, absent, waiting;  // uids of owners
    bool unknown = false;
  };

  void on_event(const StoreEvent& event);
  void forget(const std::string& uid);
  void set_owners(Node& node, std::vector<Owner> owners);
  std::vector<Node> dependents_of(const std::string& uid) const;
  void add_dependents(const std::string& uid);
  void attempt(const std::string& uid);
  void finish_foreground(const Node& node);
  void orphan_dependents(const Target& owner);
  Verdict judge(const Node& node);
  void drop_owners(const Node& node, const std::vector<std::string>& uids);
  bool unblock(const Node& node);  // false = nothing blocked
  void remove_finalizer(const Target& target, std::string_view finalizer);
  void kinds_may_have_changed();

  Context context_;
  std::map<std::string, Node, std::less<>> nodes_;                        // by uid
  std::map<std::string, std::set<std::string>, std::less<>> dependents_;  // uid of an owner -> uids
  std::set<std::string> unresolved_;                                      // uids with an owner of unknown kind
  std::map<std::string, Target> orphaning_;                               // by uid
  uint64_t registry_changes_ = 0;
  uint64_t seen_ = 0;
  WorkQueue<std::string> queue_;  // uids
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
