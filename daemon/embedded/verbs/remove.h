// Delete: grace periods, finalizers, propagation. Thread: loop only.
// Source: API docs "Garbage Collection", "Finalizers", "Pod Lifecycle: termination of Pods".
#pragma once

#include "embedded/verbs/world.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {

struct Removed {
  json::object object;     // the object, marked or as it was last
  bool gone = false;       // not in the store any more
  bool as_status = false;  // the client gets a Status, not the object
  std::string uid;
};
// Errors: 404, 409 (preconditions), 403 (the kind's own).
Answer<Removed> remove_object(const WriteCall& call, DeleteOptions options);

// What a client gets for it: the object, or {"kind":"Status","status":"Success","details":{...}}.
json::object removed_reply(const WriteCall& call, Removed removed);

}  // namespace hookd::embedded
