// Base64 for URLs and tokens, without padding (RFC 4648 section 5). Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hookd::embedded {

std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);  // nullopt = not in the alphabet

}  // namespace hookd::embedded
