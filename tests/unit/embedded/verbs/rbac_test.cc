#include "embedded/verbs/rbac.h"

#include <gtest/gtest.h>

#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

class RbacTest : public ::testing::Test {
 protected:
  RbacTest() : store_(scheduler_), rbac_(store_) {
    for (BuiltinRbac& entry : builtin_rbac()) put(entry.plural, entry.object);
  }
  void put(const std::string& plural, json::object object) {
    Stored stored;
    stored.ns = string_at(object, {"metadata", "namespace"});
    stored.name = string_at(object, {"metadata", "name"});
    stored.revision = store_.next_revision();
    stored.text = json::serialize(object);
    store_.put(plural + ".rbac.authorization.k8s.io", std::move(stored));
  }
  void put(const std::string& plural, std::string_view text) { put(plural, json::parse(text).as_object()); }
  void bind(const char* role) {
    put("rolebindings", fmt::format(R"({{"metadata":{{"name":"b","namespace":"a"}},
        "roleRef":{{"kind":"ClusterRole","name":"{}"}},"subjects":[{{"kind":"User","name":"joe"}}]}})",
                                    role));
  }
  bool may(const User& user, const char* verb, const char* group, const char* resource, const char* ns,
           const char* subresource = "", const char* name = "") {
    return rbac_.ask(user, {verb, group, resource, subresource, ns, name, ""}).allowed;
  }

  ManualScheduler scheduler_;
  Store store_;
  Rbac rbac_;
  const User joe_{"joe", {"team", "system:authenticated"}};
};

TEST_F(RbacTest, MastersMayDoEverythingAndOthersNothing) {
  EXPECT_TRUE(may(User{}, "delete", "", "nodes", ""));
  EXPECT_FALSE(may(joe_, "get", "", "pods", "a"));
}

TEST_F(RbacTest, ViewEditAndAdminAreGatheredFromTheirParts) {
  bind("view");
  EXPECT_TRUE(may(joe_, "list", "", "pods", "a"));
  EXPECT_TRUE(may(joe_, "get", "", "pods", "a", "log"));
  EXPECT_FALSE(may(joe_, "get", "", "secrets", "a"));
  EXPECT_FALSE(may(joe_, "list", "", "pods", "b"));
  EXPECT_FALSE(may(joe_, "create", "apps", "deployments", "a"));
  bind("edit");
  EXPECT_TRUE(may(joe_, "create", "apps", "deployments", "a"));
  EXPECT_TRUE(may(joe_, "get", "", "secrets", "a"));
  EXPECT_TRUE(may(joe_, "list", "", "configmaps", "a"));
  EXPECT_FALSE(may(joe_, "create", "rbac.authorization.k8s.io", "roles", "a"));
  bind("admin");
  EXPECT_TRUE(may(joe_, "create", "rbac.authorization.k8s.io", "roles", "a"));
  EXPECT_TRUE(may(joe_, "patch", "apps", "deployments", "a"));
}

TEST_F(RbacTest, RulesMatchByVerbGroupResourceSubresourceAndName) {
  put("roles", R"({"metadata":{"name":"r","namespace":"a"},"rules":[
      {"verbs":["get"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["one"]},
      {"verbs":["*"],"apiGroups":["x.y"],"resources":["*"]},
      {"verbs":["update"],"apiGroups":["apps"],"resources":["*/scale"]}]})");
  put("rolebindings", R"({"metadata":{"name":"b","namespace":"a"},"roleRef":{"kind":"Role","name":"r"},
      "subjects":[{"kind":"Group","name":"team"}]})");
  EXPECT_TRUE(may(joe_, "get", "", "configmaps", "a", "", "one"));
  EXPECT_FALSE(may(joe_, "get", "", "configmaps", "a", "", "two"));
  EXPECT_FALSE(may(joe_, "get", "", "configmaps", "a"));
  EXPECT_TRUE(may(joe_, "watch", "x.y", "anything", "a", "status"));
  EXPECT_TRUE(may(joe_, "update", "apps", "deployments", "a", "scale"));
  EXPECT_FALSE(may(joe_, "update", "apps", "deployments", "a"));
}

TEST_F(RbacTest, PathsAreMatchedByPrefix) {
  const auto path = [&](const User& user, const char* text) {
    return rbac_.ask(user, {"get", "", "", "", "", "", text}).allowed;
  };
  EXPECT_TRUE(path(joe_, "/apis/apps/v1"));
  EXPECT_FALSE(path(joe_, "/metrics"));
  const User nobody{"system:anonymous", {"system:unauthenticated"}};
  EXPECT_TRUE(path(nobody, "/version"));
  EXPECT_FALSE(path(nobody, "/apis"));
}

TEST_F(RbacTest, ReasonsAreInTheRealServersWords) {
  EXPECT_EQ(rbac_.ask(joe_, {"get", "", "", "", "", "", "/version"}).reason,
            "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group "
            "\"system:authenticated\"");
  put("rolebindings", R"({"metadata":{"name":"b","namespace":"a"},"roleRef":{"kind":"ClusterRole","name":"view"},
      "subjects":[{"kind":"ServiceAccount","name":"bot"}]})");
  const User bot{"system:serviceaccount:a:bot", {}};
  EXPECT_EQ(rbac_.ask(bot, {"list", "", "pods", "", "a", "", ""}).reason,
            "RBAC: allowed by RoleBinding \"b/a\" of ClusterRole \"view\" to ServiceAccount \"bot/a\"");
  bind("gone");
  EXPECT_EQ(rbac_.ask(joe_, {"list", "", "pods", "", "a", "", ""}).reason,
            "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found");
}

TEST_F(RbacTest, ChangesHoldAtOnce) {
  EXPECT_FALSE(may(joe_, "list", "", "pods", "a"));
  bind("view");
  EXPECT_TRUE(may(joe_, "list", "", "pods", "a"));
  store_.remove("rolebindings.rbac.authorization.k8s.io", "a", "b", "{}");
  EXPECT_FALSE(may(joe_, "list", "", "pods", "a"));
}

TEST_F(RbacTest, CirclesOfAggregationEnd) {
  put("clusterroles", R"({"metadata":{"name":"loop","labels":{"l":"1"}},
      "aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"l":"1"}}]}})");
  bind("loop");
  EXPECT_FALSE(may(joe_, "list", "", "pods", "a"));
}

TEST(AccessDenied, SaysWhoMayNotDoWhatWhere) {
  const User bob{"bob", {}};
  EXPECT_EQ(access_denied(bob, {"list", "", "pods", "", "a", "", ""}).message,
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace \"a\"");
  EXPECT_EQ(access_denied(bob, {"get", "apps", "deployments", "scale", "", "x", ""}).message,
            "deployments.apps \"x\" is forbidden: User \"bob\" cannot get resource \"deployments/scale\" in API group "
            "\"apps\" at the cluster scope");
  const StatusError path = access_denied(bob, {"get", "", "", "", "", "", "/metrics"});
  EXPECT_EQ(path.message, "forbidden: User \"bob\" cannot get path \"/metrics\"");
  EXPECT_EQ(path.code, 403);
}

}  // namespace
}  // namespace hookd::embedded
