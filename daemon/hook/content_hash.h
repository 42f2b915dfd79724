// The hash that tells whether a hook changed between two loads. xxHash XXH3, 64 bits. Thread: any.
#pragma once

#include <cstdint>
#include <string_view>

namespace hookd::hook {

uint64_t content_hash(std::string_view bytes, uint64_t seed = 0);

}  // namespace hookd::hook
