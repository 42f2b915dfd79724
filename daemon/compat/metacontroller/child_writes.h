// What is written so that a parent's children become what its hook wants. Pure. Thread: any. Source:
// controllers.md 1.5.
//
//   child      wanted   method        dynamic apply                        server-side apply
//   is there   no       any           delete, before all else              the same
//   is going   yes      any           nothing                              the same
//   is there   yes      OnDelete      nothing                              nothing
//                       InPlace       patch of what differs, if any        apply, unless it is as it was applied last
//                       Recreate      delete, if anything differs          dry run of apply, then delete if it changed
//   is not     yes      any           create                               apply
//
// A patch is bound to uid and resourceVersion, so that no field that somebody else set meanwhile is lost; a delete to
// the uid. An object of that name that is not the parent's is an error, never taken.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "cache/object.h"
#include "compat/metacontroller/desired.h"
#include "compat/metacontroller/spec.h"
#include "kube/resource_type.h"
#include "reconcile/write_memory.h"

namespace hookd::metacontroller {

struct ObservedChild {
  ChildKind kind;
  cache::ObjectPtr object;
  std::string text;
  std::string key() const { return object->key(); }
};

struct ChildWrite {
  apply::Operation operation;
  size_t wanted = SIZE_MAX;  // index; SIZE_MAX = of none
  std::string child;         // "Pod a/b"
  std::string before;        // its text, "" = it is made
  bool remember = false;     // for WriteMemory, after it
};

struct ChildWrites {
  std::vector<ChildWrite> removals;  // to be done before the others, whatever becomes of them
  std::vector<ChildWrite> probes;    // dry runs; recreate() tells what follows
  std::vector<ChildWrite> writes;
  std::vector<std::string> errors;  // of single children; the others go on
};

struct ChildWritesInput {
  const ControllerSpec& controller;
  const ApplyOptions& options;
  const kube::ResourceType& parent_type;
  const cache::Identity& parent;
  const std::vector<ObservedChild>& observed;
  const std::vector<Wanted>& wanted;
  // An object of that kind and name that is not among the observed; null = none is known.
  std::function<cache::ObjectPtr(const ChildKind&, std::string_view ns, std::string_view name)> other;
  const reconcile::WriteMemory& memory;
};

ChildWrites plan_child_writes(const ChildWritesInput& input);

// After a probe: has the child to be deleted so that it can be made anew? `after`: the object as the dry run made it.
std::optional<ChildWrite> recreate(const ChildWrite& probe, std::string_view after);

reconcile::WriteMemory::Key memory_key(const Wanted& wanted);

// Would nothing change if the observed child were made what is wanted?
bool is_up_to_date(std::string_view observed, const Wanted& wanted, const ApplyOptions& options);

UpdateMethod method_of(const ControllerSpec& controller, const ChildKind& kind);  // OnDelete where nothing is said

}  // namespace hookd::metacontroller
