// How control loops write: through the same verbs as clients, in the name of a controller. Thread: loop only.
// Implemented in front of the verbs; unit tests put in a small one of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/wire/status.h"

namespace hookd::embedded::control {

// An object in the store. With a `uid` the write is refused (409 Conflict) if it is another object by now.
struct Target {
  std::string storage_key, ns, name;
  std::string uid{};
};

enum class Propagation : uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct DeleteChoice {
  Propagation propagation = Propagation::kDefault;
  std::optional<int64_t> grace_seconds{};      // nullopt = the object's own
  std::optional<uint64_t> resource_version{};  // precondition
};

class Writer {
 public:
  virtual ~Writer() = default;

  // `object` is whole (apiVersion, kind, metadata.name, metadata.namespace). Errors: as a client would get.
  virtual Answer<void> create(std::string_view storage_key, json::object object, std::string_view manager) = 0;

  // DELETE: an object with finalizers or a grace period stays, marked. Errors: 404, 409 of another uid or version.
  virtual Answer<void> remove(const Target& target, const DeleteChoice& choice) = 0;

  // Reads the object, in its storage version, lets `edit` change it and writes it: "" the main resource, "status",
  // "finalize" (spec.finalizers of a namespace; the namespace goes if nothing holds it any more). `edit` returns false
  // to leave it alone. Taking the last finalizer from an object that is being deleted removes it, as always.
  // `manager` goes into managedFields ("kube-controller-manager", "kube-apiserver").
  using Edit = std::function<bool(json::object& object)>;
  virtual Answer<void> update(const Target& target, std::string_view subresource, std::string_view manager,
                              const Edit& edit) = 0;
};

}  // namespace hookd::embedded::control
