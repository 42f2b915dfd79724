// The status of PodDisruptionBudgets: how many pods there should be, are healthy, and may be evicted. Thread: loop
// only. Source: API docs "Specifying a Disruption Budget"; the disruption controller of Kubernetes 1.36. Its Events
// (NoPods, UnmanagedPods) are not written.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "embedded/control/context.h"
#include "embedded/control/work_queue.h"

namespace hookd::embedded::control {

class Budgets {
 public:
  explicit Budgets(const Context& context);
  bool settled() const { return queue_.settled(); }

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  // What counts of a pod, so that it is not read anew for every change of another one.
  struct Pod {
    std::string name;
    uint64_t revision = 0;
    json::object labels, owner;  // owner: the reference to what controls it, {} without one
    bool ending = false, ready = false;
  };
  using PodPtr = std::shared_ptr<const Pod>;

  void on_event(const StoreEvent& event);
  void sync(const Key& key);
  PodPtr pod_of(const Stored& stored);
  std::vector<PodPtr> pods_of(const json::object& budget, const std::string& ns);
  // The sum of the scales of what controls these pods; else why it is not known.
  std::expected<int64_t, std::string> expected_scale(const std::vector<PodPtr>& pods, const std::string& ns) const;
  struct Controller {
    std::string uid;
    int64_t scale = 0;
  };
  std::expected<std::optional<Controller>, std::string> controller_of(const json::object& owner,
                                                                      const std::string& ns) const;
  void write(const Key& key, json::object status);
  void fail(const Key& key, const json::object& budget, const std::string& why);

  Context context_;
  std::map<std::string, std::set<std::string>> budgets_;  // names by namespace
  std::unordered_map<std::string, PodPtr> pods_;          // by uid, of namespaces with budgets
  std::map<Key, Timer> rechecks_;                         // when evicted pods should have gone
  WorkQueue<Key> queue_;
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
