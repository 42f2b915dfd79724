#include "embedded/schema/builtin.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hookd::embedded {

namespace {

constexpr std::string_view kTable =
#include "embedded/schema/builtin.api"
    ;

// Cuts the text up to `separator` off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

bool cut_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// `merge(name)` -> "name"; nothing if the mark is another one.
std::optional<std::string_view> argument(std::string_view mark, std::string_view name) {
  if (!cut_prefix(mark, name) || !mark.starts_with('(') || !mark.ends_with(')')) return std::nullopt;
  return mark.substr(1, mark.size() - 2);
}

struct Scalar {
  std::string_view word;
  Schema::Type type;
  std::string_view format, name, go_name;
};
constexpr Scalar kScalars[] = {
    {"string", Schema::Type::kString, "", "", "string"},
    {"bool", Schema::Type::kBoolean, "", "", "bool"},
    {"int32", Schema::Type::kInteger, "int32", "", "int32"},
    {"int64", Schema::Type::kInteger, "int64", "", "int64"},
    {"double", Schema::Type::kNumber, "double", "", "float64"},
    {"bytes", Schema::Type::kString, "byte", "", "[]uint8"},
    {"any", Schema::Type::kAny, "", "", ""},
    {"quantity", Schema::Type::kQuantity, "", "io.k8s.apimachinery.pkg.api.resource.Quantity", "resource.Quantity"},
    {"time", Schema::Type::kTime, "date-time", "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "v1.Time"},
    {"microtime", Schema::Type::kTime, "micro-time", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "v1.MicroTime"},
    {"intstr", Schema::Type::kIntOrString, "int-or-string", "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
     "intstr.IntOrString"},
};
// OpenAPI names of the types that hold any JSON.
constexpr std::pair<std::string_view, std::string_view> kAnyNames[] = {
    {"runtime.RawExtension", "io.k8s.apimachinery.pkg.runtime.RawExtension"},
    {"v1.FieldsV1", "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"},
    {"v1.JSON", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON"},
    {"v1.JSONSchemaPropsOrArray", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"},
    {"v1.JSONSchemaPropsOrBool", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"},
    {"v1.JSONSchemaPropsOrStringArray",
     "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"},
};

// How a field that is written `omitempty` or `omitzero` (or neither) in Go is printed.
struct Marks {
  bool pointer = false, omit_empty = false, omit_zero = false;
};
void set_printing(Field& field, Marks marks) {
  using Type = Schema::Type;
  const Schema& schema = *field.schema;
  const bool omit = marks.omit_empty || marks.omit_zero;
  if (marks.pointer) {
    field.absent = omit ? Field::Absent::kNothing : Field::Absent::kNull;
    return;
  }
  switch (schema.type) {
    case Type::kList:
    case Type::kMap:
      field.absent = omit ? Field::Absent::kNothing : Field::Absent::kNull;
      field.drop_empty = true;  // without omitempty too: in the store an empty list is none
      return;
    case Type::kString:
      if (schema.format == "byte" && !omit) {
        field.absent = Field::Absent::kNull;
        return;
      }
      [[fallthrough]];
    case Type::kInteger:
    case Type::kNumber:
    case Type::kBoolean:
      field.absent = omit ? Field::Absent::kNothing : Field::Absent::kZero;
      field.drop_empty = omit;
      return;
    case Type::kObject:  // a struct is never empty
    case Type::kQuantity:
    case Type::kIntOrString:
      field.absent = marks.omit_zero ? Field::Absent::kNothing : Field::Absent::kZero;
      field.drop_empty = marks.omit_zero;
      return;
    case Type::kTime:
    case Type::kAny:
      field.absent = marks.omit_zero ? Field::Absent::kNothing : Field::Absent::kNull;
      return;
  }
}

// "2.1" -> {2, 1}
void set_protobuf(Field& field, std::string_view numbers) {
  for (uint8_t& number : field.protobuf) {
    const std::string_view text = take(numbers, '.');
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
}

// A type as the table has it, not yet built.
struct TypeText {
  std::string_view package;  // alias
  std::string_view prefix;   // "io.k8s.api.core.v1"
  std::string_view name;     // "Pod"
  std::string_view head;     // what follows the name: "atomic", "/v1/Pod"
  std::string_view fields;   // lines
};

class Builtins {
 public:
  Builtins() { read_index(); }

  const Schema* kind(std::string_view group, std::string_view version, std::string_view kind) {
    const auto found = kinds_.find(std::string(group).append("/").append(version).append("/").append(kind));
    return found == kinds_.end() ? nullptr : node(*found->second);
  }

  const Schema* named(std::string_view name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return nullptr;
    for (const TypeText& type : types_) {
      if (type.prefix == name.substr(0, dot) && type.name == name.substr(dot + 1)) return node(type);
    }
    return nullptr;
  }

  std::vector<BuiltinKind> list() const {
    std::vector<BuiltinKind> kinds;
    for (const auto& [key, type] : kinds_) {
      std::string_view rest = key;
      const std::string_view group = take(rest, '/'), version = take(rest, '/');
      kinds.push_back({group, version, rest});
    }
    std::sort(kinds.begin(), kinds.end(), [](const BuiltinKind& a, const BuiltinKind& b) {
      return std::tie(a.group, a.version, a.kind) < std::tie(b.group, b.version, b.kind);
    });
    return kinds;
  }

 private:
  void read_index() {
    std::string_view rest = kTable, package, prefix;
    while (!rest.empty()) {
      std::string_view line = take(rest, '\n');
      if (cut_prefix(line, "package ")) {
        package = take(line, ' ');
        prefix = line;
      } else if (cut_prefix(line, "type ")) {
        TypeText& type = types_.emplace_back(TypeText{package, prefix, take(line, ' '), line, {}});
        const char* begin = rest.data();
        while (rest.starts_with(' ')) take(rest, '\n');
        type.fields = {begin, static_cast<size_t>(rest.data() - begin)};
        by_alias_.emplace(std::string(package).append(".").append(type.name), &type);
        std::string_view words = type.head;
        while (!words.empty()) {
          if (const std::string_view word = take(words, ' '); word != "atomic") kinds_.emplace(word, &type);
        }
      }
    }
  }

  // The node of a named type; made with all that it leads to.
  const Schema* node(const TypeText& type) {
    if (const auto found = nodes_.find(&type); found != nodes_.end()) return found->second;
    Schema& schema = store_.emplace_back();
    nodes_.emplace(&type, &schema);  // before its fields: types may contain themselves
    schema.type = Schema::Type::kObject;
    schema.name = std::string(type.prefix).append(".").append(type.name);
    schema.atomic = type.head.starts_with("atomic");
    std::string_view rest = type.fields;
    while (!rest.empty()) {
      std::string_view line = take(rest, '\n');
      line.remove_prefix(1);
      schema.fields.push_back(read_field(line, type));
    }
    return &schema;
  }

  Field read_field(std::string_view line, const TypeText& owner) {
    Field field;
    field.name = std::string(take(line, ' '));
    const std::string_view type = take(line, ' ');
    Marks marks;
    std::string merging;  // the marks that make another node of the same type
    while (!line.empty()) {
      const std::string_view mark = take(line, ' ');  // no default of the table has a blank
      if (mark == "*") {
        marks.pointer = true;
      } else if (mark == "?") {
        marks.omit_empty = true;
      } else if (mark == "??") {
        marks.omit_zero = true;
      } else if (mark == "!") {
        field.required = true;
      } else if (mark.starts_with('=')) {
        field.default_value = json::parse(std::string(mark.substr(1)));
      } else if (const auto inside = argument(mark, "in")) {
        field.inside = *inside;
      } else if (mark.starts_with('#')) {
        set_protobuf(field, mark.substr(1));
      } else {
        merging.append(" ").append(mark);
      }
    }
    field.schema = node_of(type, merging, owner);
    set_printing(field, marks);
    if (field.name == "managedFields") field.drop_empty = false;  // [] from a client says that it resets them
    if (!field.default_value && field.absent == Field::Absent::kZero) set_zero_default(field);
    return field;
  }

  // The server publishes the zero as the default of what is always printed; keys of list maps rely on it.
  static void set_zero_default(Field& field) {
    switch (field.schema->type) {
      case Schema::Type::kString:
        field.default_value.emplace("");
        break;
      case Schema::Type::kInteger:
      case Schema::Type::kNumber:
        field.default_value.emplace(0);
        break;
      case Schema::Type::kBoolean:
        field.default_value.emplace(false);
        break;
      default:
        break;
    }
  }

  // The node of TYPE with list, map and merge marks: one for all fields alike.
  const Schema* node_of(std::string_view type, const std::string& merging, const TypeText& owner) {
    const bool local = type.find(':') == std::string_view::npos;  // may name a type of this package
    std::string key = (local ? std::string(owner.package) + " " : std::string()).append(type).append(merging);
    if (const auto found = shared_.find(key); found != shared_.end()) return found->second;
    const Schema* made = make_node(type, merging, owner);
    shared_.emplace(std::move(key), made);
    return made;
  }

  const Schema* make_node(std::string_view type, const std::string& merging, const TypeText& owner) {
    std::string_view container_name;
    if (cut_prefix(type, "<")) container_name = take(type, '>');
    if (const bool list = cut_prefix(type, "[]"); list || cut_prefix(type, "{}")) {
      Schema& schema = store_.emplace_back();
      schema.type = list ? Schema::Type::kList : Schema::Type::kMap;
      schema.go_name = container_name;
      set_merging(schema, merging);
      schema.items = node_of(type, "", owner);
      return &schema;
    }
    std::string_view go_name = type;
    const std::string_view plain = take(go_name, ':');
    for (const Scalar& scalar : kScalars) {
      if (scalar.word != plain) continue;
      Schema& schema = store_.emplace_back();
      schema.type = scalar.type;
      schema.format = scalar.format;
      schema.name = scalar.name;
      schema.go_name = go_name.empty() ? scalar.go_name : go_name;
      for (const auto& [known, name] : kAnyNames) {
        if (scalar.type == Schema::Type::kAny && known == go_name) schema.name = name;
      }
      // "Schema or bool", "schema or list of schemas": the schemas in there are read as such.
      if (go_name.starts_with("v1.JSONSchemaPropsOr"))
        schema.items = node(*by_alias_.at("apiextensionsv1.JSONSchemaProps"));
      return &schema;
    }
    const std::string full = plain.find('.') == std::string_view::npos
                                 ? std::string(owner.package).append(".").append(plain)
                                 : std::string(plain);
    const Schema* named = node(*by_alias_.at(full));
    if (merging.empty()) return named;
    Schema& variant = store_.emplace_back();
    variant.type = named->type;
    variant.name = named->name;
    variant.fields = named->fields;
    variant.atomic = named->atomic;
    set_merging(variant, merging);
    return &variant;
  }

  static void set_merging(Schema& schema, std::string_view marks) {
    while (!marks.empty()) {
      const std::string_view mark = take(marks, ' ');
      if (mark == "atomic") {
        schema.atomic = true;
      } else if (mark == "set") {
        schema.list_type = Schema::ListType::kSet;
      } else if (mark == "merge") {
        schema.patch_merge = true;
      } else if (mark == "retain") {
        schema.patch_retain_keys = true;
      } else if (mark == "replace") {
        schema.patch_replace = true;
      } else if (const auto key = argument(mark, "merge")) {
        schema.patch_merge = true;
        schema.patch_merge_key = *key;
      } else if (auto keys = argument(mark, "map")) {
        schema.list_type = Schema::ListType::kMap;
        while (!keys->empty()) schema.list_keys.emplace_back(take(*keys, ','));
      }
    }
  }

  std::deque<TypeText> types_;
  std::unordered_map<std::string, const TypeText*> by_alias_;  // "corev1.Pod"
  std::unordered_map<std::string, const TypeText*> kinds_;     // "apps/v1/Deployment", "/v1/Pod"
  std::deque<Schema> store_;
  std::unordered_map<const TypeText*, const Schema*> nodes_;
  std::unordered_map<std::string, const Schema*> shared_;
};

Builtins& builtins() {
  static Builtins table;
  return table;
}

}  // namespace

const Field* Schema::field(std::string_view key) const {
  const auto found = std::lower_bound(fields.begin(), fields.end(), key,
                                      [](const Field& one, std::string_view wanted) { return one.name < wanted; });
  return found != fields.end() && found->name == key ? &*found : nullptr;
}

const Schema* builtin_schema(std::string_view group, std::string_view version, std::string_view kind) {
  return builtins().kind(group, version, kind);
}

const Schema* builtin_type(std::string_view name) { return builtins().named(name); }

std::string_view builtin_table_version() {
  static const std::string version = std::to_string(std::hash<std::string_view>()(kTable));
  return version;
}

std::vector<BuiltinKind> builtin_kinds() { return builtins().list(); }

}  // namespace hookd::embedded
