// The cells of one object, kind by kind. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "embedded/resources/fields.h"
#include "embedded/resources/resource.h"

namespace hookd::embedded {

// "5m" since a time of the API; "<unknown>" of none.
std::string age_of(std::string_view time, WallTime now);
std::string age_of(const json::object& object, WallTime now);  // by its creationTimestamp

// How a kind is shown: its columns as words "Name:n,Ready,+IP" (n = format name, i = integer, b = boolean, + = only in
// wide), and what makes the cells. Null if the kind has no special table.
struct Printer {
  const char* group;
  const char* plural;
  const char* columns;
  json::array (*cells)(const json::object& object, WallTime now);
};
const Printer* find_printer(const Resource& resource);

// In table_pods.cc and table_workloads.cc, which are too long for one file.
json::array pod_cells(const json::object& pod, WallTime now);
json::array job_cells(const json::object& job, WallTime now);
json::array service_cells(const json::object& service, WallTime now);
json::array event_cells(const json::object& event, WallTime now);
json::array node_cells(const json::object& node, WallTime now);
json::array autoscaler_cells(const json::object& autoscaler, WallTime now);

// "a,b" of the names and of the images of a pod template's containers.
void add_containers(json::array& cells, const json::object& pod_spec);

}  // namespace hookd::embedded
