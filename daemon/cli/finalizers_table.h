// The table of finalizers that hooks left behind, for `hookd status` and `hookd finalizers`. Thread: main.
#pragma once

#include <boost/json.hpp>

namespace hookd::cli {

void print_finalizers(const boost::json::object& document);  // of GET /v1/finalizers

}  // namespace hookd::cli
