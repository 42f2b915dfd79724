#include "kube/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hookd::kube {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= have ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0;  // of the group under way, padding included
  size_t padding = 0;
  bool ended = false;
  for (const char c : text) {
    if (c == '\r' || c == '\n') continue;
    const int value = kValues[static_cast<unsigned char>(c)];
    if (ended || (c != '=' && (value < 0 || padding > 0)) || (c == '=' && digits < 2)) return std::nullopt;
    if (c == '=') ++padding;
    group = group << 6 | static_cast<uint32_t>(c == '=' ? 0 : value);
    if (++digits < 4) continue;
    for (size_t k = 0; k < 3 - padding; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 0xff);
    ended = padding > 0;
    group = 0;
    digits = 0;
  }
  if (digits != 0) return std::nullopt;
  return out;
}

}  // namespace hookd::kube
