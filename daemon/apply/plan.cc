#include "apply/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hookd::apply {
namespace {

constexpr size_t kLastStage = 7;

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

size_t natural_stage(const Operation& op) {
  if (!is_write(op.verb)) return kLastStage;
  const bool gone = is_delete(op.verb);
  const std::string_view group = group_of(op.api_version);
  const std::string_view kind = op.kind;
  const bool root =
      (group.empty() && kind == "Namespace") || (group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition");
  const bool rbac = group == "rbac.authorization.k8s.io";
  const bool right = (group.empty() && kind == "ServiceAccount") || (rbac && (kind == "Role" || kind == "ClusterRole"));
  const bool binding = rbac && (kind == "RoleBinding" || kind == "ClusterRoleBinding");
  if (gone) return root ? 6 : right ? 5 : binding ? 4 : 3;
  return root ? 0 : right ? 1 : binding ? 2 : 3;
}

bool contains_or_any(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::any_of(list, [&](const auto& one) { return one == "*" || one == word; });
}

// Does the rule speak of the operation's object, whatever the verb?
bool covers(const AllowRule& rule, const Operation& op) {
  const std::string_view version = rule.api_version;
  const bool any_of_group =
      version.ends_with("/*") && group_of(version) == group_of(op.api_version) && !op.api_version.empty();
  if (version != "*" && version != op.api_version && !any_of_group) return false;
  if (rule.kind != "*" && rule.kind != op.kind) return false;
  // Without a namespace it is not known yet whether the object is cluster-scoped: a rule for namespaces does not hold.
  if (!rule.namespaces.empty() && (op.ns.empty() || !contains_or_any(rule.namespaces, op.ns))) return false;
  return rule.names.empty() || (!op.name.empty() && contains_or_any(rule.names, op.name));
}

using Verbs = std::vector<std::string_view>;

// Each element is enough by itself; all its verbs are needed.
std::vector<Verbs> needed_verbs(const Operation& op) {
  if (op.subresource == "status") return {{"status"}};
  if (op.subresource == "scale") return {{"scale"}};
  switch (op.verb) {
    case Verb::kCreate:
    case Verb::kCreateIfNotExists:
      return {{"create"}};
    case Verb::kCreateOrUpdate:
      return {{"create", "update"}, {"create", "patch"}};
    case Verb::kApply:
      return {{"apply"}, {"patch", "create"}};
    case Verb::kDelete:
    case Verb::kDeleteInBackground:
    case Verb::kDeleteNonCascading:
      return {{"delete"}};
    case Verb::kEvict:
      return {{"evict"}};
    case Verb::kScale:
      return {{"scale"}};
    case Verb::kStatus:
    case Verb::kCondition:
      return {{"status"}};
    case Verb::kEvent:
      return {{"event"}};
    case Verb::kMetric:
    case Verb::kRequeue:
      return {};
    default:
      return {{"patch"}};
  }
}

std::string needed_rule(const Operation& op, const Verbs& verbs) {
  std::string text = fmt::format("allow: - {{apiVersion: {}, kind: {}, verbs: [{}]",
                                 op.api_version.empty() ? "\"*\"" : op.api_version, op.kind, fmt::join(verbs, ", "));
  if (!op.ns.empty()) text += fmt::format(", namespaces: [{}]", op.ns);
  return text + "}";
}

}  // namespace

Plan make_plan(std::span<const Operation> operations, std::string_view default_namespace) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<size_t>> objects;
  std::vector<std::vector<size_t>> order;  // of objects by their first operation; indices ascend
  std::map<Key, size_t> place;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    if (!is_write(op.verb) || op.name.empty()) {  // nothing that another operation could mean too
      order.push_back({i});
      continue;
    }
    const Key key{group_of(op.api_version), op.kind, op.ns.empty() ? std::string(default_namespace) : op.ns, op.name};
    const auto [found, fresh] = place.emplace(key, order.size());
    if (fresh) order.emplace_back();
    order[found->second].push_back(i);
  }
  std::vector<size_t> stage(operations.size());
  Plan plan;
  plan.behind.resize(operations.size());
  std::vector<std::vector<Chain>> stages(kLastStage + 1);
  for (const auto& object : order) {
    for (size_t at = 1; at < object.size(); ++at) plan.behind[object[at]] = object[at - 1];
    size_t least = kLastStage;
    for (auto i = object.rbegin(); i != object.rend(); ++i)
      stage[*i] = least = std::min(least, natural_stage(operations[*i]));
    for (size_t at = 0; at < object.size();) {
      const size_t now = stage[object[at]];
      Chain chain;
      for (; at < object.size() && stage[object[at]] == now; ++at) chain.push_back(object[at]);
      stages[now].push_back(std::move(chain));
    }
  }
  for (auto& chains : stages)
    if (!chains.empty()) plan.stages.push_back(std::move(chains));

  plan.speaks_of.resize(operations.size());
  std::vector<size_t> group;
  bool events = false;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].verb == Verb::kEvent) {
      plan.speaks_of[i] = group;
      events = true;
    } else if (is_write(operations[i].verb)) {
      if (std::exchange(events, false)) group.clear();
      group.push_back(i);
    }
  }
  return plan;
}

Result<void> check_allowed(std::span<const Operation> operations, const std::optional<std::vector<AllowRule>>& rules,
                           const IsKnown& about_the_call) {
  if (!rules) return {};
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    const auto ways = needed_verbs(op);
    if (ways.empty() || (op.verb == Verb::kEvent && about_the_call && about_the_call(op))) continue;
    const auto allowed = [&](std::string_view verb) {
      return std::ranges::any_of(
          *rules, [&](const auto& rule) { return covers(rule, op) && contains_or_any(rule.verbs, verb); });
    };
    if (std::ranges::any_of(ways, [&](const Verbs& verbs) { return std::ranges::all_of(verbs, allowed); })) continue;
    const bool limited = op.ns.empty() && std::ranges::any_of(*rules, [&](const AllowRule& rule) {
                           return !rule.namespaces.empty() && (rule.kind == "*" || rule.kind == op.kind);
                         });
    return fail(Errc::kForbidden, "operation {} ({}) is not allowed to this hook; it would need {}{}", i + 1,
                op.describe(), needed_rule(op, ways.front()),
                limited ? " (rules with namespaces hold only if the operation names its namespace)" : "");
  }
  return {};
}

}  // namespace hookd::apply
