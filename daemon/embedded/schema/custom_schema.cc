#include "embedded/schema/custom_schema.h"

#include <algorithm>
#include <array>

#include "base/json_field.h"
#include "embedded/schema/builtin.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
// Deeper than the API server lets any JSON document be.
constexpr int kMaxDepth = 500;

const json::object* object_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found ? found->if_object() : nullptr;
}

const json::array* array_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found ? found->if_array() : nullptr;
}

bool flag_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

std::optional<double> number_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

std::optional<int64_t> count_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found || !found->is_int64()) return std::nullopt;
  return found->get_int64();
}

std::vector<std::string> texts_in(const json::object& from, std::string_view key) {
  std::vector<std::string> out;
  if (const json::array* list = array_in(from, key))
    for (const json::value& item : *list)
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

}  // namespace

class CustomSchemaBuilder {
 public:
  explicit CustomSchemaBuilder(CustomSchema& owner) : owner_(owner) {}

  Schema* node(const json::object& from, int depth = 0) {
    Schema& out = owner_.nodes_.emplace_back();
    if (depth > kMaxDepth) return &out;
    out.type = type_of(from);
    out.format = text_field(from, "format");
    out.description = text_field(from, "description");
    out.nullable = flag_in(from, "nullable");
    out.preserve_unknown = flag_in(from, "x-kubernetes-preserve-unknown-fields");
    out.embedded_resource = flag_in(from, "x-kubernetes-embedded-resource");
    out.atomic = text_field(from, "x-kubernetes-map-type") == "atomic";
    const std::string list_type = text_field(from, "x-kubernetes-list-type");
    out.list_type = list_type == "set"   ? Schema::ListType::kSet
                    : list_type == "map" ? Schema::ListType::kMap
                                         : Schema::ListType::kAtomic;
    out.list_keys = texts_in(from, "x-kubernetes-list-map-keys");
    if (const json::value* value = from.if_contains("default")) out.default_value = *value;
    if (const json::array* rules = array_in(from, "x-kubernetes-validations"); rules && !rules->empty())
      owner_.has_rules_ = true;
    read_checks(from, out, depth);
    read_parts(from, out, depth);
    if (out.embedded_resource) add_meta(out);
    return &out;
  }

  // apiVersion, kind and metadata, whether described or not.
  void add_meta(Schema& out) {
    for (std::string_view name : {"apiVersion", "kind"}) {
      if (find(out, name) != out.fields.end()) continue;
      Schema& text = owner_.nodes_.emplace_back();
      text.type = Schema::Type::kString;
      add_field(out, {.name = std::string(name), .schema = &text});
    }
    const Schema* meta = builtin_type(kObjectMeta);
    if (!meta) meta = &owner_.nodes_.emplace_back();
    auto described = find(out, "metadata");
    if (described == out.fields.end()) return add_field(out, {.name = "metadata", .schema = meta});
    checks(out).metadata = described->schema;
    described->schema = meta;
    described->default_value.reset();
  }

 private:
  static Schema::Type type_of(const json::object& from) {
    if (flag_in(from, "x-kubernetes-int-or-string")) return Schema::Type::kIntOrString;
    const std::string type = text_field(from, "type");
    if (type == "string") return Schema::Type::kString;
    if (type == "integer") return Schema::Type::kInteger;
    if (type == "number") return Schema::Type::kNumber;
    if (type == "boolean") return Schema::Type::kBoolean;
    if (type == "array") return Schema::Type::kList;
    if (type != "object") return Schema::Type::kAny;
    const json::object* fields = object_in(from, "properties");
    return from.contains("additionalProperties") && (!fields || fields->empty()) ? Schema::Type::kMap
                                                                                 : Schema::Type::kObject;
  }

  static Checks& checks(Schema& out) {
    if (!out.checks) out.checks = std::make_unique<Checks>();
    return *out.checks;
  }

  static std::vector<Field>::iterator find(Schema& out, std::string_view name) {
    return std::ranges::find(out.fields, name, &Field::name);
  }

  static void add_field(Schema& out, Field field) {
    auto place = std::ranges::lower_bound(out.fields, field.name, {}, &Field::name);
    out.fields.insert(place, std::move(field));
  }

  void read_parts(const json::object& from, Schema& out, int depth) {
    if (const json::object* fields = object_in(from, "properties")) {
      const std::vector<std::string> required = texts_in(from, "required");
      for (const auto& [name, schema] : *fields) {
        if (!schema.is_object()) continue;
        Field field{.name = std::string(name), .schema = node(schema.get_object(), depth + 1)};
        if (!field.schema->default_value.is_null()) field.default_value = field.schema->default_value;
        field.required = std::ranges::find(required, field.name) != required.end();
        add_field(out, std::move(field));
      }
    }
    if (const json::object* items = object_in(from, "items"))
      out.items = node(*items, depth + 1);
    else if (const json::object* values = object_in(from, "additionalProperties"))
      out.items = node(*values, depth + 1);
  }

  void read_checks(const json::object& from, Schema& out, int depth) {
    static constexpr std::array kKeywords{"enum",       "pattern",       "format",        "minimum",   "maximum",
                                          "multipleOf", "uniqueItems",   "minLength",     "maxLength", "minItems",
                                          "maxItems",   "minProperties", "maxProperties", "allOf",     "anyOf",
                                          "oneOf",      "not",           "required"};
    if (std::ranges::none_of(kKeywords, [&](const char* keyword) { return from.contains(keyword); })) return;
    Checks& to = checks(out);
    if (const json::array* values = array_in(from, "enum")) to.enumeration.assign(values->begin(), values->end());
    to.pattern = text_field(from, "pattern");
    to.format = text_field(from, "format");
    to.minimum = number_in(from, "minimum");
    to.maximum = number_in(from, "maximum");
    to.multiple_of = number_in(from, "multipleOf");
    to.exclusive_minimum = flag_in(from, "exclusiveMinimum");
    to.exclusive_maximum = flag_in(from, "exclusiveMaximum");
    to.unique_items = flag_in(from, "uniqueItems");
    to.min_length = count_in(from, "minLength");
    to.max_length = count_in(from, "maxLength");
    to.min_items = count_in(from, "minItems");
    to.max_items = count_in(from, "maxItems");
    to.min_properties = count_in(from, "minProperties");
    to.max_properties = count_in(from, "maxProperties");
    to.required = texts_in(from, "required");
    for (auto [keyword, list] : {std::pair{"allOf", &to.all_of}, {"anyOf", &to.any_of}, {"oneOf", &to.one_of}})
      if (const json::array* parts = array_in(from, keyword))
        for (const json::value& part : *parts)
          if (part.is_object()) list->push_back(node(part.get_object(), depth + 1));
    if (const json::object* part = object_in(from, "not")) to.not_schema = node(*part, depth + 1);
  }

  CustomSchema& owner_;
};

std::shared_ptr<const CustomSchema> CustomSchema::build(const json::object& openapi) {
  auto out = std::make_shared<CustomSchema>();
  CustomSchemaBuilder builder(*out);
  Schema* root = builder.node(openapi);
  if (!root->embedded_resource) {
    root->embedded_resource = true;
    builder.add_meta(*root);
  }
  out->root_ = root;
  return out;
}

std::shared_ptr<const CustomSchema> CustomSchema::build_part(const json::object& openapi) {
  auto out = std::make_shared<CustomSchema>();
  out->root_ = CustomSchemaBuilder(*out).node(openapi);
  return out;
}

std::shared_ptr<const CustomSchema> CustomSchema::anything() {
  return build({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
}

}  // namespace hookd::embedded
