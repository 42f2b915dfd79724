// What Go prints of a value and what it leaves out. Thread: any.
#include <utility>

#include "embedded/schema/decode.h"

namespace hookd::embedded {

namespace {

using Type = Schema::Type;

bool is_empty(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::int64:
      return value.get_int64() == 0;
    case json::kind::uint64:
      return value.get_uint64() == 0;
    case json::kind::double_:
      return value.get_double() == 0;
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
  }
  return false;
}

json::value zero(const Schema& schema) {
  switch (schema.type) {
    case Type::kString:
      return "";
    case Type::kInteger:
    case Type::kNumber:
    case Type::kIntOrString:
      return 0;
    case Type::kBoolean:
      return false;
    case Type::kQuantity:
      return "0";
    case Type::kObject: {
      json::object object;
      complete(object, schema);
      return object;
    }
    case Type::kAny:
    case Type::kMap:
    case Type::kList:
    case Type::kTime:
      return nullptr;
  }
  return nullptr;
}

void complete_fields(json::object& object, const Schema& schema, bool keep_empty);

void complete_value(json::value& value, const Schema& schema, bool keep_empty) {
  if (schema.type == Type::kObject && value.is_object()) {
    complete_fields(value.get_object(), schema, keep_empty);
  } else if (schema.items != nullptr && schema.type == Type::kMap && value.is_object()) {
    for (auto& entry : value.get_object()) {
      if (entry.value().is_null()) entry.value() = zero(*schema.items);
      complete_value(entry.value(), *schema.items, keep_empty);
    }
  } else if (schema.items != nullptr && schema.type == Type::kAny) {
    if (value.is_object()) complete_fields(value.get_object(), *schema.items, keep_empty);
    if (!value.is_array()) return;
    for (json::value& item : value.get_array()) {
      if (item.is_object()) complete_fields(item.get_object(), *schema.items, keep_empty);
    }
  } else if (schema.items != nullptr && schema.type == Type::kList && value.is_array()) {
    for (json::value& item : value.get_array()) {
      if (item.is_null()) item = zero(*schema.items);
      complete_value(item, *schema.items, keep_empty);
    }
  }
}

json::value absent_value(const Field& field) {
  return field.absent == Field::Absent::kZero ? zero(*field.schema) : json::value(nullptr);
}

void complete_fields(json::object& object, const Schema& schema, bool keep_empty) {
  for (auto entry = object.begin(); entry != object.end();) {
    const Field* field = schema.field(entry->key());
    if (field == nullptr || field->absent == Field::Absent::kAsItIs) {
      ++entry;
      continue;
    }
    complete_value(entry->value(), *field->schema, keep_empty);
    const bool gone = entry->value().is_null() ||
                      (field->drop_empty && is_empty(entry->value()) &&
                       !(keep_empty && field->absent == Field::Absent::kNull && entry->value().is_array()));
    if (gone && field->absent == Field::Absent::kNothing) {
      entry = object.stable_erase(entry);
      continue;
    }
    if (gone) entry->value() = absent_value(*field);
    ++entry;
  }
  for (const Field& field : schema.fields) {
    const bool printed = field.absent == Field::Absent::kNull || field.absent == Field::Absent::kZero;
    if (printed && !object.contains(field.name)) object.emplace(field.name, absent_value(field));
  }
}

}  // namespace

void complete(json::object& object, const Schema& schema) { complete_fields(object, schema, false); }
void complete_decoded(json::object& object, const Schema& schema) { complete_fields(object, schema, true); }

}  // namespace hookd::embedded
