#include "embedded/verbs/review.h"

#include <gtest/gtest.h>

#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

class ReviewTest : public ::testing::Test {
 protected:
  ReviewTest() : store_(scheduler_), rbac_(store_) {
    add_builtin_resources(registry_);
    for (BuiltinRbac& entry : builtin_rbac()) {
      Stored stored;
      stored.name = string_at(entry.object, {"metadata", "name"});
      stored.text = json::serialize(entry.object);
      store_.put(entry.plural + ".rbac.authorization.k8s.io", std::move(stored));
    }
  }
  // The status of the answer as text; of a refusal "code message".
  std::string ask(const char* group, const char* plural, std::string_view text, const User& user) {
    ReviewContext context{
        user, &rbac_,
        [](std::string_view token) { return token == "good" ? std::optional(User{"joe", {"team"}}) : std::nullopt; },
        "a", "2026-01-01T00:00:00Z"};
    const auto answer = answer_review(*registry_.find(group, "v1", plural), json::parse(text).as_object(), context);
    if (!answer) return fmt::format("{} {}", answer.error().code, answer.error().message);
    return json::serialize(answer->at("status"));
  }
  std::string authorization(const char* plural, std::string_view text) {
    return ask("authorization.k8s.io", plural, text, joe_);
  }

  ManualScheduler scheduler_;
  Store store_;
  Rbac rbac_;
  Registry registry_;
  const User joe_{"joe", {"system:authenticated"}};
};

TEST_F(ReviewTest, MayI) {
  const char* const pods = R"({"spec":{"resourceAttributes":{"verb":"list","resource":"pods","namespace":"a"}}})";
  EXPECT_EQ(authorization("selfsubjectaccessreviews", pods), R"({"allowed":false})");
  EXPECT_EQ(ask("authorization.k8s.io", "selfsubjectaccessreviews", pods, User{}), R"({"allowed":true})");
  EXPECT_EQ(authorization("selfsubjectaccessreviews",
                          R"({"spec":{"nonResourceAttributes":{"verb":"get","path":"/version"}}})"),
            R"({"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole )"
            R"(\"system:discovery\" to Group \"system:authenticated\""})");
}

TEST_F(ReviewTest, MayAnother) {
  EXPECT_EQ(authorization("subjectaccessreviews",
                          R"({"spec":{"user":"x","groups":["system:masters"],"resourceAttributes":{"verb":"get"}}})"),
            R"({"allowed":true})");
  EXPECT_EQ(authorization("localsubjectaccessreviews",
                          R"({"spec":{"user":"x","resourceAttributes":{"verb":"get","namespace":"a"}}})"),
            R"({"allowed":false})");
}

TEST_F(ReviewTest, BadQuestionsAreRefusedAsTheRealServerDoes) {
  EXPECT_EQ(authorization("selfsubjectaccessreviews", R"({"spec":{}})"),
            "422 .authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of "
            "nonResourceAttributes or resourceAttributes must be specified");
  EXPECT_EQ(authorization("subjectaccessreviews", R"({"spec":{"resourceAttributes":{"verb":"get"}}})"),
            "422 .authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of user or group "
            "must be specified");
  EXPECT_EQ(authorization("localsubjectaccessreviews",
                          R"({"spec":{"user":"x","resourceAttributes":{"verb":"get","namespace":"b"}}})"),
            "422 .authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"b\": must "
            "match metadata.namespace");
  EXPECT_EQ(authorization("selfsubjectrulesreviews", R"({"spec":{}})"), "400 no namespace on request");
}

TEST_F(ReviewTest, MyRules) {
  const std::string rules = authorization("selfsubjectrulesreviews", R"({"spec":{"namespace":"a"}})");
  EXPECT_NE(
      rules.find(R"({"verbs":["create"],"apiGroups":["authentication.k8s.io"],"resources":["selfsubjectreviews"]})"),
      std::string::npos);
  EXPECT_NE(rules.find(R"("nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/api")"), std::string::npos);
  EXPECT_NE(rules.find(R"("incomplete":false)"), std::string::npos);
}

TEST_F(ReviewTest, WhoAmI) {
  EXPECT_EQ(ask("authentication.k8s.io", "selfsubjectreviews", "{}", joe_),
            R"({"userInfo":{"username":"joe","groups":["system:authenticated"]}})");
}

TEST_F(ReviewTest, Tokens) {
  const auto token = [&](std::string_view text) { return ask("authentication.k8s.io", "tokenreviews", text, joe_); };
  EXPECT_EQ(token(R"({"spec":{"token":"good"}})"),
            R"({"authenticated":true,"user":{"username":"joe","groups":["team"]},)"
            R"("audiences":["https://kubernetes.default.svc"]})");
  EXPECT_EQ(token(R"({"spec":{"token":"bad"}})"), R"({"user":{},"error":"invalid bearer token"})");
  EXPECT_EQ(token(R"({"spec":{}})"), "400 token is required for TokenReview in authentication");
}

}  // namespace
}  // namespace hookd::embedded
