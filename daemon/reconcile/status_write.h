// Whether a status that a hook answered has to be written, and how. Thread: loop only.
// Source: product.md section 6 ("only when it differs"); controllers.md section 4 (hot loops).
//
//   what was answered        and what the object shows                 then
//   the same as last time    as the write left it, or holds all of it  nothing: what the server made of it (defaults,
//   number
//                                                                      forms, keys of others) is no difference
//   anything                 just that                                 nothing
//   anything else                                                      server-side apply of the status subresource:
//   keys
//                                                                      that the hook set before and does not any more
//                                                                      go
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "apply/operation.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

// Equal as values: numbers by value, members in any order. Texts that are no JSON are never the same.
bool same_json(std::string_view one, std::string_view other);
// Does `whole` have all that `part` says? Members more are fine; lists must have the same length.
bool holds_json(std::string_view whole, std::string_view part);

class StatusWrites {
 public:
  // `observed` is the parent as the watch shows it, `status` a JSON object. nullopt = nothing is to be written.
  std::optional<apply::Operation> plan(const kube::ResourceType& type, const cache::Identity& parent,
                                       std::string_view observed, std::string_view status);
  // After that write: `object` as the server answered it.
  void wrote(const cache::Identity& parent, std::string_view status, std::string_view object);
  void forget(const std::string& uid) { last_.erase(uid); }

 private:
  struct Entry {
    uint64_t answered = 0, left = 0;  // hashes: of what the hook said, of the status after it
  };
  std::unordered_map<std::string, Entry> last_;  // by uid
};

}  // namespace hookd::reconcile
