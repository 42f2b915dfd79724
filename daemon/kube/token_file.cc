#include "kube/token_file.h"

#include <algorithm>

#include "base/fd.h"

namespace hookd::kube {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

Result<std::string> read_token_file(const std::string& path) {
  constexpr size_t kMaxBytes = 1u << 20;
  auto content = read_file(path, kMaxBytes);
  if (!content) {
    Error error = std::move(content).error();
    error.code = Errc::kConfig;
    return fail(std::move(error));
  }
  const std::string_view token = trim(*content);
  if (token.empty()) return fail(Errc::kConfig, "{}: the token file is empty", path);
  if (token.find_first_of(" \t") != token.npos || !is_header_value(token))
    return fail(Errc::kConfig, "{}: not a token: spaces, line breaks or control characters inside", path);
  return std::string(token);
}

}  // namespace hookd::kube
