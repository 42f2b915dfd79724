// What is served, as kubectl and other clients ask for it. Thread: loop only.
// Source: API docs "API concepts: discovery", KEP-3352 (aggregated discovery).
#pragma once

#include <optional>
#include <string_view>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

// /api, APIVersions; `address` "127.0.0.1:6443" is where clients are told to find the server, "" = not told.
json::object api_versions(std::string_view address = "");
json::object api_group_list(const Registry& registry);  // /apis, APIGroupList
// /apis/GROUP, APIGroup; nothing if no version of it is served.
std::optional<json::object> api_group(const Registry& registry, std::string_view group);
// /api/v1 (group "") and /apis/GROUP/VERSION, APIResourceList; nothing if it is not served.
std::optional<json::object> api_resource_list(const Registry& registry, std::string_view group,
                                              std::string_view version);

// /api (`core`) or /apis in one document, APIGroupDiscoveryList of apidiscovery.k8s.io/`version`, "v2" or "v2beta1".
json::object aggregated_discovery(const Registry& registry, bool core, std::string_view version);
// Content-Type of that: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList".
std::string_view aggregated_discovery_type(std::string_view version);

json::object version_info();  // /version

}  // namespace hookd::embedded
