// Read your own writes: what a key wrote last must have come back through the watch before its next pass looks at the
// world. Thread: loop only. Source: product.md section 6 ("no stale read after its own change"); resource versions of
// one kind are comparable numbers (KEP-5504).
//
//   write's answer           seen()/gone() of the object       the key waits
//   version V                V or later came already           no: the watch was quicker than the answer
//   version V                only older ones, or never         until one comes, or kPatience is over
//   deleted, uid U           it went, or another uid came      no
//   deleted, uid U           it is known                       until then
//
// Only for objects that are watched: of others nothing is ever seen, and each write would cost kPatience.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/scheduler.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

class OwnVersions {
 public:
  explicit OwnVersions(Scheduler& scheduler) : scheduler_(scheduler) {}
  OwnVersions(const OwnVersions&) = delete;
  OwnVersions& operator=(const OwnVersions&) = delete;

  // The key wrote that version of an object, or deleted that uid for good; `resource` as hook::resource_of() says.
  void wrote(const std::string& key, const std::string& resource, const cache::Identity& object);
  void deleted(const std::string& key, const std::string& resource, const cache::Identity& object);
  // The watch told of that version, or that the object is no more. Of every object of the kinds that are followed,
  // also of the first list, in the order in which it comes.
  void seen(const std::string& resource, const cache::Identity& object);
  void gone(const std::string& resource, const cache::Identity& object);

  // May the key's next pass look? `look` is called once in a turn of its own once it may, at the latest kPatience after
  // the write (a watch that is down is told by the reconciler's ready(), not waited out here).
  bool clear(const std::string& key) const { return !waiting_.contains(key); }
  void when_clear(const std::string& key, std::function<void()> look);
  void forget(const std::string& key);  // also the `look`

  size_t waiting() const { return waiting_.size(); }  // keys
  size_t remembered() const { return seen_.size(); }  // objects
  uint64_t timeouts() const { return timeouts_; }     // keys that went on without having seen what they wrote

  static constexpr Duration kPatience = std::chrono::seconds(10);
  static constexpr Duration kGoneKept = std::chrono::minutes(1);  // for an answer that comes after the watch's word

 private:
  using Id = uint64_t;  // hash of resource and key: small, as there is one for each object of the cluster
  struct Seen {
    uint64_t version = 0;  // the number, or a hash of what is none
    uint64_t uid = 0;      // hash
    bool number = false;
    bool gone = false;
  };
  struct Waiting {
    std::map<Id, Seen> wishes;  // what is to be seen; `gone`: the uid is to go
    SteadyTime until{};
    Timer timer;
  };
  static Seen state_of(const cache::Identity& object);
  static bool fulfils(const Seen& now, const Seen& wanted);
  void wish(const std::string& key, Id id, const Seen& wanted);
  void tell(Id id, const Seen& now);
  void over(std::map<std::string, Waiting>::iterator waiting);
  void look_soon(const std::string& key, const std::shared_ptr<std::function<void()>>& look);
  void sweep();

  Scheduler& scheduler_;
  std::unordered_map<Id, Seen> seen_;
  std::deque<std::pair<SteadyTime, Id>> gone_;
  std::map<std::string, Waiting> waiting_;
  std::unordered_map<Id, std::set<std::string>> waiting_for_;
  std::map<std::string, std::shared_ptr<std::function<void()>>> looks_;
  uint64_t timeouts_ = 0;
};

}  // namespace hookd::reconcile
