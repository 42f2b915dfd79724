// meta.k8s.io/v1 Table: the columns that `kubectl get` shows. Thread: any.
// Source: KEP-491 (server-side get), API concepts "Receiving resources as Tables".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

enum class IncludeObject { kNone, kMetadata, kObject };  // ?includeObject=

struct TableOptions {
  IncludeObject include = IncludeObject::kMetadata;
  WallTime now{};
  bool headers = true;  // false: no columnDefinitions, as in a watch after its first event
};

// `objects` whole, in the request's version. `metadata` of the table: the list's (resourceVersion, continue,
// remainingItemCount), or {"resourceVersion"} of a single object.
json::object table_of(const Resource& resource, std::span<const json::object> objects, json::object metadata,
                      const TableOptions& options);

// The columns that a kind's tables have; `json_path` of computed ones is empty.
std::vector<PrinterColumn> table_columns(const Resource& resource);

// The age of something as kubectl writes it: "5s", "2m30s", "3h", "5d12h", "<invalid>" of the future.
std::string human_duration(Duration age);

}  // namespace hookd::embedded
