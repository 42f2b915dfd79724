#include "embedded/merge/typed.h"

#include <algorithm>

#include "embedded/wire/status.h"

namespace hookd::embedded {

namespace {

const Schema& granular_anything() {
  static const Schema schema;
  return schema;
}

const Schema& atomic_anything() {
  static const Schema schema = [] {
    Schema out;
    out.atomic = true;
    return out;
  }();
  return schema;
}

bool is_raw_extension(const Schema& schema) { return schema.name.ends_with(".RawExtension"); }

std::string names_text(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const auto& name : names) {
    if (out.size() > 1) out += ' ';
    out += go_quote(name);
  }
  return out + "]";
}

}  // namespace

Shape shape_of(const Schema& schema, const json::value* value) {
  switch (schema.type) {
    case Schema::Type::kObject:
    case Schema::Type::kMap:
      return Shape::kMap;
    case Schema::Type::kList:
      return Shape::kList;
    case Schema::Type::kAny:
      break;
    default:
      return Shape::kScalar;
  }
  if (value == nullptr || value->is_null() || value->is_object()) return Shape::kMap;
  return value->is_array() ? Shape::kList : Shape::kScalar;
}

bool atomic_map(const Schema& schema) {
  return schema.atomic || (schema.type == Schema::Type::kAny && is_raw_extension(schema));
}

bool atomic_list(const Schema& schema) {
  return schema.type != Schema::Type::kList || schema.list_type == Schema::ListType::kAtomic;
}

Child child_of(const Schema& map, std::string_view key) {
  if (map.type == Schema::Type::kObject)
    if (const Field* field = map.field(key))
      return {field->schema == nullptr ? &granular_anything() : field->schema, true};
  if (map.type == Schema::Type::kMap && map.items != nullptr) return {map.items, false};
  if (map.type == Schema::Type::kAny && atomic_map(map)) return {&atomic_anything(), false};
  return {&granular_anything(), false};
}

const Schema& item_of(const Schema& list) {
  return list.type == Schema::Type::kList && list.items != nullptr ? *list.items : atomic_anything();
}

std::expected<PathElement, std::string> item_element(const Schema& list, const json::value& item) {
  if (list.list_type == Schema::ListType::kSet) {
    if (item.is_object()) return std::unexpected("associative list without keys has an element that's a map type");
    if (item.is_array()) return std::unexpected("not supported: associative list with lists as elements");
    if (item.is_null()) return std::unexpected("associative list without keys has an element that's an explicit null");
    return PathElement::of_value(item);
  }
  if (item.is_null()) return std::unexpected("associative list with keys may not have a null element");
  const auto* object = item.if_object();
  if (object == nullptr) return std::unexpected("associative list with keys may not have non-map elements");
  json::object keys;
  for (const auto& name : list.list_keys) {
    if (const json::value* value = object->if_contains(name)) {
      keys.emplace(name, *value);
    } else if (list.items != nullptr) {
      const Field* field = list.items->field(name);
      if (field != nullptr && field->default_value) keys.emplace(name, *field->default_value);
    }
  }
  if (keys.empty() && !list.list_keys.empty())
    return std::unexpected("associative list with keys has an element that omits all key fields " +
                           names_text(list.list_keys) + " (and doesn't have default values for any key fields)");
  return PathElement::of_key(std::move(keys));
}

namespace {

// Adds what is below `value` to `out`; true if the path of `value` itself is in the set.
bool collect(const Schema& schema, const json::value& value, FieldSet& out);

void collect_items(const Schema& schema, const json::array& items, FieldSet& out) {
  out.nodes.reserve(items.size());
  for (const auto& item : items) {
    auto element = item_element(schema, item);
    if (!element) continue;
    FieldSet below;
    collect(item_of(schema), item, below);
    out.append(*std::move(element), true, std::move(below));
  }
  out.sort();
  // of an item that stands twice nothing below is owned
  for (size_t i = 1; i < out.nodes.size();) {
    if (!(out.nodes[i - 1].element == out.nodes[i].element)) {
      ++i;
      continue;
    }
    out.nodes[i - 1].below = {};
    out.nodes.erase(out.nodes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool collect(const Schema& schema, const json::value& value, FieldSet& out) {
  switch (shape_of(schema, &value)) {
    case Shape::kScalar:
      return true;
    case Shape::kList:
      if (atomic_list(schema)) return true;
      if (const auto* items = value.if_array()) collect_items(schema, *items, out);
      return false;
    case Shape::kMap:
      break;
  }
  if (atomic_map(schema)) return true;
  const auto* object = value.if_object();
  if (object == nullptr) return false;
  out.nodes.reserve(object->size());
  for (const auto& [key, field] : *object) {
    const Child child = child_of(schema, key);
    FieldSet below;
    bool member = collect(*child.schema, field, below);
    member = member || !child.declared || field.is_null() || (field.is_object() && field.get_object().empty());
    out.append(PathElement::of_field(key), member, std::move(below));
  }
  out.sort();
  return false;
}

}  // namespace

FieldSet to_field_set(const Schema& schema, const json::value& value) {
  FieldSet out;
  collect(schema, value, out);
  return out;
}

json::value remove_items(const Schema& schema, const json::value& value, const FieldSet& set) {
  switch (shape_of(schema, &value)) {
    case Shape::kScalar:
      return value;
    case Shape::kList: {
      const auto* items = value.if_array();
      if (items == nullptr || items->empty() || atomic_list(schema)) return nullptr;
      json::array out;
      out.reserve(items->size());
      for (const auto& item : *items) {
        const auto element = item_element(schema, item);
        const FieldNode* node = element ? set.find(*element) : nullptr;
        if (node != nullptr && node->member) continue;
        if (node != nullptr && !node->below.empty())
          out.push_back(remove_items(item_of(schema), item, node->below));
        else
          out.push_back(item);
      }
      if (out.empty()) return nullptr;
      return out;
    }
    case Shape::kMap:
      break;
  }
  const auto* object = value.if_object();
  if (object == nullptr || object->empty() || atomic_map(schema)) return nullptr;
  json::object out;
  out.reserve(object->size());
  for (const auto& [key, field] : *object) {
    const FieldNode* node = set.find(PathElement::of_field(key));
    if (node != nullptr && node->member) continue;
    if (node != nullptr && !node->below.empty())
      out.emplace(key, remove_items(*child_of(schema, key).schema, field, node->below));
    else
      out.emplace(key, field);
  }
  if (out.empty()) return nullptr;
  return out;
}

}  // namespace hookd::embedded
