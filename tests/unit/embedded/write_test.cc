// Create, update and patch through ApiServer::handle.
#include <gtest/gtest.h>

#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kDeployment = R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";

TEST(Create, SetsWhatTheServerKnows) {
  Client c;
  const auto made = c.post(kMaps, R"({"metadata":{"name":"a","uid":"mine","generation":5,"selfLink":"x"}})");
  ASSERT_EQ(made.code, 201) << made.text;
  EXPECT_EQ(made.at("apiVersion"), "v1");
  EXPECT_EQ(made.at("kind"), "ConfigMap");
  EXPECT_EQ(made.at("metadata.namespace"), "default");
  EXPECT_EQ(made.at("metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(made.at("metadata.uid").size(), 36u);
  EXPECT_EQ(made.at("metadata.selfLink"), "");
  EXPECT_EQ(made.at("metadata.resourceVersion"), std::to_string(c.server.revision()));
}

TEST(Create, ANameIsGenerated) {
  Client c;
  const auto made = c.post(kMaps, R"({"metadata":{"generateName":"web-"}})");
  EXPECT_EQ(made.at("metadata.name").size(), 9u);
  EXPECT_TRUE(made.at("metadata.name").starts_with("web-"));
  EXPECT_EQ(c.post(kMaps, "{}").message(),
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
}

TEST(Create, ANamesakeIsAConflict) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a"}})");
  const auto again = c.post(kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(again.code, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
  EXPECT_EQ(again.message(), "configmaps \"a\" already exists");
}

TEST(Create, NeedsItsNamespace) {
  Client c;
  EXPECT_EQ(c.post("/api/v1/namespaces/nope/configmaps", R"({"metadata":{"name":"a"}})").message(),
            "namespaces \"nope\" not found");
  EXPECT_EQ(c.post(kMaps, R"({"metadata":{"name":"a","namespace":"other"}})").message(),
            "the namespace of the provided object does not match the namespace sent on the request");
}

TEST(Create, NothingNewInANamespaceThatEnds) {
  Client c;
  c.post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  c.post("/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"a","finalizers":["x/y"]}})");
  c.del("/api/v1/namespaces/n");
  const auto late = c.post("/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"b"}})");
  EXPECT_EQ(late.code, 403);
  EXPECT_EQ(late.at("details.causes[0].reason"), "NamespaceTerminating");
  EXPECT_EQ(
      late.message(),
      "configmaps \"b\" is forbidden: unable to create new content in namespace n because it is being terminated");
}

TEST(Create, ADryRunStoresNothing) {
  Client c;
  const auto before = c.server.revision();
  const auto made = c.post(kMaps + "?dryRun=All", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(made.at("metadata.resourceVersion"), "");
  EXPECT_EQ(c.server.revision(), before);
  EXPECT_EQ(c.get(kMaps + "/a").code, 404);
}

TEST(Create, UnknownAndDoubleFieldsAreWarnedOfOrRefused) {
  Client c;
  const std::string body = R"({"metadata":{"name":"a"},"data":{"x":"1","x":"2"},"foo":1})";
  const auto warned = c.post(kMaps, body);
  EXPECT_EQ(warned.code, 201);
  EXPECT_EQ(warned.header("Warning"),
            (std::vector<std::string>{R"(299 - "duplicate field \"data.x\"")", R"(299 - "unknown field \"foo\"")"}));
  EXPECT_EQ(warned.at("data.x"), "2");
  EXPECT_EQ(warned.at("foo"), "");
  EXPECT_EQ(c.post(kMaps + "?fieldValidation=Strict", body).message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field "
            "\"data.x\", unknown field \"foo\"");
  const auto ignored = c.post(kMaps + "?fieldValidation=Ignore", R"({"metadata":{"name":"b"},"foo":1})");
  EXPECT_TRUE(ignored.header("Warning").empty());
}

TEST(Create, BodiesOfOtherKindsAreRefused) {
  Client c;
  EXPECT_EQ(c.post(kMaps, R"({"kind":"Pod","apiVersion":"v1"})").message(),
            "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown "
            "conversion");
  EXPECT_EQ(c.post(kMaps, "abc").message(),
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse "
            "error: invalid character 'a' looking for beginning of value (616263)");
  EXPECT_EQ(c.post(kMaps, "x: y", {{"content-type", "text/plain"}}).code, 415);
  EXPECT_EQ(
      c.post(kMaps, R"({"metadata":{"name":"a"},"data":{"a":1}})").message(),
      "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct "
      "field ConfigMap.data of type string");
}

TEST(Create, YamlIsTaken) {
  Client c;
  const auto made = c.post(kMaps, "metadata: {name: a}\ndata: {x: \"1\"}\n", {{"content-type", "application/yaml"}});
  EXPECT_EQ(made.code, 201) << made.text;
  EXPECT_EQ(made.at("data.x"), "1");
}

TEST(Update, NeedsTheLatestVersion) {
  Client c;
  const auto made = c.post(kMaps, R"({"metadata":{"name":"a"}})");
  const auto version = made.at("metadata.resourceVersion");
  const auto first =
      c.put(kMaps + "/a", R"({"metadata":{"name":"a","resourceVersion":")" + version + R"("},"data":{"x":"1"}})");
  EXPECT_EQ(first.code, 200) << first.text;
  const auto second = c.put(kMaps + "/a", R"({"metadata":{"name":"a","resourceVersion":")" + version + R"("}})");
  EXPECT_EQ(second.code, 409);
  EXPECT_EQ(
      second.message(),
      "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes "
      "to the latest version and try again");
}

TEST(Update, WithoutEffectChangesNoVersion) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");
  const auto before = c.server.revision();
  c.scheduler.advance(std::chrono::seconds(5));
  EXPECT_EQ(c.put(kMaps + "/a", R"({"metadata":{"name":"a"},"data":{"x":"1"}})").code, 200);
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"data":{"x":"1"}})").code, 200);
  EXPECT_EQ(c.merge(kMaps + "/a", "{}").code, 200);
  EXPECT_EQ(c.server.revision(), before);
}

TEST(Update, NamesMustAgree) {
  Client c;
  EXPECT_EQ(c.put(kMaps + "/x", R"({"metadata":{"name":"y"}})").message(),
            "the name of the object (y) does not match the name on the URL (x)");
  EXPECT_EQ(c.put(kMaps + "/x", R"({"metadata":{}})").message(),
            "the name of the object (x based on URL) was undeterminable: name must be provided");
  EXPECT_EQ(c.put(kMaps + "/x", R"({"metadata":{"name":"x"}})").code, 404);
}

TEST(Update, OfALeaseMakesIt) {
  Client c;
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  EXPECT_EQ(c.put(leases, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"x"}})").code, 201);
  EXPECT_EQ(c.put(leases, R"({"metadata":{"name":"l"}})").code, 422) << "an update needs the version";
}

TEST(Update, AnotherObjectsUidIsAConflict) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(c.put(kMaps + "/a", R"({"metadata":{"name":"a","uid":"b"}})").code, 409);
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"metadata":{"uid":"b"}})").code, 422);
}

TEST(Generation, CountsChangesOfTheSpec) {
  Client c;
  EXPECT_EQ(c.post(kDeployments, kDeployment).at("metadata.generation"), "1");
  EXPECT_EQ(c.merge(kDeployments + "/d", R"({"metadata":{"labels":{"x":"y"}}})").at("metadata.generation"), "1");
  EXPECT_EQ(c.merge(kDeployments + "/d", R"({"spec":{"replicas":3}})").at("metadata.generation"), "2");
  EXPECT_EQ(c.merge(kDeployments + "/d/status", R"({"status":{"replicas":3}})").at("metadata.generation"), "2");
  EXPECT_EQ(c.merge(kDeployments + "/d", R"({"metadata":{"generation":9}})").at("metadata.generation"), "2");
}

TEST(Status, IsWrittenOnItsOwn) {
  Client c;
  c.post(kDeployments, kDeployment);
  EXPECT_EQ(c.merge(kDeployments + "/d", R"({"status":{"replicas":7}})").at("status.replicas"), "");
  const auto status = c.merge(kDeployments + "/d/status", R"({"spec":{"replicas":9},"status":{"replicas":7}})");
  EXPECT_EQ(status.at("status.replicas"), "7");
  EXPECT_EQ(status.at("spec.replicas"), "1");
  EXPECT_EQ(c.get(kDeployments + "/d/status").body(), status.body());
  EXPECT_EQ(c.get(kMaps + "/x/status").code, 404);
}

TEST(Status, APodsIsPutWithoutItsSpec) {
  Client c;
  c.post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto put = c.put(kPods + "/p/status", R"({"metadata":{"name":"p"},"status":{"phase":"Running"}})");
  ASSERT_EQ(put.code, 200) << put.text;
  EXPECT_EQ(put.at("status.phase"), "Running");
  EXPECT_EQ(put.at("spec.containers[0].image"), "i");
  EXPECT_EQ(put.at("status.qosClass"), "BestEffort");
}

TEST(Patch, EveryType) {
  Client c;
  c.post(kDeployments, kDeployment);
  EXPECT_EQ(c.merge(kDeployments + "/d", R"({"spec":{"replicas":2}})").at("spec.replicas"), "2");
  EXPECT_EQ(
      c.json_patch(kDeployments + "/d", R"([{"op":"replace","path":"/spec/replicas","value":4}])").at("spec.replicas"),
      "4");
  const auto strategic =
      c.strategic(kDeployments + "/d", R"({"spec":{"template":{"spec":{"containers":[{"name":"c2","image":"j"}]}}}})");
  EXPECT_EQ(strategic.at("spec.template.spec.containers[1].name"), "c") << strategic.text;
  EXPECT_EQ(strategic.at("spec.template.spec.containers[0].name"), "c2");
  const auto wrong = c.patch(kDeployments + "/d", "application/json", "{}");
  EXPECT_EQ(wrong.code, 415);
}

TEST(Patch, BrokenOnesAreRefused) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(c.merge(kMaps + "/a", "xx").message(),
            "error decoding patch: invalid character 'x' looking for beginning of value");
  EXPECT_EQ(c.merge(kMaps + "/a", "[1]").message(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}");
  EXPECT_EQ(c.strategic(kMaps + "/a", "xx").message(), "invalid character 'x' looking for beginning of value");
  EXPECT_EQ(c.json_patch(kMaps + "/a", R"([{"op":"remove","path":"/nope"}])").code, 422);
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"metadata":{"name":"b"}})").message(),
            "the name of the object (b) does not match the name on the URL (a)");
  EXPECT_EQ(c.strategic(kMaps + "/a", R"({"data":{"a":1}})").message(),
            " \"\" is invalid: patch: Invalid value: \"map[data:map[a:1]]\": cannot convert int64 to string");
  EXPECT_EQ(c.merge(kMaps + "/nope", "{}").code, 404);
}

TEST(Apply, CreatesOwnsAndConflicts) {
  Client c;
  const auto config = [](std::string_view value) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":")" + std::string(value) +
           R"("}})";
  };
  EXPECT_EQ(c.apply(kMaps + "/a", config("1")).message(),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch");
  EXPECT_EQ(c.apply(kMaps + "/a?fieldManager=one", config("1")).code, 201);
  EXPECT_EQ(c.apply(kMaps + "/a?fieldManager=one", config("1")).code, 200);
  const auto conflict = c.apply(kMaps + "/a?fieldManager=two", config("2"));
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.message(), "Apply failed with 1 conflict: conflict with \"one\": .data.x");
  EXPECT_EQ(c.apply(kMaps + "/a?fieldManager=two&force=true", config("2")).at("data.x"), "2");
}

TEST(ManagedFields, TellWhoWrote) {
  Client c;
  const auto made = c.post(kMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");
  EXPECT_EQ(made.at("metadata.managedFields[0].manager"), "test");
  EXPECT_EQ(made.at("metadata.managedFields[0].operation"), "Update");
  c.scheduler.advance(std::chrono::seconds(5));
  const auto named = c.merge(kMaps + "/a?fieldManager=me", R"({"data":{"y":"1"}})");
  EXPECT_EQ(named.at("metadata.managedFields[1].manager"), "me");
}

TEST(Methods, ThatAPathDoesNotHave) {
  Client c;
  for (const auto* method : {"PUT", "PATCH", "OPTIONS", "HEAD"})
    EXPECT_EQ(c.send(method, kMaps, "{}").code, 405) << method;
  EXPECT_EQ(c.send("POST", kMaps + "/a", "{}").code, 405);
  EXPECT_EQ(c.post("/api/v1/pods", "{}").code, 405);
  EXPECT_EQ(c.get("/api/v1/pods/x").code, 404);
  EXPECT_EQ(c.get("/api/v1/namespaces/default/nodes").code, 404);
}

TEST(Size, BodiesAreBounded) {
  Client c;
  const auto huge = c.post(kMaps, R"({"metadata":{"name":"a"},"data":{"x":")" + std::string(3'200'000, 'x') + R"("}})");
  EXPECT_EQ(huge.code, 413);
  EXPECT_EQ(huge.message(), "Request entity too large: limit is 3145728");
}

TEST(Versions, OneObjectInTwo) {
  Client c;
  const auto made = c.post(
      "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
      R"({"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},
                              "maxReplicas":3,"targetCPUUtilizationPercentage":50}})");
  ASSERT_EQ(made.code, 201) << made.text;
  const auto v2 = c.get("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h");
  EXPECT_EQ(v2.at("apiVersion"), "autoscaling/v2");
  EXPECT_EQ(v2.at("spec.metrics[0].resource.target.averageUtilization"), "50");
  EXPECT_EQ(c.get("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers")
                .at("items[0].spec."
                    "targetCPUUtilizationPercentage"),
            "50");
}

}  // namespace
}  // namespace hookd::embedded
