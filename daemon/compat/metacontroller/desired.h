// Children as a hook wants them, put into the shape in which they are written. Pure. Thread: any.
// Source: controllers.md 1.2 (namespaces), 1.4 step 8 (labels), 1.1 (kinds that are not listed are made all the same).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/label_selector.h"
#include "cache/object.h"
#include "compat/metacontroller/response.h"
#include "compat/metacontroller/spec.h"
#include "compat/metacontroller/value.h"
#include "kube/resource_type.h"

namespace hookd::metacontroller {

struct ChildKind {
  const ChildResource* rule = nullptr;  // null: not listed; such are made, never looked at, never deleted
  std::shared_ptr<const kube::ResourceType> type;
};

struct Wanted {
  ChildKind kind;
  std::string ns, name;         // ns "" = cluster scope
  Value object;                 // with namespace, injected label or annotation
  std::string display() const;  // "Pod a/b"
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

struct WantedInput {
  const ControllerSpec& controller;
  const kube::ResourceType& parent_type;
  const cache::Identity& parent;
  // Set for a CompositeController: every child's labels must match it.
  const cache::LabelSelector* selector = nullptr;
  // nullopt: the server has no such kind.
  std::function<std::optional<ChildKind>(const DesiredObject&)> kind_of;
};

// All of an answer or nothing. Errors: kInvalid: a kind that is not served or declared in another version, a child
// twice, another namespace than the parent's (the garbage collector would take such a child), a missing one below a
// cluster-scoped parent, labels that the parent's selector does not match.
Result<std::vector<Wanted>> wanted_children(const std::vector<DesiredObject>& desired, const WantedInput& input);

}  // namespace hookd::metacontroller
