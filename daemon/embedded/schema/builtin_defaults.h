// The rules behind apply_builtin_defaults(): plain values as data, the rest as one function a type. Thread: any.
// Source: API reference of Kubernetes 1.36 ("Defaults to ..."); what its server fills in.
#pragma once

#include <span>
#include <string_view>

#include "embedded/schema/schema.h"

namespace hookd::embedded {

// `field` of every struct of `type` gets `value` (JSON) where it is absent, empty or null.
struct DefaultValue {
  std::string_view type;  // without "io.k8s.api.": "core.v1.PodSpec"
  std::string_view field;
  std::string_view value;
};
std::span<const DefaultValue> default_values();  // by type

// Defaults that depend on other fields; run before the plain ones of the same struct and before its fields are visited.
struct DefaultRule {
  std::string_view type;
  void (*apply)(json::object& object);
};
std::span<const DefaultRule> pod_default_rules();  // pods and what they are made of
std::span<const DefaultRule> default_rules();      // every other kind

// Small helpers of rules.
bool has(const json::object& object, std::string_view key);  // not null, not empty (false, 0, "", [], {})
std::string_view string_at(const json::object& object, std::string_view key);       // "" if there is none
json::object* object_at(json::object& object, std::string_view key);                // null if there is none
json::object& make_object(json::object& object, std::string_view key);              // made if there is none
void set_if_absent(json::object& object, std::string_view key, json::value value);  // null counts as absent
// `to` becomes a copy of `from`, which is there. (`object[to] = object.at(from)` would read what `[to]` just moved
// away.)
void copy_field(json::object& object, std::string_view to, std::string_view from);
// Calls `visit` for each object of the list `key`.
template <class Visit>
void each(json::object& object, std::string_view key, Visit visit) {
  json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return;
  for (json::value& item : list->get_array()) {
    if (item.is_object()) visit(item.get_object());
  }
}

}  // namespace hookd::embedded
