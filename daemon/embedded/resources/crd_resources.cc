// The kinds that CustomResourceDefinitions make.
#include <algorithm>
#include <charconv>
#include <limits>

#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/crd_validate.h"
#include "embedded/resources/fields.h"
#include "embedded/resources/metadata.h"
#include "embedded/schema/custom_schema.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

// What one served version needs as long as anybody uses its Resource.
struct CustomKind {
  std::shared_ptr<const CustomSchema> schema, storage_schema;
  Strategy strategy;
};

// The value at a JSON path of dots (".spec.replicas"); null = none.
const json::value* at_path(const json::object& object, std::string_view path) {
  const json::object* node = &object;
  while (path.starts_with('.')) path.remove_prefix(1);
  for (;;) {
    const size_t dot = path.find('.');
    const json::value* found = node->if_contains(path.substr(0, dot));
    if (!found || dot == std::string_view::npos) return found;
    node = found->if_object();
    if (!node) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

std::string shown(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : value.is_null() ? "" : to_text(value);
}

std::string_view go_type(const json::value& value);

// Is something on the way to the path's end no object? "" = no; else in Go's words what and where.
std::string no_way_to(const json::object& object, std::string_view path) {
  const json::object* node = &object;
  for (size_t dot = path.find('.', 1); dot != std::string_view::npos;) {
    const size_t begin = path.rfind('.', dot - 1) + 1;  // npos + 1 = 0
    const json::value* found = node->if_contains(path.substr(begin, dot - begin));
    if (!found || found->is_null()) return "";
    node = found->if_object();
    dot = path.find('.', dot + 1);
    if (!node)
      return fmt::format("{}{} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                         path.starts_with('.') ? "" : ".", path.substr(0, dot), shown(*found), go_type(*found));
  }
  return "";
}

std::string_view go_type(const json::value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_double()) return "float64";
  if (value.is_array()) return "[]interface {}";
  if (value.is_object()) return "map[string]interface {}";
  return value.is_null() ? "<nil>" : "int64";
}

void check_replicas(const json::object& object, const std::string& path, Complaints& complain) {
  if (auto why = no_way_to(object, path); !why.empty()) return complain.invalid(path, 0, std::move(why));
  const json::value* value = at_path(object, path);
  if (!value) return;
  if (!value->is_int64())
    return complain.invalid(path, 0,
                            fmt::format("{} accessor error: {} is of the type {}, expected int64", path,
                                        value->is_string() ? shown(*value) : to_text(*value), go_type(*value)));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (value->get_int64() < 0) complain.invalid(path, *value, "should be a non-negative integer");
  if (value->get_int64() > kMost)
    complain.invalid(path, *value, fmt::format("should be less than or equal to {}", kMost));
}

void check_scale(const json::object& object, const ScalePaths& scale, bool spec_too, FieldErrors& errors) {
  Complaints complain(errors);
  if (spec_too) check_replicas(object, scale.spec_replicas, complain);
  check_replicas(object, scale.status_replicas, complain);
  if (scale.label_selector.empty()) return;
  if (auto why = no_way_to(object, scale.label_selector); !why.empty())
    return complain.invalid(scale.label_selector, "", std::move(why));
  if (const json::value* value = at_path(object, scale.label_selector); value && !value->is_string())
    complain.invalid(scale.label_selector, "",
                     fmt::format("{} accessor error: {} is of the type {}, expected string", scale.label_selector,
                                 to_text(*value), go_type(*value)));
}

// apiVersion, kind and metadata of a resource inside the resource.
void check_embedded_resource(const json::object& object, const std::string& path, FieldErrors& errors) {
  Complaints complain(errors);
  for (std::string_view key : {"apiVersion", "kind"})
    if (!object.contains(key)) complain.required(child(path, key));
  if (const json::value* value = object.if_contains("apiVersion")) {
    const std::string where = child(path, "apiVersion");
    const std::string_view text = as_string(*value);
    if (!value->is_string())
      complain.invalid(where, *value, "must be a string");
    else if (text.empty())
      complain.invalid(where, "", "must not be empty");
    else if (std::ranges::count(text, '/') > 1)
      complain.invalid(where, *value, fmt::format("unexpected GroupVersion string: {}", text));
  }
  if (const json::value* value = object.if_contains("kind")) {
    const std::string where = child(path, "kind");
    std::string text(as_string(*value));
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!value->is_string()) {
      complain.invalid(where, *value, "must be a string");
    } else if (text.empty()) {
      complain.invalid(where, "", "must not be empty");
    } else if (const Faulty faults = dns_1035_label(text); !faults.empty()) {
      std::string why;
      for (const std::string& fault : faults) why += (why.empty() ? "" : ",") + fault;
      complain.invalid(where, *value, "may have mixed case, but should otherwise match: " + why);
    }
  }
  const json::value* meta = object.if_contains("metadata");
  if (!meta || !meta->is_object()) return;
  static const Strategy kStrategy = [] {
    Strategy out;
    out.name_rule = Strategy::NameRule::kPathSegment;
    return out;
  }();
  json::object whole{{"metadata", *meta}};
  json::object& fields = whole["metadata"].get_object();
  if (string_at(fields, {"name"}).empty()) fields["name"] = "fakename";
  Resource pretended;
  pretended.strategy = &kStrategy;
  pretended.namespaced = has(fields, {"namespace"}) && !string_at(fields, {"namespace"}).empty();
  FieldErrors found;
  validate_metadata(whole, pretended, found);
  for (FieldError& error : found) {
    error.field = child(path, error.field);
    errors.push_back(std::move(error));
  }
}

void check_embedded(const json::value& value, const Schema& schema, const std::string& path, bool root,
                    FieldErrors& errors) {
  if (const json::array* list = value.if_array()) {
    if (schema.items && schema.type != Schema::Type::kMap)
      for (size_t i = 0; i < list->size(); ++i) check_embedded((*list)[i], *schema.items, at(path, i), false, errors);
    return;
  }
  const json::object* object = value.if_object();
  if (!object) return;
  if (schema.embedded_resource && !root) check_embedded_resource(*object, path, errors);
  for (const auto& [key, item] : *object) {
    if (schema.embedded_resource && key == "metadata") continue;
    if (const Field* field = schema.field(key)) {
      if (field->schema) check_embedded(item, *field->schema, child(path, key), false, errors);
    } else if (schema.type == Schema::Type::kMap && schema.items) {
      check_embedded(item, *schema.items, keyed(path, key), false, errors);
    }
  }
}

Strategy strategy_of(const json::object& version, std::shared_ptr<const CustomSchema> schema,
                     const std::optional<ScalePaths>& scale) {
  Strategy out;
  out.generation = true;
  out.allow_unconditional_update = false;
  const bool status = has(version, {"subresources", "status"});
  // Without the status subresource a change of status is one of the object.
  if (!status)
    out.prepare_update = [](json::object& next, const json::object& live, const WriteContext&) {
      if (!same(value_at(next, {"status"}), value_at(live, {"status"})))
        ensure_object(next, {"metadata"})["generation"] = integer_at(live, {"metadata", "generation"}).value_or(0) + 1;
    };
  out.validate = [schema, scale](const json::object& object, FieldErrors& errors) {
    if (scale) check_scale(object, *scale, true, errors);
    check_embedded(object, schema->root(), "", true, errors);
  };
  out.validate_status = [scale](const json::object& next, const json::object&, FieldErrors& errors) {
    if (scale) check_scale(next, *scale, false, errors);
  };
  for (const json::value& field : array_at(version, {"selectableFields"})) {
    const std::string path(string_at(as_object(field), {"jsonPath"}));
    out.selectable[path.starts_with('.') ? path.substr(1) : path] = [path](const json::object& object) {
      const json::value* found = at_path(object, path);
      return found ? shown(*found) : std::string();
    };
  }
  return out;
}

std::shared_ptr<const CustomSchema> schema_of(const json::object& version) {
  const json::value* schema = value_at(version, {"schema", "openAPIV3Schema"});
  return schema ? CustomSchema::build(as_object(*schema)) : CustomSchema::anything();
}

std::vector<std::string> strings(const json::array& list) {
  std::vector<std::string> out;
  for (const json::value& item : list) out.emplace_back(as_string(item));
  return out;
}

std::vector<PrinterColumn> columns_of(const json::object& version) {
  std::vector<PrinterColumn> out;
  for (const json::value& entry : array_at(version, {"additionalPrinterColumns"})) {
    const json::object& column = as_object(entry);
    out.push_back({.name = std::string(string_at(column, {"name"})),
                   .type = std::string(string_at(column, {"type"})),
                   .format = std::string(string_at(column, {"format"})),
                   .description = std::string(string_at(column, {"description"})),
                   .json_path = std::string(string_at(column, {"jsonPath"})),
                   .priority = static_cast<int>(integer_at(column, {"priority"}).value_or(0))});
  }
  return out;
}

// v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else (by name). Source: API docs "Version priority".
std::tuple<int, int, int> priority(std::string_view version) {
  auto number = [&](std::string_view& text) {
    int out = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || text.starts_with('0') || out < 0) return -1;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return out;
  };
  constexpr std::tuple kOther{-1, 0, 0};
  std::string_view rest = version;
  if (!rest.starts_with('v')) return kOther;
  rest.remove_prefix(1);
  const int major = number(rest);
  if (major < 0) return kOther;
  if (rest.empty()) return {2, major, 0};
  const int stage = rest.starts_with("beta") ? 1 : rest.starts_with("alpha") ? 0 : -1;
  if (stage < 0) return kOther;
  rest.remove_prefix(stage == 1 ? 4 : 5);
  const int minor = number(rest);
  if (minor < 0 || !rest.empty()) return kOther;
  return {stage, major, minor};
}

bool newer(std::string_view a, std::string_view b) {
  const auto left = priority(a), right = priority(b);
  if (left != right) return left > right;
  return std::get<0>(left) < 0 && a < b;
}

std::string deprecation(const json::object& spec, const json::object& version) {
  if (!bool_at(version, {"deprecated"})) return "";
  if (const json::value* text = value_at(version, {"deprecationWarning"})) return std::string(as_string(*text));
  const std::string_view name = string_at(version, {"name"});
  std::string_view best;
  for (const json::value& entry : array_at(spec, {"versions"})) {
    const json::object& other = as_object(entry);
    const std::string_view candidate = string_at(other, {"name"});
    if (bool_at(other, {"served"}) && !bool_at(other, {"deprecated"}) && newer(candidate, name) &&
        (best.empty() || newer(candidate, best)))
      best = candidate;
  }
  const std::string_view group = string_at(spec, {"group"}), kind = string_at(spec, {"names", "kind"});
  std::string out = fmt::format("{}/{} {} is deprecated", group, name, kind);
  if (!best.empty()) out += fmt::format("; use {}/{} {}", group, best, kind);
  return out;
}

}  // namespace

std::vector<Resource> resources_of_crd(const json::object& crd) {
  std::vector<Resource> out;
  if (!crd_condition_true(crd, "Established")) return out;
  const json::object& spec = object_at(crd, {"spec"});
  const json::object& names = object_at(crd, {"status", "acceptedNames"});
  const bool terminating = crd_condition_true(crd, "Terminating") || has(crd, {"metadata", "deletionTimestamp"});
  std::string_view storage;
  std::shared_ptr<const CustomSchema> storage_schema;
  for (const json::value& version : array_at(spec, {"versions"}))
    if (bool_at(as_object(version), {"storage"})) {
      storage = string_at(as_object(version), {"name"});
      storage_schema = schema_of(as_object(version));
    }

  for (const json::value& entry : array_at(spec, {"versions"})) {
    const json::object& version = as_object(entry);
    if (!bool_at(version, {"served"})) continue;
    Resource& to = out.emplace_back();
    to.group = string_at(spec, {"group"});
    to.version = string_at(version, {"name"});
    to.plural = string_at(names, {"plural"});
    to.singular = string_at(names, {"singular"});
    to.kind = string_at(names, {"kind"});
    to.list_kind = string_at(names, {"listKind"});
    to.short_names = strings(array_at(names, {"shortNames"}));
    to.categories = strings(array_at(names, {"categories"}));
    to.namespaced = string_at(spec, {"scope"}) == "Namespaced";
    to.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    to.status = has(version, {"subresources", "status"});
    if (const json::value* scale = value_at(version, {"subresources", "scale"})) {
      const json::object& paths = as_object(*scale);
      to.scale = ScalePaths{std::string(string_at(paths, {"specReplicasPath"})),
                            std::string(string_at(paths, {"statusReplicasPath"})),
                            std::string(string_at(paths, {"labelSelectorPath"}))};
    }
    to.columns = columns_of(version);
    to.storage_key = to.plural + "." + to.group;
    to.storage_version = fmt::format("{}/{}", to.group, storage);
    to.custom = true;
    to.terminating = terminating;
    to.deprecation_warning = deprecation(spec, version);
    to.webhook_conversion = string_at(spec, {"conversion", "strategy"}) == "Webhook";
    const json::value* schema = value_at(version, {"schema", "openAPIV3Schema"});
    auto kind = std::make_shared<CustomKind>();
    kind->schema = schema_of(version);
    kind->storage_schema = storage_schema;
    kind->strategy = strategy_of(version, kind->schema, to.scale);
    to.schema = &kind->schema->root();
    if (storage_schema) to.storage_schema = &storage_schema->root();
    to.strategy = &kind->strategy;
    to.openapi = std::make_shared<json::object>(schema ? as_object(*schema) : json::object{{"type", "object"}});
    to.owned = std::move(kind);
  }
  std::ranges::stable_sort(out, [](const Resource& a, const Resource& b) { return newer(a.version, b.version); });
  return out;
}

}  // namespace hookd::embedded
