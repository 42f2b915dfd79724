// Strategic merge patch of maps. Lists: strategic_lists.cc.
// Source: API docs "Update API Objects in Place Using kubectl patch", "strategic merge patch" of the API conventions.
#include "embedded/merge/strategic.h"

#include <algorithm>
#include <set>

#include "embedded/merge/go_text.h"
#include "embedded/merge/patch.h"

namespace hookd::embedded::strategic {

namespace {

constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList";
constexpr std::string_view kSetElementOrder = "$setElementOrder";

bool is(const json::value& value, std::string_view text) {
  return value.is_string() && std::string_view(value.get_string()) == text;
}

// "$setElementOrder/containers" ─► "containers"
std::optional<std::string> name_after(std::string_view key, std::string_view prefix) {
  if (key.size() <= prefix.size() || key[prefix.size()] != '/') return std::nullopt;
  return std::string(key.substr(prefix.size() + 1));
}

std::string short_name(const Schema& schema) {
  return schema.name.substr(schema.name.rfind('.') + 1);  // npos + 1 = 0
}

}  // namespace

StatusError plain(std::string message) { return {500, "", std::move(message)}; }

std::string go_type(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "%!s(<nil>)";
    case json::kind::bool_:
      return "bool";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "[]interface {}";
    case json::kind::object:
      return "map[string]interface {}";
    case json::kind::double_:
      return "float64";
    default:
      return "int64";
  }
}

StatusError wrong_type(std::string_view expected, const json::value& got) {
  return plain("expected a " + std::string(expected) + ", but received a " + go_type(got));
}

StatusError no_merge_key(const json::object& item, std::string_view key) {
  return plain("map: " + go_value_text(item) + " does not contain declared merge key: " + std::string(key));
}

StatusError unknown_directive(const json::value& directive, const json::object& item) {
  return plain("unknown patch type: " + go_value_text(directive) + " in map: " + go_value_text(item));
}

Answer<const Schema*> field_schema(const Schema* schema, std::string_view key) {
  if (schema == nullptr || schema->type != Schema::Type::kObject) {
    const bool map = schema != nullptr && schema->type == Schema::Type::kMap;
    if (schema != nullptr && schema->type == Schema::Type::kAny && !schema->name.empty())
      return refuse(
          plain("unable to find api field in struct " + short_name(*schema) + " for the json field " + go_quote(key)));
    return refuse(plain(std::string("merging an object in json but data type is not struct, instead is: ") +
                        (map ? "map" : "interface")));
  }
  const Field* field = schema->field(key);
  if (field == nullptr)
    return refuse(
        plain("unable to find api field in struct " + short_name(*schema) + " for the json field " + go_quote(key)));
  return field->schema;
}

Answer<const Schema*> list_schema(const Schema* schema, std::string_view key) {
  auto field = field_schema(schema, key);
  if (!field) return field;
  if (*field == nullptr || (*field)->type != Schema::Type::kList)
    return refuse(plain("expected slice or array type, but got: struct"));
  return field;
}

void discard_nulls(json::value& value) {
  if (auto* object = value.if_object()) {
    for (auto at = object->begin(); at != object->end();) {
      if (at->value().is_null()) {
        at = object->stable_erase(at);
      } else {
        discard_nulls(at->value());
        ++at;
      }
    }
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) discard_nulls(item);
  }
}

bool remove_directives(json::value& value) {
  if (auto* object = value.if_object()) {
    if (object->contains(kPatch)) return false;
    for (auto at = object->begin(); at != object->end();)
      if (remove_directives(at->value()))
        ++at;
      else
        at = object->stable_erase(at);
  } else if (auto* array = value.if_array()) {
    json::array kept;
    kept.reserve(array->size());
    for (auto& item : *array)
      if (remove_directives(item)) kept.push_back(std::move(item));
    *array = std::move(kept);
  }
  return true;
}

namespace {

// Takes the patch's value as it is, where there is nothing to merge with.
void take_value(json::object& original, std::string_view key, json::value value, bool nulls_too) {
  if (nulls_too) discard_nulls(value);
  if (remove_directives(value))
    original.insert_or_assign(key, std::move(value));
  else if (const auto at = original.find(key); at != original.end())
    original.stable_erase(at);
}

Answer<void> retain_keys(json::object& original, json::object& patch) {
  const auto at = patch.find(kRetainKeys);
  if (at == patch.end()) return {};
  const json::value list = at->value();
  patch.stable_erase(at);
  const auto* keys = list.if_array();
  if (keys == nullptr) return refuse(bad_request("invalid patch format of retainKeys"));
  std::set<std::string, std::less<>> kept;
  for (const auto& key : *keys)
    if (key.is_string()) kept.insert(std::string(key.get_string()));
  for (const auto& [key, value] : patch) {
    const std::string_view name(key);
    if (value.is_null() || name.starts_with(kDeleteFromList) || name.starts_with(kSetElementOrder)) continue;
    if (!kept.contains(name)) return refuse(bad_request("invalid patch format of retainKeys"));
  }
  for (auto field = original.begin(); field != original.end();)
    field = kept.contains(std::string_view(field->key())) ? field + 1 : original.stable_erase(field);
  return {};
}

// Lists whose order the patch gives are merged first, together with what the patch has for them.
Answer<void> order_lists(json::object& original, json::object& patch, const Schema* schema) {
  std::vector<std::string> directives;
  for (const auto& field : patch)
    if (std::string_view(field.key()).starts_with(kSetElementOrder)) directives.emplace_back(field.key());
  for (const auto& directive : directives) {
    const json::value order = patch.at(directive);
    patch.stable_erase(patch.find(directive));
    if (!order.is_array()) return refuse(wrong_type("[]interface {}", order));
    const auto name = name_after(directive, kSetElementOrder);
    if (!name) return refuse(bad_request("invalid patch format of setElementOrder list"));
    json::value* old_list = original.if_contains(*name);
    json::value* new_list = patch.if_contains(*name);
    for (const json::value* list : {old_list, new_list})
      if (list != nullptr && !list->is_array()) return refuse(wrong_type("[]interface {}", *list));
    auto list = list_schema(schema, *name);
    if (!list) return refuse(list.error());
    auto merged = merge_ordered(old_list == nullptr ? nullptr : &old_list->get_array(),
                                new_list == nullptr ? nullptr : &new_list->get_array(), order.get_array(), **list);
    if (!merged) return refuse(merged.error());
    if (!*merged) continue;
    original.insert_or_assign(*name, **std::move(merged));
    if (const auto at = patch.find(*name); at != patch.end()) patch.stable_erase(at);
  }
  return {};
}

Answer<void> merge_field(json::object& original, std::string_view key, json::value& value, const Schema* schema) {
  bool deletes = false;
  std::string name(key);
  if (key.starts_with(kDeleteFromList)) {
    auto list = name_after(key, kDeleteFromList);
    if (!list) return refuse(bad_request("invalid patch format of primitive list"));
    name = *std::move(list);
    deletes = true;
  }
  const auto at = original.find(name);
  if (value.is_null()) {
    if (at != original.end()) original.stable_erase(at);
    return {};
  }
  if (at == original.end() || at->value().kind() != value.kind()) {
    if (!deletes) take_value(original, name, std::move(value), true);
    return {};
  }
  json::value& old = at->value();
  if (old.is_object()) {
    auto below = field_schema(schema, name);
    if (!below) return refuse(below.error());
    if (*below != nullptr && (*below)->patch_replace) {
      old = std::move(value);
      return {};
    }
    auto merged = merge_maps(std::move(old.get_object()), std::move(value.get_object()), *below);
    if (!merged) return refuse(merged.error());
    old = *std::move(merged);
  } else if (old.is_array()) {
    auto list = list_schema(schema, name);
    if (!list) return refuse(list.error());
    if (!(*list)->patch_merge && !deletes) {
      old = std::move(value);
      return {};
    }
    auto merged = merge_lists(std::move(old.get_array()), std::move(value.get_array()), **list, deletes);
    if (!merged) return refuse(merged.error());
    old = *std::move(merged);
  } else {
    take_value(original, name, std::move(value), false);
  }
  return {};
}

}  // namespace

Answer<json::object> merge_maps(json::object original, json::object patch, const Schema* schema) {
  if (const auto at = patch.find(kPatch); at != patch.end()) {
    const json::value directive = at->value();
    if (is(directive, "delete")) return json::object();
    if (!is(directive, "replace")) return refuse(unknown_directive(directive, patch));
    patch.stable_erase(at);
    return patch;
  }
  if (auto ok = retain_keys(original, patch); !ok) return refuse(ok.error());
  if (auto ok = order_lists(original, patch, schema); !ok) return refuse(ok.error());
  for (auto& field : patch)
    if (auto ok = merge_field(original, field.key(), field.value(), schema); !ok) return refuse(ok.error());
  return original;
}

}  // namespace hookd::embedded::strategic

namespace hookd::embedded {

Answer<json::object> strategic_patch(const json::object& document, const json::object& patch, const Schema& schema) {
  return strategic::merge_maps(document, patch, &schema);
}

}  // namespace hookd::embedded
