#include "apply/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hookd::apply {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Operation make(Verb verb, std::string api_version, std::string kind, std::string ns, std::string name) {
  Operation op;
  op.verb = verb;
  op.api_version = std::move(api_version);
  op.kind = std::move(kind);
  op.ns = std::move(ns);
  op.name = std::move(name);
  return op;
}
Operation pod(Verb verb, std::string name, std::string ns = "a") {
  return make(verb, "v1", "Pod", std::move(ns), std::move(name));
}

TEST(Plan, OneObjectIsOneChainOthersRunBeside) {
  const std::vector<Operation> ops{pod(Verb::kLabel, "x"), pod(Verb::kLabel, "y"), pod(Verb::kDelete, "x"),
                                   pod(Verb::kLabel, "x", "b")};
  const Plan plan = make_plan(ops);
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_THAT(plan.stages[0], ElementsAre(Chain{0, 2}, Chain{1}, Chain{3}));
  EXPECT_EQ(plan.behind[2], 0u);
  EXPECT_FALSE(plan.behind[3]);
}

TEST(Plan, AnotherVersionOfTheGroupIsTheSameObject) {
  const std::vector<Operation> ops{make(Verb::kLabel, "apps/v1", "Deployment", "a", "x"),
                                   make(Verb::kDelete, "apps/v1beta1", "Deployment", "a", "x"),
                                   make(Verb::kLabel, "v1", "Deployment", "a", "x")};
  EXPECT_THAT(make_plan(ops).stages[0], ElementsAre(Chain{0, 1}, Chain{2}));
}

TEST(Plan, TheDefaultNamespaceIsTheSameNamespace) {
  const std::vector<Operation> ops{pod(Verb::kLabel, "x", ""), pod(Verb::kLabel, "x", "home")};
  EXPECT_THAT(make_plan(ops, "home").stages[0], ElementsAre(Chain{0, 1}));
  EXPECT_THAT(make_plan(ops, "other").stages[0], ElementsAre(Chain{0}, Chain{1}));
}

TEST(Plan, WhatOthersNeedComesFirstAndGoesLast) {
  const std::string rbac = "rbac.authorization.k8s.io/v1";
  const std::vector<Operation> ops{
      pod(Verb::kApply, "p"),                                                                      // 0
      make(Verb::kApply, rbac, "RoleBinding", "a", "r"),                                           // 1
      make(Verb::kCreate, "v1", "ServiceAccount", "a", "s"),                                       // 2
      make(Verb::kApply, "v1", "Namespace", "", "a"),                                              // 3
      make(Verb::kApply, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "foos.x.io"),  // 4
      make(Verb::kDelete, "v1", "Namespace", "", "old"),                                           // 5
      make(Verb::kDelete, rbac, "ClusterRole", "", "c"),                                           // 6
      make(Verb::kDelete, rbac, "ClusterRoleBinding", "", "c"),                                    // 7
      pod(Verb::kDelete, "q"),                                                                     // 8
      make(Verb::kEvent, "v1", "Pod", "a", "p"),                                                   // 9
  };
  const Plan plan = make_plan(ops);
  ASSERT_EQ(plan.stages.size(), 8u);
  EXPECT_THAT(plan.stages[0], ElementsAre(Chain{3}, Chain{4}));
  EXPECT_THAT(plan.stages[1], ElementsAre(Chain{2}));
  EXPECT_THAT(plan.stages[2], ElementsAre(Chain{1}));
  EXPECT_THAT(plan.stages[3], ElementsAre(Chain{0}, Chain{8}));
  EXPECT_THAT(plan.stages[4], ElementsAre(Chain{7}));
  EXPECT_THAT(plan.stages[5], ElementsAre(Chain{6}));
  EXPECT_THAT(plan.stages[6], ElementsAre(Chain{5}));
  EXPECT_THAT(plan.stages[7], ElementsAre(Chain{9}));
}

TEST(Plan, DeleteThenMakeAnewStaysInOrder) {
  const std::vector<Operation> ops{make(Verb::kDelete, "v1", "Namespace", "", "a"),
                                   make(Verb::kApply, "v1", "Namespace", "", "a"), pod(Verb::kApply, "p")};
  const Plan plan = make_plan(ops);
  EXPECT_THAT(plan.stages[0], ElementsAre(Chain{0, 1}));
  EXPECT_THAT(plan.stages[1], ElementsAre(Chain{2}));
}

TEST(Plan, AnEventSpeaksOfTheOperationsBackToTheEventBefore) {
  const std::vector<Operation> ops{pod(Verb::kDelete, "x"), pod(Verb::kEvent, "x"), pod(Verb::kDelete, "y"),
                                   pod(Verb::kLabel, "z"),  pod(Verb::kEvent, "y"), pod(Verb::kEvent, "z")};
  const Plan plan = make_plan(ops);
  EXPECT_THAT(plan.speaks_of[1], ElementsAre(0));
  EXPECT_THAT(plan.speaks_of[4], ElementsAre(2, 3));
  EXPECT_THAT(plan.speaks_of[5], ElementsAre(2, 3));
}

class Allow : public testing::Test {
 protected:
  std::string check(const Operation& op, std::vector<AllowRule> rules, bool known = false) {
    const auto result = check_allowed(std::vector{op}, std::move(rules), [&](const Operation&) { return known; });
    return result ? "" : result.error().what;
  }
  static AllowRule rule(std::vector<std::string> verbs, std::vector<std::string> namespaces = {},
                        std::vector<std::string> names = {}) {
    return {.api_version = "v1",
            .kind = "Pod",
            .verbs = std::move(verbs),
            .namespaces = std::move(namespaces),
            .names = std::move(names)};
  }
};

TEST_F(Allow, WithoutRulesEverythingIsAllowed) {
  EXPECT_TRUE(check_allowed(std::vector{pod(Verb::kDelete, "x")}, std::nullopt));
  EXPECT_FALSE(check_allowed(std::vector{pod(Verb::kDelete, "x")}, std::vector<AllowRule>{}));
}

TEST_F(Allow, TheErrorSaysWhichRuleIsMissing) {
  EXPECT_EQ(check(pod(Verb::kDelete, "b"), {rule({"patch"})}),
            "operation 1 (Delete Pod a/b) is not allowed to this hook; it would need "
            "allow: - {apiVersion: v1, kind: Pod, verbs: [delete], namespaces: [a]}");
}

TEST_F(Allow, NamespacesAndNamesLimit) {
  EXPECT_EQ(check(pod(Verb::kDelete, "b"), {rule({"delete"}, {"a"})}), "");
  EXPECT_NE(check(pod(Verb::kDelete, "b", "other"), {rule({"delete"}, {"a"})}), "");
  EXPECT_EQ(check(pod(Verb::kDelete, "b"), {rule({"*"}, {}, {"b"})}), "");
  EXPECT_NE(check(pod(Verb::kDelete, "c"), {rule({"delete"}, {}, {"b"})}), "");
  // Without a namespace nobody knows yet whether it is cluster-scoped.
  EXPECT_THAT(check(pod(Verb::kDelete, "b", ""), {rule({"delete"}, {"a"})}), HasSubstr("names its namespace"));
  EXPECT_NE(check(pod(Verb::kCreate, ""), {rule({"create"}, {}, {"b"})}),
            "");  // a generated name is no name of the rule
}

TEST_F(Allow, GroupsOfVersions) {
  const auto deployment = make(Verb::kLabel, "apps/v1", "Deployment", "a", "d");
  EXPECT_EQ(check(deployment,
                  {{.api_version = "apps/*", .kind = "Deployment", .verbs = {"patch"}, .namespaces = {}, .names = {}}}),
            "");
  EXPECT_EQ(check(deployment, {{.api_version = "*", .kind = "*", .verbs = {"*"}, .namespaces = {}, .names = {}}}), "");
  EXPECT_NE(check(deployment, {{.api_version = "batch/*", .kind = "*", .verbs = {"*"}, .namespaces = {}, .names = {}}}),
            "");
  EXPECT_NE(check(pod(Verb::kLabel, "p"),
                  {{.api_version = "apps/*", .kind = "*", .verbs = {"*"}, .namespaces = {}, .names = {}}}),
            "");
}

TEST_F(Allow, VerbsOfOperations) {
  const auto allows = [&](Verb verb, std::vector<std::string> verbs, std::string subresource = "") {
    Operation op = pod(verb, "b");
    op.subresource = std::move(subresource);
    return check(op, {rule(std::move(verbs))}).empty();
  };
  EXPECT_TRUE(allows(Verb::kCreate, {"create"}));
  EXPECT_TRUE(allows(Verb::kCreateIfNotExists, {"create"}));
  EXPECT_FALSE(allows(Verb::kCreateOrUpdate, {"create"}));
  EXPECT_TRUE(allows(Verb::kCreateOrUpdate, {"create", "update"}));
  EXPECT_TRUE(allows(Verb::kCreateOrUpdate, {"create", "patch"}));
  EXPECT_TRUE(allows(Verb::kApply, {"apply"}));
  EXPECT_TRUE(allows(Verb::kApply, {"patch", "create"}));
  EXPECT_FALSE(allows(Verb::kApply, {"patch"}));
  EXPECT_TRUE(allows(Verb::kJqPatch, {"patch"}));
  EXPECT_TRUE(allows(Verb::kAnnotate, {"patch"}));
  EXPECT_FALSE(allows(Verb::kStatus, {"patch"}));
  EXPECT_TRUE(allows(Verb::kStatus, {"status"}));
  EXPECT_FALSE(allows(Verb::kMergePatch, {"patch"}, "status"));
  EXPECT_TRUE(allows(Verb::kMergePatch, {"status"}, "status"));
  EXPECT_FALSE(allows(Verb::kApply, {"apply"}, "scale"));
  EXPECT_TRUE(allows(Verb::kDeleteNonCascading, {"delete"}));
  EXPECT_FALSE(allows(Verb::kEvict, {"delete"}));
  EXPECT_TRUE(allows(Verb::kEvict, {"evict"}));
  EXPECT_TRUE(allows(Verb::kScale, {"scale"}));
}

TEST_F(Allow, VerbsMayComeFromSeveralRules) {
  EXPECT_TRUE(check(pod(Verb::kApply, "b"), {rule({"patch"}), rule({"create"}, {"a"})}).empty());
}

TEST_F(Allow, EventsAboutTheCallsObjectsNeedNoRule) {
  EXPECT_EQ(check(pod(Verb::kEvent, "b"), {}, true), "");
  EXPECT_THAT(check(pod(Verb::kEvent, "b"), {}, false), HasSubstr("verbs: [event]"));
  EXPECT_EQ(check(pod(Verb::kMetric, ""), {}), "");
  EXPECT_EQ(check(pod(Verb::kRequeue, ""), {}), "");
}

}  // namespace
}  // namespace hookd::apply
