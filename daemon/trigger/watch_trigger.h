// One `watch` binding: which objects take part, since when, and what events that makes. Thread: loop only.
// Source: product.md section 1 (`watch`); k8s-client.md R25 (leaving a selection is a deletion), R44.
//
//   an object is   when                                         leaves it by
//   outside        another namespace or name, or `when` false   coming to match
//   waiting        `when` holds, `for` is not over yet          its timer -> inside; `when` false -> outside, silently
//   inside         in the snapshot; its changes are events      `when` false or deleted -> outside, event Deleted
//
// With a durable store, what comes inside is remembered until its Deleted event was handled: what went while the daemon
// was down is told after a restart (missed_deletions.h).
//
// A change of an inside object is an event if `value` (or, without one, the resource version) differs.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "hook/event.h"
#include "hook/model.h"
#include "kube/informer.h"
#include "metrics/registry.h"
#include "trigger/emit.h"
#include "trigger/known_objects.h"
#include "trigger/missed_deletions.h"
#include "trigger/namespace_set.h"
#include "trigger/own_write_filter.h"

namespace hookd::trigger {

// Where a binding remembers over restarts; `store` null: nowhere.
struct WatchMemory {
  state::Store* store = nullptr;
  std::string cluster;  // the server's address
};

class WatchTrigger {
 public:
  // `hook` must hold `binding`. `on_ready` once: the snapshot is known, and what existed was told.
  WatchTrigger(std::shared_ptr<const hook::Hook> hook, const hook::WatchBinding& binding, kube::InformerPool& pool,
               Scheduler& scheduler, metrics::Registry& metrics, Emit emit, std::function<void()> on_ready,
               WatchMemory memory = {});
  void start();
  // Called when an object goes of which no event tells, as the binding has no `deleted`: (queue key, object).
  void on_silent_leave(std::function<void(const std::string&, const cache::Object&)> callback) {
    silent_leave_ = std::move(callback);
  }

  // For `ownWrites: ignore`, before start(). The events that are held back until it is known whose they are come with
  // flush_held() at once.
  void ignore_own_writes(hook::OwnWrites& writes);
  void flush_held() {
    if (own_writes_) own_writes_->flush();
  }

  void stop();  // no more changes come; the snapshot stays
  bool ready() const { return ready_; }
  // Nothing of what went while the daemon was down is still to be told.
  bool caught_up() const { return !missed_ || missed_->done(); }
  // Before start(): an older version of the hook was told of that deletion and hands it over. It is not told a second
  // time, which could be behind its namesake.
  void deletion_taken_over(const cache::Object& object);
  // The hook is through with a Deleted event of this binding.
  void deletion_handled(const cache::Object& object);
  hook::Snapshot snapshot() const;  // of this moment; only when ready()
  // The newest state of an inside object, as `keep` says; nullopt if it is not inside (for calls that are made again).
  std::optional<hook::SnapshotEntry> inside(const std::string& object_key, const std::string& uid) const;
  std::optional<hook::SnapshotEntry> inside(const std::string& object_key) const;  // whatever its uid
  const std::shared_ptr<const kube::ResourceType>& type() const { return type_; }
  const hook::WatchBinding& binding() const { return binding_; }
  size_t objects() const { return members_.size() - waiting(); }  // inside
  size_t waiting() const;                                         // objects whose `for` is not over
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  // Wall time may be set while an object waits: with `since` the clock is looked at this often.
  static constexpr Duration kLook = std::chrono::seconds(30);

 private:
  struct Member {
    cache::ObjectPtr object;  // as `keep` says
    std::shared_ptr<const std::string> value;
    cache::ObjectPtr latest;  // while waiting: what the event will carry
    bool inside = false;
    SteadyTime first{};             // since when it waits
    std::optional<WallTime> since;  // what the object itself says
    Timer timer;

    const cache::Object& newest() const { return inside ? *object : *latest; }
  };
  struct Stream {
    std::shared_ptr<kube::Informer> informer;
    std::unique_ptr<kube::Informer::Subscription> subscription;
  };

  void changed(const Stream& stream, const cache::Change& change, std::string_view text);
  void take_in(const Stream& stream, const cache::Change& change, std::string_view text);
  void note_type(const kube::Informer& informer);
  void namespace_changed(const std::string& name, bool in);
  bool takes_part(const cache::Object& object, std::string_view text);
  void hold(const std::string& key, Member& member, const cache::ObjectPtr& object, std::string_view text,
            bool initial);
  Duration time_left(const Member& member) const;
  void wait(const std::string& key, Member& member);
  void enter(const std::string& key, Member& member, const cache::ObjectPtr& object, std::string_view text,
             bool initial);
  void update(const std::string& key, Member& member, const cache::Change& change, std::string_view text);
  void leave(const std::string& key, const cache::ObjectPtr& last, bool final_state_unknown);
  void keep(Member& member, const cache::ObjectPtr& object, std::shared_ptr<const std::string> value);
  std::shared_ptr<const std::string> value_of(std::string_view text, const std::string& key);
  std::optional<WallTime> since_of(std::string_view text, const std::string& key);
  void filter_failed(std::string_view which, const std::string& key, const Error& error);
  void check_ready();
  void look_for_missed();
  void tell_gone(const std::string& key, const std::string& uid);
  MissedDeletions::Now look(const KnownObjects::Row& row) const;
  std::string queue_key(const cache::Object& object) const;
  void emit(hook::Event::Type type, const cache::ObjectPtr& object, std::shared_ptr<const std::string> value,
            const cache::ObjectPtr& old = nullptr, std::shared_ptr<const std::string> old_value = nullptr,
            bool unknown = false);

  std::shared_ptr<const hook::Hook> hook_;
  const hook::WatchBinding& binding_;
  kube::InformerPool& pool_;
  Scheduler& scheduler_;
  metrics::Registry& metrics_;
  Emit emit_;
  std::function<void()> on_ready_;
  std::list<Stream> streams_;
  std::unique_ptr<NamespaceSet> namespaces_;
  std::set<std::string> names_;
  std::shared_ptr<const kube::ResourceType> type_;
  std::map<std::string, Member> members_;
  std::function<void(const std::string&, const cache::Object&)> silent_leave_;
  std::unique_ptr<KnownObjects> known_;                 // null: nothing is remembered
  std::set<std::pair<std::string, std::string>> told_;  // object, uid: Deleted events that are not handled yet
  std::unique_ptr<MissedDeletions> missed_;
  std::unique_ptr<OwnWriteFilter> own_writes_;  // null: they are delivered
  const cache::Change* change_ = nullptr;       // that is being taken in, with its text
  std::string_view change_text_;
  bool ready_ = false;
  uint64_t filter_errors_ = 0;
};

}  // namespace hookd::trigger
