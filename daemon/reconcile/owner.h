// Owner references. Pure. Thread: any. Source: Kubernetes docs "Owners and Dependents"; controllers.md section 1.4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

struct Owner {
  std::string api_version, kind, name, uid;
  bool operator==(const Owner&) const = default;
};

// The one with `controller: true`; nullopt = there is none. `text` is an object.
std::optional<Owner> controller_of(std::string_view text);

// {"apiVersion","kind","name","uid","controller":true,"blockOwnerDeletion":true}
std::string owner_reference(const kube::ResourceType& type, const cache::Identity& parent);

// metadata.ownerReferences of `text` (a JSON array; "[]" if there is none) with `reference` put in or the one of that
// uid taken out; others are kept.
std::string with_owner(std::string_view text, std::string_view reference, std::string_view uid);
std::string without_owner(std::string_view text, std::string_view uid);

}  // namespace hookd::reconcile
