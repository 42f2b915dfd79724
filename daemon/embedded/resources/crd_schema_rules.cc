#include "embedded/resources/crd_schema_rules.h"

#include <algorithm>
#include <array>
#include <set>

#include "embedded/resources/crd_structural.h"
#include "embedded/resources/fields.h"
#include "embedded/schema/check.h"
#include "embedded/schema/check_format.h"
#include "embedded/schema/custom_schema.h"
#include "embedded/schema/prune.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr std::string_view kListKeys = "x-kubernetes-list-map-keys";

std::string property(const std::string& path, std::string_view name) { return keyed(child(path, "properties"), name); }

// Every schema below and including `schema`, until `visit` returns true.
bool walk(const json::object& schema, const std::function<bool(const json::object&)>& visit) {
  if (visit(schema)) return true;
  for (std::string_view key : {"items", "additionalProperties", "not"})
    if (const json::value* part = value_at(schema, {key}); part && part->is_object() && walk(part->get_object(), visit))
      return true;
  for (const auto& [name, part] : object_at(schema, {"properties"}))
    if (walk(as_object(part), visit)) return true;
  for (std::string_view key : {"allOf", "anyOf", "oneOf"})
    for (const json::value& part : array_at(schema, {key}))
      if (walk(as_object(part), visit)) return true;
  return false;
}

// Keywords that are refused below; a schema with them is not looked at as a structural one.
bool has_unsupported(const json::object& schema) {
  return walk(schema, [](const json::object& node) {
    for (std::string_view key :
         {"id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"})
      if (has(node, {key})) return true;
    const json::value* items = value_at(node, {"items"});
    return items && items->is_array();
  });
}

class OpenApiRules {
 public:
  explicit OpenApiRules(FieldErrors& errors) : complain_(errors) {}

  // What holds for the subtree that is looked at.
  struct Place {
    bool root = false;
    bool in_meta = false;
    std::string no_defaults;  // why defaults are forbidden, "" = they are not
  };

  void check(const json::object& schema, const std::string& path, const Place& place) {
    keywords(schema, path, place);
    if (bool_at(schema, {"uniqueItems"}))
      complain_.forbidden(child(path, "uniqueItems"),
                          "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    parts(schema, path, place);
    if (const json::value* preserve = value_at(schema, {"x-kubernetes-preserve-unknown-fields"});
        preserve && preserve->is_bool() && !preserve->get_bool())
      complain_.invalid(child(path, "x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    map_type(schema, path);
    list_type(schema, path);
    list_keys(schema, path);
    rules(schema, path);
  }

 private:
  void keywords(const json::object& schema, const std::string& path, const Place& place) {
    const std::string_view type = string_at(schema, {"type"});
    static constexpr std::array<std::string_view, 6> kTypes{"array",  "boolean", "integer",
                                                            "number", "object",  "string"};
    if (!type.empty() && std::ranges::find(kTypes, type) == kTypes.end())
      complain_.unsupported(child(path, "type"), json::value(type), {kTypes.begin(), kTypes.end()});
    if (has(schema, {"default"}) && !place.no_defaults.empty())
      complain_.forbidden(child(path, "default"), "must not be set " + place.no_defaults);
    for (std::string_view key : {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"})
      if (has(schema, {key})) complain_.forbidden(child(path, key), fmt::format("{} is not supported", key));
    if (type == "null")
      complain_.forbidden(child(path, "type"), "type cannot be set to null, use nullable as an alternative");
    if (const json::value* items = value_at(schema, {"items"}); items && items->is_array())
      complain_.forbidden(child(path, "items"), "items must be a schema object and not an array");
    if (place.in_meta && bool_at(schema, {"x-kubernetes-embedded-resource"}))
      complain_.forbidden(child(path, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
  }

  void parts(const json::object& schema, const std::string& path, const Place& place) {
    Place below{.root = false, .in_meta = place.in_meta, .no_defaults = place.no_defaults};
    const json::object& properties = object_at(schema, {"properties"});
    if (const json::value* more = value_at(schema, {"additionalProperties"})) {
      const bool allows_all = more->is_bool() && more->get_bool();
      if (!properties.empty() && !allows_all)
        complain_.forbidden(child(path, "additionalProperties"),
                            "additionalProperties and properties are mutual exclusive");
      if (more->is_object()) {
        Place values = below;
        if (place.in_meta) values.no_defaults = "inside additionalProperties applying to object metadata";
        check(more->get_object(), child(path, "additionalProperties"), values);
      }
    }
    const bool resource = place.root || bool_at(schema, {"x-kubernetes-embedded-resource"});
    for (const auto& [name, part] : properties) {
      Place field = below;
      if (resource && (name == "metadata" || name == "kind" || name == "apiVersion")) {
        field.in_meta = true;
        if (place.root) field.no_defaults = fmt::format("in top-level {}", std::string_view(name));
      }
      check(as_object(part), property(path, name), field);
    }
    if (const json::value* part = value_at(schema, {"not"})) check(as_object(*part), child(path, "not"), below);
    for (std::string_view key : {"allOf", "oneOf", "anyOf"}) {
      const json::array& list = array_at(schema, {key});
      for (size_t i = 0; i < list.size(); ++i) check(as_object(list[i]), at(child(path, key), i), below);
    }
    if (const json::value* items = value_at(schema, {"items"}); items && items->is_object())
      check(items->get_object(), child(path, "items"), below);
  }

  void map_type(const json::object& schema, const std::string& path) {
    if (!has(schema, {kMapType})) return;
    wants_type(schema, path, "object", kMapType);
    if (const std::string_view value = string_at(schema, {kMapType}); value != "atomic" && value != "granular")
      complain_.unsupported(child(path, kMapType), json::value(value), {"atomic", "granular"});
  }

  bool wants_type(const json::object& schema, const std::string& path, std::string_view wanted,
                  std::string_view extension) {
    const std::string_view type = string_at(schema, {"type"});
    if (type == wanted) return true;
    std::string why = fmt::format("must be {} if {} is specified", wanted, extension);
    if (type.empty())
      complain_.required(child(path, "type"), std::move(why));
    else
      complain_.invalid(child(path, "type"), json::value(type), std::move(why));
    return false;
  }

  void list_type(const json::object& schema, const std::string& path) {
    if (!has(schema, {kListType})) return;
    const std::string_view value = string_at(schema, {kListType});
    const json::object& items = object_at(schema, {"items"});
    if (wants_type(schema, path, "array", kListType) && value == "set") {
      constexpr std::string_view kWhy = "must be atomic as item of a list with x-kubernetes-list-type=set";
      const std::string_view type = string_at(items, {"type"});
      const json::value* inner_type = value_at(items, {kListType});
      const json::value shown = inner_type ? *inner_type : json::value(nullptr);
      if (type == "array" && inner_type && string_at(items, {kListType}) != "atomic")
        complain_.invalid(child(child(path, "items"), kListType), shown, std::string(kWhy));
      if (type == "object" && string_at(items, {kMapType}) != "atomic")
        complain_.invalid(child(child(path, "items"), kMapType), shown, std::string(kWhy));
    }
    if (value != "atomic" && value != "set" && value != "map")
      complain_.unsupported(child(path, kListType), json::value(value), {"atomic", "set", "map"});
  }

  void list_keys(const json::object& schema, const std::string& path) {
    const json::array& keys = array_at(schema, {kListKeys});
    const bool typed = has(schema, {kListType});
    const std::string_view type = string_at(schema, {kListType});
    if (!keys.empty() && type != "map") {
      std::string why = "must be map if x-kubernetes-list-map-keys is non-empty";
      if (typed)
        complain_.invalid(child(path, kListType), json::value(type), std::move(why));
      else
        complain_.required(child(path, kListType), std::move(why));
    }
    const json::value* items = value_at(schema, {"items"});
    if (type == "map") map_keys(schema, keys, items, path);
    if ((type == "map" || type == "set") && items && items->is_object()) {
      const json::object& item = items->get_object();
      if (bool_at(item, {"nullable"}))
        complain_.forbidden(child(child(path, "items"), "nullable"),
                            fmt::format("cannot be nullable when x-kubernetes-list-type is {}", type));
      if (type == "map") key_rules(item, keys, child(path, "items"));
    }
  }

  void map_keys(const json::object&, const json::array& keys, const json::value* items, const std::string& path) {
    if (keys.empty()) complain_.required(child(path, kListKeys), "must not be empty if x-kubernetes-list-type is map");
    if (!items) return complain_.required(child(path, "items"), "must have a schema if x-kubernetes-list-type is map");
    if (!items->is_object())
      return complain_.invalid(child(path, "items"), *items,
                               "must only have a single schema if x-kubernetes-list-type is map");
    const std::string_view type = string_at(items->get_object(), {"type"});
    if (type != "object")
      return complain_.invalid(child(child(path, "items"), "type"), json::value(type),
                               "must be object if parent array's x-kubernetes-list-type is map");
    std::set<std::string_view> seen;
    for (const json::value& entry : keys) {
      const std::string_view key = as_string(entry);
      if (const json::value* field = object_at(items->get_object(), {"properties"}).if_contains(key)) {
        const std::string_view field_type = string_at(as_object(*field), {"type"});
        if (field_type == "array" || field_type == "object")
          complain_.invalid(child(property(child(path, "items"), key), "type"), json::value(type),
                            "must be a scalar type if parent array's x-kubernetes-list-type is map");
      } else {
        complain_.invalid(child(path, kListKeys), keys, "entries must all be names of item properties");
      }
      if (!seen.insert(key).second)
        complain_.invalid(child(path, kListKeys), keys, "must not contain duplicate entries");
    }
  }

  void key_rules(const json::object& item, const json::array& keys, const std::string& path) {
    const json::array& required = array_at(item, {"required"});
    for (const json::value& entry : keys) {
      const std::string_view key = as_string(entry);
      const json::value* field = object_at(item, {"properties"}).if_contains(key);
      if (!field) continue;
      if (std::ranges::find(required, entry) == required.end() && !has(as_object(*field), {"default"}))
        complain_.required(child(property(path, key), "default"),
                           "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
                           "property");
      if (bool_at(as_object(*field), {"nullable"}))
        complain_.forbidden(child(property(path, key), "nullable"),
                            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  static bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

  // CEL rules are not evaluated here, but what stands around them is checked.
  void rules(const json::object& schema, const std::string& path) {
    const json::array& list = array_at(schema, {"x-kubernetes-validations"});
    for (size_t i = 0; i < list.size(); ++i) {
      const json::object& rule = as_object(list[i]);
      const std::string where = at(child(path, "x-kubernetes-validations"), i);
      const std::string_view text = string_at(rule, {"rule"}), message = string_at(rule, {"message"});
      if (blank(text)) {
        complain_.required(child(where, "rule"), "rule is not specified");
      } else if (!message.empty() && blank(message)) {
        complain_.invalid(child(where, "message"), json::value(message), "must be non-empty if specified");
      } else if (message.find_first_of("\r\n") != std::string_view::npos) {
        complain_.invalid(child(where, "message"), json::value(message), "must not contain line breaks");
      } else if (message.empty() && text.find_first_of("\r\n") < text.find_last_not_of(" \t\r\n")) {
        complain_.required(child(where, "message"), "message must be specified if rule contains line breaks");
      }
      if (const std::string_view reason = string_at(rule, {"reason"}); !reason.empty())
        complain_.one_of(child(where, "reason"), reason,
                         {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"});
    }
  }

  Complaints complain_;
};

// Every default must itself be what its schema allows.
void check_defaults(const json::object& schema, const std::string& path, bool root, FieldErrors& errors) {
  if (const json::value* value = value_at(schema, {"default"})) {
    const auto built = CustomSchema::build_part(schema);
    json::value pruned = *value;
    prune_custom(pruned, built->root(), nullptr);
    const std::string where = child(path, "default");
    if (pruned != *value) Complaints(errors).invalid(where, *value, "must not have unknown fields");
    check_custom_part(*value, built->root(), where, errors);
  }
  if (const json::value* items = value_at(schema, {"items"}))
    check_defaults(as_object(*items), child(path, "items"), false, errors);
  for (const auto& [name, part] : object_at(schema, {"properties"}))
    if (!root || (name != "metadata" && name != "kind" && name != "apiVersion"))
      check_defaults(as_object(part), property(path, name), false, errors);
}

// With the status subresource the schema of status is taken out of the root: nothing else may depend on the root.
void check_root_for_status(const json::object& schema, const std::string& path, FieldErrors& errors) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kAllowed{
      {{"description", "Description"},
       {"type", "Type"},
       {"format", "Format"},
       {"title", "Title"},
       {"maximum", "Maximum"},
       {"exclusiveMaximum", "ExclusiveMaximum"},
       {"minimum", "Minimum"},
       {"exclusiveMinimum", "ExclusiveMinimum"},
       {"maxLength", "MaxLength"},
       {"minLength", "MinLength"},
       {"pattern", "Pattern"},
       {"maxItems", "MaxItems"},
       {"minItems", "MinItems"},
       {"uniqueItems", "UniqueItems"},
       {"multipleOf", "MultipleOf"},
       {"required", "Required"},
       {"items", "Items"},
       {"properties", "Properties"},
       {"externalDocs", "ExternalDocs"},
       {"example", "Example"},
       {"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"},
       {"x-kubernetes-validations", "XValidations"}}};
  Complaints complain(errors);
  for (const auto& [key, value] : schema) {
    if (key == "type" && value != "object") {
      complain.invalid(child(path, "type"), value,
                       "only \"object\" is allowed as the type at the root of the schema if the status subresource is "
                       "enabled");
      return;
    }
    if (value.is_null() || (value.is_bool() && !value.get_bool())) continue;
    if (std::ranges::find(kAllowed, std::string_view(key), &decltype(kAllowed)::value_type::first) != kAllowed.end())
      continue;
    std::string names;
    for (const auto& [json_name, name] : kAllowed) names += (names.empty() ? "" : " ") + std::string(name);
    complain.invalid(path, schema,
                     fmt::format("only [{}] fields are allowed at the root of the schema if the status subresource is "
                                 "enabled",
                                 names));
    return;
  }
}

}  // namespace

void check_crd_schema(const json::object& schema, const std::string& path, bool status, FieldErrors& errors) {
  if (status) check_root_for_status(schema, path, errors);
  if (bool_at(schema, {"nullable"}))
    Complaints(errors).forbidden(child(path, "nullable"), "nullable cannot be true at the root");
  if (!has_unsupported(schema)) {
    FieldErrors structural = structural_errors(schema, path);
    if (structural.empty()) check_defaults(schema, path, true, structural);
    for (FieldError& error : structural) errors.push_back(std::move(error));
  }
  OpenApiRules(errors).check(schema, path, {.root = true, .in_meta = false, .no_defaults = ""});
}

std::expected<const json::object*, std::string> schema_at_path(const json::object& schema, std::string_view json_path) {
  const json::object* node = &schema;
  std::string_view rest = json_path;
  while (!rest.empty()) {
    if (rest.front() == '[') return std::unexpected("array notation is not allowed");
    if (rest.front() != '.')
      return std::unexpected(fmt::format("expected [ or . but got: {}", rest.substr(0, rest.find_first_of(".[]"))));
    rest.remove_prefix(1);
    const size_t end = rest.find_first_of(".[]");
    const std::string_view name = rest.substr(0, end == 0 ? 1 : end);
    if (name.empty()) return std::unexpected("unexpected end of JSON path");
    rest.remove_prefix(name.size());
    const json::object& properties = object_at(*node, {"properties"});
    const json::value* next =
        properties.empty() ? value_at(*node, {"additionalProperties"}) : properties.if_contains(name);
    if (!next || !next->is_object()) return std::unexpected("does not refer to a valid field");
    node = &next->get_object();
  }
  return node;
}

std::vector<std::string> unrecognized_formats(const json::object& schema) {
  std::vector<std::string> out;
  walk(schema, [&](const json::object& node) {
    const std::string_view format = string_at(node, {"format"}), type = string_at(node, {"type"});
    if (format.empty()) return false;
    bool known = false;
    if (type.empty() || type == "string")
      known = known_format(format);
    else if (type == "integer")
      known = format == "int32" || format == "int64";
    else if (type == "number")
      known = format == "float" || format == "double";
    if (!known) out.emplace_back(format);
    return false;
  });
  return out;
}

bool has_rules(const json::object& schema) {
  return walk(schema, [](const json::object& node) { return !array_at(node, {"x-kubernetes-validations"}).empty(); });
}

}  // namespace hookd::embedded
