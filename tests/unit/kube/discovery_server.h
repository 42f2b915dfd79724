// The two discovery documents of a small cluster, for tests of what asks for them.
#pragma once

#include <string>
#include <vector>

#include "kube/discovery_documents.h"
#include "unit/kube/scripted_api.h"

namespace hookd::kube::test {

inline constexpr const char* kAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

inline std::string resource_of(const std::string& plural, const std::string& kind, const std::string& more = {}) {
  return fmt::format(
      R"({{"resource":"{}","responseKind":{{"group":"","version":"","kind":"{}"}},"scope":"Namespaced","singularResource":"{}",)"
      R"("verbs":["create","delete","get","list","watch"]{}}})",
      plural, kind, plural.substr(0, plural.size() - 1), more);
}

inline std::string version_of(const std::string& version, const std::vector<std::string>& resources,
                              bool stale = false) {
  return fmt::format(R"({{"version":"{}","resources":[{}],"freshness":"{}"}})", version, fmt::join(resources, ","),
                     stale ? "Stale" : "Current");
}

inline std::string group_of(const std::string& name, const std::vector<std::string>& versions) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"versions":[{}]}})", name, fmt::join(versions, ","));
}

inline std::string groups_of(const std::vector<std::string>& groups) {
  return fmt::format(
      R"({{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{{}},"items":[{}]}})",
      fmt::join(groups, ","));
}

// Answers discovery from `groups`; everything else goes to `rest`.
struct DiscoveryServer {
  std::vector<std::string> groups;  // of /apis
  bool down = false;
  size_t looks = 0;

  bool answer(Exchange& exchange) {
    if (exchange.request.path != "/api" && exchange.request.path != "/apis") return false;
    if (exchange.request.path == "/apis") ++looks;
    if (down)
      exchange.refuse();
    else if (exchange.request.path == "/apis")
      exchange.reply(groups_of(groups), kAggregated);
    else
      exchange.reply(
          groups_of({group_of("", {version_of("v1", {resource_of("pods", "Pod", R"(,"shortNames":["po"])")})})}),
          kAggregated);
    return true;
  }
};

}  // namespace hookd::kube::test
