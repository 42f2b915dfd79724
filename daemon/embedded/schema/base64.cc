#include "embedded/schema/base64.h"

#include <cstdint>

namespace hookd::embedded {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool line_end(char c) { return c == '\n' || c == '\r'; }

}  // namespace

std::expected<std::string, size_t> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t in_group = 0, at = 0;
  const auto skip = [&] {
    while (at < text.size() && line_end(text[at])) ++at;
  };
  for (skip(); at < text.size(); skip()) {
    const char c = text[at++];
    if (c == '=') {
      if (in_group < 2) return std::unexpected(at - 1);
      if (in_group == 2) {
        skip();
        if (at == text.size()) return std::unexpected(text.size());
        if (text[at] != '=') return std::unexpected(at - 1);
        ++at;
      }
      skip();
      if (at < text.size()) return std::unexpected(at);
      bytes.push_back(static_cast<char>((group >> (in_group == 2 ? 4 : 10)) & 0xFF));
      if (in_group == 3) bytes.push_back(static_cast<char>((group >> 2) & 0xFF));
      return bytes;
    }
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::unexpected(at - 1);
    group = (group << 6) | static_cast<uint32_t>(value);
    if (++in_group < 4) continue;
    bytes.push_back(static_cast<char>((group >> 16) & 0xFF));
    bytes.push_back(static_cast<char>((group >> 8) & 0xFF));
    bytes.push_back(static_cast<char>(group & 0xFF));
    group = 0;
    in_group = 0;
  }
  if (in_group != 0) return std::unexpected(text.size() - in_group);
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = bytes.size() - i;
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text.push_back(k <= count ? kAlphabet[(group >> (18 - 6 * k)) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace hookd::embedded
