// The body of a request as a JSON value. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/wire/media.h"

namespace hookd::embedded {

inline constexpr size_t kMaxBody = 3u << 20;  // as the real server takes

struct Body {
  json::value value;
  std::string text;                       // as JSON; "" if it is the request's own
  std::vector<std::string> duplicates{};  // of YAML: `line 7: key "a" already set in map`
};

// Errors: the decoder's text, without what it was decoded for.
std::expected<Body, std::string> read_body(std::string_view text, Format format);

// 413 "Request entity too large: limit is 3145728".
Answer<void> check_size(std::string_view body);

// `"abc" -> 616263`: how the real server shows a body that it does not understand (30 bytes, hexadecimal unless it
// begins with a brace).
std::string body_summary(std::string_view body);

// `299 - "text"`, for the header Warning.
std::string warning_header(std::string_view text);

}  // namespace hookd::embedded
