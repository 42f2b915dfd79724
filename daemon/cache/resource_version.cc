#include "cache/resource_version.h"

#include <algorithm>

namespace hookd::cache {
namespace {

std::string_view without_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool is_whole(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<int> compare_versions(std::string_view one, std::string_view other) {
  if (!is_whole(one) || !is_whole(other)) return std::nullopt;
  one = without_zeros(one);
  other = without_zeros(other);
  if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
  const int order = one.compare(other);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool newer_version(std::string_view one, std::string_view than) {
  return compare_versions(one, than).value_or(one == than ? 0 : 1) > 0;
}

}  // namespace hookd::cache
