#include "embedded/merge/path_element.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "embedded/merge/go_text.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

namespace {

// Where a kind of value stands in the order.
int rank(const json::value& value) {
  switch (value.kind()) {
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return 0;
    case json::kind::string:
      return 1;
    case json::kind::bool_:
      return 2;
    case json::kind::array:
      return 3;
    case json::kind::object:
      return 4;
    case json::kind::null:
      break;
  }
  return 5;
}

double as_double(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return value.get_double();
}

std::weak_ordering order_numbers(const json::value& a, const json::value& b) {
  if (a.is_int64() && b.is_int64()) return a.get_int64() <=> b.get_int64();
  const double left = as_double(a);
  const double right = as_double(b);
  return left < right ? std::weak_ordering::less
                      : (left > right ? std::weak_ordering::greater : std::weak_ordering::equivalent);
}

}  // namespace

PathElement PathElement::of_key(json::object keys) {
  PathElement out;
  out.kind = Kind::kKey;
  append_go_json(out.text, keys);
  out.value = std::move(keys);
  return out;
}

PathElement PathElement::of_value(const json::value& value) {
  PathElement out;
  out.kind = Kind::kValue;
  append_go_json(out.text, value);
  out.value = value;
  return out;
}

std::string PathElement::serialised() const {
  constexpr std::string_view kPrefixes[] = {"f:", "k:", "v:", "i:"};
  std::string out;
  out.reserve(text.size() + 2);
  out += kPrefixes[static_cast<size_t>(kind)];
  out += text;
  return out;
}

namespace {

// A key's or a set's value inside of a path for people.
std::string value_path_text(const json::value& value) {
  if (value.is_string()) return go_quote(value.get_string());
  if (value.is_array()) {
    std::string out = "[";
    for (const auto& item : value.get_array()) {
      if (out.size() > 1) out += ',';
      out += value_path_text(item);
    }
    return out + "]";
  }
  if (value.is_object()) {
    std::string out;
    for (const auto* field : sorted_fields(value.get_object())) {
      out += field->key();
      out += '=';
      out += value_path_text(field->value());
    }
    return out;
  }
  return go_json(value);
}

}  // namespace

std::string PathElement::path_text() const {
  switch (kind) {
    case Kind::kField:
      return "." + text;
    case Kind::kKey: {
      std::string out = "[";
      for (const auto* field : sorted_fields(value.get_object())) {
        if (out.size() > 1) out += ',';
        out += field->key();
        out += '=';
        out += value_path_text(field->value());
      }
      return out + "]";
    }
    case Kind::kValue:
      return "[=" + value_path_text(value) + "]";
    case Kind::kIndex:
      break;
  }
  return "[" + text + "]";
}

std::weak_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  if (kind == Kind::kField) return text <=> other.text;
  if (text == other.text) return std::weak_ordering::equivalent;
  if (kind == Kind::kKey) {
    const auto left = sorted_fields(value.get_object());
    const auto right = sorted_fields(other.value.get_object());
    for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
      if (const auto by_name = std::string_view(left[i]->key()) <=> std::string_view(right[i]->key()); by_name != 0)
        return by_name;
      if (const auto by_value = order_values(left[i]->value(), right[i]->value()); by_value != 0) return by_value;
    }
    return left.size() <=> right.size();
  }
  return order_values(value, other.value);
}

std::optional<ParsedElement> parse_path_element(std::string_view key) {
  if (key.size() < 2 || key[1] != ':') return std::nullopt;
  const std::string_view rest = key.substr(2);
  if (key[0] == 'f') return ParsedElement{true, PathElement::of_field(rest)};
  if (key[0] == 'i') {
    int64_t index = 0;
    std::string_view digits = rest;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return ParsedElement{true, {PathElement::Kind::kIndex, std::to_string(index), index}};
  }
  if (key[0] != 'k' && key[0] != 'v') return ParsedElement{false, {}};
  json::error_code error;
  json::parse_options options;
  options.max_depth = 32;
  json::value value = json::parse(rest, error, {}, options);
  if (error) return std::nullopt;
  if (key[0] == 'v') return ParsedElement{true, PathElement::of_value(value)};
  if (!value.is_object()) return std::nullopt;
  return ParsedElement{true, PathElement::of_key(std::move(value.get_object()))};
}

bool same_value(const json::value& a, const json::value& b) {
  if (rank(a) != rank(b)) return false;
  switch (a.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return a.get_bool() == b.get_bool();
    case json::kind::string:
      return a.get_string() == b.get_string();
    case json::kind::array:
      return std::ranges::equal(a.get_array(), b.get_array(),
                                [](const json::value& x, const json::value& y) { return same_value(x, y); });
    case json::kind::object: {
      const auto& left = a.get_object();
      const auto& right = b.get_object();
      if (left.size() != right.size()) return false;
      return std::ranges::all_of(left, [&right](const json::key_value_pair& field) {
        const json::value* other = right.if_contains(field.key());
        return other != nullptr && same_value(field.value(), *other);
      });
    }
    default:
      return order_numbers(a, b) == 0;
  }
}

std::weak_ordering order_values(const json::value& a, const json::value& b) {
  if (rank(a) != rank(b)) return rank(a) <=> rank(b);
  switch (a.kind()) {
    case json::kind::null:
      return std::weak_ordering::equivalent;
    case json::kind::bool_:
      return a.get_bool() <=> b.get_bool();
    case json::kind::string:
      return std::string_view(a.get_string()) <=> std::string_view(b.get_string());
    case json::kind::array: {
      const auto& left = a.get_array();
      const auto& right = b.get_array();
      for (size_t i = 0; i < left.size() && i < right.size(); ++i)
        if (const auto order = order_values(left[i], right[i]); order != 0) return order;
      return left.size() <=> right.size();
    }
    case json::kind::object: {
      const auto left = sorted_fields(a.get_object());
      const auto right = sorted_fields(b.get_object());
      for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
        if (const auto order = std::string_view(left[i]->key()) <=> std::string_view(right[i]->key()); order != 0)
          return order;
        if (const auto order = order_values(left[i]->value(), right[i]->value()); order != 0) return order;
      }
      return left.size() <=> right.size();
    }
    default:
      return order_numbers(a, b);
  }
}

}  // namespace hookd::embedded
