#include "control/query.h"

#include <charconv>
#include <optional>

namespace hookd::control {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
    if (error != std::errc() || end != text.data() + i + 3) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const auto one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const size_t equals = std::min(one.find('='), one.size());
    const auto name = decoded(one.substr(0, equals));
    const auto value = decoded(one.substr(std::min(equals + 1, one.size())));
    if (!name || !value) return fail(Errc::kInvalid, "\"{}\" in the query is not percent-encoded as it should be", one);
    query.values_[*name] = *value;
  }
  return query;
}

std::string Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

Result<size_t> Query::number(std::string_view name, size_t fallback, size_t min, size_t max) const {
  const std::string given = text(name);
  if (given.empty()) return fallback;
  size_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || end != given.data() + given.size() || value < min || value > max)
    return fail(Errc::kInvalid, "{}: a number from {} to {} was expected, not \"{}\"", name, min, max, given);
  return value;
}

}  // namespace hookd::control
