// The values of OpenAPI's `format`, and its patterns. Thread: any.
// Source: the formats that CRDs of Kubernetes 1.36 know; RE2 syntax as far as Boost.Regex shares it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hookd::embedded {

// A format that CRDs know ("date-time" and "datetime" are one); the others are not checked.
bool known_format(std::string_view format);
// True for a format that is not known.
bool matches_format(std::string_view format, std::string_view text);

// Does the pattern match anywhere in `text` (UTF-8)? Nothing = the pattern is no regular expression.
std::optional<bool> matches_pattern(const std::string& pattern, std::string_view text);
// Why `pattern` is no regular expression, "" = it is one.
std::string pattern_problem(const std::string& pattern);

}  // namespace hookd::embedded
