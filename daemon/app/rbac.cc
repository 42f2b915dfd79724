#include "app/rbac.h"

#include <algorithm>
#include <optional>
#include <set>

#include "app/rbac_grants.h"
#include "config/nearest.h"

namespace hookd::app {
namespace {

using hook::Hook;
using kube::ResourceTable;
using kube::ResourceType;

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

bool has_any(const std::vector<std::string>& list) { return std::ranges::find(list, "*") != list.end(); }

// The value of metadata.name that a field selector asks for, "" = none: with it the server takes a list or watch for
// one of that name, so that resourceNames hold for it. Source: apiserver RequestInfoFactory, fields.RequiresExactMatch.
std::string exact_name(std::string_view selector) {
  for (size_t at = 0; at <= selector.size();) {
    std::string term;
    for (; at < selector.size() && selector[at] != ','; ++at) {
      if (selector[at] == '\\' && at + 1 < selector.size()) ++at;
      term += selector[at];
    }
    ++at;
    for (const std::string_view start : {"metadata.name==", "metadata.name="})
      if (term.starts_with(start)) return term.substr(start.size());
  }
  return "";
}

class Planner {
 public:
  explicit Planner(const ResourceTable& types) : types_(types) {
    for (const auto& entry : types.entries) kinds_.insert(entry.type.kind);
  }

  void add(const Hook& hook) {
    hook_ = &hook;
    for (const auto& watch : hook.watches) add_watch(watch);
    if (hook.guard.deletes || hook.guard.writes) add_guard();
    if (hook.reconcile) add_reconcile(*hook.reconcile);
    for (const auto& source : hook.sources)
      if (!source.secret_from.name.empty())
        grants_.add({source.secret_from.ns, "", "secrets", source.secret_from.name}, {"get"}, hook.name,
                    fmt::format("source {}", source.name));
    if (!hook.allow && hook.reconcile)
      return note(hook.line,
                  "it has no `allow`, so what the `operations` of its answers may write cannot be known: only the "
                  "rights of what it reconciles are given; name in `allow` what it writes besides, or allow: []");
    if (!hook.allow)
      return note(hook.line,
                  "it has no `allow`, so what it may write cannot be known: only the rights of its watches are given; "
                  "name in `allow` what it writes");
    for (const auto& rule : *hook.allow) add_rule(rule);
  }

  void add_state(const std::string& config_map) {
    const size_t slash = config_map.find('/');
    if (slash == std::string::npos) return;
    const std::string ns = config_map.substr(0, slash), name = config_map.substr(slash + 1);
    grants_.add({ns, "", "configmaps", name}, {"get", "patch"}, "", "its state");
    grants_.add({ns, "", "configmaps"}, {"create"}, "", "its state, the first time (names cannot limit create)");
  }

  void add_state_dir() {
    grants_.add({"", "", "namespaces", "kube-system"}, {"get"}, "", "which cluster its stateDir is about");
  }

  Result<RbacPlan> finish() && {
    if (!problems_.empty()) return fail(Errc::kConfig, "{}", fmt::join(problems_, "\n"));
    return RbacPlan{grants_.roles(), std::move(notes_), complete_};
  }

 private:
  std::string place(int line) const {
    return fmt::format("{}:{}: hook \"{}\": ", hook_->path, std::max(line, 1), hook_->name);
  }
  void say(int line, std::string_view text) { notes_.push_back(place(line) + std::string(text)); }
  void note(int line, std::string_view text) {
    say(line, text);
    complete_ = false;
  }
  void unknown(int line, std::string_view what, const std::string& api_version, const std::string& kind) {
    problems_.push_back(fmt::format("{}{}: kind \"{}\"{} is not known{}", place(line), what, kind,
                                    api_version.empty() ? "" : fmt::format(" in {}", api_version),
                                    config::hint(kind, kinds_)));
  }

  // Rights know groups, not versions: a version that is not served (here) means the same resource.
  std::optional<ResourceType> find(const std::string& api_version, const std::string& kind) const {
    if (!api_version.ends_with("/*")) {
      if (auto found = types_.find(api_version, kind)) return *std::move(found);
      if (api_version.empty()) return std::nullopt;
    }
    for (const auto& entry : types_.entries)
      if (entry.type.group == group_of(api_version) && (entry.type.kind == kind || entry.type.plural == kind))
        return entry.type;
    return std::nullopt;
  }

  // ---- watches: list and watch of each collection that trigger/watch_trigger.cc asks for

  void add_watch(const hook::WatchBinding& watch) {
    const auto type = find(watch.api_version, watch.kind);
    if (!type) return unknown(watch.line, fmt::format("watch {}", watch.name), watch.api_version, watch.kind);
    if (!type->has_verb("list") || !type->has_verb("watch"))
      return note(watch.line,
                  fmt::format("watch {}: {} cannot be watched: no right given", watch.name, type->display()));
    std::string name = exact_name(watch.field_selector);
    if (watch.names.size() == 1 && watch.field_selector.find("metadata.name") == std::string::npos)
      name = watch.names.front();
    std::vector<std::string> namespaces = watch.namespaces.names;
    if (namespaces.empty() || !type->namespaced) namespaces = {""};
    const std::string why = fmt::format("watch {}", watch.name);
    std::vector<std::string> names = watch.names;
    if (names.empty() || !name.empty()) names = {name};
    for (const auto& ns : namespaces) {
      grants_.add({ns, type->group, type->plural, name}, {"list", "watch"}, hook_->name, why);
      // After a restart: is what the hook was told of and the list has not really gone? (trigger/missed_deletions.h)
      if (!watch.deleted) continue;
      for (const auto& one : names) grants_.add({ns, type->group, type->plural, one}, {"get"}, hook_->name, why);
    }
    if (watch.namespaces.label_selector)
      grants_.add({"", "", "namespaces"}, {"list", "watch"}, hook_->name, why + " (labels of namespaces)");
    if (!watch.snapshot_only()) give_own_events(namespaces, *type);
  }

  // hookd's own Events, of a loop or a guard, are about the object of the call. Who writes nothing causes neither.
  void give_own_events(const std::vector<std::string>& namespaces, const ResourceType& type) {
    if (hook_->allow && hook_->allow->empty() && !hook_->reconcile) return;
    for (const auto& ns : namespaces)
      grants_.add({type.namespaced ? ns : "default", "", "events"}, {"create", "patch"}, hook_->name, "its Events");
  }

  // Of a call without object the guard's Event is about what would have been written first. (hook/guard_report.cc)
  void add_guard() {
    if (!hook_->allow || !hook_->watches.empty() || hook_->reconcile) return;
    for (const auto& rule : *hook_->allow) {
      std::vector<std::string> namespaces = rule.namespaces;
      if (namespaces.empty() || has_any(namespaces)) namespaces = {""};
      const auto type = find(rule.api_version, rule.kind);
      for (const auto& ns : namespaces)
        grants_.add({type && !type->namespaced ? "default" : ns, "", "events"}, {"create", "patch"}, hook_->name,
                    "its Events");
    }
  }

  // ---- reconcile: parents, children and what is related to them (reconcile/*.cc); none of it is asked of `allow`

  std::optional<ResourceType> find_watched(int line, const std::string& what, const std::string& api_version,
                                           const std::string& kind) {
    auto type = find(api_version, kind);
    if (!type) {
      unknown(line, what, api_version, kind);
    } else if (!type->has_verb("list") || !type->has_verb("watch")) {
      note(line, fmt::format("{}: {} cannot be watched: no right given", what, type->display()));
      return std::nullopt;
    }
    return type;
  }

  void give_watch(const hook::Namespaces& where, const ResourceType& type, const std::string& why,
                  std::initializer_list<std::string_view> verbs) {
    std::vector<std::string> namespaces = where.names;
    if (namespaces.empty() || !type.namespaced) namespaces = {""};
    for (const auto& ns : namespaces) grants_.add({ns, type.group, type.plural}, verbs, hook_->name, why);
    if (where.label_selector)
      grants_.add({"", "", "namespaces"}, {"list", "watch"}, hook_->name, why + " (labels of namespaces)");
  }

  void add_reconcile(const hook::Reconcile& reconcile) {
    add_parent(reconcile);
    for (const auto& child : reconcile.children) {
      const std::string what = fmt::format("children {}", child.kind);
      const auto type = find_watched(child.line, what, child.api_version, child.kind);
      if (!type) continue;
      give_watch({child.namespaces, {}}, *type, what, {"get", "list", "watch", "create", "patch", "delete"});
      if (type->group == "rbac.authorization.k8s.io") note_escalation(child.line, what, type->kind);
    }
    for (const auto& related : reconcile.related) {
      const std::string what = fmt::format("related {}", related.name);
      const auto type = find_watched(related.line, what, related.api_version, related.kind);
      if (type) give_watch(related.namespaces, *type, what, {"list", "watch"});
    }
  }

  void add_parent(const hook::Reconcile& reconcile) {
    const hook::ParentRule& rule = reconcile.parent;
    const auto type = find_watched(rule.line, "for", rule.api_version, rule.kind);
    if (!type) return;
    give_watch(rule.namespaces, *type, "for", {"get", "list", "watch"});
    std::vector<std::string> namespaces = rule.namespaces.names;
    if (namespaces.empty() || !type->namespaced) namespaces = {""};
    for (const auto& ns : namespaces) {
      const auto give = [&](const std::string& resource, std::string_view verb, std::string_view why) {
        grants_.add({ns, type->group, resource}, {verb}, hook_->name, why);
      };
      if (reconcile.finalizer) give(type->plural, "patch", "its finalizer");
      // Owner references with blockOwnerDeletion ask for it where the server has the admission plugin
      // OwnerReferencesPermissionEnforcement.
      if (!reconcile.children.empty()) give(type->plural + "/finalizers", "update", "owner of children");
      if (type->has_subresource("status")) give(type->plural + "/status", "patch", "status");
    }
    give_own_events(namespaces, *type);
  }

  // ---- allow: what apply/ sends for the operations that the rule lets through

  struct Rule {
    const apply::AllowRule& allow;
    std::vector<std::string> namespaces;  // "" = all
    std::vector<std::string> names;       // "" = any
  };

  void add_rule(const apply::AllowRule& allow) {
    Rule rule{allow, allow.namespaces, allow.names};
    if (rule.namespaces.empty() || has_any(rule.namespaces)) rule.namespaces = {""};
    if (rule.names.empty() || has_any(rule.names)) rule.names = {""};
    if (allow.kind == "*") return add_any_kind(rule);
    std::vector<ResourceType> types;
    if (allow.api_version != "*") {
      if (auto type = find(allow.api_version, allow.kind)) types.push_back(*std::move(type));
    } else {
      std::set<std::pair<std::string, std::string>> seen;
      for (const auto& entry : types_.entries)
        if (entry.type.kind == allow.kind && seen.emplace(entry.type.group, entry.type.plural).second)
          types.push_back(entry.type);
    }
    if (types.empty()) return unknown(allow.line, "allow", allow.api_version, allow.kind);
    for (const auto& type : types) add_type(rule, type);
  }

  void add_type(const Rule& rule, const ResourceType& type) {
    if (!type.namespaced && !rule.allow.namespaces.empty())
      return note(
          rule.allow.line,
          fmt::format("allow: {} is cluster-scoped, a rule with `namespaces` never holds for it: no right given",
                      type.display()));
    const bool all = has_any(rule.allow.verbs);
    for (const std::string& verb : all ? every_verb() : rule.allow.verbs) {
      const auto subresource = [&](std::string_view name) {
        if (type.has_subresource(name)) return true;
        if (!all) note(rule.allow.line, fmt::format("allow: {} has no subresource {}", type.display(), name));
        return false;
      };
      if (verb == "evict" && !subresource("eviction")) continue;
      if (verb == "scale" && !subresource("scale")) continue;
      if (verb == "status" && !subresource("status")) {
        // Only Condition does without: it writes the object itself.
        if (!all) give(rule, type.group, type.plural, verb, {"get", "patch"});
        continue;
      }
      if (verb == "event")
        give_events(rule, type.namespaced);
      else
        give_verb(rule, type.group, type.plural, type.plural, verb);
    }
    const bool grants_rights = type.group == "rbac.authorization.k8s.io";
    const auto writes = [](const std::string& verb) {
      return verb == "*" || verb == "create" || verb == "update" || verb == "patch" || verb == "apply";
    };
    if (grants_rights && std::ranges::any_of(rule.allow.verbs, writes))
      note_escalation(rule.allow.line, "allow", type.kind);
  }

  void add_any_kind(const Rule& rule) {
    const auto& version = rule.allow.api_version;
    const std::string group = version == "*" ? "*" : std::string(group_of(version));
    say(rule.allow.line, fmt::format("allow: kind \"*\" becomes `resources: [\"*\"]`{}: subresources too (pods/exec, "
                                     "serviceaccounts/token); better name the kinds",
                                     group == "*" ? " of every group" : ""));
    const bool all = has_any(rule.allow.verbs);
    for (const std::string& verb : all ? every_verb() : rule.allow.verbs) {
      if (verb == "event") {
        give_events(rule, true);
        continue;
      }
      if (verb == "evict" && !group.empty() && group != "*") {
        if (!all) note(rule.allow.line, fmt::format("allow: evict is for pods, which {} has not", version));
        continue;
      }
      give_verb(rule, verb == "evict" ? "" : group, verb == "evict" ? "pods" : "*", "*", verb);
    }
    if (group == "*" || group == "rbac.authorization.k8s.io")
      note_escalation(rule.allow.line, "allow", "Role and the like");
  }

  static const std::vector<std::string>& every_verb() {
    static const std::vector<std::string> verbs{"create", "update", "patch",  "apply", "delete",
                                                "evict",  "scale",  "status", "event"};
    return verbs;
  }

  // `resource` "*" or a plural; `of` the same for subresources.
  void give_verb(const Rule& rule, const std::string& group, const std::string& resource, const std::string& of,
                 const std::string& verb) {
    if (verb == "create") {
      // A POST names nobody yet, so a name cannot limit it. get: was it made although no answer came?
      Rule any = rule;
      const bool named = rule.names.front() != "";
      any.names = {""};
      give(any, group, resource, named ? "create (names cannot limit it)" : verb, {"create"});
      give(rule, group, resource, verb, {"get"});
    } else if (verb == "update") {  // CreateOrUpdate: after the POST a GET and a PUT
      give(rule, group, resource, verb, {"get", "update"});
    } else if (verb == "patch") {  // JQPatch reads and puts; create and patch together allow CreateOrUpdate
      give(rule, group, resource, verb, {"get", "update", "patch"});
    } else if (verb == "apply") {
      // Server-side apply of an object that is not there: the server asks for create of that very name.
      give(rule, group, resource, verb, {"create", "patch"});
    } else if (verb == "delete") {  // get: whose is the name now, after a conflict or without a uid?
      give(rule, group, resource, verb, {"get", "delete"});
    } else if (verb == "evict") {
      give(rule, group, resource, verb, {"get"});
      give(rule, group, resource + "/eviction", verb, {"create"});
    } else if (verb == "scale") {
      give(rule, group, of + "/scale", verb, {"patch"});
    } else if (verb == "status") {  // get: Condition reads the other conditions
      give(rule, group, resource, verb, {"get"});
      give(rule, group, of + "/status", verb, {"patch"});
    }
  }

  // Events stand in their object's namespace, those about cluster-scoped objects in "default" (k8s-client.md E2). Their
  // names are made by hookd.
  void give_events(const Rule& rule, bool namespaced) {
    Rule events = rule;
    events.names = {""};
    if (!namespaced) events.namespaces = {"default"};
    give(events, "", "events", "event", {"create", "patch"});
  }

  void give(const Rule& rule, const std::string& group, const std::string& resource, std::string_view verb,
            std::initializer_list<std::string_view> verbs) {
    for (const auto& ns : rule.namespaces)
      for (const auto& name : rule.names)
        grants_.add({ns, group, resource, name}, verbs, hook_->name, fmt::format("allow {}", verb));
  }

  void note_escalation(int line, std::string_view what, std::string_view kind) {
    note(line, fmt::format("{}: it may write {}: the server refuses to let hookd give rights that it does not have "
                           "itself, so add those, or the verbs escalate (of roles) and bind (of bindings)",
                           what, kind));
  }

  const ResourceTable& types_;
  std::set<std::string, std::less<>> kinds_;
  const Hook* hook_ = nullptr;
  RbacGrants grants_;
  std::vector<std::string> notes_, problems_;
  bool complete_ = true;
};

}  // namespace

Result<RbacPlan> plan_rights(const RbacNeeds& needs, const ResourceTable& types) {
  auto hooks = needs.hooks;
  std::ranges::sort(hooks, {}, [](const auto& hook) { return hook->name; });
  Planner planner(types);
  for (const auto& hook : hooks) planner.add(*hook);
  if (!needs.state_config_map.empty()) planner.add_state(needs.state_config_map);
  if (needs.state_dir) planner.add_state_dir();
  return std::move(planner).finish();
}

}  // namespace hookd::app
