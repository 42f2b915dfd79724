#include "app/rbac_grants.h"

#include <algorithm>
#include <array>

namespace hookd::app {
namespace {

constexpr std::array<std::string_view, 7> kVerbs{"get", "list", "watch", "create", "update", "patch", "delete"};

std::vector<std::string> reason_lines(const std::map<std::string, std::vector<std::string>>& reasons) {
  std::vector<std::string> lines;
  for (const auto& [hook, whys] : reasons) {
    auto sorted = whys;
    std::ranges::stable_partition(sorted, [](const std::string& why) { return why.starts_with("watch "); });
    lines.push_back(fmt::format("{}: {}", hook.empty() ? "hookd itself" : hook, fmt::join(sorted, ", ")));
  }
  return lines;
}

}  // namespace

void RbacGrants::merge(Reasons& into, const Reasons& from) {
  for (const auto& [hook, whys] : from) {
    auto& known = into[hook];
    for (const auto& why : whys)
      if (std::ranges::find(known, why) == known.end()) known.push_back(why);
  }
}

void RbacGrants::add(const Place& place, std::initializer_list<std::string_view> verbs, std::string_view hook,
                     std::string_view why) {
  auto& granted = grants_[place];
  for (const auto verb : verbs) {
    const auto rank = static_cast<size_t>(std::ranges::find(kVerbs, verb) - kVerbs.begin());
    merge(granted[rank], {{std::string(hook), {std::string(why)}}});
  }
}

// The widest first: what it finds is itself covered by nothing.
const RbacGrants::Place* RbacGrants::wider(const Place& place, size_t verb) const {
  const size_t slash = place.resource.find('/');
  std::vector<std::string> resources{"*"};
  if (slash != std::string::npos) resources.push_back("*" + place.resource.substr(slash));
  resources.push_back(place.resource);
  for (const auto& ns : {std::string(), place.ns})
    for (const auto& group : {std::string("*"), place.group})
      for (const auto& resource : resources)
        for (const auto& name : {std::string(), place.name}) {
          const Place candidate{ns, group, resource, name};
          if (candidate == place) continue;
          const auto found = grants_.find(candidate);
          if (found != grants_.end() && found->second.contains(verb)) return &found->first;
        }
  return nullptr;
}

std::vector<RbacRole> RbacGrants::roles() const {
  std::map<Place, Verbs> kept;
  for (const auto& [place, verbs] : grants_)
    for (const auto& [verb, reasons] : verbs) {
      const Place* cover = wider(place, verb);
      merge(kept[cover ? *cover : place][verb], reasons);
    }

  std::vector<RbacRole> roles;
  for (const auto& [place, verbs] : kept) {
    if (verbs.empty()) continue;
    if (roles.empty() || roles.back().ns != place.ns) roles.push_back({place.ns, {}});
    auto& rules = roles.back().rules;
    RbacRule rule{place.group, place.resource, {}, {}, {}};
    Reasons all;
    for (const auto& [verb, reasons] : verbs) {
      rule.verbs.emplace_back(kVerbs[verb]);
      merge(all, reasons);
    }
    rule.why = reason_lines(all);
    if (!place.name.empty()) {
      // Names with the same rights for the same reasons stand in one rule.
      const auto same = std::ranges::find_if(rules, [&](const RbacRule& other) {
        return !other.names.empty() && other.group == rule.group && other.resource == rule.resource &&
               other.verbs == rule.verbs && other.why == rule.why;
      });
      if (same != rules.end()) {
        same->names.push_back(place.name);
        continue;
      }
      rule.names.push_back(place.name);
    }
    rules.push_back(std::move(rule));
  }
  return roles;
}

}  // namespace hookd::app
