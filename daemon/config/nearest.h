// "did you mean …?" Thread: any.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace hookd::config {

// The number of letters put in, taken out or changed between two short texts (Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b);

// The one of `known` that `word` was most likely meant to be, "" if none is near: case does not count, an
// exchange of two neighbours is one step, one step for each three letters is allowed.
std::string nearest(std::string_view word, const std::set<std::string, std::less<>>& known);

// `; did you mean "x"?`, else `; known are a, b, c` (with no more than 16), else "".
std::string hint(std::string_view word, const std::set<std::string, std::less<>>& known);

}  // namespace hookd::config
