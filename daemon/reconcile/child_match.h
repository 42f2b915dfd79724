// Is an object as a manifest says? The manifest's fields alone count; what it does not mention is other people's.
// Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hookd::reconcile {

enum class Doubt {
  kDiffers,  // lists are compared one by one; empty is not missing: for "is it to be applied", which does no harm
  kSame,  // lists of maps by their merge keys with others between, zero values may be missing, empty ones say nothing,
          // another apiVersion is not compared: for "is it to be deleted"
};

// Maps: all members of `manifest` are in `object`. metadata.ownerReferences and our annotation are not looked at.
// Unreadable text: differs if in doubt it does.
bool is_as_wanted(std::string_view manifest, std::string_view object, Doubt doubt);

// A hash of what `object` has at the places that `manifest` sets, but for those that it leaves empty; nullopt: one of
// them cannot be read, or they are of different apiVersions. Never 0.
std::optional<uint64_t> what_is_set(std::string_view manifest, std::string_view object);

}  // namespace hookd::reconcile
