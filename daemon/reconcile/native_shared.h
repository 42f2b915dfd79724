// What the passes of one hook share: the world as it is followed, and what is remembered of their writes.
// Thread: loop only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hook/reconciler.h"
#include "reconcile/child_index.h"
#include "reconcile/handled.h"
#include "reconcile/own_versions.h"
#include "reconcile/parent_set.h"
#include "reconcile/related_index.h"
#include "reconcile/slow_keys.h"
#include "reconcile/status_write.h"
#include "reconcile/write_memory.h"

namespace hookd::reconcile {

struct NativeShared {
  NativeShared(std::shared_ptr<const hook::Hook> the_hook, hook::ReconcilerServices the_services)
      : hook(std::move(the_hook)), services(std::move(the_services)) {}

  struct Children {
    const hook::ChildRule* rule;
    std::unique_ptr<ChildIndex> index;
  };
  struct Related {
    const hook::RelatedRule* rule;
    std::unique_ptr<RelatedIndex> index;
  };

  const std::shared_ptr<const hook::Hook> hook;
  hook::ReconcilerServices services;
  const hook::Reconcile& rule() const { return *hook->reconcile; }

  std::unique_ptr<ParentSet> parents;
  std::vector<Children> children;
  std::vector<Related> related;
  OwnVersions own{services.scheduler};
  WriteMemory memory{services.dry_run ? nullptr : services.store, hook->name};
  SlowKeys slow{services.scheduler,
                {[this](const std::string& key, hook::Event event) { services.emit(key, std::move(event)); },
                 [this](const std::string& key) {
                   const auto parent = parents->find(key);
                   return parent ? parent->object : nullptr;
                 },
                 [](const std::string&, std::string_view text) { return essence_of(text); }}};
  StatusWrites statuses;
  Handled handled{services.dry_run ? nullptr : services.store, services.scheduler, hook->name};
  std::set<std::string> released;              // uids of parents that went with our leave: their hook knows
  std::map<std::string, std::string> waiting;  // by key: why its roll-out does not go on
  std::string status_trouble;
  std::map<std::string, std::string> not_asked;  // by key: which `select` fails, as it was told

  bool ready() const;
  // Why it is not known what is related to it; nullopt = it is.
  std::optional<std::string> unknown_related(const std::string& key) const;
  // What the hook is told of a parent, all kinds being known; "" = there is no such parent.
  std::string digest_of(const std::string& key) const;
  // A Warning Event on the parent; the same again only after kToldEach or another text between (`whatever`: also a text
  // that is another). Not in a dry run.
  void warn(const std::string& key, const kube::ResourceType& type, const cache::Identity& parent,
            std::string_view reason, std::string message, bool whatever = false);
  void all_well(const std::string& key) { untell(key, false); }  // what was told of it may be told anew
  // An object stands where a child of the key should be and is not ours: its change calls the key.
  void block(const std::string& key, std::string blocker);
  void unblock(const std::string& key);
  std::vector<std::string> blocked_by(const kube::ResourceType& type, const cache::Identity& object) const;
  void forget(const std::string& key, const std::string& uid);  // the parent is no more
  void look_for_status();                                       // asks discovery anew, now and then

  static std::string blocker(const kube::ResourceType& type, std::string_view ns, std::string_view name);
  static constexpr Duration kToldEach = std::chrono::minutes(10);
  static constexpr Duration kStatusLook = std::chrono::seconds(30);

 private:
  std::optional<SteadyTime> status_looked_;
  struct Told {
    uint64_t message = 0;  // hash; 0 = none
    SteadyTime at{};
  };
  // Of what goes on although passes end well (RepeatedWrites, NoStatus), the rest keeps its own time.
  void untell(const std::string& key, bool also_lasting);

  std::map<std::pair<std::string, std::string>, Told> told_;  // by key and reason
  std::map<std::string, std::set<std::string>> blocked_;      // keys by blocker()
  std::map<std::string, std::set<std::string>> blockers_;     // the same the other way round
};

}  // namespace hookd::reconcile
