// `reconcile` of a hook: level-triggered, one key = one object. Plain values. Thread: any once loaded.
// Source: product.md section 6; every key's meaning and default stands in config/reconcile.md.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "cache/label_selector.h"
#include "filter/filter.h"
#include "hook/namespaces.h"

namespace hookd::hook {

// What of a parent must differ for an update to call the hook (controller-runtime's predicates). A deletionTimestamp
// that appears and a finalizer that goes always do.
struct Changed {
  bool spec = true;  // by generation; of kinds without one: all but metadata and status
  bool labels = true;
  bool annotations = true;
  bool status = false;
};

struct ParentRule {  // `for`
  std::string api_version;
  std::string kind;  // Kind, plural or short name
  Namespaces namespaces;
  std::optional<cache::LabelSelector> label_selector;
  std::shared_ptr<const filter::Filter> when;  // null = always; one that stops to hold while it has our finalizer ends
  Changed changed;
  int line = 0;
};

// A condition that must hold on children that were moved already, or a roll-out pauses.
struct ConditionCheck {
  std::string type;
  std::optional<std::string> status, reason;  // unset = not compared
};

// A finalizer that a hook puts on objects of a kind: it stays there when the hook is removed (app/left_finalizers.h).
struct HeldKind {
  std::string finalizer;
  std::string api_version;
  std::string kind;                       // Kind, plural or short name
  std::vector<std::string> namespaces{};  // of the objects; empty = all
  bool operator==(const HeldKind&) const = default;
};

struct ChildRule {
  std::string api_version;
  std::string kind;
  std::vector<std::string> namespaces;  // watched only there (default: those of `for`); empty = everywhere
  std::optional<cache::LabelSelector> label_selector;  // watched only these
  enum class Update {
    kApply,     // at once, in place
    kRecreate,  // deleted, and made anew when it is gone
    kOnDelete,  // left alone until somebody deletes it
    kRolling,   // in place, one after another, with checks
    kRollingRecreate,
  } update = Update::kApply;
  std::vector<ConditionCheck> checks;  // with kRolling*
  bool adopt = false;                  // an object of that name without controller becomes a child; false: a conflict
  bool release = false;                // no longer wanted: the owner reference goes, not the object
  int line = 0;
};

struct RelatedRule {
  std::string name;  // unique in the hook
  std::string api_version;
  std::string kind;
  Namespaces namespaces;
  std::optional<cache::LabelSelector> label_selector;
  // At most one of them; with neither, all of them are related to every parent.
  std::shared_ptr<const filter::Filter> map;  // of the related object: "name", "ns/name", a list of such, null = none
  std::shared_ptr<const filter::Filter> select;  // of the parent: a label selector, as a map or as LabelSelector
  int line = 0;
};

struct SourceMap {
  std::string source;                         // the name of a SourceBinding
  std::shared_ptr<const filter::Filter> map;  // of its data: "name", "ns/name", a list of such; null = every parent
};

struct Reconcile {
  ParentRule parent;
  std::vector<ChildRule> children;
  std::vector<RelatedRule> related;
  std::vector<SourceMap> sources;
  Duration resync{0};          // every key again, spread out over it; 0 = never
  bool finalizer = false;      // called with "finalizing": true before the object may go
  std::string finalizer_name;  // "hookd.dev/<hook>" unless told otherwise
  enum class AtStart { kAll, kChanged } at_start = AtStart::kAll;  // kChanged: not those handled before a restart
};

}  // namespace hookd::hook
