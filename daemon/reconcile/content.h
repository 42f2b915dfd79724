// JSON by what it says: hashes that do not depend on the order of keys or on white space. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string_view>

namespace hookd::reconcile {

// Of one JSON value (what comes behind it is not looked at); of what is none, of its bytes. Numbers by their digits: 1
// and 1.0 differ. XXH3, the same in every version of hookd (it stands in annotations: kContentKind changes if it ever
// does not).
uint64_t content_of(std::string_view json);
inline constexpr std::string_view kContentKind = "1";

// The hash of two; the order counts.
uint64_t combine(uint64_t one, uint64_t other);

// Of an object, without `status` (unless `with_status`) and what the server alone sets in metadata.
uint64_t object_content(std::string_view object, bool with_status);

}  // namespace hookd::reconcile
