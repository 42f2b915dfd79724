#include "rehearsal/subset.h"

#include <fmt/format.h>

#include <algorithm>

namespace hookd::rehearsal {
namespace {

using boost::json::value;

constexpr size_t kMostShown = 300;  // bytes of one value

std::string show(const value& shown) {
  std::string text = boost::json::serialize(shown);
  return text.size() > kMostShown ? fmt::format("{}… ({} bytes)", text.substr(0, kMostShown), text.size()) : text;
}

std::string step(std::string_view key) {
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return plain ? fmt::format(".{}", key) : fmt::format("[{}]", boost::json::serialize(value(key)));
}

bool same_scalar(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return a == b || a.to_number<double>() == b.to_number<double>();
  return a == b;
}

void compare(const value& expected, const value* seen, const std::string& path, std::vector<Difference>& out);

void compare_lists(const boost::json::array& expected, const boost::json::array& seen, const std::string& path,
                   std::vector<Difference>& out) {
  if (expected.empty()) {
    if (!seen.empty()) out.push_back({path, "[]", show(seen)});
    return;
  }
  size_t next = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<Difference> closest;
    bool found = false;
    for (size_t j = next; j < seen.size() && !found; ++j) {
      std::vector<Difference> here;
      compare(expected[i], &seen[j], fmt::format("{}[{}]", path, j), here);
      found = here.empty();
      if (found)
        next = j + 1;
      else if (j == next || here.size() < closest.size())
        closest = std::move(here);
    }
    if (found) continue;
    if (closest.empty())
      out.push_back({fmt::format("{}[{}]", path, i), show(expected[i]), ""});
    else
      std::ranges::move(closest, std::back_inserter(out));
  }
}

void compare(const value& expected, const value* seen, const std::string& path, std::vector<Difference>& out) {
  if (expected.is_null()) {
    if (seen && !seen->is_null()) out.push_back({path, "null (nothing)", show(*seen)});
  } else if (!seen || seen->is_null()) {
    const bool wants_nothing = expected.is_array() && expected.get_array().empty();
    if (!wants_nothing) out.push_back({path, show(expected), ""});
  } else if (expected.is_object() && seen->is_object()) {
    for (const auto& [key, wanted] : expected.get_object())
      compare(wanted, seen->get_object().if_contains(key), path + step(key), out);
  } else if (expected.is_array() && seen->is_array()) {
    compare_lists(expected.get_array(), seen->get_array(), path, out);
  } else if (!same_scalar(expected, *seen)) {
    out.push_back({path, show(expected), show(*seen)});
  }
}

}  // namespace

std::vector<Difference> subset_differences(const value& expected, const value* seen) {
  std::vector<Difference> differences;
  compare(expected, seen, "", differences);
  return differences;
}

value seen_as_expected(const value& expected, const value& seen) {
  if (!expected.is_object() || !seen.is_object()) return seen;
  boost::json::object out;
  for (const auto& [key, wanted] : expected.get_object()) {
    const value* there = seen.get_object().if_contains(key);
    out[key] = there ? seen_as_expected(wanted, *there) : value();
  }
  return out;
}

std::string difference_text(const std::vector<Difference>& differences, std::string_view indent, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(differences.size(), most); ++i) {
    const Difference& one = differences[i];
    const std::string_view path = one.path.empty() ? "(the whole)" : std::string_view(one.path);
    if (one.seen.empty())
      text += fmt::format("{}- {}: expected {}, nothing is there\n", indent, path, one.expected);
    else
      text += fmt::format("{}~ {}: expected {}, seen {}\n", indent, path, one.expected, one.seen);
  }
  if (differences.size() > most) text += fmt::format("{}… and {} more\n", indent, differences.size() - most);
  return text;
}

}  // namespace hookd::rehearsal
