// The grammar of the fast path. Thread: any.
#pragma once

#include "filter/fast_path.h"

namespace hookd::filter {

// nullopt: an expression that the fast path does not know (or that is wrong).
std::optional<FastPath::Node> parse_fast(std::string_view expression);

}  // namespace hookd::filter
