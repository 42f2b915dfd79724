#include "config/quantity.h"

#include <array>
#include <charconv>
#include <cmath>

namespace hookd::config {
namespace {

struct Suffix {
  std::string_view name;
  double bytes;
};
constexpr std::array<Suffix, 13> kSuffixes{{{"", 1},
                                            {"Ki", 0x1p10},
                                            {"Mi", 0x1p20},
                                            {"Gi", 0x1p30},
                                            {"Ti", 0x1p40},
                                            {"Pi", 0x1p50},
                                            {"Ei", 0x1p60},
                                            {"k", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"P", 1e15},
                                            {"E", 1e18}}};

}  // namespace

Result<uint64_t> parse_quantity(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(Errc::kConfig, "\"{}\" is not a size: {}; write it like 256Mi, 1.5Gi or 500k", text, why);
  };
  const size_t length = std::min(text.find_first_not_of("0123456789."), text.size());
  if (length == 0) return bad("a number was expected");
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + length, number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + length) return bad("a number was expected");
  const std::string_view name = text.substr(length);
  const auto suffix = std::ranges::find(kSuffixes, name, &Suffix::name);
  if (suffix == kSuffixes.end()) return bad("the suffix is unknown");
  if (length == text.size() && text.find('.') == std::string_view::npos) {  // whole bytes are exact
    uint64_t bytes = 0;
    if (std::from_chars(text.data(), text.data() + length, bytes).ec != std::errc{}) return bad("it is over 64 bits");
    return bytes;
  }
  const double bytes = std::ceil(number * suffix->bytes);
  if (bytes >= 0x1p64) return bad("it is over 64 bits");
  return static_cast<uint64_t>(bytes);
}

std::string format_quantity(uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kNames{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t step = 0;
  while (step + 1 < kNames.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++step;
  }
  return fmt::format("{}{}", bytes, kNames[step]);
}

}  // namespace hookd::config
