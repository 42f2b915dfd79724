#include "embedded/print/discovery.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hookd::embedded {

namespace {

constexpr const char* kVersion = "v1.36.3";  // what kubectl compares itself with

// A subresource: the kind that it takes and gives, where it is not its owner's, and what may be done with it.
struct Subresource {
  std::string name, group, version, kind;
  json::array verbs;
};

struct KnownSubresource {
  std::string_view name, group, version, kind;  // kind "" = its owner's
  std::vector<std::string_view> verbs;
};
const std::vector<KnownSubresource>& known_subresources() {
  static const std::vector<KnownSubresource> known{
      {"approval", "", "", "", {"get", "patch", "update"}},
      {"binding", "", "", "Binding", {"create"}},
      {"ephemeralcontainers", "", "", "", {"get", "patch", "update"}},
      {"eviction", "policy", "v1", "Eviction", {"create"}},
      {"finalize", "", "", "", {"update"}},
      {"log", "", "", "", {"get"}},
      {"resize", "", "", "", {"get", "patch", "update"}},
      {"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}},
      {"status", "", "", "", {"get", "patch", "update"}},
      {"token", "authentication.k8s.io", "v1", "TokenRequest", {"create"}},
  };
  return known;
}

Subresource describe(const Resource& resource, std::string_view name) {
  Subresource made{std::string(name), "", "", resource.kind, {"get"}};
  for (const KnownSubresource& known : known_subresources()) {
    if (known.name != name) continue;
    made.group = known.group;
    made.version = known.version;
    if (!known.kind.empty()) made.kind = known.kind;
    made.verbs.clear();
    for (const std::string_view verb : known.verbs) made.verbs.emplace_back(verb);
  }
  return made;
}

// By name, but status before scale for a CRD, as the real server has them.
std::vector<Subresource> subresources(const Resource& resource) {
  std::vector<std::string> names = resource.other_subresources;
  if (resource.status) names.emplace_back("status");
  if (resource.scale) names.emplace_back("scale");
  if (!resource.custom) std::sort(names.begin(), names.end());
  std::vector<Subresource> found;
  for (const std::string& name : names) found.push_back(describe(resource, name));
  return found;
}

// What may be done with it now: nothing new comes of a kind whose CRD goes.
std::vector<std::string> verbs_of(const Resource& resource) {
  auto verbs = resource.verbs;
  if (resource.terminating)
    std::erase_if(verbs, [](std::string_view verb) { return verb == "create" || verb == "patch" || verb == "update"; });
  return verbs;
}

json::array strings(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

void add_names(json::object& entry, const Resource& resource) {
  if (!resource.short_names.empty()) entry["shortNames"] = strings(resource.short_names);
  if (!resource.categories.empty()) entry["categories"] = strings(resource.categories);
}

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group).append("/").append(version);
}

// Groups and their versions in the order in which they are served.
using Group = std::pair<std::string, std::vector<std::string>>;
std::vector<Group> groups_of(const Registry& registry) {
  std::vector<Group> groups;
  for (const ResourcePtr& resource : registry.all()) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& one) { return one.first == resource->group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {resource->group, {}});
    std::vector<std::string>& versions = group->second;
    if (std::find(versions.begin(), versions.end(), resource->version) == versions.end()) {
      versions.push_back(resource->version);
    }
  }
  return groups;
}

json::object describe_group(const Group& group) {
  json::array versions;
  for (const std::string& version : group.second) {
    versions.push_back(json::object{{"groupVersion", group_version(group.first, version)}, {"version", version}});
  }
  json::object described{{"name", group.first}};
  json::value preferred = versions.front();
  described["versions"] = std::move(versions);
  described["preferredVersion"] = std::move(preferred);
  return described;
}

json::object listed(const Resource& resource) {
  json::object entry{{"name", resource.plural},
                     {"singularName", resource.singular},
                     {"namespaced", resource.namespaced},
                     {"kind", resource.kind},
                     {"verbs", strings(verbs_of(resource))}};
  add_names(entry, resource);
  return entry;
}

json::object listed(const Resource& resource, const Subresource& sub) {
  json::object entry{
      {"name", resource.plural + "/" + sub.name}, {"singularName", ""}, {"namespaced", resource.namespaced}};
  if (!sub.version.empty()) {
    entry["group"] = sub.group;
    entry["version"] = sub.version;
  }
  entry["kind"] = sub.kind;
  entry["verbs"] = sub.verbs;
  return entry;
}

// Built-in kinds leave group and version of their own kind empty: it is that of the list.
json::object response_kind(const Resource& resource, std::string_view group, std::string_view version,
                           std::string_view kind) {
  if (version.empty() && resource.custom) {
    group = resource.group;
    version = resource.version;
  }
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

json::object aggregated(const Resource& resource) {
  json::object entry{{"resource", resource.plural},
                     {"responseKind", response_kind(resource, "", "", resource.kind)},
                     {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", resource.singular},
                     {"verbs", strings(verbs_of(resource))}};
  add_names(entry, resource);
  json::array subs;
  for (Subresource& sub : subresources(resource)) {
    subs.push_back(json::object{{"subresource", sub.name},
                                {"responseKind", response_kind(resource, sub.group, sub.version, sub.kind)},
                                {"verbs", std::move(sub.verbs)}});
  }
  if (!subs.empty()) entry["subresources"] = std::move(subs);
  return entry;
}

// The resources of one group and version; those of CRDs by name in the aggregated form, as the real server has them.
std::vector<ResourcePtr> served(const Registry& registry, std::string_view group, std::string_view version) {
  std::vector<ResourcePtr> found;
  for (const ResourcePtr& resource : registry.all()) {
    if (resource->group == group && resource->version == version) found.push_back(resource);
  }
  return found;
}

}  // namespace

json::object api_versions(std::string_view address) {
  json::array addresses;
  if (!address.empty()) addresses.push_back(json::object{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}});
  return {
      {"kind", "APIVersions"}, {"versions", json::array{"v1"}}, {"serverAddressByClientCIDRs", std::move(addresses)}};
}

json::object api_group_list(const Registry& registry) {
  json::array groups;
  for (const Group& group : groups_of(registry)) {
    if (!group.first.empty()) groups.push_back(describe_group(group));
  }
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<json::object> api_group(const Registry& registry, std::string_view group) {
  if (group.empty()) return std::nullopt;
  for (const Group& found : groups_of(registry)) {
    if (found.first != group) continue;
    json::object answer{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& field : describe_group(found)) answer.emplace(field.key(), std::move(field.value()));
    return answer;
  }
  return std::nullopt;
}

std::optional<json::object> api_resource_list(const Registry& registry, std::string_view group,
                                              std::string_view version) {
  json::array resources;
  for (const ResourcePtr& resource : served(registry, group, version)) {
    resources.push_back(listed(*resource));
    for (const Subresource& sub : subresources(*resource)) resources.push_back(listed(*resource, sub));
  }
  if (resources.empty()) return std::nullopt;
  json::object answer{{"kind", "APIResourceList"}};
  if (!group.empty()) answer["apiVersion"] = "v1";
  answer["groupVersion"] = group_version(group, version);
  answer["resources"] = std::move(resources);
  return answer;
}

json::object aggregated_discovery(const Registry& registry, bool core, std::string_view version) {
  json::array items;
  for (const Group& group : groups_of(registry)) {
    if (group.first.empty() != core) continue;
    json::array versions;
    for (const std::string& of_group : group.second) {
      std::vector<ResourcePtr> found = served(registry, group.first, of_group);
      if (found.front()->custom) {
        std::sort(found.begin(), found.end(),
                  [](const ResourcePtr& a, const ResourcePtr& b) { return a->plural < b->plural; });
      }
      json::array resources;
      for (const ResourcePtr& resource : found) resources.push_back(aggregated(*resource));
      versions.push_back(
          json::object{{"version", of_group}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    json::object metadata;
    if (!group.first.empty()) metadata["name"] = group.first;
    items.push_back(json::object{{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", std::string("apidiscovery.k8s.io/").append(version)},
          {"metadata", json::object()},
          {"items", std::move(items)}};
}

std::string_view aggregated_discovery_type(std::string_view version) {
  return version == "v2beta1" ? "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
                              : "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
}

json::object version_info() {
  return {{"major", "1"},
          {"minor", "36"},
          {"emulationMajor", "1"},
          {"emulationMinor", "36"},
          {"minCompatibilityMajor", "1"},
          {"minCompatibilityMinor", "35"},
          {"gitVersion", kVersion},
          {"gitCommit", ""},
          {"gitTreeState", "hookd"},
          {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", "go1.26"},
          {"compiler", "gc"},
          {"platform", "linux/amd64"}};
}

}  // namespace hookd::embedded
