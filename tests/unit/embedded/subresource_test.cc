// Scale, binding, eviction, tokens and the like through ApiServer::handle.
#include <gtest/gtest.h>

#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

void make_pod(Client& c, std::string_view name) {
  const auto made = c.post(kPods, R"({"metadata":{"name":")" + std::string(name) +
                                      R"(","labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.code, 201) << made.text;
}
void run(Client& c, std::string_view name) {
  c.post(kPods + "/" + std::string(name) + "/binding",
         R"({"metadata":{"name":")" + std::string(name) + R"("},"target":{"kind":"Node","name":"n1"}})");
  const auto running = c.merge(kPods + "/" + std::string(name) + "/status",
                               R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  ASSERT_EQ(running.code, 200) << running.text;
}
std::string eviction(std::string_view name) { return R"({"metadata":{"name":")" + std::string(name) + R"("}})"; }

TEST(Scale, ReadsAndWritesReplicas) {
  Client c;
  c.post(kDeployments, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const auto scale = c.get(kDeployments + "/d/scale");
  EXPECT_EQ(scale.at("kind"), "Scale");
  EXPECT_EQ(scale.at("apiVersion"), "autoscaling/v1");
  EXPECT_EQ(scale.at("spec.replicas"), "2");
  EXPECT_EQ(scale.at("status.selector"), "a=b");
  EXPECT_EQ(c.put(kDeployments + "/d/scale", R"({"metadata":{"name":"d"},"spec":{"replicas":5}})").code, 200);
  EXPECT_EQ(c.merge(kDeployments + "/d/scale", R"({"spec":{"replicas":6}})").at("spec.replicas"), "6");
  EXPECT_EQ(c.json_patch(kDeployments + "/d/scale", R"([{"op":"replace","path":"/spec/replicas","value":7}])")
                .at("spec.replicas"),
            "7");
  EXPECT_EQ(c.get(kDeployments + "/d").at("spec.replicas"), "7");
  EXPECT_EQ(c.get(kDeployments + "/d").at("metadata.generation"), "4");
  EXPECT_EQ(c.put(kDeployments + "/d/scale", R"({"metadata":{"name":"d"},"spec":{"replicas":-1}})").message(),
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(
      c.put(kDeployments + "/d/scale", R"({"metadata":{"name":"d","resourceVersion":"1"},"spec":{"replicas":1}})").code,
      409);
  EXPECT_EQ(c.get(kDeployments + "/none/scale").code, 404);
}

TEST(Scale, AnAppliedOneConflictsWithOtherOwners) {
  Client c;
  c.post(kDeployments, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const std::string config =
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":4}})";
  EXPECT_EQ(c.apply(kDeployments + "/d/scale?fieldManager=me", config).code, 409);
  EXPECT_EQ(c.apply(kDeployments + "/d/scale?fieldManager=me&force=1", config).at("spec.replicas"), "4");
}

TEST(Binding, PutsAPodOnANode) {
  Client c;
  make_pod(c, "p");
  const std::string body = R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}})";
  const auto bound = c.post(kPods + "/p/binding", body);
  EXPECT_EQ(bound.code, 201) << bound.text;
  EXPECT_EQ(bound.at("status"), "Success");
  const auto pod = c.get(kPods + "/p");
  EXPECT_EQ(pod.at("spec.nodeName"), "n1");
  EXPECT_EQ(pod.at("status.conditions[0].type"), "PodScheduled");
  EXPECT_EQ(c.post(kPods + "/p/binding", body).message(),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\"");
  EXPECT_EQ(c.post(kPods + "/q/binding", R"({"metadata":{"name":"q"},"target":{"name":"n1"}})").code, 404);
}

TEST(Binding, TheOldPathWorks) {
  Client c;
  make_pod(c, "p");
  const auto bound = c.post("/api/v1/namespaces/default/bindings",
                            R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}})");
  EXPECT_EQ(bound.code, 201) << bound.text;
  EXPECT_EQ(c.get(kPods + "/p").at("spec.nodeName"), "n1");
}

TEST(Eviction, DeletesAPodThatNoBudgetGuards) {
  Client c;
  make_pod(c, "p");
  run(c, "p");
  const auto done = c.post(kPods + "/p/eviction", eviction("p"));
  EXPECT_EQ(done.code, 201) << done.text;
  const auto pod = c.get(kPods + "/p");
  EXPECT_NE(pod.at("metadata.deletionTimestamp"), "");
  EXPECT_NE(pod.text.find("DisruptionTarget"), std::string::npos);
  EXPECT_EQ(c.post(kPods + "/p/eviction", eviction("x")).message(),
            "name in URL does not match name in Eviction object");
}

TEST(Eviction, ABudgetRefusesAndCounts) {
  Client c;
  for (const auto* name : {"a", "b"}) {
    make_pod(c, name);
    run(c, name);
  }
  ASSERT_EQ(c.post(kBudgets,
                   R"({"metadata":{"name":"pdb"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})")
                .code,
            201);
  c.scheduler.run_posted();
  // As the disruption controller would have it.
  ASSERT_EQ(c.merge(kBudgets + "/pdb/status",
                    R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,
                        "expectedPods":2}})")
                .code,
            200);
  EXPECT_EQ(c.post(kPods + "/a/eviction", eviction("a")).code, 201);
  c.scheduler.run_posted();
  const auto refused = c.post(kPods + "/b/eviction", eviction("b"));
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.reason(), "TooManyRequests");
  EXPECT_EQ(refused.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(refused.at("details.causes[0].reason"), "DisruptionBudget");
  EXPECT_EQ(c.get(kPods + "/b").at("metadata.deletionTimestamp"), "");
}

TEST(Token, AuthenticatesAsTheServiceAccount) {
  Client c;
  c.scheduler.run_posted();
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts/default";
  ASSERT_EQ(c.get(accounts).code, 200) << "the control loop makes it";
  const auto made = c.post(accounts + "/token", R"({"spec":{"expirationSeconds":600}})");
  ASSERT_EQ(made.code, 201) << made.text;
  const auto token = made.at("status.token");
  const testing::Headers bearer{{"authorization", "Bearer " + token}};
  const auto self = c.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", bearer);
  EXPECT_EQ(self.at("status.userInfo.username"), "system:serviceaccount:default:default") << self.text;
  EXPECT_EQ(c.get(kPods, bearer).code, 403);
  c.scheduler.advance(std::chrono::seconds(601));
  EXPECT_EQ(c.get(kPods, bearer).code, 401) << "it has expired";
  EXPECT_EQ(c.post(accounts + "/token", R"({"spec":{"expirationSeconds":5}})").code, 422);
}

TEST(Token, HoldsNoLongerThanItsServiceAccount) {
  Client c;
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
  ASSERT_EQ(c.post(accounts, R"({"metadata":{"name":"robot"}})").code, 201);
  const auto token = c.post(accounts + "/robot/token", R"({"spec":{}})").at("status.token");
  const testing::Headers bearer{{"authorization", "Bearer " + token}};
  EXPECT_EQ(c.get("/version", bearer).code, 200);
  ASSERT_EQ(c.send("DELETE", accounts + "/robot").code, 200);
  EXPECT_EQ(c.get("/version", bearer).code, 401);
  ASSERT_EQ(c.post(accounts, R"({"metadata":{"name":"robot"}})").code, 201);
  EXPECT_EQ(c.get("/version", bearer).code, 401) << "it is another of the same name";
}

TEST(Finalize, ChangesTheNamespacesFinalizersOnly) {
  Client c;
  c.post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  const auto put = c.put("/api/v1/namespaces/n/finalize",
                         R"({"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"finalizers":["kubernetes","x/y"]}})");
  EXPECT_EQ(put.code, 200) << put.text;
  EXPECT_EQ(put.at("spec.finalizers[1]"), "x/y");
  EXPECT_EQ(put.at("metadata.labels.a"), "");
  EXPECT_EQ(c.merge("/api/v1/namespaces/n", R"({"spec":{"finalizers":[]}})").at("spec.finalizers[0]"), "kubernetes");
  EXPECT_EQ(c.get("/api/v1/namespaces/n/finalize").code, 405);
}

TEST(Running, NothingRunsHere) {
  Client c;
  make_pod(c, "p");
  EXPECT_EQ(c.get(kPods + "/p/log").code, 204);
  EXPECT_EQ(c.post(kPods + "/p/exec", "").message(), "pod p does not have a host assigned");
  run(c, "p");
  EXPECT_EQ(c.get(kPods + "/p/log").code, 501);
  EXPECT_EQ(c.get(kPods + "/q/log").code, 404);
  EXPECT_EQ(c.get(kPods + "/p/nonsense").code, 404);
}

}  // namespace
}  // namespace hookd::embedded
