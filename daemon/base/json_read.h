// Reads single fields out of JSON text without building a tree (simdjson on-demand). Thread: any (one parser per
// thread).
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd {

// The raw JSON text of the value at a path of object keys, e.g. {"metadata","labels"}; nullopt if a key is
// missing, a step is no object, or the text is not JSON up to there. The view is into `text`.
std::optional<std::string_view> json_raw_at(std::string_view text, std::initializer_list<std::string_view> path);
// The same, decoded, where the value is a string.
std::optional<std::string> json_string_at(std::string_view text, std::initializer_list<std::string_view> path);

// A whole small document of ours as a tree. Depth at most 256, `limit_bytes` at most; duplicate keys: the last wins.
// Errors: kDecode with line:column and what was wrong.
Result<boost::json::value> parse_json(std::string_view text, size_t limit_bytes = 64u << 20);

// Checks that `text` is one whole JSON value of at most `max_depth` levels, without building anything. Errors: kDecode.
Result<void> validate_json(std::string_view text, size_t max_depth = 10'000);

// JSON is UTF-8 (RFC 8259 section 8.1), which the grammar checks above do not look at.
bool is_utf8(std::string_view text);

}  // namespace hookd
