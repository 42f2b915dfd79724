// The simple JSONPath of additionalPrinterColumns: .a.b, ['a.b'], [0], [-1], [*], [?(@.type=="Ready")], filters with
// == != < <= > >= and bare existence. Thread: any. Source: API docs "JSONPath support", "Additional printer columns".
#pragma once

#include <boost/json.hpp>
#include <string_view>

namespace hookd::embedded {

namespace json = boost::json;

// The first value at a path of `value`; null = nothing there, or a path that this does not understand.
const json::value* first_at_path(const json::value& value, std::string_view path);

}  // namespace hookd::embedded
