#include "embedded/schema/prune.h"

#include <fmt/format.h>

#include <algorithm>

#include "embedded/schema/builtin.h"
#include "embedded/schema/decode.h"

namespace hookd::embedded {

namespace {

bool meta_field(std::string_view key) { return key == "apiVersion" || key == "kind" || key == "metadata"; }

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

const Schema* node_of(const Schema& schema, std::string_view key) {
  if (const Field* field = schema.field(key)) return field->schema;
  return schema.type == Schema::Type::kMap ? schema.items : nullptr;
}

bool knows(const Schema& schema, std::string_view key) {
  return schema.field(key) || schema.type == Schema::Type::kMap;
}

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* unknown) : unknown_(unknown) {}

  // `schema` null: nothing is known below here.
  void prune(json::value& value, const Schema* schema, const std::string& path) {
    const bool keep = schema && schema->preserve_unknown;
    if (json::array* list = value.if_array()) {
      const Schema* items = schema && schema->type != Schema::Type::kMap ? schema->items : nullptr;
      // Lists of what is kept as it is are only looked into where they are described.
      if (keep && !items) return;
      for (size_t i = 0; i < list->size(); ++i) prune((*list)[i], items, fmt::format("{}[{}]", path, i));
      return;
    }
    json::object* object = value.if_object();
    if (!object) return;
    std::vector<std::string> drop;
    for (auto& [key, item] : *object) {
      if (schema && schema->embedded_resource && meta_field(key)) continue;
      if (schema && knows(*schema, key)) {
        prune(item, node_of(*schema, key), child(path, key));
      } else if (!keep) {
        drop.emplace_back(key);
        if (unknown_ && !(path.empty() && meta_field(key))) unknown_->push_back(child(path, key));
      }
    }
    for (const std::string& key : drop) object->stable_erase(key);
  }

 private:
  std::vector<std::string>* unknown_;
};

}  // namespace

void prune_custom(json::value& object, const Schema& schema, std::vector<std::string>* unknown) {
  const size_t before = unknown ? unknown->size() : 0;
  Pruner(unknown).prune(object, &schema, "");
  if (unknown) std::sort(unknown->begin() + static_cast<std::ptrdiff_t>(before), unknown->end());
}

void prune_custom_nulls(json::value& value, const Schema& schema) {
  if (json::array* list = value.if_array()) {
    if (schema.items && schema.type != Schema::Type::kMap)
      for (json::value& item : *list) prune_custom_nulls(item, *schema.items);
    return;
  }
  json::object* object = value.if_object();
  if (!object) return;
  std::vector<std::string> drop;
  for (auto& [key, item] : *object) {
    const Schema* node = node_of(schema, key);
    if (!node || (schema.embedded_resource && key == "metadata")) continue;
    if (item.is_null() && !node->nullable && node->default_value.is_null())
      drop.emplace_back(key);
    else
      prune_custom_nulls(item, *node);
  }
  for (const std::string& key : drop) object->stable_erase(key);
}

namespace {

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kUnknownField = "unknown field \"";

class MetaCoercer {
 public:
  MetaCoercer(bool drop_invalid, std::vector<std::string>* unknown) : drop_(drop_invalid), unknown_(unknown) {}

  Answer<void> coerce(json::value& value, const Schema& schema, const std::string& path) {
    if (json::array* list = value.if_array()) {
      if (schema.items && schema.type != Schema::Type::kMap)
        for (size_t i = 0; i < list->size(); ++i)
          if (auto done = coerce((*list)[i], *schema.items, fmt::format("{}[{}]", path, i)); !done) return done;
      return {};
    }
    json::object* object = value.if_object();
    if (!object) return {};
    if (schema.embedded_resource)
      if (auto done = resource(*object, path); !done) return done;
    for (auto& [key, item] : *object) {
      if (schema.embedded_resource && meta_field(key)) continue;
      const Schema* node = node_of(schema, key);
      if (!node) continue;
      const std::string where =
          schema.field(key) ? child(path, key) : fmt::format("{}[{}]", path, std::string_view(key));
      if (auto done = coerce(item, *node, where); !done) return done;
    }
    return {};
  }

 private:
  Answer<void> resource(json::object& object, const std::string& path) {
    for (std::string_view key : {"apiVersion", "kind"}) {
      const json::value* found = object.if_contains(key);
      if (!found || found->is_string()) continue;
      if (!drop_) return refuse(bad(child(path, key), *found, "must be a string"));
      object.stable_erase(key);
    }
    if (json::value* meta = object.if_contains("metadata")) return metadata(*meta, child(path, "metadata"));
    return {};
  }

  Answer<void> metadata(json::value& value, const std::string& path) {
    const Schema* schema = builtin_type(kObjectMeta);
    if (!schema || value.is_null()) return {};
    json::object* object = value.if_object();
    if (!object) {
      if (drop_) return {};
      return refuse(bad(path, value,
                        fmt::format("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", kind_of(value))));
    }
    json::object whole = *object;
    auto report = decode(whole, *schema);
    if (!report) {
      if (!drop_) return refuse(bad(path, value, report.error()));
      whole = fields_that_decode(*object, *schema);
    } else {
      tell(report->unknown, path);
    }
    if (const json::value* time = whole.if_contains("creationTimestamp"); time && time->is_null())
      whole.stable_erase("creationTimestamp");
    *object = std::move(whole);
    return {};
  }

  json::object fields_that_decode(const json::object& from, const Schema& schema) {
    json::object out;
    for (const auto& [key, item] : from) {
      json::object one{{key, item}};
      if (!decode(one, schema)) continue;
      for (auto& [name, value] : one) out[name] = std::move(value);
    }
    return out;
  }

  void tell(const std::vector<std::string>& unknown, const std::string& path) {
    if (!unknown_) return;
    for (std::string_view text : unknown) {
      if (text.starts_with(kUnknownField))
        text = text.substr(kUnknownField.size(), text.size() - kUnknownField.size() - 1);
      unknown_->push_back(child(path, text));
    }
  }

  static std::string_view kind_of(const json::value& value) {
    if (value.is_string()) return "string";
    if (value.is_array()) return "array";
    if (value.is_bool()) return "bool";
    return "number";
  }

  // At the root it is the text alone.
  static StatusError bad(const std::string& path, const json::value& value, std::string detail) {
    if (path == "metadata") return bad_request(std::move(detail));
    return bad_request(FieldError{FieldError::Type::kInvalid, path, std::move(detail), value, {}}.text());
  }

  bool drop_;
  std::vector<std::string>* unknown_;
};

}  // namespace

Answer<void> coerce_custom_meta(json::value& object, const Schema& schema, bool drop_invalid,
                                std::vector<std::string>* unknown) {
  return MetaCoercer(drop_invalid, unknown).coerce(object, schema, "");
}

}  // namespace hookd::embedded
