// Objects seen through their schema: which fields are leaves, which lists have items with a name of their own, what
// differs between two states, and how an applied configuration merges. Thread: any.
// Source: API docs "Server-Side Apply: merge strategy" (x-kubernetes-list-type, list-map-keys, map-type), KEP-555.
//
// An atomic list, map or struct is one leaf. Where the schema says nothing (unknown fields), maps are granular and
// lists are atomic; in RawExtension everything is one leaf.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/merge/field_set.h"
#include "embedded/schema/schema.h"

namespace hookd::embedded {

// What a value with this schema is taken for. Where anything goes the value decides, and null is a map.
enum class Shape : uint8_t { kMap, kList, kScalar };
Shape shape_of(const Schema& schema, const json::value* value);
bool atomic_map(const Schema& schema);
bool atomic_list(const Schema& schema);

struct Child {
  const Schema* schema = nullptr;  // never null
  bool declared = false;           // a field that the schema names
};
Child child_of(const Schema& map, std::string_view key);
const Schema& item_of(const Schema& list);

// The name of an item of a list of type map or set. Errors: for people, as the real server words them.
std::expected<PathElement, std::string> item_element(const Schema& list, const json::value& item);

// Fields of a wrong type, items without a key, and with `strict` also duplicate items and fields that the schema does
// not have: `.spec.replicas: expected numeric (int or float), got string`, one line each.
std::vector<std::string> type_errors(const Schema& schema, const json::value& value, bool strict);
// The lines as one text, the way the real server joins them.
std::string join_type_errors(const std::vector<std::string>& errors);

// Every leaf that is set, and every item of lists and maps.
FieldSet to_field_set(const Schema& schema, const json::value& value);

struct Comparison {
  FieldSet removed, modified, added;
  bool ok = true;  // false: something that was changed does not fit its schema
  bool empty() const { return removed.empty() && modified.empty() && added.empty(); }
};
Comparison compare_typed(const Schema& schema, const json::object& before, const json::object& after);

// `config` laid over `live`: what config names wins, lists of type map and set merge by item. Both fit the schema, and
// config has no duplicate items.
json::value merge_typed(const Schema& schema, const json::value& live, const json::value& config);

// The value without the members of `set`. What loses everything becomes null.
json::value remove_items(const Schema& schema, const json::value& value, const FieldSet& set);

}  // namespace hookd::embedded
