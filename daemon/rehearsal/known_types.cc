#include "rehearsal/known_types.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "base/ascii.h"
#include "base/json_field.h"
#include "base/json_read.h"
#include "embedded/resources/resource.h"
#include "rehearsal/manifests.h"

namespace hookd::rehearsal {
namespace {

namespace json = boost::json;

const std::vector<std::string>& all_verbs() {
  static const std::vector<std::string> verbs{"create", "delete", "deletecollection", "get",
                                              "list",   "patch",  "update",           "watch"};
  return verbs;
}

// Served by a real API server (or by metrics-server), and not by the embedded one.
struct Further {
  const char* group;
  const char* version;
  const char* plural;
  const char* kind;
  bool namespaced;
  bool status;
};
constexpr Further kFurther[] = {
    {"certificates.k8s.io", "v1beta1", "clustertrustbundles", "ClusterTrustBundle", false, false},
    {"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false, true},
    {"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", false, true},
    {"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false, false},
    {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true, true},
    {"resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", true, false},
    {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false, false},
};
constexpr Further kMetrics[] = {
    {"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false, false},
    {"metrics.k8s.io", "v1beta1", "pods", "PodMetrics", true, false},
};

kube::ResourceType further_type(const Further& row) {
  kube::ResourceType type{.group = row.group,
                          .version = row.version,
                          .kind = row.kind,
                          .plural = row.plural,
                          .singular = {},
                          .short_names = {},
                          .namespaced = row.namespaced,
                          .verbs = all_verbs(),
                          .subresources = {}};
  if (row.status) type.subresources.emplace_back("status");
  return type;
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

}  // namespace

kube::ResourceTable builtin_types() {
  embedded::Registry registry;
  embedded::add_builtin_resources(registry);
  kube::ResourceTable table;
  for (const auto& resource : registry.all()) {
    kube::ResourceType type;
    type.group = resource->group;
    type.version = resource->version;
    type.kind = resource->kind;
    type.plural = resource->plural;
    type.singular = resource->singular;
    type.short_names = resource->short_names;
    type.namespaced = resource->namespaced;
    type.verbs = resource->verbs;
    type.subresources = resource->other_subresources;
    if (resource->status) type.subresources.emplace_back("status");
    if (resource->scale) type.subresources.emplace_back("scale");
    table.entries.push_back({std::move(type), true});
  }
  for (const auto& row : kFurther) table.entries.push_back({further_type(row), true});
  for (const auto& row : kMetrics) {
    auto type = further_type(row);
    type.verbs = {"get", "list"};
    table.entries.push_back({std::move(type), true});
  }
  return table;
}

std::vector<kube::ResourceType> types_of_definition(std::string_view text) {
  const auto value = parse_json(text);
  const json::object* object = value ? value->if_object() : nullptr;
  if (!object || text_field(*object, "kind") != "CustomResourceDefinition") return {};
  const json::object* spec = object_at(*object, "spec");
  const json::object* names = spec ? object_at(*spec, "names") : nullptr;
  const json::value* versions = spec ? spec->if_contains("versions") : nullptr;
  if (!names || !versions || !versions->is_array()) return {};
  kube::ResourceType type;
  type.group = text_field(*spec, "group");
  type.kind = text_field(*names, "kind");
  type.plural = text_field(*names, "plural");
  type.singular = text_field(*names, "singular");
  if (type.singular.empty()) type.singular = lower(type.kind);
  type.namespaced = text_field(*spec, "scope") != "Cluster";
  type.verbs = all_verbs();
  if (const json::value* shorts = names->if_contains("shortNames"); shorts && shorts->is_array())
    for (const auto& name : shorts->get_array())
      if (name.is_string()) type.short_names.emplace_back(name.get_string());
  if (type.group.empty() || type.kind.empty() || type.plural.empty()) return {};
  std::vector<kube::ResourceType> types;
  for (const auto& one : versions->get_array()) {
    const json::object* version = one.if_object();
    if (!version) continue;
    const json::value* served = version->if_contains("served");
    if (served && served->is_bool() && !served->get_bool()) continue;
    type.version = text_field(*version, "name");
    type.subresources.clear();
    if (const json::object* subresources = object_at(*version, "subresources"))
      for (const auto& member : *subresources)
        if (!member.value().is_null()) type.subresources.emplace_back(member.key());
    if (!type.version.empty()) types.push_back(type);
  }
  return types;
}

Result<void> add_defined_types(const std::string& path, kube::ResourceTable& table) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const auto files = folder ? find_manifest_files(path) : std::vector{path};
  for (const auto& file : files) {
    auto manifests = manifests_in_file(file, apply::Verb::kApply);
    if (!manifests && !folder) return Failure(std::move(manifests).error());
    if (!manifests) continue;
    for (const auto& manifest : *manifests)
      if (manifest.kind == "CustomResourceDefinition")
        for (auto& type : types_of_definition(manifest.object)) table.entries.push_back({std::move(type), true});
  }
  return {};
}

}  // namespace hookd::rehearsal
