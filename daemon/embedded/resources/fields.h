// Reading decoded objects, and noting what is wrong in them. Missing and mistyped fields read as empty: types are
// checked when a request is decoded. Thread: any.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/resources/names.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

using Keys = std::initializer_list<std::string_view>;

const json::value* value_at(const json::object& object, Keys path);    // null = missing or null
const json::object& object_at(const json::object& object, Keys path);  // {} if missing
const json::array& array_at(const json::object& object, Keys path);    // [] if missing
std::string_view string_at(const json::object& object, Keys path);     // "" if missing
std::optional<int64_t> integer_at(const json::object& object, Keys path);
bool bool_at(const json::object& object, Keys path, bool fallback = false);
inline bool has(const json::object& object, Keys path) { return value_at(object, path) != nullptr; }
// The object at a path, made if it is missing.
json::object& ensure_object(json::object& object, Keys path);
inline const json::object& as_object(const json::value& value) {
  static const json::object kEmpty;
  return value.is_object() ? value.get_object() : kEmpty;
}
inline std::string_view as_string(const json::value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view();
}
// Equal as Kubernetes compares: missing, null, {}, [] and "" are the same at any depth.
bool same(const json::value* a, const json::value* b);
bool same(const json::object& a, const json::object& b);

// "spec" + "containers" -> "spec.containers"; at("a", 3) -> "a[3]"; keyed("a", "k") -> "a[k]"
inline std::string child(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}
inline std::string at(std::string_view path, size_t index) { return fmt::format("{}[{}]", path, index); }
inline std::string keyed(std::string_view path, std::string_view key) { return fmt::format("{}[{}]", path, key); }

// An object as the real server shows some in errors: by the names of Go's struct fields, in their order, null if unset.
json::value go_struct(const json::object& object,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> json_and_go_names);

// FieldErrors with a word for each kind of error.
class Complaints {
 public:
  explicit Complaints(FieldErrors& errors) : errors_(errors) {}
  void required(std::string field, std::string detail = "") {
    add(FieldError::Type::kRequired, std::move(field), std::move(detail), {});
  }
  void invalid(std::string field, json::value bad, std::string detail) {
    add(FieldError::Type::kInvalid, std::move(field), std::move(detail), std::move(bad));
  }
  void invalid(const std::string& field, std::string_view bad, const Faulty& faults) {
    for (const std::string& fault : faults) invalid(field, json::value(bad), fault);
  }
  void forbidden(std::string field, std::string detail) {
    add(FieldError::Type::kForbidden, std::move(field), std::move(detail), {});
  }
  void duplicate(std::string field, json::value bad) {
    add(FieldError::Type::kDuplicate, std::move(field), "", std::move(bad));
  }
  void not_found(std::string field, json::value bad) {
    add(FieldError::Type::kNotFound, std::move(field), "", std::move(bad));
  }
  void too_long(std::string field, size_t limit) {
    add(FieldError::Type::kTooLong, std::move(field), fmt::format("may not be more than {} bytes", limit), {});
  }
  void too_many(std::string field, size_t actual, size_t limit) {
    add(FieldError::Type::kTooMany, std::move(field), fmt::format("must have at most {} items", limit),
        json::value(actual));
  }
  void unsupported(std::string field, json::value bad, std::vector<std::string> supported) {
    errors_.push_back({FieldError::Type::kNotSupported, std::move(field), "", std::move(bad), std::move(supported)});
  }
  // `value` must be one of the list; "" is told as required if `required`.
  void one_of(const std::string& field, std::string_view value, std::initializer_list<std::string_view> supported,
              bool required = true);
  void not_negative(const std::string& field, std::optional<int64_t> value) {
    if (value && *value < 0) invalid(field, *value, "must be greater than or equal to 0");
  }
  void positive(const std::string& field, std::optional<int64_t> value) {
    if (value && *value <= 0) invalid(field, *value, "must be greater than 0");
  }
  void immutable(const std::string& field, const json::value* next, const json::value* live) {
    if (!same(next, live)) invalid(field, next ? *next : json::value(nullptr), "field is immutable");
  }
  FieldErrors& errors() { return errors_; }

 private:
  void add(FieldError::Type type, std::string field, std::string detail, json::value bad) {
    errors_.push_back({type, std::move(field), std::move(detail), std::move(bad), {}});
  }
  FieldErrors& errors_;
};

// Parts that many kinds have.
void check_label_key(std::string_view key, const std::string& path, Complaints& complaints);
void check_labels(const json::object& labels, const std::string& path, Complaints& complaints);
void check_annotations(const json::object& annotations, const std::string& path, Complaints& complaints);
void check_label_selector(const json::object& selector, const std::string& path, Complaints& complaints);
bool selector_matches(const json::object& selector, const json::object& labels);  // a LabelSelector
// A LabelSelector as kubectl writes it: "a=b,c in (d,e)"; `nothing` of one that is missing, `everything` of an empty
// one.
std::string selector_text(const json::value* selector, std::string_view nothing, std::string_view everything);
std::string labels_text(const json::object& labels, std::string_view nothing = "<none>");

}  // namespace hookd::embedded
