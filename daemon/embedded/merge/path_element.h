// One step of a path into an object as field sets name it: a field, a list item by its keys, a set's value, an index.
// Thread: any.
// Source: API docs "Server-Side Apply" (FieldsV1: f:, k:, v:, i:).
#pragma once

#include <boost/json.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hookd::embedded {

namespace json = boost::json;

struct PathElement {
  enum class Kind : uint8_t { kField, kKey, kValue, kIndex };  // also their order

  Kind kind = Kind::kField;
  std::string text;     // the field's name; else canonical JSON: {"containerPort":80,"protocol":"TCP"}, "a", 3
  json::value value{};  // of kKey (an object sorted by name), kValue and kIndex: what `text` says

  static PathElement of_field(std::string_view name) { return {Kind::kField, std::string(name)}; }
  static PathElement of_key(json::object keys);  // in any order
  static PathElement of_value(const json::value& value);

  // "f:name", `k:{"name":"a"}`, `v:"a"`, "i:3"
  std::string serialised() const;
  // ".name", `[name="a"]`, `[="a"]`, "[3]"
  std::string path_text() const;

  bool operator==(const PathElement& other) const { return kind == other.kind && text == other.text; }
  std::weak_ordering operator<=>(const PathElement& other) const;
};

// What a FieldsV1 key means. `known` false: of a kind that does not exist (yet), to be skipped. Nothing = malformed.
struct ParsedElement {
  bool known = true;
  PathElement element;
};
std::optional<ParsedElement> parse_path_element(std::string_view key);

// Numbers by value (1 equals 1.0), else by kind and content; objects' fields in any order.
bool same_value(const json::value& a, const json::value& b);
// The order of values inside of path elements: numbers, strings, booleans, lists, objects, null.
std::weak_ordering order_values(const json::value& a, const json::value& b);

}  // namespace hookd::embedded
