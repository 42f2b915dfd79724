#include "embedded/verbs/rbac.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json_read.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kKeys[] = {"roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
                                      "clusterroles.rbac.authorization.k8s.io",
                                      "clusterrolebindings.rbac.authorization.k8s.io"};

using Words = std::vector<std::string>;

struct Rule {
  Words verbs, groups, resources, names, urls;
};

struct Role {
  std::vector<Rule> rules;
  json::object labels;
  json::array selectors;  // of an aggregated ClusterRole
  bool aggregated = false;
};

struct Subject {
  std::string kind, name, ns;
};

struct Binding {
  std::string name, ns;  // ns "" = ClusterRoleBinding
  std::string role_kind, role;
  std::vector<Subject> subjects;
};

Words words(const json::object& object, const char* key) {
  Words out;
  for (const json::value& item : array_at(object, {key})) out.emplace_back(as_string(item));
  return out;
}

Role read_role(const json::object& object) {
  Role out;
  out.labels = object_at(object, {"metadata", "labels"});
  out.aggregated = has(object, {"aggregationRule"});
  out.selectors = array_at(object, {"aggregationRule", "clusterRoleSelectors"});
  for (const json::value& item : array_at(object, {"rules"})) {
    const json::object& rule = as_object(item);
    out.rules.push_back({words(rule, "verbs"), words(rule, "apiGroups"), words(rule, "resources"),
                         words(rule, "resourceNames"), words(rule, "nonResourceURLs")});
  }
  return out;
}

Binding read_binding(const json::object& object) {
  Binding out;
  out.name = string_at(object, {"metadata", "name"});
  out.ns = string_at(object, {"metadata", "namespace"});
  out.role_kind = string_at(object, {"roleRef", "kind"});
  out.role = string_at(object, {"roleRef", "name"});
  for (const json::value& item : array_at(object, {"subjects"})) {
    const json::object& subject = as_object(item);
    out.subjects.push_back({std::string(string_at(subject, {"kind"})), std::string(string_at(subject, {"name"})),
                            std::string(string_at(subject, {"namespace"}))});
  }
  return out;
}

bool contains(const Words& list, std::string_view word) { return std::ranges::find(list, word) != list.end(); }
bool matches(const Words& list, std::string_view word) { return contains(list, "*") || contains(list, word); }

bool allows(const Rule& rule, const AccessQuestion& question) {
  if (!matches(rule.verbs, question.verb)) return false;
  if (!question.path.empty())
    return std::ranges::any_of(rule.urls, [&](std::string_view url) {
      if (url == "*" || url == question.path) return true;
      return url.ends_with('*') && question.path.starts_with(url.substr(0, url.find_last_not_of('*') + 1));
    });
  if (!matches(rule.groups, question.group)) return false;
  const std::string resource =
      question.subresource.empty() ? question.resource : question.resource + "/" + question.subresource;
  const bool named = matches(rule.resources, resource) ||
                     (!question.subresource.empty() && contains(rule.resources, "*/" + question.subresource));
  return named && (rule.names.empty() || contains(rule.names, question.name));
}

bool is(const Subject& subject, const User& user, std::string_view binding_ns) {
  if (subject.kind == "User") return user.name == subject.name;
  if (subject.kind == "Group") return std::ranges::find(user.groups, subject.name) != user.groups.end();
  const std::string_view ns = subject.ns.empty() ? binding_ns : std::string_view(subject.ns);
  return subject.kind == "ServiceAccount" && !ns.empty() &&
         user.name == fmt::format("system:serviceaccount:{}:{}", ns, subject.name);
}

std::string describe(const Binding& binding, const Subject& subject) {
  std::string who = subject.name;
  if (subject.kind == "ServiceAccount") who += "/" + (subject.ns.empty() ? binding.ns : subject.ns);
  const bool cluster = binding.ns.empty();
  return fmt::format(
      "RBAC: allowed by {} \"{}\" of {} \"{}\" to {} \"{}\"", cluster ? "ClusterRoleBinding" : "RoleBinding",
      cluster ? binding.name : binding.name + "/" + binding.ns, binding.role_kind, binding.role, subject.kind, who);
}

}  // namespace

// Parsed when it is first needed after a change; changes are rare, questions come with every request.
struct Rbac::Cache {
  explicit Cache(Store& from) : store(from) {
    for (const std::string_view key : kKeys)
      subscriptions.push_back(store.subscribe(std::string(key), [this](const StoreEvent&) { stale = true; }));
  }

  template <class Visit>
  void each(std::string_view key, Visit visit) const {
    store.scan(key, "", "", [&](const StoredPtr& object) {
      if (const Result<json::value> value = parse_json(object->text); value && value->is_object())
        visit(value->get_object());
      return true;
    });
  }

  void refresh() {
    if (!stale) return;
    stale = false;
    roles.clear();
    bindings.clear();
    each(kKeys[2],
         [&](const json::object& o) { roles["/" + std::string(string_at(o, {"metadata", "name"}))] = read_role(o); });
    each(kKeys[0], [&](const json::object& o) {
      roles[fmt::format("{}/{}", string_at(o, {"metadata", "namespace"}), string_at(o, {"metadata", "name"}))] =
          read_role(o);
    });
    each(kKeys[3], [&](const json::object& o) { bindings[""].push_back(read_binding(o)); });
    each(kKeys[1], [&](const json::object& o) {
      Binding binding = read_binding(o);
      bindings[binding.ns].push_back(std::move(binding));
    });
  }

  const Role* role_of(const Binding& binding) const {
    const auto found = roles.find((binding.role_kind == "Role" ? binding.ns : "") + "/" + binding.role);
    return found == roles.end() ? nullptr : &found->second;
  }

  // Visits the rules of a role and of the roles that it gathers; false stops. `seen` ends circles.
  bool rules(const Role& role, const std::function<bool(const Rule&)>& visit, std::set<const Role*>& seen) const {
    if (!seen.insert(&role).second) return true;
    for (const Rule& rule : role.rules)
      if (!visit(rule)) return false;
    if (!role.aggregated) return true;
    for (const auto& [key, other] : roles) {
      if (!key.starts_with('/')) continue;
      const bool gathered = std::ranges::any_of(
          role.selectors, [&](const json::value& item) { return selector_matches(as_object(item), other.labels); });
      if (gathered && !rules(other, visit, seen)) return false;
    }
    return true;
  }

  // Visits what holds for the user in the namespace ("" = cluster scope); false stops.
  void visit(const User& user, std::string_view ns,
             const std::function<bool(const Binding&, const Subject&, const Rule&)>& visit_rule,
             std::vector<std::string>* problems) const {
    for (const std::string_view scope : {std::string_view(), ns}) {
      if (const auto here = bindings.find(scope); here != bindings.end()) {
        for (const Binding& binding : here->second) {
          const auto subject =
              std::ranges::find_if(binding.subjects, [&](const Subject& one) { return is(one, user, binding.ns); });
          if (subject == binding.subjects.end()) continue;
          const Role* role = role_of(binding);
          if (!role) {
            if (problems)
              problems->push_back(fmt::format("{}.rbac.authorization.k8s.io \"{}\" not found",
                                              binding.role_kind == "Role" ? "role" : "clusterrole", binding.role));
            continue;
          }
          std::set<const Role*> seen;
          if (!rules(*role, [&](const Rule& rule) { return visit_rule(binding, *subject, rule); }, seen)) return;
        }
      }
      if (ns.empty()) return;
    }
  }

  Store& store;
  std::vector<Store::Subscription> subscriptions;
  bool stale = true;
  std::map<std::string, Role, std::less<>> roles;                     // "ns/name", "/name" of ClusterRoles
  std::map<std::string, std::vector<Binding>, std::less<>> bindings;  // by namespace
};

Rbac::Rbac(Store& store) : cache_(std::make_unique<Cache>(store)) {}
Rbac::~Rbac() = default;

AccessAnswer Rbac::ask(const User& user, const AccessQuestion& question) const {
  if (std::ranges::find(user.groups, "system:masters") != user.groups.end()) return {true, ""};
  cache_->refresh();
  AccessAnswer answer;
  std::vector<std::string> problems;
  cache_->visit(
      user, question.path.empty() ? std::string_view(question.ns) : std::string_view(),
      [&](const Binding& binding, const Subject& subject, const Rule& rule) {
        if (!allows(rule, question)) return true;
        answer = {true, describe(binding, subject)};
        return false;
      },
      &problems);
  if (!answer.allowed && problems.size() == 1) answer.reason = "RBAC: " + problems.front();
  if (!answer.allowed && problems.size() > 1) answer.reason = fmt::format("RBAC: [{}]", fmt::join(problems, ", "));
  return answer;
}

json::array Rbac::rules_of(const User& user, std::string_view ns) const {
  cache_->refresh();
  json::array out;
  const auto list = [](const Words& from) {
    json::array items;
    for (const std::string& word : from) items.emplace_back(word);
    return items;
  };
  cache_->visit(
      user, ns,
      [&](const Binding&, const Subject&, const Rule& rule) {
        json::object object{{"verbs", list(rule.verbs)}};
        if (!rule.groups.empty()) object["apiGroups"] = list(rule.groups);
        if (!rule.resources.empty()) object["resources"] = list(rule.resources);
        if (!rule.names.empty()) object["resourceNames"] = list(rule.names);
        if (!rule.urls.empty()) object["nonResourceURLs"] = list(rule.urls);
        if (std::ranges::find(out, json::value(object)) == out.end()) out.push_back(std::move(object));
        return true;
      },
      nullptr);
  return out;
}

StatusError access_denied(const User& user, const AccessQuestion& question) {
  if (!question.path.empty())
    return forbidden({}, fmt::format("User \"{}\" cannot {} path \"{}\"", user.name, question.verb, question.path));
  const std::string resource =
      question.subresource.empty() ? question.resource : question.resource + "/" + question.subresource;
  const std::string scope =
      question.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", question.ns);
  return forbidden({question.group, question.resource, "", question.name},
                   fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}", user.name, question.verb,
                               resource, question.group, scope));
}

}  // namespace hookd::embedded
