// Parts of objects with requests of their own: scale, binding, eviction, token, log and the like. (status, finalize,
// approval, resize and ephemeralcontainers are updates of the object itself: write.h.) Thread: loop only.
// Source: API reference; API docs "API-initiated Eviction", "Managing Service Accounts".
#pragma once

#include "embedded/verbs/remove.h"
#include "embedded/verbs/reply.h"
#include "embedded/verbs/world.h"

namespace hookd::embedded {

// autoscaling/v1 Scale of an object.
json::object scale_of(const json::object& object, const Resource& resource);
// The object with a scale's replicas. Errors: 422.
Answer<json::object> with_scale(json::object object, const json::object& scale, const WriteCall& call);
// The real server keeps managedFields of a Scale of its own, made from the object's entries that own the replicas, and
// 0 replicas are none there. Hence: what nobody owns is not tracked by updates, 0 is nobody's, and an apply finds what
// nobody owns in the hands of "before-first-apply".
void update_scale_owners(const json::object& live, json::object& next, const WriteCall& call);
json::object with_scale_owner(json::object live, const WriteCall& call);

// POST pods/NAME/binding and /bindings. Errors: 404, 409.
Answer<void> bind_pod(const WriteCall& call, const json::object& binding);
// POST pods/NAME/eviction. Errors: 404, 429 with the cause DisruptionBudget.
Answer<void> evict_pod(const WriteCall& call, const DeleteOptions& options);
// POST serviceaccounts/NAME/token: the TokenRequest with its status.
Answer<json::object> request_token(const WriteCall& call, json::object request);
// GET pods/NAME/log, exec, attach, portforward, proxy: nothing runs here.
// The log of a pod that no node has is no error but empty: 204.
StatusError runs_nothing(const World& world, const Resource& resource, std::string_view ns, std::string_view name,
                         std::string_view subresource);

}  // namespace hookd::embedded
