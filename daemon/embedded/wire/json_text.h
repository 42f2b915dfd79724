// JSON in and out as Go's encoding/json does: exact numbers, its words for what is broken. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "embedded/wire/status.h"

namespace hookd::embedded {

// Deeper documents are refused; the real server takes 10,000 levels, no object of a cluster has 100.
inline constexpr size_t kMaxDepth = 256;

// How the error of parse_text() begins where a number is beyond what a double holds: no JSON syntax error.
inline constexpr std::string_view kNumberTooLarge = "json: cannot unmarshal number ";

// The last of duplicate keys wins; halves of surrogate pairs and bytes that are no UTF-8 become U+FFFD. Errors: the
// text of Go's decoder ("invalid character 'x' looking for beginning of value", "unexpected end of JSON input").
std::expected<json::value, std::string> parse_text(std::string_view text);

// What Go's decoder says about a text that is not JSON; "" = nothing is wrong.
std::string json_syntax_error(std::string_view text);

void append_text(std::string& out, const json::value& value);
void append_text(std::string& out, const json::object& object);
std::string to_text(const json::value& value);
std::string to_text(const json::object& object);

// Bytes that are no UTF-8 become U+FFFD, so that what quotes them is JSON.
std::string to_utf8(std::string text);

// YAML as kubectl -o yaml prints it, keys in order.
std::string to_yaml(const json::value& value);
// Indented by two, for people who ask with curl.
std::string to_pretty(std::string_view text);

}  // namespace hookd::embedded
