#include "embedded/print/table_path.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace hookd::embedded {
namespace {

using Found = std::vector<const json::value*>;

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool unquote(std::string_view& text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front()) return false;
  text = text.substr(1, text.size() - 2);
  return true;
}

std::optional<Found> walk(Found from, std::string_view path);

std::optional<double> number(const json::value& value) {
  if (!value.is_number()) return std::nullopt;
  return value.to_number<double>();
}

bool compare(const json::value& left, std::string_view verb, std::string_view right) {
  if (unquote(right)) {
    if (!left.is_string()) return false;
    const int order = std::string_view(left.get_string()).compare(right);
    return verb == "=="   ? order == 0
           : verb == "!=" ? order != 0
           : verb == "<"  ? order < 0
           : verb == ">"  ? order > 0
           : verb == "<=" ? order <= 0
                          : order >= 0;
  }
  if (right == "true" || right == "false") {
    const bool same = left.is_bool() && left.get_bool() == (right == "true");
    return verb == "==" ? same : verb == "!=" ? !same : false;
  }
  double wanted = 0;
  if (std::from_chars(right.data(), right.data() + right.size(), wanted).ec != std::errc()) return false;
  const std::optional<double> is = number(left);
  if (!is) return false;
  return verb == "=="   ? *is == wanted
         : verb == "!=" ? *is != wanted
         : verb == "<"  ? *is < wanted
         : verb == ">"  ? *is > wanted
         : verb == "<=" ? *is <= wanted
                        : *is >= wanted;
}

bool passes(const json::value& item, std::string_view filter) {
  filter = trim(filter);
  std::string_view path = filter, verb, right;
  for (const std::string_view candidate : {"==", "!=", "<=", ">=", "<", ">"}) {
    const size_t at = filter.find(candidate);
    if (at == std::string_view::npos) continue;
    path = trim(filter.substr(0, at));
    verb = candidate;
    right = trim(filter.substr(at + candidate.size()));
    break;
  }
  if (!path.starts_with('@')) return false;
  const std::optional<Found> found = walk({&item}, path.substr(1));
  if (!found || found->empty()) return false;
  return verb.empty() || compare(*found->front(), verb, right);
}

// Where the bracket that opens at `text[0]` ends; npos = nowhere. Quotes hide brackets.
size_t closing(std::string_view text) {
  char quote = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::optional<Found> step_bracket(const Found& from, std::string_view inside) {
  Found out;
  inside = trim(inside);
  if (inside.starts_with("?(") && inside.ends_with(')')) {
    for (const json::value* value : from)
      if (const json::array* items = value->if_array())
        for (const json::value& item : *items)
          if (passes(item, inside.substr(2, inside.size() - 3))) out.push_back(&item);
    return out;
  }
  if (inside == "*") {
    for (const json::value* value : from) {
      if (const json::array* items = value->if_array())
        for (const json::value& item : *items) out.push_back(&item);
      if (const json::object* fields = value->if_object())
        for (const auto& entry : *fields) out.push_back(&entry.value());
    }
    return out;
  }
  if (std::string_view name = inside; unquote(name)) {
    for (const json::value* value : from)
      if (const json::object* fields = value->if_object())
        if (const json::value* found = fields->if_contains(name)) out.push_back(found);
    return out;
  }
  int64_t index = 0;
  const auto [end, problem] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  if (problem != std::errc() || end != inside.data() + inside.size()) return std::nullopt;
  for (const json::value* value : from) {
    const json::array* items = value->if_array();
    if (!items) continue;
    const int64_t size = static_cast<int64_t>(items->size());
    const int64_t at = index < 0 ? size + index : index;
    if (at >= 0 && at < size) out.push_back(&(*items)[static_cast<size_t>(at)]);
  }
  return out;
}

std::optional<Found> walk(Found from, std::string_view path) {
  while (!path.empty()) {
    if (path.front() == '[') {
      const size_t end = closing(path);
      if (end == std::string_view::npos) return std::nullopt;
      std::optional<Found> next = step_bracket(from, path.substr(1, end - 1));
      if (!next) return std::nullopt;
      from = std::move(*next);
      path.remove_prefix(end + 1);
      continue;
    }
    if (path.front() != '.') return std::nullopt;
    path.remove_prefix(1);
    std::string name;
    while (!path.empty() && path.front() != '.' && path.front() != '[') {
      if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);  // "\." is a dot in a name
      name += path.front();
      path.remove_prefix(1);
    }
    if (name.empty()) {
      if (path.starts_with('[')) continue;
      return std::nullopt;
    }
    Found out;
    for (const json::value* value : from) {
      const json::object* fields = value->if_object();
      if (!fields) continue;
      if (name == "*") {
        for (const auto& entry : *fields) out.push_back(&entry.value());
      } else if (const json::value* found = fields->if_contains(name)) {
        out.push_back(found);
      }
    }
    from = std::move(out);
  }
  return from;
}

}  // namespace

const json::value* first_at_path(const json::value& value, std::string_view path) {
  path = trim(path);
  if (path.starts_with('{') && path.ends_with('}')) path = trim(path.substr(1, path.size() - 2));
  if (path.starts_with('$')) path.remove_prefix(1);
  const std::optional<Found> found = walk({&value}, path);
  return found && !found->empty() ? found->front() : nullptr;
}

}  // namespace hookd::embedded
