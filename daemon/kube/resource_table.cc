// ResourceTable::find: what a person's name for a resource means (k8s-client.md D6-D8).
#include "base/ascii.h"
#include "config/nearest.h"
#include "kube/discovery.h"

namespace hookd::kube {
namespace {

bool names_type(const ResourceType& type, std::string_view name) {
  const std::string lowered = lower(name);
  return lowered == lower(type.kind) || lowered == type.plural || (!type.singular.empty() && lowered == type.singular);
}

bool is_short_name(const ResourceType& type, std::string_view name) {
  return std::ranges::find(type.short_names, name) != type.short_names.end();
}

// "plural.group" or "plural.version.group", as in "deployments.apps" and
// "seldondeployments.v1.machinelearning.seldon.io"; "pods.v1" and "pods.v1." for the core group, which has no name.
bool names_full(const ResourceType& type, std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || !names_type(type, name.substr(0, dot))) return false;
  const std::string_view rest = name.substr(dot + 1);
  if (type.group.empty()) return rest == type.version || rest == type.version + ".";
  return rest == type.group || rest == type.version + "." + type.group;
}

// "deploy.apps", "deploy.app": the group may be cut short (D7).
bool names_loosely(const ResourceType& type, std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return false;
  const std::string_view first = name.substr(0, dot);
  return (names_type(type, first) || is_short_name(type, first)) && type.group.starts_with(name.substr(dot + 1));
}

// Does "plural.group" or "plural.version.group" speak of this group version ("metrics.k8s.io/v1beta1")?
bool speaks_of(std::string_view name, std::string_view group_version) {
  const size_t slash = group_version.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view group = group_version.substr(0, slash), version = group_version.substr(slash + 1);
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view rest = name.substr(dot + 1);
  return rest == group || rest == fmt::format("{}.{}", version, group);
}

std::string near_name(const std::vector<ResourceTable::Entry>& entries, std::string_view name) {
  std::string best;
  size_t best_distance = name.size() / 3 + 1;
  for (const auto& entry : entries) {
    for (const std::string& candidate : {entry.type.kind, entry.type.plural}) {
      const size_t d = config::edit_distance(lower(name), lower(candidate));
      if (d < best_distance) {
        best_distance = d;
        best = entry.type.display();
      }
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace

Result<ResourceType> ResourceTable::find(std::string_view api_version, std::string_view name) const {
  const auto matching = [&](auto predicate) -> const ResourceType* {
    for (const auto& entry : entries)
      if ((api_version.empty() || entry.type.api_version() == api_version) && predicate(entry.type)) return &entry.type;
    return nullptr;
  };
  const ResourceType* type = matching([&](const ResourceType& t) { return names_type(t, name); });
  if (!type) type = matching([&](const ResourceType& t) { return names_full(t, name); });
  if (!type)
    type = matching([&](const ResourceType& t) { return is_short_name(t, name); });  // never wins over a full name (D7)
  if (!type) type = matching([&](const ResourceType& t) { return names_loosely(t, name); });
  if (type) return *type;

  std::string failed_list;
  for (const std::string& failed : failed_groups) {
    if (api_version.empty() ? speaks_of(name, failed) : api_version == failed)
      return fail(Errc::kUnavailable, "{}: the server knows {}, but that does not answer now", name, failed);
    failed_list += (failed_list.empty() ? "" : ", ") + failed;
  }
  if (api_version.empty())
    return fail(Errc::kNotFound, "the server serves no resource \"{}\"{}{}", name, near_name(entries, name),
                failed_list.empty() ? "" : "; some of its groups do not answer now: " + failed_list);
  std::string served;
  for (const auto& entry : entries)
    if (names_type(entry.type, name)) served += (served.empty() ? "; it serves " : ", ") + entry.type.display();
  return fail(Errc::kNotFound, "the server serves no {} in {}{}", name, api_version,
              served.empty() ? near_name(entries, name) : served);
}

void ResourceTable::keep_failed(const ResourceTable& before) {
  std::map<std::string_view, size_t> group_rank;
  std::map<std::string_view, std::pair<size_t, size_t>> rank;  // group version -> rank of its group, and within it
  for (size_t i = 0; i < group_versions.size(); ++i) {
    const std::string_view version = group_versions[i];
    const size_t slash = version.find('/');
    const size_t group =
        group_rank.try_emplace(slash == std::string_view::npos ? "" : version.substr(0, slash), i).first->second;
    const bool failed = std::ranges::find(failed_groups, version) != failed_groups.end();
    rank.try_emplace(version, group, i + (failed ? group_versions.size() : 0));
  }
  for (const auto& entry : before.entries) {
    const std::string version = entry.type.api_version();
    if (std::ranges::find(failed_groups, version) != failed_groups.end()) entries.push_back({entry.type, false});
  }
  std::ranges::stable_sort(entries, {}, [&](const Entry& entry) {
    const auto it = rank.find(entry.type.api_version());
    return it == rank.end() ? std::pair(group_versions.size(), size_t{0}) : it->second;
  });
}

}  // namespace hookd::kube
