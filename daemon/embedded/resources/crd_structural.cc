#include "embedded/resources/crd_structural.h"

#include <algorithm>
#include <array>

#include "embedded/resources/fields.h"
#include "embedded/schema/check_format.h"

namespace hookd::embedded {

namespace {

enum class Level { kRoot, kItem, kField };

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";
constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";

bool is_int_or_string(const json::array& any_of) {
  static const json::array kPattern{json::object{{"type", "integer"}}, json::object{{"type", "string"}}};
  return any_of == kPattern;
}

std::string property(const std::string& path, std::string_view name) { return keyed(child(path, "properties"), name); }

class Rules {
 public:
  FieldErrors run(const json::object& schema, const std::string& path) {
    invariants(schema, Level::kRoot, path);
    completeness(schema, &schema, path, path);
    std::ranges::stable_sort(errors_, {}, [](const FieldError& error) { return error.text(); });
    return std::move(errors_);
  }

 private:
  void invariants(const json::object& schema, Level level, const std::string& path) {
    const std::string_view type = string_at(schema, {"type"});
    const bool embedded = bool_at(schema, {kEmbedded}), int_or_string = bool_at(schema, {kIntOrString});
    const bool preserve = bool_at(schema, {kPreserve});
    const json::object& properties = object_at(schema, {"properties"});

    const json::value* items = value_at(schema, {"items"});
    if (type == "array" && !items) complain_.required(child(path, "items"), "must be specified");
    if (items) invariants(as_object(*items), Level::kItem, child(path, "items"));
    for (const auto& [name, part] : properties) invariants(as_object(part), Level::kField, property(path, name));
    if (const json::value* more = value_at(schema, {"additionalProperties"})) {
      if (level == Level::kRoot)
        complain_.forbidden(child(path, "additionalProperties"), "must not be used at the root");
      if (more->is_object()) invariants(more->get_object(), Level::kField, child(path, "additionalProperties"));
    }
    if (int_or_string && preserve)
      complain_.invalid(child(path, kPreserve), true, "must be false if x-kubernetes-int-or-string is true");
    if (int_or_string && embedded)
      complain_.invalid(child(path, kEmbedded), true, "must be false if x-kubernetes-int-or-string is true");

    const json::array& all_of = array_at(schema, {"allOf"});
    const bool first_all_of = !all_of.empty() && is_int_or_string(array_at(as_object(all_of.front()), {"anyOf"}));
    value_rules(schema, is_int_or_string(array_at(schema, {"anyOf"})), first_all_of, path);

    if (embedded && type != "object") {
      constexpr std::string_view kWhy = "must be object if x-kubernetes-embedded-resource is true";
      if (type.empty())
        complain_.required(child(path, "type"), std::string(kWhy));
      else
        complain_.invalid(child(path, "type"), json::value(type), std::string(kWhy));
    } else if (type.empty() && !int_or_string && !preserve) {
      complain_.required(child(path, "type"), level == Level::kRoot ? "must not be empty at the root"
                                              : level == Level::kItem
                                                  ? "must not be empty for specified array items"
                                                  : "must not be empty for specified object fields");
    }
    if (embedded && has(schema, {"additionalProperties"}))
      complain_.forbidden(child(path, "additionalProperties"),
                          "must not be used if x-kubernetes-embedded-resource is set");
    if (level == Level::kRoot && !type.empty() && type != "object")
      complain_.invalid(child(path, "type"), json::value(type), "must be object at the root");
    meta_rules(properties, level, embedded, path);
    if (embedded && !preserve && properties.empty())
      complain_.required(child(path, "properties"),
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields");
  }

  // apiVersion, kind and metadata are as everywhere; a CRD may only narrow names.
  void meta_rules(const json::object& properties, Level level, bool embedded, const std::string& path) {
    const bool check = level == Level::kRoot || embedded;
    for (std::string_view name : {"kind", "apiVersion"}) {
      const json::value* part = properties.if_contains(name);
      if (!part || !check) continue;
      if (const std::string_view type = string_at(as_object(*part), {"type"}); type != "string")
        complain_.invalid(child(property(path, name), "type"), json::value(type), "must be string");
    }
    const json::value* meta = properties.if_contains("metadata");
    if (!meta) return;
    const json::object& schema = as_object(*meta);
    const std::string where = property(path, "metadata");
    if (const std::string_view type = string_at(schema, {"type"}); check && type != "object")
      complain_.invalid(child(where, "type"), json::value(type), "must be object");
    if (level != Level::kRoot) return;
    const json::object& narrowed = object_at(schema, {"properties"});
    const bool names_only = std::ranges::all_of(
        narrowed, [](const auto& entry) { return entry.key() == "name" || entry.key() == "generateName"; });
    const bool nothing_else = std::ranges::all_of(schema, [](const auto& entry) {
      return entry.key() == "properties" || entry.key() == "type" || entry.key() == "default";
    });
    if (!names_only || !nothing_else)
      complain_.forbidden(where,
                          "must not specify anything other than name and generateName, but metadata is implicitly "
                          "specified");
  }

  void value_rules(const json::object& schema, bool skip_any_of, bool skip_first_all_of, const std::string& path) {
    auto each = [&](std::string_view keyword, auto&& visit) {
      const json::array& parts = array_at(schema, {keyword});
      for (size_t i = 0; i < parts.size(); ++i) visit(i, as_object(parts[i]), at(child(path, keyword), i));
    };
    if (!skip_any_of)
      each("anyOf", [&](size_t, const json::object& part, const std::string& where) { nested(part, false, where); });
    each("allOf", [&](size_t i, const json::object& part, const std::string& where) {
      nested(part, skip_first_all_of && i == 0, where);
    });
    each("oneOf", [&](size_t, const json::object& part, const std::string& where) { nested(part, false, where); });
    if (const json::value* part = value_at(schema, {"not"})) nested(as_object(*part), false, child(path, "not"));
    const std::string pattern(string_at(schema, {"pattern"}));
    if (const std::string problem = pattern_problem(pattern); !problem.empty())
      complain_.invalid(child(path, "pattern"), json::value(pattern),
                        "must be a valid regular expression, but isn't: " + problem);
  }

  // Below allOf, anyOf, oneOf and not: only checks of values.
  void nested(const json::object& schema, bool skip_any_of, const std::string& path) {
    value_rules(schema, skip_any_of, false, path);
    if (const json::value* items = value_at(schema, {"items"})) nested(as_object(*items), false, child(path, "items"));
    const json::object& properties = object_at(schema, {"properties"});
    for (const auto& [name, part] : properties) nested(as_object(part), false, property(path, name));

    auto forbid = [&](std::string_view key, std::string_view why) {
      const json::value* value = value_at(schema, {key});
      if (!value || (value->is_bool() && !value->get_bool()) || (value->is_array() && value->get_array().empty()) ||
          (value->is_string() && value->get_string().empty()))
        return;
      complain_.forbidden(child(path, key), fmt::format("must be {} to be structural", why));
    };
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kForbidden{
        {{"type", "empty"},
         {"additionalProperties", "undefined"},
         {"default", "undefined"},
         {"title", "empty"},
         {"description", "empty"},
         {"nullable", "false"},
         {kPreserve, "false"},
         {kEmbedded, "false"},
         {kIntOrString, "false"},
         {"x-kubernetes-list-map-keys", "empty"},
         {"x-kubernetes-list-type", "undefined"},
         {"x-kubernetes-map-type", "undefined"}}};
    for (const auto& [key, why] : kForbidden) forbid(key, why);
    forbid("x-kubernetes-validations", "empty");
    if (properties.contains("metadata"))
      complain_.forbidden(property(path, "metadata"), "must not be specified in a nested context");
  }

  // Every field and item that a check of values names must be described by the schema itself.
  void completeness(const json::object& values, const json::object* schema, const std::string& path,
                    const std::string& from) {
    auto part = [&](const json::object& nested_values, const std::string& where) {
      nested_completeness(nested_values, schema, path, where);
    };
    if (const json::value* nested_values = value_at(values, {"not"}))
      part(as_object(*nested_values), child(from, "not"));
    for (std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
      const json::array& parts = array_at(values, {keyword});
      for (size_t i = 0; i < parts.size(); ++i) part(as_object(parts[i]), at(child(from, keyword), i));
    }
  }

  void nested_completeness(const json::object& values, const json::object* schema, const std::string& path,
                           const std::string& from) {
    if (!schema) return complain_.required(path, "because it is defined in " + from);
    completeness(values, schema, path, from);
    if (const json::value* items = value_at(values, {"items"})) {
      const json::value* described = value_at(*schema, {"items"});
      nested_completeness(as_object(*items), described ? &as_object(*described) : nullptr, child(path, "items"),
                          child(from, "items"));
    }
    for (const auto& [name, part] : object_at(values, {"properties"})) {
      const json::value* described = object_at(*schema, {"properties"}).if_contains(name);
      nested_completeness(as_object(part), described ? &as_object(*described) : nullptr, property(path, name),
                          property(from, name));
    }
  }

  FieldErrors errors_;
  Complaints complain_{errors_};
};

}  // namespace

FieldErrors structural_errors(const json::object& schema, const std::string& path) { return Rules().run(schema, path); }

}  // namespace hookd::embedded
