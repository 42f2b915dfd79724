#include "embedded/schema/defaults.h"

namespace hookd::embedded {

namespace {

bool refused_null(const json::value& value, const Schema& schema) { return value.is_null() && !schema.nullable; }

void apply_to_item(json::value& value, const Schema& schema) {
  if (refused_null(value, schema) && !schema.default_value.is_null()) value = schema.default_value;
  apply_defaults(value, schema);
}

}  // namespace

void apply_defaults(json::object& object, const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (!field.default_value || field.default_value->is_null()) continue;
    json::value* found = object.if_contains(field.name);
    if (found == nullptr) {
      object.emplace(field.name, *field.default_value);
    } else if (refused_null(*found, *field.schema)) {
      *found = *field.default_value;
    }
  }
  for (auto& entry : object) {
    if (const Field* field = schema.field(entry.key())) {
      apply_defaults(entry.value(), *field->schema);
    } else if (schema.items != nullptr) {
      apply_to_item(entry.value(), *schema.items);
    }
  }
}

void apply_defaults(json::value& value, const Schema& schema) {
  if (value.is_object()) {
    apply_defaults(value.get_object(), schema);
  } else if (value.is_array() && schema.items != nullptr) {
    for (json::value& item : value.get_array()) apply_to_item(item, *schema.items);
  }
}

}  // namespace hookd::embedded
