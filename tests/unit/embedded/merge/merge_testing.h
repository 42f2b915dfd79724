// What the tests of patches and field ownership share: JSON with single quotes, schemas, comparing.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/time.h"
#include "embedded/merge/managed_fields.h"
#include "embedded/schema/builtin.h"
#include "embedded/schema/custom_schema.h"
#include "embedded/schema/decode.h"

namespace hookd::embedded {

// {'a':1}: quotes may be single ones.
inline json::value js(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return json::parse(text);
}
inline json::object obj(const std::string& text) { return js(text).as_object(); }

inline const Schema& kind_schema(std::string_view group, std::string_view version, std::string_view kind) {
  const Schema* schema = builtin_schema(group, version, kind);
  if (schema == nullptr) throw std::runtime_error("no schema of " + std::string(kind));
  return *schema;
}
inline const Schema& config_map() { return kind_schema("", "v1", "ConfigMap"); }
inline const Schema& pod() { return kind_schema("", "v1", "Pod"); }
inline const Schema& deployment() { return kind_schema("apps", "v1", "Deployment"); }

// With the keys of every object sorted: for comparing and for messages of failures.
inline std::string sorted(const json::value& value) {
  std::string out;
  if (const auto* object = value.if_object()) {
    std::vector<std::string> fields;
    for (const auto& [key, field] : *object) fields.push_back(json::serialize(json::value(key)) + ":" + sorted(field));
    std::ranges::sort(fields);
    for (const auto& field : fields) out += (out.empty() ? "" : ",") + field;
    return "{" + out + "}";
  }
  if (const auto* array = value.if_array()) {
    for (const auto& item : *array) out += (&item == array->data() ? "" : ",") + sorted(item);
    return "[" + out + "]";
  }
  return json::serialize(value);
}
inline void expect_json(const json::value& got, const std::string& wanted) {
  EXPECT_EQ(sorted(got), sorted(js(wanted)));
}

// "manager Operation[/subresource] time {fieldsV1}", one line each; the time as seconds after the start of 2026.
inline std::string owners(const json::object& object) {
  std::string out;
  const json::value* metadata = object.if_contains("metadata");
  const json::value* list = metadata == nullptr ? nullptr : metadata->as_object().if_contains("managedFields");
  if (list == nullptr) return out;
  for (const auto& item : list->as_array()) {
    const auto& entry = item.as_object();
    out += std::string(entry.at("manager").as_string()) + " " + std::string(entry.at("operation").as_string());
    if (entry.contains("subresource")) out += "/" + std::string(entry.at("subresource").as_string());
    if (entry.contains("time")) out += " " + std::string(entry.at("time").as_string().subview(17, 2));
    std::string fields = sorted(entry.at("fieldsV1"));
    std::ranges::replace(fields, '"', '\'');
    out += " " + fields + "\n";
  }
  return out;
}

inline WallTime at_second(int second) { return *parse_rfc3339("2026-01-01T00:00:00Z") + std::chrono::seconds(second); }

// One object through a row of writes.
struct Life {
  const Schema& schema;
  std::string api_version, kind;
  json::object reset{};
  json::object object{};  // {} = there is none
  int second = 0;         // goes up with each write

  Writer writer(const std::string& manager, const std::string& subresource = "") {
    Writer out;
    out.manager = manager;
    out.api_version = api_version;
    out.kind = kind;
    out.subresource = subresource;
    out.now = at_second(++second);
    return out;
  }
  // Puts the object as it will be; its managedFields are what the client sends.
  void update(const std::string& manager, json::object next, const std::string& subresource = "") {
    next["apiVersion"] = api_version;
    next["kind"] = kind;
    ASSERT_TRUE(decode(next, schema)) << sorted(next);
    update_managed_fields(object, next, schema, writer(manager, subresource), reset);
    if (!object.empty()) keep_managed_times_if_unchanged(object, next);
    next["metadata"].as_object()["uid"] = "u";
    object = std::move(next);
  }
  // Changes the object by a merge patch.
  void change(const std::string& manager, const std::string& patch, const std::string& subresource = "");
  // "" if it went well, else "409 Conflict message".
  std::string apply(const std::string& manager, const std::string& config, bool force = false,
                    const std::string& subresource = "") {
    json::object whole = obj(config);
    whole["apiVersion"] = api_version;
    whole["kind"] = kind;
    auto merged = apply_patch(object, whole, schema, writer(manager, subresource), force, reset);
    if (!merged)
      return std::to_string(merged.error().code) + " " + merged.error().reason + " " + merged.error().message;
    if (!decode(*merged, schema)) return "does not decode";
    keep_managed_times_if_unchanged(object, *merged);
    if (!merged->contains("metadata")) (*merged)["metadata"].emplace_object();
    (*merged)["metadata"].as_object()["uid"] = "u";
    object = *std::move(merged);
    return "";
  }
};

}  // namespace hookd::embedded
