#include "kube/resource_type.h"

#include <fmt/format.h>

#include <algorithm>

namespace hookd::kube {

std::string ResourceType::api_version() const { return group.empty() ? version : group + "/" + version; }

std::string ResourceType::collection_path(std::string_view ns) const {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  if (namespaced && !ns.empty()) path += fmt::format("/namespaces/{}", ns);
  return path + "/" + plural;
}

std::string ResourceType::object_path(std::string_view ns, std::string_view name, std::string_view subresource) const {
  std::string path = fmt::format("{}/{}", collection_path(ns), name);
  if (!subresource.empty()) path += fmt::format("/{}", subresource);
  return path;
}

bool ResourceType::has_verb(std::string_view verb) const { return std::ranges::find(verbs, verb) != verbs.end(); }

bool ResourceType::has_subresource(std::string_view name) const {
  return std::ranges::find(subresources, name) != subresources.end();
}

std::string ResourceType::display() const { return fmt::format("{} ({})", kind, api_version()); }

}  // namespace hookd::kube
