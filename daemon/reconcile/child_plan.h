// What has to be written so that a parent's children are those that its hook wants. Pure. Thread: any.
// Source: product.md section 6; controllers.md 1.5 (deletes first, uid preconditions, Background), 1.6 (roll-outs).
//
//   observed (owned, by key)  ×  desired (from the answer)  ─►  deletes, releases, then creates and updates, conflicts
//
//   update           missing   differs from what is wanted                       changed by others, in what is wanted
//   apply            made      applied                                           applied
//   recreate         made      deleted, made anew when it is gone                the same
//   onDelete         made      left alone                                        left alone
//   rolling          made      applied, one after another                        applied at once
//   rollingRecreate  made      deleted, one after another, made anew when gone   the same, one after another
//
// Fields that the manifest does not set are other people's. A child that ends is left alone, and nothing of its name is
// made until it is gone. An object of a wanted name that is not the parent's is neither changed nor deleted: made is
// with apply::kMustNotExist, everything else with the uid of what was seen.
#pragma once

#include <functional>
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
  std::shared_ptr<const kube::ResourceType> type;  // null: the cluster does not serve it now
};

// A child as the hook wants it.
struct Desired {
  ChildKind kind;
  std::string api_version;  // as the manifest says: another version of the kind's group is fine
  std::string ns, name;     // ns "" = cluster scope
  // The manifest: as the hook wrote it, with its namespace, without what only the server sets (uid, resourceVersion,
  // managedFields, … of an object that was copied), without a status that has a subresource of its own, without our
  // reference and annotation.
  std::string text;
  uint64_t hash = 0;  // of `text`, whatever the order of its keys
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
  std::string display() const { return kind.type->kind + " " + key(); }  // "Pod a/b"
};

struct Observed {
  ChildKind kind;
  cache::ObjectPtr object;
};

// Reads the manifests of an answer (raw JSON objects) against the declared kinds. A child without namespace gets the
// parent's. Errors: kInvalid, naming the child by its place and name: a manifest that is none, a kind that is not
// declared, a child twice, the parent itself, another namespace than the parent's (a namespaced owner's children must
// live there, or the garbage collector takes them), a missing one below a cluster-scoped parent, a generateName, an
// ownerReferences of its own with another controller, a child that its rule's `namespaces` or `labelSelector` would
// hide; kUnavailable: the cluster does not serve the kind now.
Result<std::vector<Desired>> read_desired(const std::vector<std::string_view>& manifests,
                                          const std::vector<ChildKind>& kinds, const kube::ResourceType& parent_type,
                                          const cache::Identity& parent);

struct ChildPlan {
  std::vector<apply::Operation> removals;  // deletions and releases: to be done before
  std::vector<apply::Operation> writes;    // creates, updates, adoptions, in the answer's order; with keep_object
  // By index of `writes`: for WriteMemory::wrote(), which ignores those that are not to be remembered (child "").
  std::vector<WriteMemory::Key> written;
  // Children that are as wanted, which the memory does not know of: wrote(key, object->uid, text) spares work.
  struct Same {
    WriteMemory::Key key;
    cache::ObjectPtr object;
  };
  std::vector<Same> same;
  struct Conflict {
    std::string child;     // "Deployment a/b"
    std::string text;      // whose it is, and what to do
    bool passing = false;  // it goes by itself: the object ends, or its owner is gone
  };
  std::vector<Conflict> conflicts;
  std::vector<std::string> waiting;  // why a roll-out does not go on: "Pod a/web-2: condition Ready is False"
  std::vector<std::string> moving;   // moved by a roll-out in this plan: "Pod a/web-1"
  bool rolling = false;              // a roll-out is not at its end
};

struct PlanInput {
  const kube::ResourceType& parent_type;
  const cache::Identity& parent;
  const std::vector<Desired>& desired;    // in the answer's order
  const std::vector<Observed>& observed;  // controlled by the parent
  // Objects of a desired name that the parent does not control; null = there is none that is known.
  std::function<cache::ObjectPtr(const ChildKind&, std::string_view ns, std::string_view name)> other;
  const WriteMemory& memory;
  bool remove = true;  // children that are not desired go
  bool write = true;   // false: nothing is made or changed (the parent goes, in a way that takes its children along)
};

// Server-side apply of what differs; nothing for what is as wanted.
ChildPlan plan_children(const PlanInput& input);

// On children of all rules but `apply`: from which manifest they were made, so that this is known after a restart too.
// Its value begins with the number of the hash's kind; one of another kind is not compared.
inline constexpr std::string_view kManifestHash = "hookd.dev/manifest-hash";

}  // namespace hookd::reconcile
