#include "embedded/resources/fields.h"

#include <algorithm>
#include <set>

namespace hookd::embedded {
namespace {

bool nothing(const json::value* value) {
  if (!value || value->is_null()) return true;
  if (value->is_object())
    return std::ranges::all_of(value->get_object(), [](const auto& entry) { return nothing(&entry.value()); });
  if (value->is_array()) return value->get_array().empty();
  return value->is_string() && value->get_string().empty();
}

}  // namespace

const json::value* value_at(const json::object& object, Keys path) {
  const json::object* where = &object;
  const json::value* found = nullptr;
  for (const std::string_view key : path) {
    if (!where) return nullptr;
    found = where->if_contains(key);
    if (!found || found->is_null()) return nullptr;
    where = found->if_object();
  }
  return found;
}

const json::object& object_at(const json::object& object, Keys path) {
  static const json::object kEmpty;
  const json::value* found = value_at(object, path);
  return found && found->is_object() ? found->get_object() : kEmpty;
}

const json::array& array_at(const json::object& object, Keys path) {
  static const json::array kEmpty;
  const json::value* found = value_at(object, path);
  return found && found->is_array() ? found->get_array() : kEmpty;
}

std::string_view string_at(const json::object& object, Keys path) {
  const json::value* found = value_at(object, path);
  return found ? as_string(*found) : std::string_view();
}

std::optional<int64_t> integer_at(const json::object& object, Keys path) {
  const json::value* found = value_at(object, path);
  if (!found) return std::nullopt;
  if (found->is_int64()) return found->get_int64();
  if (found->is_uint64()) return static_cast<int64_t>(found->get_uint64());
  if (found->is_double()) return static_cast<int64_t>(found->get_double());
  return std::nullopt;
}

bool bool_at(const json::object& object, Keys path, bool fallback) {
  const json::value* found = value_at(object, path);
  return found && found->is_bool() ? found->get_bool() : fallback;
}

json::object& ensure_object(json::object& object, Keys path) {
  json::object* where = &object;
  for (const std::string_view key : path) {
    json::value& next = (*where)[key];
    if (!next.is_object()) next.emplace_object();
    where = &next.get_object();
  }
  return *where;
}

bool same(const json::value* a, const json::value* b) {
  if (nothing(a) || nothing(b)) return nothing(a) && nothing(b);
  if (a->is_object() && b->is_object()) return same(a->get_object(), b->get_object());
  if (a->is_array() && b->is_array())
    return std::ranges::equal(a->get_array(), b->get_array(),
                              [](const json::value& x, const json::value& y) { return same(&x, &y); });
  return *a == *b;
}

bool same(const json::object& a, const json::object& b) {
  for (const auto& entry : a)
    if (!same(&entry.value(), b.if_contains(entry.key()))) return false;
  return std::ranges::all_of(b, [&](const auto& entry) { return a.contains(entry.key()) || nothing(&entry.value()); });
}

json::value go_struct(const json::object& object,
                      std::initializer_list<std::pair<std::string_view, std::string_view>> json_and_go_names) {
  json::object out;
  for (const auto& [key, name] : json_and_go_names) {
    const json::value* value = value_at(object, {key});
    out[name] = value ? *value : json::value(nullptr);
  }
  return out;
}

void Complaints::one_of(const std::string& field, std::string_view value,
                        std::initializer_list<std::string_view> supported, bool needed) {
  if (std::ranges::find(supported, value) != supported.end()) return;
  if (value.empty()) {
    if (needed) required(field);
    return;
  }
  std::vector<std::string> words(supported.begin(), supported.end());
  unsupported(field, json::value(value), std::move(words));
}

void check_label_key(std::string_view key, const std::string& path, Complaints& complaints) {
  complaints.invalid(path, key, label_key(key));
}

void check_labels(const json::object& labels, const std::string& path, Complaints& complaints) {
  for (const auto& entry : labels) {
    complaints.invalid(path, entry.key(), label_key(entry.key()));
    complaints.invalid(path, as_string(entry.value()), label_value(as_string(entry.value())));
  }
}

void check_annotations(const json::object& annotations, const std::string& path, Complaints& complaints) {
  constexpr size_t kLimit = 256 * 1024;
  size_t size = 0;
  for (const auto& entry : annotations) {
    std::string lower(entry.key());
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    complaints.invalid(path, entry.key(), label_key(lower));
    size += entry.key().size() + as_string(entry.value()).size();
  }
  if (size > kLimit) complaints.too_long(path, kLimit);
}

void check_label_selector(const json::object& selector, const std::string& path, Complaints& complaints) {
  check_labels(object_at(selector, {"matchLabels"}), child(path, "matchLabels"), complaints);
  size_t index = 0;
  for (const json::value& item : array_at(selector, {"matchExpressions"})) {
    const json::object& expression = as_object(item);
    const std::string here = at(child(path, "matchExpressions"), index++);
    const std::string_view verb = string_at(expression, {"operator"});
    const json::array& values = array_at(expression, {"values"});
    if (verb == "In" || verb == "NotIn") {
      if (values.empty())
        complaints.required(child(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (verb == "Exists" || verb == "DoesNotExist") {
      if (!values.empty())
        complaints.forbidden(child(here, "values"),
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
      complaints.invalid(child(here, "operator"), json::value(verb), "not a valid selector operator");
    }
    check_label_key(string_at(expression, {"key"}), child(here, "key"), complaints);
    for (size_t i = 0; i < values.size(); ++i)
      complaints.invalid(at(child(here, "values"), i), as_string(values[i]), label_value(as_string(values[i])));
  }
}

bool selector_matches(const json::object& selector, const json::object& labels) {
  for (const auto& entry : object_at(selector, {"matchLabels"})) {
    const json::value* value = labels.if_contains(entry.key());
    if (!value || *value != entry.value()) return false;
  }
  for (const json::value& item : array_at(selector, {"matchExpressions"})) {
    const json::object& expression = as_object(item);
    const std::string_view verb = string_at(expression, {"operator"});
    const json::value* value = labels.if_contains(string_at(expression, {"key"}));
    const json::array& values = array_at(expression, {"values"});
    const bool among = value && std::ranges::find(values, *value) != values.end();
    const bool matches = verb == "In"             ? among
                         : verb == "NotIn"        ? !among
                         : verb == "Exists"       ? value != nullptr
                         : verb == "DoesNotExist" ? value == nullptr
                                                  : false;
    if (!matches) return false;
  }
  return true;
}

std::string selector_text(const json::value* selector, std::string_view nothing_text, std::string_view everything) {
  if (!selector || !selector->is_object()) return std::string(nothing_text);
  // By key, as Kubernetes sorts the parts of a selector.
  std::vector<std::pair<std::string, std::string>> parts;
  for (const auto& entry : object_at(selector->get_object(), {"matchLabels"}))
    parts.emplace_back(entry.key(), fmt::format("{}={}", std::string_view(entry.key()), as_string(entry.value())));
  for (const json::value& item : array_at(selector->get_object(), {"matchExpressions"})) {
    const json::object& expression = as_object(item);
    const std::string_view verb = string_at(expression, {"operator"});
    const std::string key(string_at(expression, {"key"}));
    std::set<std::string_view> values;
    for (const json::value& value : array_at(expression, {"values"})) values.insert(as_string(value));
    if (verb == "Exists") {
      parts.emplace_back(key, key);
    } else if (verb == "DoesNotExist") {
      parts.emplace_back(key, "!" + key);
    } else {
      parts.emplace_back(key, fmt::format("{} {} ({})", key, verb == "In" ? "in" : "notin", fmt::join(values, ",")));
    }
  }
  if (parts.empty()) return std::string(everything);
  std::ranges::stable_sort(parts, {}, &std::pair<std::string, std::string>::first);
  std::string out;
  for (const auto& [key, text] : parts) out += (out.empty() ? "" : ",") + text;
  return out;
}

std::string labels_text(const json::object& labels, std::string_view nothing_text) {
  if (labels.empty()) return std::string(nothing_text);
  std::vector<std::string> parts;
  for (const auto& entry : labels)
    parts.push_back(fmt::format("{}={}", std::string_view(entry.key()), as_string(entry.value())));
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace hookd::embedded
