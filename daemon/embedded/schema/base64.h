// []byte in JSON: standard base64 with padding, line ends skipped, as Go reads it. Thread: any.
// Source: RFC 4648 section 4.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace hookd::embedded {

// Errors: the offset of the first byte that does not fit ("illegal base64 data at input byte 4").
std::expected<std::string, size_t> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace hookd::embedded
