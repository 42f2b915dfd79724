// What happened to what, in the words of causes, and what it is called. Pure. Thread: any. Source: product.md section 6
// (`causes`).
#pragma once

#include <string>
#include <string_view>

#include "cache/object_store.h"
#include "hook/event.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

std::string_view type_of(cache::Change::Type type);  // "Added"

// "Deployment.apps/v1", "Pod.v1": how kinds are told apart in `children` and in causes.
std::string kind_key(const kube::ResourceType& type);

std::string display_of(const kube::ResourceType& type, const cache::Identity& object);  // "Pod a/b"

// `kind` null: not known.
hook::ReconcileCause cause_of(std::string binding, std::string_view type, const kube::ResourceType* kind,
                              const cache::Identity& object);

}  // namespace hookd::reconcile
