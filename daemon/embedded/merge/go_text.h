// Values as the real server, a Go program, writes them into keys of field sets and into messages. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace hookd::embedded {

namespace json = boost::json;

// JSON as Go prints it: <, > and & escaped in strings, whole numbers without a fraction, objects sorted by name.
void append_go_json(std::string& out, const json::value& value);
std::string go_json(const json::value& value);
// As Go's %v shows what was decoded from JSON: map[a:1 b:[x y]], <nil>.
std::string go_value_text(const json::value& value);

// An object's fields by name. They point into `object`.
std::vector<const json::key_value_pair*> sorted_fields(const json::object& object);

}  // namespace hookd::embedded
