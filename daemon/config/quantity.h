// Amounts of bytes as Kubernetes writes them. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::config {

// "256Mi", "1.5Gi", "500k", "1048576": suffixes Ki Mi Gi Ti Pi Ei (1024) and k M G T P E (1000). A fraction of a byte
// is rounded up. Errors: kConfig with what was expected.
Result<uint64_t> parse_quantity(std::string_view text);
std::string format_quantity(uint64_t bytes);  // "32Mi"; the largest 1024 suffix that needs no fraction

}  // namespace hookd::config
