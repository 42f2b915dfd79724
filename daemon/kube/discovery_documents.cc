#include "kube/discovery_documents.h"

#include "base/json_field.h"
#include "base/json_read.h"

namespace hookd::kube {
namespace {

namespace json = boost::json;

std::vector<std::string> texts_of(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* value = object.if_contains(key); value && value->is_array())
    for (const auto& item : value->get_array())
      if (item.is_string()) texts.emplace_back(item.get_string());
  return texts;
}

const json::array& array_of(const json::object& object, std::string_view key) {
  static const json::array empty;
  const auto* value = object.if_contains(key);
  return value && value->is_array() ? value->get_array() : empty;
}

const json::object& object_of(const json::object& object, std::string_view key) {
  static const json::object empty;
  const auto* value = object.if_contains(key);
  return value && value->is_object() ? value->get_object() : empty;
}

Result<json::value> parse_document(std::string_view body, std::string_view kind) {
  HOOKD_TRY(json::value value, parse_json(body));
  if (!value.is_object() || text_field(value.get_object(), "kind") != kind)
    return fail(Errc::kDecode, "a {} was expected, not \"{}\"", kind, body.substr(0, 80));
  return value;
}

void read_aggregated_version(const std::string& group, const json::object& version, bool preferred,
                             ResourceTable& table) {
  for (const auto& item : array_of(version, "resources")) {
    if (!item.is_object()) continue;
    const auto& resource = item.get_object();
    ResourceType type;
    type.group = group;
    type.version = text_field(version, "version");
    type.plural = text_field(resource, "resource");
    type.kind = text_field(object_of(resource, "responseKind"), "kind");
    type.singular = text_field(resource, "singularResource");
    type.short_names = texts_of(resource, "shortNames");
    type.namespaced = text_field(resource, "scope") != "Cluster";
    type.verbs = texts_of(resource, "verbs");
    for (const auto& sub : array_of(resource, "subresources"))
      if (sub.is_object()) type.subresources.push_back(text_field(sub.get_object(), "subresource"));
    if (!type.kind.empty()) table.entries.push_back({std::move(type), preferred});
  }
}

}  // namespace

bool is_aggregated(std::string_view content_type) {
  // "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", parameters in any order.
  bool group = false, version = false, as = false;
  while (!content_type.empty()) {
    const size_t end = std::min(content_type.find(';'), content_type.size());
    std::string_view parameter = content_type.substr(0, end);
    content_type.remove_prefix(std::min(end + 1, content_type.size()));
    parameter.remove_prefix(std::min(parameter.find_first_not_of(" \t"), parameter.size()));
    while (parameter.ends_with(' ')) parameter.remove_suffix(1);
    if (parameter == "g=apidiscovery.k8s.io") group = true;
    if (parameter == "v=v2" || parameter == "v=v2beta1") version = true;
    if (parameter == "as=APIGroupDiscoveryList") as = true;
  }
  return group && version && as;
}

Result<void> read_aggregated(std::string_view body, ResourceTable& table) {
  HOOKD_TRY(const json::value document, parse_document(body, "APIGroupDiscoveryList"));
  for (const auto& item : array_of(document.get_object(), "items")) {
    if (!item.is_object()) continue;
    const std::string group = text_field(object_of(item.get_object(), "metadata"), "name");
    bool preferred = true;  // the first version that is not stale
    for (const auto& entry : array_of(item.get_object(), "versions")) {
      if (!entry.is_object()) continue;
      const auto& version = entry.get_object();
      const std::string name = text_field(version, "version");
      table.group_versions.push_back(group.empty() ? name : group + "/" + name);
      if (text_field(version, "freshness") == "Stale") {
        table.failed_groups.push_back(table.group_versions.back());
        continue;
      }
      read_aggregated_version(group, version, std::exchange(preferred, false), table);
    }
  }
  return {};
}

Result<std::vector<GroupVersion>> read_group_versions(std::string_view api_versions, std::string_view group_list) {
  std::vector<GroupVersion> versions;
  if (!api_versions.empty()) {
    HOOKD_TRY(const json::value core, parse_document(api_versions, "APIVersions"));
    for (const auto& version : texts_of(core.get_object(), "versions"))
      versions.push_back({"", version, versions.empty()});
  }
  HOOKD_TRY(const json::value groups, parse_document(group_list, "APIGroupList"));
  for (const auto& item : array_of(groups.get_object(), "groups")) {
    if (!item.is_object()) continue;
    const auto& group = item.get_object();
    const std::string preferred = text_field(object_of(group, "preferredVersion"), "version");
    const size_t first = versions.size();
    for (const auto& entry : array_of(group, "versions")) {
      if (!entry.is_object()) continue;
      const std::string version = text_field(entry.get_object(), "version");
      GroupVersion found{text_field(group, "name"), version, version == preferred};
      // The preferred one first: find() takes the first match.
      if (found.preferred)
        versions.insert(versions.begin() + static_cast<ptrdiff_t>(first), std::move(found));
      else
        versions.push_back(std::move(found));
    }
  }
  return versions;
}

Result<void> read_resource_list(std::string_view body, const GroupVersion& of, ResourceTable& table) {
  HOOKD_TRY(const json::value document, parse_document(body, "APIResourceList"));
  const size_t first = table.entries.size();
  std::vector<std::pair<std::string, std::string>> subresources;
  for (const auto& item : array_of(document.get_object(), "resources")) {
    if (!item.is_object()) continue;
    const auto& resource = item.get_object();
    const std::string name = text_field(resource, "name");
    if (const size_t slash = name.find('/'); slash != std::string::npos) {
      subresources.emplace_back(name.substr(0, slash), name.substr(slash + 1));
      continue;
    }
    ResourceType type;
    type.group = of.group;
    type.version = of.version;
    type.plural = name;
    type.kind = text_field(resource, "kind");
    type.singular = text_field(resource, "singularName");
    type.short_names = texts_of(resource, "shortNames");
    const auto* namespaced = resource.if_contains("namespaced");
    type.namespaced = namespaced && namespaced->is_bool() && namespaced->get_bool();
    type.verbs = texts_of(resource, "verbs");
    table.entries.push_back({std::move(type), of.preferred});
  }
  for (const auto& [parent, name] : subresources)
    for (size_t i = first; i < table.entries.size(); ++i)
      if (table.entries[i].type.plural == parent) table.entries[i].type.subresources.push_back(name);
  return {};
}

}  // namespace hookd::kube
