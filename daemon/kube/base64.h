// Standard base64 (RFC 4648 section 4, with padding). Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hookd::kube {

std::string base64_encode(std::string_view bytes);
// Line breaks are skipped, as Go does; anything else outside the alphabet, or missing padding, gives nullopt.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace hookd::kube
