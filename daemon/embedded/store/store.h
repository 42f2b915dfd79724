// The objects, the log of their changes, and who watches. Thread: loop only.
// Source: k8s-client.md R (what a list and a watch promise); API docs "Resource versions", "API concepts: watch".
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

struct Stored {
  std::string ns;  // "" = cluster scope
  std::string name;
  std::string uid;
  uint64_t revision = 0;  // metadata.resourceVersion, also in the text
  std::string text;       // whole JSON, in the storage version
};
using StoredPtr = std::shared_ptr<const Stored>;

struct StoreEvent {
  enum class Type : uint8_t { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  uint64_t revision = 0;
  std::string storage_key;
  StoredPtr object;    // after; for kDeleted the last state with the deletion's revision in its text
  StoredPtr previous;  // before, null for kAdded
};

class Store {
 public:
  explicit Store(Scheduler& scheduler);

  uint64_t revision() const { return revision_; }

  StoredPtr get(std::string_view storage_key, std::string_view ns, std::string_view name) const;
  // In the order of ns/name, beginning after `after` ("ns/name", "" = the start); `ns` "" = every namespace.
  // `visit` returns false to stop.
  void scan(std::string_view storage_key, std::string_view ns, std::string_view after,
            const std::function<bool(const StoredPtr&)>& visit) const;
  size_t count(std::string_view storage_key) const;
  std::vector<std::string> storage_keys() const;

  // The past, from the log: what the objects that changed after `revision` were then, by "ns/name"; null = not there.
  // nullopt = compacted away (410). Together with scan() this is a list at that revision.
  using Past = std::map<std::string, StoredPtr, std::less<>>;
  std::optional<Past> past(std::string_view storage_key, uint64_t revision) const;

  // Writes. `text` is made with the revision that the write will have: next_revision(), which these then use.
  uint64_t next_revision() const { return revision_ + 1; }
  StoredPtr put(std::string_view storage_key, Stored object);  // create or replace
  void remove(std::string_view storage_key, std::string_view ns, std::string_view name, std::string last_text);

  // Changes after `revision`, oldest first; false = compacted away (410).
  bool replay(uint64_t revision, const std::function<void(const StoreEvent&)>& visit) const;
  uint64_t oldest_replayable() const { return compacted_; }  // a watch may start after this revision or later
  void compact(uint64_t revision);                           // forgets changes up to it; done by age and size too

  // Tells every change as it happens, in order; never from inside subscribe(). A listener that writes makes the next
  // change, which is told after this one.
  using Listener = std::function<void(const StoreEvent&)>;
  class Subscription {
   public:
    Subscription() = default;
    ~Subscription();
    Subscription(Subscription&&) noexcept;
    Subscription& operator=(Subscription&&) noexcept;

   private:
    friend class Store;
    Store* store_ = nullptr;
    uint64_t id_ = 0;
    std::weak_ptr<bool> alive_;
  };
  // "" = of every kind
  [[nodiscard]] Subscription subscribe(std::string storage_key, Listener listener);

  static constexpr size_t kLogEvents = 50'000;
  static constexpr size_t kLogBytes = size_t{128} << 20;  // of the texts; what is stored now shares them
  static constexpr Duration kLogAge = std::chrono::minutes(5);
  static constexpr size_t kLogKept = 1000;  // so many stay whatever their age

 private:
  using Objects = std::map<std::string, StoredPtr, std::less<>>;  // by "ns/name", "/name" for cluster scope
  std::map<std::string, Objects, std::less<>> objects_;
  std::deque<std::pair<SteadyTime, StoreEvent>> log_;
  size_t log_bytes_ = 0;
  struct Subscriber {
    std::string storage_key;
    Listener listener;
  };
  void publish(StoreEvent event);
  void forget_oldest();
  void trim();
  std::map<uint64_t, Subscriber> subscribers_;
  std::deque<StoreEvent> telling_;  // changes made by listeners while one is told
  bool publishing_ = false;
  Scheduler& scheduler_;
  uint64_t revision_ = 1;
  uint64_t compacted_ = 0;
  uint64_t last_subscriber_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::embedded
