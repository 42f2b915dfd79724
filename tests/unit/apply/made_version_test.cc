// Whether a write made the version that its answer shows: Request::version_of, Outcome::made.
#include "applier_fixture.h"

namespace hookd::apply {
namespace {

using Made = Outcome::Made;

constexpr std::string_view kPod = "/api/v1/namespaces/a/pods/b";
constexpr std::string_view kConfigMap = "/api/v1/namespaces/a/configmaps/c";
constexpr std::string_view kDeployment = "/apis/apps/v1/namespaces/a/deployments/d";

std::string annotate() {
  return R"({"operation":"Annotate","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","annotations":{"k":"v"}})";
}
FakeApi::Answer pod_at(std::string_view version) { return ok(object_json("Pod", "b", "u1", version)); }

class MadeVersionTest : public ApplierTest {
 protected:
  void know(std::optional<std::string> version) {
    request.version_of = [version](const Operation&, const kube::ResourceType&) { return version; };
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const auto& sent : api.requests) all.push_back(sent.body);
    return all;
  }
};

TEST_F(MadeVersionTest, WithoutTheQuestionAPatchGoesAsItIs) {
  api.on("PATCH", kPod, pod_at("7"));
  EXPECT_EQ(apply(annotate()).made, Made::kUnknown);
  know(std::nullopt);
  EXPECT_EQ(apply(annotate()).made, Made::kUnknown);
  EXPECT_EQ(api.last().body, R"({"metadata":{"annotations":{"k":"v"}}})");
}

TEST_F(MadeVersionTest, TheKnownVersionIsThePatchsPrecondition) {
  know("5");
  api.on("PATCH", kPod, pod_at("7")).on("PATCH", kPod, pod_at("5"));
  EXPECT_EQ(apply(annotate()).made, Made::kYes);
  EXPECT_EQ(api.last().body, R"({"metadata":{"resourceVersion":"5","annotations":{"k":"v"}}})");
  EXPECT_EQ(apply(annotate()).made, Made::kNo);  // nothing changed: version 5 is somebody else's
}

TEST_F(MadeVersionTest, AnOutdatedVersionIsLookedUpAnew) {
  know("5");
  api.on("PATCH", kPod, refused(409, "Conflict", "the object has been modified"))
      .on("PATCH", kPod, pod_at("9"))
      .on("GET", kPod, pod_at("8"));
  const auto outcome = apply(annotate());
  EXPECT_EQ(outcome.made, Made::kYes);
  EXPECT_EQ(outcome.resource_version, "9");
  EXPECT_THAT(bodies(), ElementsAre(HasSubstr(R"("5")"), "", HasSubstr(R"("8")")));
}

// The hook did not ask for a version: an object that changes all the time must not keep its patch from being made.
TEST_F(MadeVersionTest, AnObjectThatChangesAllTheTimeIsPatchedWithoutAVersion) {
  know("5");
  for (int i = 0; i < 4; ++i) api.on("PATCH", kPod, refused(409, "Conflict", "the object has been modified"));
  api.on("PATCH", kPod, pod_at("9")).on("GET", kPod, pod_at("8"));
  const auto outcome = apply(annotate());
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.made, Made::kUnknown);
  EXPECT_THAT(api.last().body, Not(HasSubstr("resourceVersion")));
}

TEST_F(MadeVersionTest, AnUnknownVersionIsLookedUpFirst) {
  know("");
  api.on("PATCH", kPod, pod_at("9")).on("GET", kPod, pod_at("8"));
  EXPECT_EQ(apply(annotate()).made, Made::kYes);
  EXPECT_THAT(api.lines(), ElementsAre("GET " + std::string(kPod), "PATCH " + std::string(kPod)));
}

TEST_F(MadeVersionTest, AnApplyThatCreatesMadeItsVersion) {
  know("");
  const auto config_map = manifest(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"}})");
  api.on("GET", kConfigMap, refused(404, "NotFound", "configmaps \"c\" not found"))
      .on("PATCH", kConfigMap, ok(object_json("ConfigMap", "c", "u1", "12"), 201));
  EXPECT_EQ(apply(config_map).made, Made::kYes);
  EXPECT_THAT(api.last().body, Not(HasSubstr("resourceVersion")));
}

// The object went: the server takes an apply with a version for an update of nothing.
TEST_F(MadeVersionTest, AnApplyOfAnObjectThatWentGoesWithoutAVersion) {
  know("5");
  const auto config_map = manifest(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"}})");
  api.on("PATCH", kConfigMap, refused(409, "Conflict", "the object has been modified"))
      .on("PATCH", kConfigMap, ok(object_json("ConfigMap", "c", "u2", "12"), 201))
      .on("GET", kConfigMap, refused(404, "NotFound", "configmaps \"c\" not found"));
  const auto outcome = apply(config_map);
  EXPECT_EQ(outcome.made, Made::kYes);
  EXPECT_EQ(outcome.uid, "u2");
}

TEST_F(MadeVersionTest, FieldConflictsAndOtherObjectsAreToldAsBefore) {
  know("5");
  auto config_map = manifest(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"}})");
  config_map.force = false;
  api.on("PATCH", kConfigMap,
         refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.k",
                 R"([{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\"","field":".data.k"}])"));
  EXPECT_EQ(apply(config_map).kind, Kind::kRefused);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(MadeVersionTest, TheHooksOwnPreconditionStays) {
  know("9");
  api.on("PATCH", kPod, pod_at("6"));
  const auto outcome = apply(
      R"({"operation":"Annotate","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","annotations":{"k":"v"},"resourceVersion":"5"})");
  EXPECT_EQ(outcome.made, Made::kYes);
  EXPECT_THAT(api.last().body, HasSubstr(R"("resourceVersion":"5")"));
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(MadeVersionTest, AJsonPatchTestsTheVersion) {
  know("5");
  api.on("PATCH", kPod, refused(422, "Invalid", "the server rejected our request: test failed"))
      .on("PATCH", kPod, pod_at("9"))
      .on("GET", kPod, pod_at("8"));
  const auto outcome =
      apply(R"({"operation":"JSONPatch","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","patch":[]})");
  EXPECT_EQ(outcome.made, Made::kYes);
  EXPECT_EQ(api.last().body, R"([{"op":"test","path":"/metadata/resourceVersion","value":"8"}])");
}

TEST_F(MadeVersionTest, AScaleCarriesTheVersion) {
  know("5");
  api.on("PATCH", std::string(kDeployment) + "/scale", ok(object_json("Scale", "d", "u1", "6")));
  const auto outcome = apply(
      R"({"operation":"Scale","apiVersion":"apps/v1","kind":"Deployment","namespace":"a","name":"d","replicas":3})");
  EXPECT_EQ(outcome.made, Made::kYes);
  EXPECT_EQ(api.last().body, R"({"metadata":{"resourceVersion":"5"},"spec":{"replicas":3}})");
}

TEST_F(MadeVersionTest, ACreateMadeItsVersionAndAnUpdateKnowsItsBase) {
  constexpr std::string_view kMaps = "/api/v1/namespaces/a/configmaps";
  const auto create = [](std::string_view verb) {
    return fmt::format(
        R"({{"operation":"{}","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"a"}}}}}})",
        verb);
  };
  api.on("POST", kMaps, ok(object_json("ConfigMap", "c", "u1", "12"), 201));
  EXPECT_EQ(apply(create("Create")).made, Made::kYes);
  api.on("POST", kMaps, refused(409, "AlreadyExists", "configmaps \"c\" already exists"))
      .on("GET", kConfigMap, ok(object_json("ConfigMap", "c", "u1", "12")))
      .on("PUT", kConfigMap, ok(object_json("ConfigMap", "c", "u1", "13")));
  EXPECT_EQ(apply(create("CreateOrUpdate")).made, Made::kYes);
}

TEST_F(MadeVersionTest, TellsWhenAWriteIsSentAndWhatCameOfIt) {
  std::vector<std::string> told;
  request.sending = [&](size_t index, const Operation& op, const kube::ResourceType& type) {
    told.push_back(fmt::format("{} {} {}", index, type.plural, op.display()));
  };
  request.settled = [&](size_t index, const Operation&, const Outcome& outcome) {
    told.push_back(fmt::format("{} {}", index, outcome.resource_version));
  };
  api.on("PATCH", kPod, pod_at("7"));
  start({op(annotate()), op(R"({"operation":"Requeue","after":"20s"})")});
  go();
  EXPECT_THAT(told, ElementsAre("0 pods Pod a/b", "0 7"));
}

}  // namespace
}  // namespace hookd::apply
