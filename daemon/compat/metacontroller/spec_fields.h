// A JSON object with its place, so that every error names the field. Inside this room only. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::metacontroller {

class Fields {
 public:
  Fields(const boost::json::object& object, std::string where) : object_(&object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  std::string place(std::string_view key) const {
    return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
  }
  // Null = missing or null.
  const boost::json::value* find(std::string_view key) const {
    const auto* value = object_->if_contains(key);
    return value && !value->is_null() ? value : nullptr;
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Missing: as it was. Errors: kConfig "spec.x: expected a string".
  Result<void> text(std::string_view key, std::string& out) const {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_string()) return wrong(key, "a string");
    out = std::string(value->get_string());
    return {};
  }
  Result<std::string> needed(std::string_view key) const {
    std::string out;
    HOOKD_CHECK(text(key, out));
    if (out.empty()) return fail(Errc::kConfig, "{}: is missing", place(key));
    return out;
  }
  Result<void> boolean(std::string_view key, bool& out) const {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_bool()) return wrong(key, "true or false");
    out = value->get_bool();
    return {};
  }
  Result<void> integer(std::string_view key, int64_t& out, int64_t least, int64_t most) const {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_int64() || value->get_int64() < least || value->get_int64() > most)
      return wrong(key, fmt::format("a whole number from {} to {}", least, most));
    out = value->get_int64();
    return {};
  }
  // Null = missing.
  Result<const boost::json::array*> list(std::string_view key) const {
    const auto* value = find(key);
    if (!value) return nullptr;
    if (!value->is_array()) return wrong(key, "a list");
    return &value->get_array();
  }
  Result<std::optional<Fields>> map(std::string_view key) const {
    const auto* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_object()) return wrong(key, "a mapping");
    return Fields(value->get_object(), place(key));
  }
  Result<std::vector<std::string>> texts(std::string_view key) const {
    std::vector<std::string> out;
    HOOKD_TRY(const auto* values, list(key));
    if (!values) return out;
    for (const auto& value : *values) {
      if (!value.is_string()) return wrong(key, "a list of strings");
      out.emplace_back(value.get_string());
    }
    return out;
  }
  // The mappings of a list.
  Result<std::vector<Fields>> maps(std::string_view key) const {
    std::vector<Fields> out;
    HOOKD_TRY(const auto* values, list(key));
    if (!values) return out;
    for (const auto& value : *values) {
      const std::string where = fmt::format("{}[{}]", place(key), out.size());
      if (!value.is_object()) return fail(Errc::kConfig, "{}: expected a mapping", where);
      out.emplace_back(value.get_object(), where);
    }
    return out;
  }
  Failure wrong(std::string_view key, std::string_view expected) const {
    return fail(Errc::kConfig, "{}: expected {}", place(key), expected);
  }
  const boost::json::object& object() const { return *object_; }

 private:
  const boost::json::object* object_;
  std::string where_;
};

}  // namespace hookd::metacontroller
