#include "config/problem.h"

#include <algorithm>
#include <tuple>

namespace hookd::config {

std::string Problem::text() const {
  return line == 0 ? fmt::format("{}: {}", file, message) : fmt::format("{}:{}:{}: {}", file, line, column, message);
}

void Problems::add_text(Position at, std::string_view path, std::string_view message) {
  if (list_.size() > kMost) return;
  if (list_.size() == kMost) {
    list_.push_back({file_, 0, 0, fmt::format("more than {} problems; the rest is not shown", kMost)});
    return;
  }
  list_.push_back(
      {file_, at.line, at.column, path.empty() ? std::string(message) : fmt::format("{}: {}", path, message)});
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> list = list_;
  // The note that there are more stays last.
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), kMost));
  std::ranges::stable_sort(list.begin(), end, {}, [](const Problem& p) { return std::tuple(p.line, p.column); });
  return list;
}

std::string Problems::text() const {
  std::string text;
  for (const Problem& problem : sorted()) {
    if (!text.empty()) text += '\n';
    text += problem.text();
  }
  return text;
}

void Problems::known_keys(std::string_view path, const std::set<std::string, std::less<>>& keys) {
  if (!recording_) return;
  std::string generic;
  bool in_index = false;
  for (const char c : path) {
    if (c == ']') in_index = false;
    if (!in_index) generic += c;
    if (c == '[') in_index = true;
  }
  recorded_[generic].insert(keys.begin(), keys.end());
}

}  // namespace hookd::config
