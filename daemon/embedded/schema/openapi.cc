#include "embedded/schema/openapi.h"

#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

using Type = Schema::Type;

constexpr std::string_view kJsonTypes = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";

void strings(JsonWriter& out, std::string_view key, const std::vector<std::string>& texts) {
  out.key(key).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void value(JsonWriter& out, std::string_view key, const json::value& json) {
  std::string text;
  append_text(text, json);
  out.key(key).raw(text);
}

template <class Number>
void number(JsonWriter& out, std::string_view key, const std::optional<Number>& found) {
  if (found) value(out, key, json::value(*found));
}

}  // namespace

void OpenApiSchemas::refer(JsonWriter& out, std::string_view name, const Schema* schema) {
  if (schema != nullptr && seen_.emplace(name, true).second) order_.push_back(schema);
  const std::string_view folder = form_ == OpenApiForm::kV2 ? "#/definitions/" : "#/components/schemas/";
  out.key("$ref").string(std::string(folder).append(name));
}

void OpenApiSchemas::write(JsonWriter& out, const Schema& schema, const Field* field) {
  out.begin_object();
  const bool with_default = field && form_ == OpenApiForm::kV3;
  if (with_default && field->default_value) {
    value(out, "default", *field->default_value);
  } else if (with_default && field->absent == Field::Absent::kZero && schema.type == Type::kObject) {
    out.key("default").begin_object().end_object();
  }
  if (schema.name.empty()) {
    content(out, schema);
  } else if (form_ == OpenApiForm::kV2 || field == nullptr) {
    refer(out, schema.name, &schema);
    if (field) merging(out, schema);
  } else {
    // Next to "$ref" nothing counts in OpenAPI 3.0.
    out.key("allOf").begin_array().begin_object();
    refer(out, schema.name, &schema);
    out.end_object().end_array();
    merging(out, schema);
  }
  out.end_object();
}

void OpenApiSchemas::merging(JsonWriter& out, const Schema& schema) {
  if (schema.list_type != Schema::ListType::kAtomic && schema.type == Type::kList) {
    const bool map = schema.list_type == Schema::ListType::kMap;
    if (map) strings(out, "x-kubernetes-list-map-keys", schema.list_keys);
    out.key("x-kubernetes-list-type").string(map ? "map" : "set");
  }
  if (schema.atomic && (schema.name.empty() || schema.type != Type::kObject)) {
    out.key("x-kubernetes-map-type").string("atomic");
  }
  if (!schema.patch_merge_key.empty()) out.key("x-kubernetes-patch-merge-key").string(schema.patch_merge_key);
  if (schema.patch_merge || schema.patch_retain_keys || schema.patch_replace) {
    out.key("x-kubernetes-patch-strategy")
        .string(schema.patch_replace        ? "replace"
                : !schema.patch_retain_keys ? "merge"
                : schema.patch_merge        ? "merge,retainKeys"
                                            : "retainKeys");
  }
}

void OpenApiSchemas::scalar(JsonWriter& out, const Schema& schema) {
  const bool v3 = form_ == OpenApiForm::kV3;
  const auto either = [&](std::string_view how, std::string_view first, std::string_view second) {
    out.key(how).begin_array();
    out.begin_object().key("type").string(first).end_object();
    out.begin_object().key("type").string(second).end_object();
    out.end_array();
  };
  switch (schema.type) {
    case Type::kString:
      out.key("type").string("string");
      break;
    case Type::kInteger:
      out.key("type").string("integer");
      break;
    case Type::kNumber:
      out.key("type").string("number");
      break;
    case Type::kBoolean:
      out.key("type").string("boolean");
      break;
    case Type::kTime:
      out.key("type").string("string").key("format").string("date-time");
      return;
    case Type::kQuantity:
      v3 ? either("oneOf", "string", "number") : static_cast<void>(out.key("type").string("string"));
      return;
    case Type::kIntOrString:
      if (!schema.name.empty()) {
        out.key("format").string("int-or-string");
        v3 ? either("oneOf", "integer", "string") : static_cast<void>(out.key("type").string("string"));
        return;
      }
      if (v3) either("anyOf", "integer", "string");
      out.key("x-kubernetes-int-or-string").boolean(true);
      return;
    default:
      if (!schema.name.empty() && !schema.name.starts_with(kJsonTypes)) out.key("type").string("object");
      return;
  }
  if (!schema.format.empty()) out.key("format").string(schema.format);
}

void OpenApiSchemas::properties(JsonWriter& out, const Schema& schema) {
  out.key("type").string("object");
  std::vector<std::string> required;
  for (const Field& field : schema.fields) {
    if (field.required) required.push_back(field.name);
  }
  if (!required.empty()) strings(out, "required", required);
  if (schema.fields.empty()) return;
  out.key("properties").begin_object();
  for (const Field& field : schema.fields) {
    out.key(field.name);
    write(out, *field.schema, &field);
  }
  out.end_object();
}

void OpenApiSchemas::content(JsonWriter& out, const Schema& schema) {
  if (!schema.description.empty()) out.key("description").string(schema.description);
  switch (schema.type) {
    case Type::kObject:
      properties(out, schema);
      break;
    case Type::kMap:
      out.key("type").string("object");
      if (schema.items) {
        out.key("additionalProperties");
        write(out, *schema.items);
      }
      break;
    case Type::kList:
      out.key("type").string("array");
      if (schema.items) {
        out.key("items");
        write(out, *schema.items);
      }
      break;
    default:
      scalar(out, schema);
      break;
  }
  if (schema.name.empty() || schema.type != Type::kObject) {
    merging(out, schema);
  } else if (schema.atomic) {
    out.key("x-kubernetes-map-type").string("atomic");
  }
  if (form_ == OpenApiForm::kV3 && schema.nullable) out.key("nullable").boolean(true);
  if (schema.embedded_resource) out.key("x-kubernetes-embedded-resource").boolean(true);
  if (schema.preserve_unknown) out.key("x-kubernetes-preserve-unknown-fields").boolean(true);
  if (schema.checks) checks(out, schema);
}

void OpenApiSchemas::checks(JsonWriter& out, const Schema& schema) {
  const Checks& checks = *schema.checks;
  if (!checks.enumeration.empty())
    value(out, "enum", json::array(checks.enumeration.begin(), checks.enumeration.end()));
  if (!checks.pattern.empty()) out.key("pattern").string(checks.pattern);
  if (!checks.format.empty() && schema.format.empty()) out.key("format").string(checks.format);
  number(out, "minimum", checks.minimum);
  number(out, "maximum", checks.maximum);
  number(out, "multipleOf", checks.multiple_of);
  number(out, "minLength", checks.min_length);
  number(out, "maxLength", checks.max_length);
  number(out, "minItems", checks.min_items);
  number(out, "maxItems", checks.max_items);
  number(out, "minProperties", checks.min_properties);
  number(out, "maxProperties", checks.max_properties);
  if (checks.exclusive_minimum) out.key("exclusiveMinimum").boolean(true);
  if (checks.exclusive_maximum) out.key("exclusiveMaximum").boolean(true);
  if (checks.unique_items) out.key("uniqueItems").boolean(true);
  if (form_ == OpenApiForm::kV2) return;  // it has none of the following
  const auto list = [&](std::string_view key, const std::vector<const Schema*>& schemas) {
    if (schemas.empty()) return;
    out.key(key).begin_array();
    for (const Schema* one : schemas) write(out, *one);
    out.end_array();
  };
  list("allOf", checks.all_of);
  list("anyOf", checks.any_of);
  list("oneOf", checks.one_of);
  if (checks.not_schema) {
    out.key("not");
    write(out, *checks.not_schema);
  }
}

std::string custom_type_name(std::string_view group, std::string_view version, std::string_view kind) {
  std::string name;
  while (!group.empty()) {
    const size_t dot = group.rfind('.');
    name.append(group.substr(dot == std::string_view::npos ? 0 : dot + 1)).push_back('.');
    group = group.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return name.append(version).append(".").append(kind);
}

}  // namespace hookd::embedded
