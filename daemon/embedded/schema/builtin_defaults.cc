#include "embedded/schema/builtin_defaults.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "embedded/schema/builtin.h"
#include "embedded/schema/defaults.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {

namespace {

struct Rules {
  std::vector<std::pair<std::string_view, json::value>> values;
  std::vector<void (*)(json::object&)> functions;
};

// "io.k8s.api.core.v1.PodSpec" -> what is filled in there.
const Rules* rules_of(std::string_view type) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Rules> rules;
    for (const DefaultValue& value : default_values()) {
      rules[value.type].values.emplace_back(value.field, json::parse(std::string(value.value)));
    }
    for (const DefaultRule& rule : default_rules()) rules[rule.type].functions.push_back(rule.apply);
    for (const DefaultRule& rule : pod_default_rules()) rules[rule.type].functions.push_back(rule.apply);
    return rules;
  }();
  constexpr std::string_view kPrefix = "io.k8s.api.";
  if (type.starts_with(kPrefix)) type.remove_prefix(kPrefix.size());
  const auto found = table.find(type);
  return found == table.end() ? nullptr : &found->second;
}

// A default of the schema itself that says more than the zero that is printed, or left out, anyway.
bool counts(const Field& field) {
  if (!field.default_value || field.absent == Field::Absent::kZero) return false;
  return !field.drop_empty || has({{"value", *field.default_value}}, "value");
}

// Absent, null, or empty where an empty value is the same as none. A pointer to an empty value is a value.
bool lacks(const json::object& object, std::string_view key, const Schema& schema) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr || found->is_null()) return true;
  const Field* field = schema.field(key);
  return field != nullptr && !has(object, key) && (field->drop_empty || field->absent == Field::Absent::kZero);
}

void visit(json::value& value, const Schema& schema);

void visit_struct(json::object& object, const Schema& schema) {
  if (const Rules* rules = rules_of(schema.name)) {
    for (const auto& apply : rules->functions) apply(object);
    for (const auto& [field, value] : rules->values) {
      if (lacks(object, field, schema)) object[field] = value;
    }
  }
  for (const Field& field : schema.fields) {
    if (counts(field)) set_if_absent(object, field.name, *field.default_value);
  }
  for (auto& entry : object) {
    if (const Field* field = schema.field(entry.key())) visit(entry.value(), *field->schema);
  }
}

void visit(json::value& value, const Schema& schema) {
  if (schema.type == Schema::Type::kObject && value.is_object()) {
    visit_struct(value.get_object(), schema);
  } else if (schema.type == Schema::Type::kMap && value.is_object()) {
    const bool resources = schema.go_name == "v1.ResourceList";
    for (auto& entry : value.get_object()) {
      if (resources && entry.value().is_string()) {
        if (const auto rounded = milli_quantity(entry.value().get_string())) entry.value() = *rounded;
      } else if (schema.items != nullptr && schema.items->type == Schema::Type::kObject) {
        visit(entry.value(), *schema.items);
      }
    }
  } else if (schema.type == Schema::Type::kList && value.is_array() && schema.items != nullptr &&
             schema.items->type == Schema::Type::kObject) {
    for (json::value& item : value.get_array()) visit(item, *schema.items);
  }
}

}  // namespace

bool has(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return false;
  if (value->is_string()) return !value->get_string().empty();
  if (value->is_array()) return !value->get_array().empty();
  if (value->is_object()) return !value->get_object().empty();
  if (value->is_bool()) return value->get_bool();
  if (value->is_int64()) return value->get_int64() != 0;
  return true;
}

std::string_view string_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

json::object* object_at(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

json::object& make_object(json::object& object, std::string_view key) {
  json::value& value = object[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

void copy_field(json::object& object, std::string_view to, std::string_view from) {
  json::value copy = object.at(from);
  object[to] = std::move(copy);
}

void set_if_absent(json::object& object, std::string_view key, json::value value) {
  json::value& found = object[key];
  if (found.is_null()) found = std::move(value);
}

void apply_builtin_defaults(json::object& object, std::string_view group, std::string_view version,
                            std::string_view kind) {
  if (const Schema* schema = builtin_schema(group, version, kind)) visit_struct(object, *schema);
}

}  // namespace hookd::embedded
