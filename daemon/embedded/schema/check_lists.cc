#include "embedded/schema/check_lists.h"

#include <fmt/format.h>

#include <map>

namespace hookd::embedded {

namespace {

// Objects by their keys in order, so that two equal values have one text.
void canonical(const json::value& value, std::string& out) {
  if (value.is_object()) {
    std::map<std::string_view, const json::value*> sorted;
    for (const auto& [key, item] : value.get_object()) sorted.emplace(key, &item);
    out += '{';
    for (const auto& [key, item] : sorted) {
      out += json::serialize(json::string(key)) + ":";
      canonical(*item, out);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json::value& item : value.get_array()) {
      canonical(item, out);
      out += ',';
    }
    out += ']';
  } else {
    out += json::serialize(value);
  }
}

std::string canonical(const json::value& value) {
  std::string out;
  canonical(value, out);
  return out;
}

// The second of each group of equal items, and no other.
std::vector<size_t> doubles(const std::vector<std::string>& items) {
  std::map<std::string_view, int> seen;
  std::vector<size_t> out;
  for (size_t i = 0; i < items.size(); ++i)
    if (++seen[items[i]] == 2) out.push_back(i);
  return out;
}

json::value keys_of(const json::value& item, const Schema& schema) {
  json::object out;
  if (item.is_object())
    for (const std::string& key : schema.list_keys)
      if (const json::value* found = item.get_object().if_contains(key)) out[key] = *found;
  return out;
}

void check_list(const json::array& list, const Schema& schema, const std::string& path, FieldErrors& errors) {
  auto duplicate = [&](size_t index, json::value value) {
    errors.push_back({FieldError::Type::kDuplicate, fmt::format("{}[{}]", path, index), "", std::move(value), {}});
  };
  std::vector<std::string> texts;
  if (schema.list_type == Schema::ListType::kSet) {
    for (const json::value& item : list) texts.push_back(canonical(item));
    for (size_t i : doubles(texts)) duplicate(i, list[i]);
  } else if (schema.list_type == Schema::ListType::kMap) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_object() || list[i].is_null()) continue;
      errors.push_back({FieldError::Type::kInvalid,
                        fmt::format("{}[{}]", path, i),
                        "must be an object for an array of list-type map",
                        list[i],
                        {}});
      return;
    }
    for (const json::value& item : list) texts.push_back(canonical(keys_of(item, schema)));
    for (size_t i : doubles(texts)) duplicate(i, keys_of(list[i], schema));
  }
}

}  // namespace

void check_lists(const json::value& value, const Schema& schema, const std::string& path, FieldErrors& errors) {
  if (const json::array* list = value.if_array()) {
    check_list(*list, schema, path, errors);
    if (schema.items && schema.type != Schema::Type::kMap)
      for (size_t i = 0; i < list->size(); ++i)
        check_lists((*list)[i], *schema.items, fmt::format("{}[{}]", path, i), errors);
  } else if (const json::object* object = value.if_object()) {
    if (schema.type == Schema::Type::kMap && schema.items)
      for (const auto& [key, item] : *object)
        check_lists(item, *schema.items, fmt::format("{}[{}]", path, std::string_view(key)), errors);
    for (const Field& field : schema.fields) {
      if (!field.schema || (schema.embedded_resource && field.name == "metadata")) continue;
      if (const json::value* found = object->if_contains(field.name))
        check_lists(*found, *field.schema, path.empty() ? field.name : fmt::format("{}.{}", path, field.name), errors);
    }
  }
}

bool has_duplicates(const json::array& list) {
  std::vector<std::string> texts;
  for (const json::value& item : list) texts.push_back(canonical(item));
  return !doubles(texts).empty();
}

const json::value* item_with_keys(const json::array& list, const json::value& item, const Schema& schema) {
  const json::value keys = keys_of(item, schema);
  for (const json::value& one : list)
    if (keys_of(one, schema) == keys) return &one;
  return nullptr;
}

}  // namespace hookd::embedded
