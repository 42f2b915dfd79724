// Discovery answers, both forms, into a ResourceTable. Pure. Thread: any. Source: k8s-client.md D1-D3, D9.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/discovery.h"

namespace hookd::kube {

// The order of the parameters matters to the server (D1).
inline constexpr std::string_view kAggregatedAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

// Does the Content-Type of an answer say that it is an APIGroupDiscoveryList?
bool is_aggregated(std::string_view content_type);

// Appends an APIGroupDiscoveryList; stale versions go to failed_groups. Errors: kDecode.
Result<void> read_aggregated(std::string_view body, ResourceTable& table);

struct GroupVersion {
  std::string group;
  std::string version;
  bool preferred = false;
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string path() const { return group.empty() ? "/api/" + version : "/apis/" + group + "/" + version; }
};

// APIVersions ("" if the server has no core group) and APIGroupList. Errors: kDecode.
Result<std::vector<GroupVersion>> read_group_versions(std::string_view api_versions, std::string_view group_list);

// Appends an APIResourceList. Errors: kDecode.
Result<void> read_resource_list(std::string_view body, const GroupVersion& of, ResourceTable& table);

}  // namespace hookd::kube
