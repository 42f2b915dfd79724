// Objects of tests as JSON text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "embedded/schema/builtin.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

inline json::value json_of(std::string_view text) {
  auto value = parse_text(text);
  if (!value) throw std::runtime_error(value.error());
  return std::move(*value);
}
inline json::object object_of(std::string_view text) { return json_of(text).as_object(); }

inline const Schema& kind_schema(std::string_view group, std::string_view version, std::string_view kind) {
  const Schema* schema = builtin_schema(group, version, kind);
  if (schema == nullptr) throw std::runtime_error("no schema of " + std::string(kind));
  return *schema;
}

// "spec.template.spec" of a kind, through fields only.
inline const Field& field_at(const Schema& root, std::string_view path) {
  const Schema* schema = &root;
  while (true) {
    const size_t dot = path.find('.');
    const Field* field = schema->field(path.substr(0, dot));
    if (field == nullptr) throw std::runtime_error("no field " + std::string(path));
    if (dot == std::string_view::npos) return *field;
    schema = field->schema->items ? field->schema->items : field->schema;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace hookd::embedded
