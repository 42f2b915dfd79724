// The server around the verbs: who asks, documents, faults.
#include "embedded/server.h"

#include <gtest/gtest.h>

#include "base/json_read.h"
#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;
using testing::Headers;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kMaps = "/api/v1/namespaces/default/configmaps";

TEST(Startup, MakesWhatEveryClusterHas) {
  Client c;
  const auto list = c.get("/api/v1/namespaces");
  ASSERT_EQ(list.code, 200) << list.text;
  EXPECT_EQ(list.at("items[0].metadata.name"), "default");
  EXPECT_EQ(list.at("items[3].metadata.name"), "kube-system");
  EXPECT_EQ(list.at("items[0].status.phase"), "Active");
  EXPECT_EQ(c.get("/api/v1/namespaces/default/services/kubernetes").at("spec.ports[0].port"), "443");
  EXPECT_EQ(c.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin").code, 200);
  EXPECT_EQ(c.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").at("value"), "2000001000");
  EXPECT_EQ(c.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical").at("value"), "2000000000");
  EXPECT_TRUE(c.server.settled());
}

TEST(Authentication, KnowsItsTokens) {
  Client c;
  c.user = {"", {}};  // nobody, as from a socket
  EXPECT_EQ(c.get(kPods).code, 401);
  EXPECT_EQ(c.get(kPods).message(), "Unauthorized");
  EXPECT_EQ(c.get(kPods, {{"authorization", "Bearer nonsense"}}).code, 401);
  EXPECT_EQ(c.get(kPods, {{"authorization", "bearer  " + c.server.admin_token()}}).code, 200);
  EXPECT_EQ(c.get("/healthz").code, 200);
  EXPECT_EQ(c.get("/version").code, 200);
}

TEST(Authorization, OfOthersThanAdministratorsIsRbacs) {
  Client c;
  const Headers bob{{"authorization", "Bearer " + c.server.add_user("bob", {"system:authenticated"})}};
  const auto denied = c.get(kPods, bob);
  EXPECT_EQ(denied.code, 403);
  EXPECT_EQ(denied.message(),
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the "
            "namespace \"default\"");
  ASSERT_EQ(c.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
                   R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                      "name":"view"},"subjects":[{"kind":"User","name":"bob","apiGroup":"rbac.authorization.k8s.io"}]})")
                .code,
            201);
  EXPECT_EQ(c.get(kPods, bob).code, 200);
  EXPECT_EQ(c.send("DELETE", kPods, "", bob).code, 403);
  Client open({.authorize = false});
  const Headers anybody{{"authorization", "Bearer " + open.server.add_user("bob", {})}};
  EXPECT_EQ(open.get(kPods, anybody).code, 200);
}

TEST(Impersonation, AsksAsAnother) {
  Client c;
  const auto self = c.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                           {{"impersonate-user", "bob"}, {"impersonate-group", "g"}});
  EXPECT_EQ(self.at("status.userInfo.username"), "bob") << self.text;
  EXPECT_EQ(c.get(kPods, {{"impersonate-user", "bob"}}).code, 403);
  EXPECT_EQ(c.get(kPods, {{"impersonate-group", "g"}}).code, 400);
  const Headers bob{{"authorization", "Bearer " + c.server.add_user("bob", {})}, {"impersonate-user", "system:admin"}};
  const auto denied = c.get(kPods, bob);
  EXPECT_EQ(denied.code, 403) << "not everybody may";
  EXPECT_EQ(denied.message(),
            "pods is forbidden: User \"bob\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" "
            "in the namespace \"default\"");
}

TEST(Impersonation, OfAServiceAccountNeedsLeaveForIt) {
  Client c;
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  const Headers bob{{"authorization", "Bearer " + c.server.add_user("bob", {})},
                    {"impersonate-user", "system:serviceaccount:default:robot"}};
  const std::string self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  EXPECT_EQ(c.send("POST", self, "{}", bob).code, 403);
  ASSERT_EQ(c.post(rbac + "roles", R"({"metadata":{"name":"r"},"rules":[{"verbs":["impersonate"],"apiGroups":[""],
                                      "resources":["serviceaccounts"],"resourceNames":["robot"]}]})")
                .code,
            201);
  ASSERT_EQ(c.post(rbac + "rolebindings",
                   R"({"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",
                      "name":"r"},"subjects":[{"kind":"User","name":"bob","apiGroup":"rbac.authorization.k8s.io"}]})")
                .code,
            201);
  const auto robot = c.send("POST", self, "{}", bob);
  ASSERT_EQ(robot.code, 201) << robot.text;
  EXPECT_EQ(robot.at("status.userInfo.groups"),
            R"(["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"])");
  auto with_uid = bob;
  with_uid.emplace_back("impersonate-uid", "u");
  EXPECT_EQ(c.send("POST", self, "{}", with_uid).code, 403) << "uids are asked for too";
}

TEST(Impersonation, OfANodeGivesItsGroup) {
  Client c;
  const auto node = c.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                           {{"impersonate-user", "system:node:n1"}});
  EXPECT_EQ(node.at("status.userInfo.groups"), R"(["system:nodes","system:authenticated"])");
}

TEST(Documents, AreServed) {
  Client c;
  EXPECT_EQ(c.get("/version").at("major"), "1");
  EXPECT_EQ(c.get("/readyz").text, "ok");
  EXPECT_EQ(c.get("/api").at("versions[0]"), "v1");
  EXPECT_EQ(c.get("/apis/apps").at("preferredVersion.groupVersion"), "apps/v1");
  EXPECT_EQ(c.get("/api/v1").at("kind"), "APIResourceList");
  const auto aggregated = c.get(
      "/apis", {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}});
  EXPECT_EQ(aggregated.at("kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(aggregated.type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_NE(c.get("/").text.find("/apis/apps/v1"), std::string::npos);
  EXPECT_NE(c.get("/metrics").text.find("apiserver_storage_objects{resource=\"namespaces\"} 4"), std::string::npos);
  const auto v3 = c.get("/openapi/v3/apis/apps/v1");
  ASSERT_EQ(v3.code, 200);
  EXPECT_EQ(c.get("/openapi/v3/apis/apps/v1", {{"if-none-match", v3.header("Etag").at(0)}}).code, 304);
  EXPECT_EQ(c.post("/apis", "{}").code, 405);
}

TEST(Documents, AggregatedDiscoveryAloneIsEnough) {
  Client c;
  const auto core = c.get("/api", {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}});
  EXPECT_EQ(core.code, 200);
  EXPECT_EQ(core.at("kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(core.header("Cache-Control"), std::vector<std::string>{"public"});
  EXPECT_EQ(c.get("/api", {{"accept", "text/html"}}).code, 406);
  EXPECT_EQ(c.get(kPods, {{"accept", "text/html"}}).text.find("stream=watch") != std::string::npos, true);
  EXPECT_EQ(c.get(kPods + "/a", {{"accept", "text/html"}}).text.find("stream=watch"), std::string::npos);
}

TEST(Documents, TellWhereTheServerIs) {
  Client c;
  EXPECT_EQ(c.get("/api", {{"host", "127.0.0.1:6443"}}).at("serverAddressByClientCIDRs[0].serverAddress"),
            "127.0.0.1:6443");
}

// kubectl asks for it when it meets a kind that it does not know, and only then says so.
TEST(Documents, OpenApiV2InProtobufKnowsNoKind) {
  Client c;
  const auto document =
      c.get("/openapi/v2", {{"accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  EXPECT_EQ(document.code, 200);
  EXPECT_EQ(document.type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_EQ(document.text,
            "\x0a\x03"
            "2.0");
}

TEST(Answers, AreNotToBeCached) {
  Client c;
  const std::vector<std::string> never{"no-cache, private"};
  EXPECT_EQ(c.get(kPods).header("Cache-Control"), never);
  EXPECT_EQ(c.get(kPods + "/none").header("Cache-Control"), never);
  EXPECT_EQ(c.get("/version").header("Cache-Control"), never);
}

TEST(Answers, AreJsonWhateverBytesThePathHas) {
  Client c;
  const auto absent = c.get("/api/v1/namespaces/%ff%fe");
  EXPECT_EQ(absent.code, 404);
  EXPECT_EQ(absent.at("details.name"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(is_utf8(absent.text)) << absent.text;
  EXPECT_TRUE(is_utf8(c.get(kPods + "?labelSelector=%ff").text));
  const auto made = c.post(kMaps + "?fieldManager=%ff", R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  EXPECT_EQ(made.code, 201) << made.text;
  EXPECT_TRUE(is_utf8(made.text)) << made.text;
}

TEST(Documents, OtherPathsAreNotFound) {
  Client c;
  EXPECT_EQ(c.get("/foo").text, "404 page not found\n");
  EXPECT_EQ(c.get("/foo").type, "text/plain; charset=utf-8");
  EXPECT_EQ(c.get("/apis/none/v1/foos").text, "404 page not found\n");
  EXPECT_EQ(c.get("/api/v1/foos").message(), "the server could not find the requested resource");
  EXPECT_EQ(c.get("/apis/apps/v1/foos").code, 404);
  EXPECT_EQ(c.get("/apis/apps/v9").message(), "the server could not find the requested resource");
  EXPECT_EQ(c.get("/apis/none/v9").text, "404 page not found\n");
}

TEST(Faults, RefuseAsOftenAsAsked) {
  Client c;
  ASSERT_EQ(
      c.post("/hookd/faults", R"({"verb":"list","resource":"pods","status":429,"retryAfterSeconds":3,"times":2})").code,
      200);
  const auto refused = c.get(kPods);
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.header("Retry-After"), std::vector<std::string>{"3"});
  EXPECT_EQ(c.get(kMaps).code, 200) << "another resource";
  EXPECT_EQ(c.get(kPods).code, 429);
  EXPECT_EQ(c.get(kPods).code, 200);
  EXPECT_EQ(c.get("/hookd/faults").text, R"({"faults":[]})");
}

TEST(Faults, DelayAnAnswer) {
  Client c;
  c.post("/hookd/faults", R"({"path":"/api/*/pods","latencyMilliseconds":500})");
  const auto sink = std::make_shared<testing::Recorder>();
  const auto exchange = c.server.handle(c.request("GET", kPods, "", {}), sink);
  ASSERT_NE(exchange, nullptr);
  EXPECT_FALSE(sink->done);
  EXPECT_FALSE(c.server.settled());
  c.scheduler.advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(sink->done);
  EXPECT_EQ(sink->response.code, 200);
  EXPECT_TRUE(c.server.settled());
}

TEST(Faults, CutAnswersAndWatches) {
  Client c;
  c.post("/hookd/faults", R"([{"method":"GET","resource":"configmaps","verb":"list","cut":true},
                              {"resource":"pods","verb":"watch","cut":true}])");
  EXPECT_TRUE(c.get(kMaps).cut);
  EXPECT_EQ(c.get(kMaps).code, 200);
  const auto watch = c.watch(kPods + "?watch=1");
  c.scheduler.advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(watch->cut());
}

TEST(Faults, AWriteWhoseAnswerIsLostHasHappened) {
  Client c;
  c.post("/hookd/faults", R"({"verb":"create","resource":"configmaps","applyThenCut":true})");
  EXPECT_TRUE(c.post(kMaps, R"({"metadata":{"name":"a"}})").cut);
  EXPECT_EQ(c.get(kMaps + "/a").code, 200);
}

TEST(Faults, SilentWatchesAndMissingBookmarks) {
  Client c;
  c.post("/hookd/faults", R"([{"verb":"watch","silent":true},{"verb":"watch","noBookmarks":true}])");
  const std::string url =
      kPods + "?watch=1&allowWatchBookmarks=1&resourceVersion=" + std::to_string(c.server.revision());
  const auto silent = c.watch(url), bare = c.watch(url);
  c.post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  c.scheduler.advance(std::chrono::minutes(3));
  EXPECT_EQ(silent->types(), "");
  EXPECT_FALSE(silent->ended());
  EXPECT_EQ(bare->types(), "ADDED");
}

TEST(Faults, AreChecked) {
  Client c;
  EXPECT_EQ(c.post("/hookd/faults", R"({"stauts":429})").code, 400);
  EXPECT_EQ(c.post("/hookd/faults", R"({"status":200})").message(), "fault: status: 400 to 599 was expected");
  c.post("/hookd/faults", R"({"status":500,"times":0})");
  EXPECT_EQ(c.get(kPods).code, 500);
  EXPECT_EQ(c.get(kPods).code, 500);
  EXPECT_EQ(c.send("DELETE", "/hookd/faults").code, 200);
  EXPECT_EQ(c.get(kPods).code, 200);
}

TEST(Compact, CutsWatchesIfWanted) {
  Client c;
  const auto watch = c.watch(kPods + "?watch=1");
  c.post("/hookd/compact", "{}");
  EXPECT_FALSE(watch->ended());
  c.post("/hookd/compact", R"({"cutWatches":true})");
  EXPECT_TRUE(watch->cut());
}

TEST(Crd, IsServedAtOnce) {
  Client c;
  const auto made = c.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                           R"({"metadata":{"name":"foos.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
      "names":{"plural":"foos","singular":"foo","kind":"Foo","listKind":"FooList"},
      "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{
        "type":"object","properties":{"spec":{"type":"object","required":["n"],
          "properties":{"n":{"type":"integer","default":3,"maximum":5}}},"status":{"type":"object",
          "properties":{"ok":{"type":"boolean"}}}}}}}]}})");
  ASSERT_EQ(made.code, 201) << made.text;
  const std::string foos = "/apis/x.io/v1/namespaces/default/foos";
  const auto foo = c.post(foos, R"({"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"a"},
                                   "spec":{"gone":1},"status":{"ok":true}})");
  ASSERT_EQ(foo.code, 201) << foo.text;
  EXPECT_EQ(foo.at("spec.n"), "3");
  EXPECT_EQ(foo.at("spec.gone"), "");
  EXPECT_EQ(foo.at("status"), "");
  EXPECT_EQ(foo.at("metadata.generation"), "1");
  EXPECT_EQ(c.merge(foos + "/a", R"({"spec":{"n":9}})").code, 422);
  EXPECT_EQ(c.merge(foos + "/a/status", R"({"status":{"ok":true},"spec":{"n":4}})").at("spec.n"), "3");
  EXPECT_EQ(c.get(foos + "/a").at("status.ok"), "true");
  EXPECT_EQ(c.strategic(foos + "/a", "{}").code, 415);
  EXPECT_EQ(c.get(foos).at("items[0].kind"), "Foo") << "lists of custom kinds keep the type";
  EXPECT_EQ(c.del("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.x.io").code, 200);
  c.scheduler.run_posted();
  EXPECT_EQ(c.get(foos).code, 404);
}

}  // namespace
}  // namespace hookd::embedded
