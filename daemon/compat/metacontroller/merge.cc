#include "compat/metacontroller/merge.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "compat/metacontroller/names.h"

namespace hookd::metacontroller {
namespace {

// In the order in which they are tried.
constexpr std::array<std::string_view, 7> kMergeKeys{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"};
constexpr std::array<std::string_view, 8> kServersMetadata{"selfLink",
                                                           "uid",
                                                           "resourceVersion",
                                                           "generation",
                                                           "creationTimestamp",
                                                           "deletionTimestamp",
                                                           "deletionGracePeriodSeconds",
                                                           "managedFields"};

std::string key_text(const Value& value) { return value.is_string() ? value.text() : value.to_json(); }

bool is_unique(const Value& list, std::string_view key) {
  std::set<std::string> seen;
  return std::ranges::all_of(list.items(),
                             [&](const Value& item) { return seen.insert(key_text(*item.find(key))).second; });
}

// "" = they are no lists of maps.
std::string_view merge_key(std::initializer_list<const Value*> lists) {
  bool any = false;
  for (const Value* list : lists)
    for (const Value& item : list->items()) {
      if (!item.is_object()) return {};
      any = true;
    }
  if (!any) return {};
  for (const auto key : kMergeKeys) {
    const bool common = std::ranges::all_of(lists, [&](const Value* list) {
      return std::ranges::all_of(list->items(), [&](const Value& item) { return item.find(key) != nullptr; }) &&
             is_unique(*list, key);
    });
    if (common) return key;
  }
  return {};
}

Value as_map(const Value& list, std::string_view key) {
  Value map = Value::object();
  for (const Value& item : list.items()) map.members().emplace_back(key_text(*item.find(key)), item);
  return map;
}

Result<Value> merge_at(const std::string& path, const Value* observed, const Value* last, const Value& desired);

Result<Value> merge_maps(const std::string& path, const Value& observed, const Value& last, const Value& desired) {
  Value merged = observed;
  for (const auto& [key, value] : last.members())
    if (!desired.find(key)) merged.erase(key);
  for (const auto& [key, value] : desired.members()) {
    HOOKD_TRY(Value inner, merge_at(path + "." + key, observed.find(key), last.find(key), value));
    merged.set(key, std::move(inner));
  }
  return merged;
}

Result<Value> merge_lists(const std::string& path, const Value& observed, const Value& last, const Value& desired) {
  const auto key = merge_key({&observed, &last, &desired});
  if (key.empty()) return desired;
  HOOKD_TRY(Value merged, merge_maps(path, as_map(observed, key), as_map(last, key), as_map(desired, key)));
  // The map keeps the order of what was observed, with the new ones behind in that of the desired list.
  Value list = Value::array();
  for (auto& [name, item] : merged.members()) list.items().push_back(std::move(item));
  return list;
}

Failure clash(const std::string& path, const Value& observed, std::string_view what, const Value& other) {
  return fail(Errc::kInvalid, "{} is of two kinds: the object has a {}, {} a {}", path, to_string(observed.kind()),
              what, to_string(other.kind()));
}

Result<Value> merge_at(const std::string& path, const Value* observed, const Value* last, const Value& desired) {
  if (!observed || (!observed->is_object() && !observed->is_array())) return desired;
  const Value none = observed->is_object() ? Value::object() : Value::array();
  if (!last || last->is_null()) last = &none;
  if (last->kind() != observed->kind()) return clash(path, *observed, "what was applied last", *last);
  if (desired.kind() != observed->kind()) return clash(path, *observed, "the hook wants", desired);
  return observed->is_object() ? merge_maps(path, *observed, *last, desired)
                               : merge_lists(path, *observed, *last, desired);
}

void put_back(Value& into, const Value& from, std::string_view key) {
  const Value* value = from.find(key);
  value ? into.set(key, *value) : into.erase(key);
}

Value without_servers_fields(const Value& desired) {
  Value out = without_nulls(desired);
  out.erase("status");
  if (Value* metadata = out.find("metadata"))
    for (const auto key : kServersMetadata) metadata->erase(key);
  return out;
}

void erase_last_applied(Value& object) {
  Value* metadata = object.find("metadata");
  Value* annotations = metadata ? metadata->find("annotations") : nullptr;
  if (!annotations || !annotations->find(kLastApplied)) return;
  annotations->erase(kLastApplied);
  if (annotations->members().empty()) metadata->erase("annotations");
}

}  // namespace

Result<Value> merge(const Value& observed, const Value& last_applied, const Value& desired) {
  return merge_at("", &observed, &last_applied, without_nulls(desired));
}

Value without_nulls(const Value& value) {
  Value out = value;
  if (value.is_object()) {
    out.members().clear();
    for (const auto& [key, inner] : value.members())
      if (!inner.is_null()) out.members().emplace_back(key, without_nulls(inner));
  } else if (value.is_array()) {
    for (Value& item : out.items()) item = without_nulls(item);
  }
  return out;
}

Value as_applied(const Value& desired) {
  Value out = without_nulls(desired);
  erase_last_applied(out);
  if (Value* metadata = out.find("metadata")) metadata->erase("ownerReferences");
  return out;
}

Value with_last_applied(const Value& desired) {
  Value out = without_servers_fields(desired);
  erase_last_applied(out);
  out.at("metadata").at("annotations").set(kLastApplied, Value::string(as_applied(desired).to_json(true)));
  return out;
}

Result<Value> last_applied_of(const Value& observed) {
  const Value* annotation = observed.at_path({"metadata", "annotations", kLastApplied});
  if (!annotation || !annotation->is_string() || annotation->text().empty()) return Value::object();
  auto value = Value::parse(annotation->text());
  if (!value) return fail(value.error().with(fmt::format("annotation {}", kLastApplied)));
  if (!value->is_object()) return fail(Errc::kDecode, "annotation {} is no JSON object", kLastApplied);
  return without_nulls(*value);
}

Result<Value> apply_update(const Value& observed, const Value& desired) {
  HOOKD_TRY(const Value last, last_applied_of(observed));
  const Value wanted = as_applied(desired);
  HOOKD_TRY(Value merged, merge(observed, last, wanted));
  put_back(merged, observed, "status");  // first: it may move the other members
  Value& metadata = merged.at("metadata");
  const Value* before = observed.find("metadata");
  for (const auto key : kServersMetadata) before ? put_back(metadata, *before, key) : metadata.erase(key);
  // The annotation's text is only written anew when it says something else: another order of keys is no change.
  const Value* annotation = observed.at_path({"metadata", "annotations", kLastApplied});
  const bool same = annotation && annotation->is_string() && last == wanted;
  metadata.at("annotations").set(kLastApplied, same ? *annotation : Value::string(wanted.to_json(true)));
  return merged;
}

std::optional<Value> merge_patch(const Value& from, const Value& to) {
  if (from == to) return std::nullopt;
  Value patch = Value::object();
  for (const auto& [key, value] : from.members())
    if (!to.find(key)) patch.set(key, Value());
  for (const auto& [key, value] : to.members()) {
    const Value* before = from.find(key);
    if (before && before->is_object() && value.is_object()) {
      if (auto inner = merge_patch(*before, value)) patch.set(key, *std::move(inner));
    } else if (!before || !(*before == value)) {
      // A new map is merged into nothing, whose nulls would be taken as removals: it has none (without_nulls).
      patch.set(key, value);
    }
  }
  return patch;
}

Value for_server_side_apply(const Value& desired) {
  Value out = without_servers_fields(desired);
  erase_last_applied(out);
  return out;
}

}  // namespace hookd::metacontroller
