// A field of a small JSON tree. Pure. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace hookd {

// "" if it is missing or no string.
inline std::string text_field(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace hookd
