// Rewrites JSON text as jq prints it with -c, but for numbers, which keep their digits: no white space, strings with
// jq's own escapes, keys in the order of the text. Strict, so that what it takes, jq takes too. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hookd::filter {

// The one value of `json`; nullopt if it is not surely the same value for jq: not JSON, not UTF-8, half a surrogate
// pair, the same key twice in an object, a number beyond double, deeper than 250 levels.
std::optional<std::string> compact_json(std::string_view json);

// Appends one JSON string token, quotes included, with jq's escapes; false as above. UTF-8 must have been checked.
bool append_compact_string(std::string& out, std::string_view token);

// Is `token` a number in JSON's grammar?
bool is_json_number(std::string_view token);

}  // namespace hookd::filter
