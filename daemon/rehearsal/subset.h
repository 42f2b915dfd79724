// Is what was expected in what was seen? A map holds if each of its keys does, whatever else was seen; a list holds if
// its elements are found in that order, whatever stands between them, but [] wants nothing at all; null wants the key
// to be absent or null; numbers are compared as numbers. Pure. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace hookd::rehearsal {

struct Difference {
  std::string path;      // ".spec.replicas", ".labels[\"a/b\"]", ".ports[0]"
  std::string expected;  // JSON text
  std::string seen;      // JSON text, cut where it is long; "" = nothing is there
};

// All that differs; empty = it holds. `seen` null pointer = nothing is there.
std::vector<Difference> subset_differences(const boost::json::value& expected, const boost::json::value* seen);

// What was seen at the places that `expected` names: for writing an expectation anew.
boost::json::value seen_as_expected(const boost::json::value& expected, const boost::json::value& seen);

// "~ .spec.replicas: expected 3, seen 2" / "- .metadata.labels: expected {…}, nothing is there", a line each, each
// with `indent` before it.
std::string difference_text(const std::vector<Difference>& differences, std::string_view indent, size_t most = 20);

}  // namespace hookd::rehearsal
