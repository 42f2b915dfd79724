// What discovery knows of one served resource. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::kube {

struct ResourceType {
  std::string group;     // "" = core
  std::string version;   // "v1"
  std::string kind;      // "Pod"
  std::string plural;    // "pods"
  std::string singular;  // "pod"; may be ""
  std::vector<std::string> short_names;
  bool namespaced = true;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;  // "status", "scale", "eviction"

  std::string api_version() const;  // "v1", "apps/v1"
  // The collection's path: "/api/v1/namespaces/a/pods"; ns "" = all namespaces (or cluster scope).
  std::string collection_path(std::string_view ns) const;
  std::string object_path(std::string_view ns, std::string_view name, std::string_view subresource = {}) const;
  bool has_verb(std::string_view verb) const;
  bool has_subresource(std::string_view name) const;
  std::string display() const;  // "Pod (v1)", "Deployment (apps/v1)"
  bool operator==(const ResourceType&) const = default;
};

}  // namespace hookd::kube
