// What of a value does not fit its schema, in the words of the real server's server-side apply.
#include <unordered_set>

#include "embedded/merge/go_text.h"
#include "embedded/merge/typed.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

namespace {

constexpr size_t kMostErrors = 100;

std::string go_type(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "<nil>";
    case json::kind::bool_:
      return "bool";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "[]interface {}";
    case json::kind::object:
      return "map[string]interface {}";
    case json::kind::int64:
      return "int64";
    default:
      return "float64";
  }
}

// As Go's %#v.
std::string go_source(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "interface {}(nil)";
    case json::kind::string:
      return go_quote(value.get_string());
    case json::kind::array: {
      std::string out = "[]interface {}{";
      for (const auto& item : value.get_array()) {
        if (!out.ends_with('{')) out += ", ";
        out += go_source(item);
      }
      return out + "}";
    }
    case json::kind::object: {
      std::string out = "map[string]interface {}{";
      bool first = true;
      for (const auto& [key, item] : value.get_object()) {
        if (!first) out += ", ";
        first = false;
        out += go_quote(key) + ":" + go_source(item);
      }
      return out + "}";
    }
    default:
      return go_json(value);
  }
}

class Checker {
 public:
  explicit Checker(bool strict) : strict_(strict) {}

  // `open`: unknown fields are fine here, because a schema above preserves them.
  void check(const Schema& schema, const json::value& value, bool open) {
    if (errors_.size() >= kMostErrors) return;
    open = open || schema.preserve_unknown;
    switch (shape_of(schema, &value)) {
      case Shape::kScalar:
        scalar(schema, value);
        return;
      case Shape::kList:
        list(schema, value, open);
        return;
      case Shape::kMap:
        map(schema, value, open);
        return;
    }
  }
  std::vector<std::string> take() && { return std::move(errors_); }

 private:
  void tell(const std::string& what) { errors_.push_back(path_.empty() ? what : path_ + ": " + what); }

  void scalar(const Schema& schema, const json::value& value) {
    if (value.is_null()) return;
    switch (schema.type) {
      case Schema::Type::kInteger:
      case Schema::Type::kNumber:
        if (!value.is_number()) tell("expected numeric (int or float), got " + go_type(value));
        return;
      case Schema::Type::kBoolean:
        if (!value.is_bool()) tell("expected boolean, got &{" + go_value_text(value) + "}");
        return;
      case Schema::Type::kString:
        if (!schema.format.empty() && schema.format != "byte") break;
        if (!value.is_string()) tell("expected string, got &value.valueUnstructured{Value:" + go_source(value) + "}");
        return;
      default:
        break;
    }
    if (value.is_object() || value.is_array()) tell("expected any scalar, got &{" + go_value_text(value) + "}");
  }

  void list(const Schema& schema, const json::value& value, bool open) {
    if (value.is_null()) return;
    const auto* items = value.if_array();
    if (items == nullptr) {
      tell("expected list, got &{" + go_value_text(value) + "}");
      return;
    }
    std::unordered_set<std::string> seen;
    size_t index = 0;
    for (const auto& item : *items) {
      std::string step;
      if (atomic_list(schema)) {
        step = "[" + std::to_string(index) + "]";
      } else {
        auto element = item_element(schema, item);
        if (!element) {
          tell("element " + std::to_string(index) + ": " + element.error());
          return;
        }
        step = element->path_text();
        if (!seen.insert(std::move(element->text)).second && strict_) tell("duplicate entries for key " + step);
      }
      below(item_of(schema), item, step, open);
      ++index;
    }
  }

  void map(const Schema& schema, const json::value& value, bool open) {
    if (value.is_null()) return;
    const auto* fields = value.if_object();
    if (fields == nullptr) {
      tell("expected map, got &{" + go_value_text(value) + "}");
      return;
    }
    for (const auto& [key, field] : *fields) {
      const Child child = child_of(schema, key);
      const std::string step = "." + std::string(key);
      const bool unknown = schema.type == Schema::Type::kObject && !schema.fields.empty() && !child.declared && !open &&
                           !(schema.embedded_resource && (key == "apiVersion" || key == "kind" || key == "metadata"));
      if (unknown && strict_) {
        errors_.push_back(path_ + step + ": field not declared in schema");
        return;
      }
      below(*child.schema, field, step, open);
    }
  }

  void below(const Schema& schema, const json::value& value, const std::string& step, bool open) {
    const size_t length = path_.size();
    path_ += step;
    check(schema, value, open);
    path_.resize(length);
  }

  bool strict_;
  std::string path_;
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> type_errors(const Schema& schema, const json::value& value, bool strict) {
  Checker checker(strict);
  checker.check(schema, value, false);
  return std::move(checker).take();
}

std::string join_type_errors(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  std::string out = "errors:";
  for (const auto& error : errors) out += "\n  " + error;
  return out;
}

}  // namespace hookd::embedded
