#include "embedded/wire/base64url.h"

#include <cstdint>

namespace hookd::embedded {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64url_encode(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    const auto n = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j <= n; ++j) out += kAlphabet[bits >> (18 - 6 * j) & 63];
  }
  return out;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const auto at = kAlphabet.find(c);
    if (at == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(at);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xFF);
    }
  }
  return out;
}

}  // namespace hookd::embedded
