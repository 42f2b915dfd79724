#include "app/rbac.h"

#include <gmock/gmock.h>

#include "app/rbac_manifests.h"

namespace hookd::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

kube::ResourceTable table() {
  kube::ResourceTable table;
  const auto add = [&](const char* group, const char* version, const char* kind, const char* plural, bool namespaced,
                       std::vector<std::string> subresources) {
    kube::ResourceType type;
    type.group = group, type.version = version, type.kind = kind, type.plural = plural, type.namespaced = namespaced;
    type.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
    type.subresources = std::move(subresources);
    table.entries.push_back({type, true});
  };
  add("", "v1", "Pod", "pods", true, {"status", "eviction", "log"});
  add("", "v1", "Node", "nodes", false, {"status"});
  add("", "v1", "ConfigMap", "configmaps", true, {});
  add("", "v1", "Event", "events", true, {});
  add("apps", "v1", "Deployment", "deployments", true, {"status", "scale"});
  add("events.k8s.io", "v1", "Event", "events", true, {});
  add("rbac.authorization.k8s.io", "v1", "Role", "roles", true, {});
  return table;
}

hook::Hook hook_named(const std::string& name) {
  hook::Hook hook;
  hook.name = name;
  hook.path = "/hooks/" + name + ".yaml";
  hook.line = 4;
  hook.allow.emplace();
  return hook;
}

hook::WatchBinding watch(const std::string& name, const std::string& api_version, const std::string& kind) {
  hook::WatchBinding watch;
  watch.name = name, watch.api_version = api_version, watch.kind = kind, watch.line = 7;
  return watch;
}

using Words = std::vector<std::string>;
apply::AllowRule rule(const std::string& api_version, const std::string& kind, Words verbs, Words namespaces = {},
                      Words names = {}) {
  return {api_version, kind, std::move(verbs), std::move(namespaces), std::move(names), 9};
}

Result<RbacPlan> plan_of(std::vector<hook::Hook> hooks, const std::string& state = "") {
  RbacNeeds needs;
  for (auto& hook : hooks) needs.hooks.push_back(std::make_shared<const hook::Hook>(std::move(hook)));
  needs.state_config_map = state;
  return plan_rights(needs, table());
}

// "NS: GROUP/RESOURCE [NAMES] VERBS", NS "*" = a ClusterRole.
Words rules_of(const Result<RbacPlan>& plan) {
  Words lines;
  if (!plan) return {plan.error().what};
  for (const auto& role : plan->roles)
    for (const auto& rule : role.rules)
      lines.push_back(fmt::format("{}: {}/{}{} {}", role.ns.empty() ? "*" : role.ns, rule.group, rule.resource,
                                  rule.names.empty() ? "" : fmt::format(" [{}]", fmt::join(rule.names, " ")),
                                  fmt::join(rule.verbs, ",")));
  return lines;
}

Words rules_for(hook::WatchBinding binding) {
  auto hook = hook_named("h");
  hook.watches.push_back(std::move(binding));
  return rules_of(plan_of({hook}));
}

Words rules_for(std::vector<apply::AllowRule> rules) {
  auto hook = hook_named("h");
  hook.allow = std::move(rules);
  return rules_of(plan_of({hook}));
}

TEST(RbacWatch, ListsAndWatchesEverywhere) {
  EXPECT_THAT(rules_for(watch("w", "v1", "Pod")), ElementsAre("*: /pods get,list,watch"));
  EXPECT_THAT(rules_for(watch("w", "", "deployments.apps")), ElementsAre("*: apps/deployments get,list,watch"));
}

TEST(RbacWatch, SnapshotsAndMetadataNeedTheSame) {
  auto snapshot = watch("w", "v1", "Pod");
  snapshot.added = snapshot.modified = snapshot.deleted = false;
  EXPECT_THAT(rules_for(snapshot), ElementsAre("*: /pods list,watch")) << "nobody is told of its deletions";
  snapshot.deleted = snapshot.metadata_only = true;
  EXPECT_THAT(rules_for(snapshot), ElementsAre("*: /pods get,list,watch"));
}

TEST(RbacWatch, NamedNamespacesAreRoles) {
  auto binding = watch("w", "v1", "Pod");
  binding.namespaces.names = {"b", "a"};
  EXPECT_THAT(rules_for(binding), ElementsAre("a: /pods get,list,watch", "b: /pods get,list,watch"));
}

TEST(RbacWatch, ClusterScopedKindsKnowNoNamespaces) {
  auto binding = watch("w", "v1", "Node");
  binding.namespaces.names = {"a"};
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /nodes get,list,watch"));
}

TEST(RbacWatch, NamespacesByLabelNeedTheNamespaces) {
  auto binding = watch("w", "v1", "Pod");
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /namespaces list,watch", "*: /pods get,list,watch"));
}

// The server limits a list by name only where the request asks for one name, which hookd does for a single one.
TEST(RbacWatch, OnlyASingleNameIsAResourceName) {
  auto binding = watch("w", "v1", "Pod");
  binding.names = {"x"};
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods [x] get,list,watch"));
  binding.field_selector = "status.phase=Running";
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods [x] get,list,watch"));
  binding.names = {"x", "y"};
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods list,watch", "*: /pods [x y] get"));
}

TEST(RbacWatch, AFieldSelectorMayAskForOneName) {
  auto binding = watch("w", "v1", "Pod");
  for (const char* selector : {"metadata.name=x", "metadata.name==x", "a=b\\,c,metadata.name=x"}) {
    binding.field_selector = selector;
    EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods [x] get,list,watch")) << selector;
  }
  binding.names = {"y"};  // hookd then leaves the selector as it is
  EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods [x] get,list,watch"));
  for (const char* selector : {"metadata.name!=x", "a=b\\,metadata.name=x"}) {
    binding.field_selector = selector;
    EXPECT_THAT(rules_for(binding), ElementsAre("*: /pods list,watch", "*: /pods [y] get")) << selector;
  }
}

TEST(RbacWatch, KindsThatCannotBeWatchedAreTold) {
  auto types = table();
  types.entries[0].type.verbs = {"get", "list"};
  auto hook = hook_named("h");
  hook.watches.push_back(watch("w", "v1", "Pod"));
  const auto plan = plan_rights({{std::make_shared<const hook::Hook>(hook)}, ""}, types);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->roles, IsEmpty());
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("Pod (v1) cannot be watched")));
}

TEST(RbacAllow, VerbsBecomeWhatIsSent) {
  const auto verbs = [](const char* verb) { return rules_for({rule("apps/v1", "Deployment", {verb})}); };
  EXPECT_THAT(verbs("create"), ElementsAre("*: apps/deployments get,create"));
  EXPECT_THAT(verbs("update"), ElementsAre("*: apps/deployments get,update"));
  EXPECT_THAT(verbs("patch"), ElementsAre("*: apps/deployments get,update,patch"));
  EXPECT_THAT(verbs("apply"), ElementsAre("*: apps/deployments create,patch"));
  EXPECT_THAT(verbs("delete"), ElementsAre("*: apps/deployments get,delete"));
  EXPECT_THAT(verbs("scale"), ElementsAre("*: apps/deployments/scale patch"));
  EXPECT_THAT(verbs("status"), ElementsAre("*: apps/deployments get", "*: apps/deployments/status patch"));
  EXPECT_THAT(verbs("event"), ElementsAre("*: /events create,patch"));
  EXPECT_THAT(rules_for({rule("v1", "Pod", {"evict"})}), ElementsAre("*: /pods get", "*: /pods/eviction create"));
}

TEST(RbacAllow, EveryVerbGivesWhatTheKindHas) {
  EXPECT_THAT(rules_for({rule("v1", "Pod", {"*"})}),
              ElementsAre("*: /events create,patch", "*: /pods get,create,update,patch,delete",
                          "*: /pods/eviction create", "*: /pods/status patch"));
}

TEST(RbacAllow, NamespacesAreRoles) {
  EXPECT_THAT(
      rules_for({rule("v1", "Pod", {"delete", "event"}, {"a", "b"})}),
      ElementsAre("a: /events create,patch", "a: /pods get,delete", "b: /events create,patch", "b: /pods get,delete"));
}

TEST(RbacAllow, NamesLimitAllButAPost) {
  EXPECT_THAT(rules_for({rule("v1", "ConfigMap", {"delete", "apply"}, {}, {"x", "y"})}),
              ElementsAre("*: /configmaps [x y] get,create,patch,delete"));
  EXPECT_THAT(rules_for({rule("v1", "ConfigMap", {"create"}, {}, {"x"})}),
              ElementsAre("*: /configmaps create", "*: /configmaps [x] get"));
  EXPECT_THAT(rules_for({rule("v1", "Pod", {"evict"}, {}, {"x"})}),
              ElementsAre("*: /pods [x] get", "*: /pods/eviction [x] create"));
  EXPECT_THAT(rules_for({rule("v1", "Pod", {"delete"}, {"*"}, {"*", "x"})}), ElementsAre("*: /pods get,delete"));
}

TEST(RbacAllow, EventsAboutClusterScopedObjectsStandInDefault) {
  EXPECT_THAT(rules_for({rule("v1", "Node", {"event"})}), ElementsAre("default: /events create,patch"));
}

TEST(RbacAllow, AGroupWithAnyVersionAndAnyGroup) {
  EXPECT_THAT(rules_for({rule("apps/*", "Deployment", {"scale"})}), ElementsAre("*: apps/deployments/scale patch"));
  EXPECT_THAT(rules_for({rule("apps/v1beta1", "Deployment", {"scale"})}),
              ElementsAre("*: apps/deployments/scale patch"));
  EXPECT_THAT(rules_for({rule("*", "Event", {"delete"})}),
              ElementsAre("*: /events get,delete", "*: events.k8s.io/events get,delete"));
}

TEST(RbacAllow, AnyKindBecomesTheWildcard) {
  EXPECT_THAT(rules_for({rule("apps/v1", "*", {"delete", "scale", "status"})}),
              ElementsAre("*: apps/* get,delete", "*: apps/*/scale patch", "*: apps/*/status patch"));
  EXPECT_THAT(rules_for({rule("*", "*", {"patch", "evict", "scale"}, {"a"})}),
              ElementsAre("a: /pods/eviction create", "a: */* get,update,patch"));
  auto hook = hook_named("h");
  hook.allow = {rule("v1", "*", {"delete"})};
  const auto plan = plan_of({hook});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("pods/exec")));
}

TEST(RbacAllow, RulesThatNeverHoldAreTold) {
  auto hook = hook_named("h");
  hook.allow = {rule("v1", "Node", {"delete"}, {"a"}), rule("v1", "ConfigMap", {"scale", "evict"}),
                rule("apps/v1", "*", {"evict"})};
  const auto plan = plan_of({hook});
  ASSERT_TRUE(plan);
  EXPECT_THAT(rules_of(plan), IsEmpty());
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(AllOf(HasSubstr("/hooks/h.yaml:9: hook \"h\""), HasSubstr("cluster-scoped")),
                                       HasSubstr("no subresource scale"), HasSubstr("no subresource eviction"),
                                       HasSubstr("kind \"*\""), HasSubstr("evict is for pods")));
}

// Condition does without the subresource: it patches the object.
TEST(RbacAllow, StatusOfAKindWithoutThatSubresource) {
  EXPECT_THAT(rules_for({rule("v1", "ConfigMap", {"status"})}), ElementsAre("*: /configmaps get,patch"));
}

TEST(RbacAllow, WhoGivesRightsMustHaveThem) {
  auto hook = hook_named("h");
  hook.allow = {rule("rbac.authorization.k8s.io/v1", "Role", {"apply"})};
  const auto plan = plan_of({hook});
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("escalate")));
  hook.allow = {rule("rbac.authorization.k8s.io/v1", "Role", {"delete"})};
  EXPECT_THAT(plan_of({hook})->notes, IsEmpty());
}

TEST(RbacPlan, AHookWithoutAllowIsTold) {
  auto hook = hook_named("free");
  hook.watches.push_back(watch("w", "v1", "Pod"));
  hook.allow.reset();
  const auto plan = plan_of({hook});
  EXPECT_THAT(rules_of(plan), ElementsAre("*: /events create,patch", "*: /pods get,list,watch"));
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(AllOf(HasSubstr("/hooks/free.yaml:4: hook \"free\""), HasSubstr("`allow`"))));
}

TEST(RbacPlan, UnknownKindsAreErrorsAllAtOnce) {
  auto hook = hook_named("h");
  hook.watches.push_back(watch("w", "v1", "Pood"));
  hook.allow = {rule("example.com/v1", "Backup", {"apply"})};
  const auto plan = plan_of({hook});
  ASSERT_FALSE(plan);
  EXPECT_THAT(
      plan.error().what,
      AllOf(HasSubstr("/hooks/h.yaml:7: hook \"h\": watch w: kind \"Pood\" in v1 is not known; did you mean \"Pod\"?"),
            HasSubstr("\n/hooks/h.yaml:9: hook \"h\": allow: kind \"Backup\" in example.com/v1")));
}

TEST(RbacPlan, WhatAWiderRightCoversIsLeftOutAndItsReasonKept) {
  auto wide = hook_named("wide"), narrow = hook_named("narrow");
  wide.watches.push_back(watch("all", "v1", "Pod"));
  wide.allow = {rule("v1", "Pod", {"delete"})};
  narrow.watches.push_back(watch("one", "v1", "Pod"));
  narrow.watches.back().namespaces.names = {"a"};
  narrow.watches.back().names = {"x"};
  narrow.allow = {rule("v1", "Pod", {"delete", "apply"}, {"a"}, {"x"})};
  const auto plan = plan_of({wide, narrow});
  EXPECT_THAT(rules_of(plan),
              ElementsAre("*: /events create,patch", "*: /pods get,list,watch,delete", "a: /pods [x] create,patch"));
  EXPECT_THAT(plan->roles[0].rules[1].why,
              ElementsAre("narrow: watch one, allow delete", "wide: watch all, allow delete"));
}

TEST(RbacPlan, WildcardsCover) {
  EXPECT_THAT(rules_for({rule("*", "*", {"delete"}), rule("v1", "Pod", {"delete"}, {"a"}),
                         rule("apps/v1", "*", {"status"}), rule("apps/v1", "Deployment", {"status"})}),
              ElementsAre("*: */* get,delete", "*: apps/*/status patch"));
}

TEST(RbacPlan, TheOrderOfHooksDoesNotMatter) {
  auto a = hook_named("a"), b = hook_named("b");
  a.watches = {watch("pods", "v1", "Pod"), watch("nodes", "v1", "Node")};
  b.watches = {watch("pods", "v1", "Pod")};
  b.allow = {rule("v1", "Pod", {"delete"}, {}, {"z", "y"})};
  EXPECT_EQ(rbac_yaml(*plan_of({a, b}), {}), rbac_yaml(*plan_of({b, a}), {}));
}

TEST(RbacPlan, TheDaemonsOwnNeeds) {
  auto hook = hook_named("h");
  hook::SourceBinding source;
  source.name = "push", source.http = "/github";
  source.secret_from = {.file = {}, .ns = "web", .name = "github", .key = "k"};
  hook.sources.push_back(source);
  EXPECT_THAT(
      rules_of(plan_of({hook}, "hookd/state")),
      ElementsAre("hookd: /configmaps create", "hookd: /configmaps [state] get,patch", "web: /secrets [github] get"));
}

TEST(RbacPlan, AStateDirNeedsToKnowItsCluster) {
  RbacNeeds needs;
  needs.state_dir = true;
  EXPECT_THAT(rules_of(plan_rights(needs, table())), ElementsAre("*: /namespaces [kube-system] get"));
}

// ---- hookd's own Events: a guard that tripped, a loop

TEST(RbacEvents, AreAboutWhatIsWatched) {
  auto hook = hook_named("h");
  hook.watches = {watch("pods", "v1", "Pod"), watch("nodes", "v1", "Node")};
  hook.watches[0].namespaces.names = {"a"};
  hook.allow = {rule("v1", "Pod", {"delete"}, {"a"})};
  EXPECT_THAT(rules_of(plan_of({hook})),
              ElementsAre("*: /nodes get,list,watch", "a: /events create,patch", "a: /pods get,list,watch,delete",
                          "default: /events create,patch"));
}

TEST(RbacEvents, WhoWritesNothingCausesNone) {
  auto hook = hook_named("h");
  hook.watches = {watch("pods", "v1", "Pod")};
  EXPECT_THAT(rules_of(plan_of({hook})), ElementsAre("*: /pods get,list,watch"));
}

TEST(RbacEvents, OfAGuardWithoutWatchAreAboutWhatIsWritten) {
  auto hook = hook_named("h");
  hook.allow = {rule("v1", "Pod", {"delete"}, {"a"}), rule("v1", "Node", {"delete"})};
  EXPECT_THAT(rules_of(plan_of({hook})), ElementsAre("*: /nodes get,delete", "a: /pods get,delete"));
  hook.guard.deletes = hook::Guard::Rate{20, std::chrono::minutes(1)};
  EXPECT_THAT(rules_of(plan_of({hook})), ElementsAre("*: /nodes get,delete", "a: /events create,patch",
                                                     "a: /pods get,delete", "default: /events create,patch"));
}

// ---- reconcile

hook::Hook reconciler() {
  auto hook = hook_named("r");
  hook::Reconcile reconcile;
  reconcile.parent.api_version = "apps/v1", reconcile.parent.kind = "Deployment", reconcile.parent.line = 7;
  hook.reconcile = reconcile;
  return hook;
}

hook::ChildRule child(const std::string& api_version, const std::string& kind, Words namespaces = {}) {
  hook::ChildRule rule;
  rule.api_version = api_version, rule.kind = kind, rule.namespaces = std::move(namespaces), rule.line = 8;
  return rule;
}

TEST(RbacReconcile, AParentIsReadAndItsStatusWritten) {
  EXPECT_THAT(
      rules_of(plan_of({reconciler()})),
      ElementsAre("*: /events create,patch", "*: apps/deployments get,list,watch", "*: apps/deployments/status patch"));
}

TEST(RbacReconcile, AFinalizerIsAPatchOfTheParent) {
  auto hook = reconciler();
  hook.reconcile->finalizer = true;
  EXPECT_THAT(rules_of(plan_of({hook})),
              ElementsAre("*: /events create,patch", "*: apps/deployments get,list,watch,patch",
                          "*: apps/deployments/status patch"));
}

TEST(RbacReconcile, ChildrenAreWrittenAndTheirOwnerMayBlock) {
  auto hook = reconciler();
  hook.reconcile->children = {child("v1", "Pod"), child("v1", "ConfigMap", {"a"})};
  EXPECT_THAT(rules_of(plan_of({hook})),
              ElementsAre("*: /events create,patch", "*: /pods get,list,watch,create,patch,delete",
                          "*: apps/deployments get,list,watch", "*: apps/deployments/finalizers update",
                          "*: apps/deployments/status patch", "a: /configmaps get,list,watch,create,patch,delete"));
}

TEST(RbacReconcile, NamespacesAreRolesAndTheirLabelsAreRead) {
  auto hook = reconciler();
  hook.reconcile->parent.namespaces.names = {"a"};
  hook.reconcile->children = {child("v1", "Pod", {"a"})};
  hook::RelatedRule related;
  related.name = "settings", related.api_version = "v1", related.kind = "ConfigMap";
  related.namespaces.names = {"b"};
  related.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  hook.reconcile->related = {related};
  EXPECT_THAT(
      rules_of(plan_of({hook})),
      ElementsAre("*: /namespaces list,watch", "a: /events create,patch", "a: /pods get,list,watch,create,patch,delete",
                  "a: apps/deployments get,list,watch", "a: apps/deployments/finalizers update",
                  "a: apps/deployments/status patch", "b: /configmaps list,watch"));
}

TEST(RbacReconcile, EventsAboutClusterScopedParentsStandInDefault) {
  auto hook = reconciler();
  hook.reconcile->parent.api_version = "v1", hook.reconcile->parent.kind = "Node";
  EXPECT_THAT(rules_of(plan_of({hook})),
              ElementsAre("*: /nodes get,list,watch", "*: /nodes/status patch", "default: /events create,patch"));
}

TEST(RbacReconcile, WhatCannotBeKnownIsTold) {
  auto hook = reconciler();
  hook.allow.reset();
  auto plan = plan_of({hook});
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("`operations` of its answers")));
  hook.allow.emplace();
  hook.reconcile->children = {child("rbac.authorization.k8s.io/v1", "Role")};
  plan = plan_of({hook});
  EXPECT_FALSE(plan->complete);
  EXPECT_THAT(plan->notes, ElementsAre(AllOf(HasSubstr("/hooks/r.yaml:8:"), HasSubstr("escalate"))));
  hook.reconcile->children = {child("v1", "Pood")};
  EXPECT_THAT(plan_of({hook}).error().what, HasSubstr("children Pood: kind \"Pood\" in v1 is not known"));
}

TEST(RbacYaml, HasEverythingThatApplyNeeds) {
  auto hook = hook_named("killer");
  hook.watches.push_back(watch("stuck", "v1", "Pod"));
  hook.allow = {rule("v1", "Pod", {"delete"}, {}, {"x"}), rule("apps/v1", "Deployment", {"scale"}, {"1"})};
  RbacNames names;
  names.account_ns = "ops", names.account = "bot", names.role = "hooks";
  names.command = "hookd rbac x";
  EXPECT_EQ(rbac_yaml(*plan_of({hook}), names), R"(# Made by `hookd rbac x`: what these hooks need, and nothing else.
# Must be there before: namespace 1, ops.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: bot
  namespace: ops
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: hooks
rules:
  # killer: its Events
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
  # killer: watch stuck, allow delete
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
  # killer: allow delete
  - {apiGroups: [""], resources: [pods], resourceNames: [x], verbs: [delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: hooks
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: hooks}
subjects:
  - {kind: ServiceAccount, name: bot, namespace: ops}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: hooks
  namespace: "1"
rules:
  # killer: allow scale
  - {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hooks
  namespace: "1"
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: hooks}
subjects:
  - {kind: ServiceAccount, name: bot, namespace: ops}
)");
}

TEST(RbacYaml, QuotesWhatYamlWouldTakeForSomethingElse) {
  auto hook = hook_named("h");
  hook.allow = {rule("v1", "ConfigMap", {"delete"}, {}, {"on", "007", "a:b", "it's", "plain-1.x", "#x", "UPPER"})};
  EXPECT_THAT(rbac_yaml(*plan_of({hook}), {}),
              HasSubstr(R"(resourceNames: ["#x", "007", "UPPER", "a:b", "it's", "on", plain-1.x])"));
  hook.allow = {rule("*", "*", {"scale"})};
  EXPECT_THAT(rbac_yaml(*plan_of({hook}), {}),
              HasSubstr(R"({apiGroups: ["*"], resources: ["*/scale"], verbs: [patch]})"));
}

TEST(RbacYaml, ACommandStaysInItsComment) {
  RbacNames names;
  names.command = "hookd rbac 'a\nkind: Evil'";
  EXPECT_THAT(rbac_yaml({}, names), HasSubstr("# Made by `hookd rbac 'a?kind: Evil'`"));
}

TEST(RbacYaml, HooksThatNeedNothing) {
  RbacNames names;
  names.make_account = false;
  EXPECT_EQ(rbac_yaml(*plan_of({hook_named("h")}), names), "# These hooks need no rights in the cluster.\n");
}

TEST(RbacJson, IsOneList) {
  auto hook = hook_named("h");
  hook.watches.push_back(watch("w", "v1", "Pod"));
  hook.watches.back().names = {"x"};
  EXPECT_EQ(
      rbac_json(*plan_of({hook}), {}),
      R"({"apiVersion":"v1","kind":"List","items":[)"
      R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"hookd","namespace":"hookd"}},)"
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"hookd"},)"
      R"("rules":[{"apiGroups":[""],"resources":["pods"],"resourceNames":["x"],"verbs":["get","list","watch"]}]},)"
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"hookd"},)"
      R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"hookd"},)"
      R"("subjects":[{"kind":"ServiceAccount","name":"hookd","namespace":"hookd"}]}]})"
      "\n");
}

}  // namespace
}  // namespace hookd::app
