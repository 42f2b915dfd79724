// What has to be written so that a parent's children are those that its hook wants. Pure. Thread: any.
// Source: product.md section 6; controllers.md 1.5 (deletes first, uid preconditions, Background).
//
//   observed (owned, by key)  ×  desired (from the answer)  ─►  deletes, releases, then creates and updates, conflicts
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "base/result.h"
#include "cache/object.h"
#include "hook/reconcile_model.h"
#include "kube/resource_type.h"
#include "reconcile/owner.h"
#include "reconcile/write_memory.h"

namespace hookd::reconcile {

struct ChildKind {
  const hook::ChildRule* rule = nullptr;
  std::shared_ptr<const kube::ResourceType> type;
};

// A child as the hook wants it.
struct Desired {
  ChildKind kind;
  std::string ns, name;  // ns "" = cluster scope
  std::string text;      // the manifest, JSON as the hook wrote it
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

struct Observed {
  ChildKind kind;
  cache::ObjectPtr object;
};

// Reads the manifests of an answer (raw JSON objects) against the declared kinds. A child without namespace gets the
// parent's. Errors: kInvalid: a manifest that is none, a kind that is not declared, a child twice, another namespace
// than the parent's (a namespaced owner's children must live there, or the garbage collector takes them), a missing
// one below a cluster-scoped parent, a generateName, an ownerReferences of its own with a controller.
Result<std::vector<Desired>> read_desired(const std::vector<std::string_view>& manifests,
                                          const std::vector<ChildKind>& kinds, const kube::ResourceType& parent_type,
                                          const cache::Identity& parent);

struct ChildPlan {
  std::vector<apply::Operation> removals;  // deletions and releases: to be done before
  std::vector<apply::Operation> writes;    // creates, updates, adoptions
  // By index of `writes`: which child, and the hash of its manifest: for WriteMemory::wrote().
  std::vector<WriteMemory::Key> written;
  struct Conflict {
    std::string child;  // "Deployment a/b"
    std::string text;   // whose it is, and what to do
  };
  std::vector<Conflict> conflicts;
  std::vector<std::string> waiting;  // why a roll-out does not go on: "Pod a/web-2: condition Ready is False"
  bool rolling = false;              // a roll-out is not at its end
};

struct PlanInput {
  const kube::ResourceType& parent_type;
  const cache::Identity& parent;
  const std::vector<Desired>& desired;  // in the answer's order
  const std::vector<Observed>& observed;  // controlled by the parent
  // Objects of a desired name that the parent does not control; null = there is none that is known.
  std::function<cache::ObjectPtr(const ChildKind&, std::string_view ns, std::string_view name)> other;
  const WriteMemory& memory;
  bool remove = true;  // children that are not desired go
  bool write = true;   // false: nothing is made or changed (the parent goes, in a way that takes its children along)
};

// Server-side apply of what differs; nothing for what is as wanted. (apply | recreate | onDelete | rolling*)
ChildPlan plan_children(const PlanInput& input);

}  // namespace hookd::reconcile
