// What the passes of one CompositeController or DecoratorController share: the world as it is followed, and what is
// remembered of their writes. Thread: loop only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compat/metacontroller/hook_callers.h"
#include "compat/metacontroller/orphan_index.h"
#include "compat/metacontroller/related.h"
#include "compat/metacontroller/selector_index.h"
#include "compat/metacontroller/spec.h"
#include "hook/reconciler.h"
#include "reconcile/child_index.h"
#include "reconcile/own_versions.h"
#include "reconcile/parent_set.h"
#include "reconcile/slow_keys.h"
#include "reconcile/write_memory.h"

namespace hookd::metacontroller {

struct ControllerWorld {
  ControllerWorld(std::shared_ptr<const ControllerSpec> the_spec, ApplyOptions the_options,
                  std::shared_ptr<const hook::Hook> the_hook, hook::ReconcilerServices the_services)
      : spec(std::move(the_spec)),
        options(std::move(the_options)),
        hook(std::move(the_hook)),
        services(std::move(the_services)),
        callers(spec, hook, services) {}

  struct Parents {
    const ParentResource* rule;
    std::unique_ptr<reconcile::ParentSet> set;
  };
  struct Children {
    const ChildResource* rule;
    std::unique_ptr<reconcile::ChildIndex> index;
    OrphanIndex orphans{};  // of a CompositeController
    bool was_ready = false;
  };
  struct Customized {  // the answer of a customize hook
    std::string uid;
    uint64_t essence = 0;  // of the parent that it was asked for
    SteadyTime at{};
  };
  struct Decorated {  // keys of the parent that a DecoratorController's hook sets or takes away
    std::set<std::string> labels, annotations;
  };

  const std::shared_ptr<const ControllerSpec> spec;
  const ApplyOptions options;
  const std::shared_ptr<const hook::Hook> hook;
  hook::ReconcilerServices services;
  HookCallers callers;

  std::vector<Parents> parents;
  std::vector<Children> children;
  std::unique_ptr<reconcile::ChildIndex> revisions;  // null: nothing rolls
  std::unique_ptr<RelatedObjects> related;
  SelectorIndex selectors;  // of the parents of a CompositeController without generateSelector
  reconcile::OwnVersions own{services.scheduler};
  reconcile::WriteMemory memory;
  reconcile::SlowKeys slow{
      services.scheduler,
      {[this](const std::string& key, hook::Event event) { services.emit(key, std::move(event)); },
       [this](const std::string& key) {
         const auto found = find(key);
         return found ? found->parent.object : nullptr;
       },
       [this](const std::string& key, std::string_view parent) { return reason_of(key, parent); }}};
  std::map<std::string, Customized> customized;  // by key
  std::map<std::string, Decorated> decorated;    // by key
  std::map<std::string, std::string> waiting;    // by key: why its roll-out does not go on
  std::map<const void*, std::function<void()>> related_waits;

  // Keys of parents: ns/name; with several kinds of parents "statefulsets.apps:ns/name".
  std::string key_of(const Parents& of, std::string_view parent_key) const;
  struct Found {
    const Parents* of;
    reconcile::Parent parent;
  };
  std::optional<Found> find(std::string_view key) const;
  std::optional<std::string> key_of_uid(std::string_view uid) const;
  std::vector<std::string> keys() const;

  // A hash of what the parent tells its hook, but for its status and what the hook itself puts on it: only another one
  // is a reason to write anew what was undone.
  uint64_t reason_of(const std::string& key, std::string_view parent) const;

  // A Warning Event on the parent.
  void warn(const kube::ResourceType& type, const cache::Identity& parent, std::string_view reason,
            std::string message);
  // The parent is no more, or none of ours. A pass of it may be under way.
  void forget(const std::string& key);

  // What an answer of customize is good for although nothing changed that it was asked for (upstream's).
  static constexpr Duration kCustomizedFor = std::chrono::minutes(20);
};

}  // namespace hookd::metacontroller
