// Create, CreateIfNotExists, CreateOrUpdate, JQPatch: k8s-client.md W3, W4, W6, A25, T36.
#include "applier_fixture.h"

namespace hookd::apply {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/a/configmaps";
constexpr std::string_view kMap = "/api/v1/namespaces/a/configmaps/c";

class CreateTest : public ApplierTest {
 protected:
  static Operation create(std::string_view verb, std::string_view meta = "",
                          std::string_view rest = R"("data":{"k":1.50})") {
    return op(fmt::format(
        R"({{"operation":"{}","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"a"{}}},{}}}}})",
        verb, meta, rest));
  }
  static Operation generated() {
    return op(
        R"({"operation":"Create","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-","namespace":"a"}}})");
  }
  static FakeApi::Answer exists(std::string_view message = "configmaps \"c\" already exists") {
    return refused(409, "AlreadyExists", message, "[]", "", "POST");
  }
  static FakeApi::Answer managed_by(std::string_view manager) {
    return ok(fmt::format(
        R"({{"kind":"PartialObjectMetadata","metadata":{{"name":"c","uid":"u1","resourceVersion":"3","managedFields":[{{"manager":"{}","operation":"Update"}}]}}}})",
        manager));
  }
};

TEST_F(CreateTest, PostsWithoutWhatOnlyTheServerSets) {
  api.on("POST", kMaps, ok(object_json("ConfigMap", "c", "u1"), 201));
  const auto outcome = apply(create("Create", R"(,"resourceVersion":"5","uid":"u0","managedFields":[])"));
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.text, "created ConfigMap a/c");
  EXPECT_EQ(outcome.uid, "u1");
  EXPECT_EQ(api.last().body,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"data":{"k":1.50}})");
  EXPECT_EQ(query("fieldManager"), "hookd-test-hook");
}

TEST_F(CreateTest, ExistingObject) {
  api.on("POST", kMaps, exists());
  const auto refused_outcome = apply(create("Create"));
  EXPECT_EQ(refused_outcome.kind, Kind::kRefused);
  EXPECT_EQ(refused_outcome.reason, "AlreadyExists");
  EXPECT_EQ(apply(create("CreateIfNotExists")).kind, Kind::kNotNeeded);
  EXPECT_EQ(api.requests.size(), 2u);  // W4: never retried as a conflict
}

TEST_F(CreateTest, ExistingObjectThatIsOnItsWayOut) {
  api.on("POST", kMaps, exists("object is being deleted: configmaps \"c\" already exists"));
  for (const auto verb : {"Create", "CreateIfNotExists", "CreateOrUpdate"}) {
    const auto outcome = apply(create(verb));
    EXPECT_EQ(outcome.kind, Kind::kRetry) << verb;
    EXPECT_THAT(outcome.text, HasSubstr("still terminating"));
  }
}

// An earlier attempt of the same call made it, and news led to the same answer.
TEST_F(CreateTest, WhatAnEarlierAttemptMadeIsFineAndANamesakeIsNot) {
  auto again = create("Create");
  again.made_uid = "u1";
  api.on("POST", kMaps, exists());
  api.on("GET", kMap, managed_by("somebody")).on("GET", kMap, managed_by("somebody"));
  api.on("GET", kMap, refused(403, "Forbidden", "no get"));
  EXPECT_EQ(apply(again).kind, Kind::kNotNeeded);
  again.made_uid = "u0";
  EXPECT_EQ(apply(again).kind, Kind::kRefused);
  EXPECT_EQ(apply(again).kind, Kind::kNotNeeded);  // who may make it need not be allowed to read it
}

// It went since, and the answer to making it anew was lost: what is there is by that request, not in the way.
TEST_F(CreateTest, WhatAnEarlierAttemptMadeAndTheAnswerLostOfMakingItAnew) {
  auto again = create("Create");
  again.made_uid = "u0";
  api.on("POST", kMaps, cut()).on("POST", kMaps, exists());
  api.on("GET", kMap, not_found()).on("GET", kMap, managed_by("hookd-test-hook"));
  const auto outcome = apply(again);
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.uid, "u1");
}

TEST_F(CreateTest, LostAnswerAndItIsThere) {  // A25, T36
  api.on("POST", kMaps, cut()).on("GET", kMap, managed_by("hookd-test-hook"));
  const auto outcome = apply(create("Create"));
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.uid, "u1");
  EXPECT_THAT(api.lines(), ElementsAre(fmt::format("POST {}", kMaps), fmt::format("GET {}", kMap)));
}

TEST_F(CreateTest, LostAnswerAndItIsSomebodyElses) {  // A25
  api.on("POST", kMaps, cut()).on("GET", kMap, managed_by("kubectl"));
  EXPECT_EQ(apply(create("Create")).kind, Kind::kRefused);
}

TEST_F(CreateTest, LostAnswerAndItIsNotThereIsPostedOnceMore) {  // A25
  api.on("POST", kMaps, cut())
      .on("POST", kMaps, ok(object_json("ConfigMap", "c", "u1"), 201))
      .on("GET", kMap, not_found());
  EXPECT_EQ(apply(create("Create")).kind, Kind::kDone);
}

TEST_F(CreateTest, FirstRequestArrivingLateIsRecognised) {  // A25: lost, not there, posted again, now it is there
  api.on("POST", kMaps, cut())
      .on("POST", kMaps, exists())
      .on("GET", kMap, not_found())
      .on("GET", kMap, managed_by("hookd-test-hook"));
  EXPECT_EQ(apply(create("Create")).kind, Kind::kDone);
}

TEST_F(CreateTest, NothingCanBeSaidWhileTheServerIsGone) {
  api.on("POST", kMaps, cut()).on("GET", kMap, cut());
  const auto outcome = apply(create("Create"));
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_TRUE(outcome.unknown);
  EXPECT_EQ(api.requests.size(), 2u);
}

TEST_F(CreateTest, GeneratedNameIsOurs) {  // W6, A25: so that a lost answer can be looked into
  api.on("POST", kMaps, ok(R"({"metadata":{"uid":"u1"}})", 201));
  const auto outcome = apply(generated());
  const auto name = json_string_at(api.last().body, {"metadata", "name"}).value_or("");
  EXPECT_EQ(name.size(), 7u);
  EXPECT_TRUE(name.starts_with("x-"));
  EXPECT_THAT(outcome.text, HasSubstr(name));
}

TEST_F(CreateTest, GeneratedNameThatIsTakenIsDrawnAgain) {  // W6
  api.on("POST", kMaps, exists()).on("POST", kMaps, ok(R"({"metadata":{"uid":"u1"}})", 201));
  EXPECT_EQ(apply(generated()).kind, Kind::kDone);
  EXPECT_NE(json_string_at(api.requests[0].body, {"metadata", "name"}),
            json_string_at(api.requests[1].body, {"metadata", "name"}));
}

TEST_F(CreateTest, GeneratedNamesEnd) {
  api.on("POST", kMaps, exists());
  EXPECT_EQ(apply(generated()).kind, Kind::kRetry);
  EXPECT_EQ(api.requests.size(), 8u);
}

TEST_F(CreateTest, TwoGeneratedNamesAreTwoObjects) {
  api.on("POST", kMaps, ok("{}", 201));
  start({generated(), generated()});
  go();
  ASSERT_EQ(api.requests.size(), 2u);
  EXPECT_NE(json_string_at(api.requests[0].body, {"metadata", "name"}),
            json_string_at(api.requests[1].body, {"metadata", "name"}));
}

TEST_F(CreateTest, CreateOrUpdatePutsTheVersionItRead) {  // W3, W4
  api.on("POST", kMaps, exists())
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "6")));
  const auto outcome = apply(create("CreateOrUpdate"));
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.text, "updated ConfigMap a/c");
  EXPECT_EQ(
      api.last().body,
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a","resourceVersion":"5","uid":"u1"},"data":{"k":1.50}})");
}

TEST_F(CreateTest, UpdateThatChangesNothingIsNotNeeded) {
  api.on("POST", kMaps, exists())
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "5")));
  EXPECT_EQ(apply(create("CreateOrUpdate")).kind, Kind::kNotNeeded);
}

TEST_F(CreateTest, UpdateReadsAnewAfterAConflict) {  // W4
  api.on("POST", kMaps, exists())
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")))
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "6")))
      .on("PUT", kMap, refused(409, "Conflict", "the object has been modified"))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "7")));
  EXPECT_EQ(apply(create("CreateOrUpdate")).kind, Kind::kDone);
  EXPECT_THAT(api.last().body, HasSubstr(R"("resourceVersion":"6")"));
}

TEST_F(CreateTest, UpdateKeepsAStatusThatIsNoSubresource) {
  api.on("POST", kMaps, exists())
      .on("GET", kMap, ok(R"({"metadata":{"uid":"u1","resourceVersion":"5"},"status":{"n":1}})"))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "6")));
  apply(create("CreateOrUpdate"));
  EXPECT_THAT(api.last().body, HasSubstr(R"("status":{"n":1})"));
}

TEST_F(CreateTest, DeletedBetweenPostAndGetIsPostedAgain) {
  api.on("POST", kMaps, exists()).on("POST", kMaps, ok("{}", 201)).on("GET", kMap, not_found());
  EXPECT_EQ(apply(create("CreateOrUpdate")).text, "created ConfigMap a/c");
}

TEST_F(CreateTest, InvalidObjectIsFinal) {  // W16
  api.on("POST", kMaps, refused(422, "Invalid", "ConfigMap \"c\" is invalid: metadata.name", "[]", "", "POST"));
  const auto outcome = apply(create("Create"));
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_EQ(outcome.http_status, 422);
}

class JqPatchTest : public CreateTest {
 protected:
  static Operation jq(std::string_view filter, std::string_view more = "") {
    return op(fmt::format(
        R"({{"operation":"JQPatch","apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"c","jqFilter":{}{}}})",
        json_string(filter), more));
  }
};

TEST_F(JqPatchTest, PutsTheChangedObjectAtTheVersionItRead) {
  api.on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "6")));
  const auto outcome = apply(jq(R"(.data.k = "v" | del(.metadata.resourceVersion))"));
  EXPECT_EQ(outcome.kind, Kind::kDone) << outcome.text;
  EXPECT_EQ(json_string_at(api.last().body, {"data", "k"}), "v");
  EXPECT_EQ(json_string_at(api.last().body, {"metadata", "resourceVersion"}), "5");
}

TEST_F(JqPatchTest, UnchangedIsNotSent) {
  api.on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")));
  EXPECT_EQ(apply(jq(".")).kind, Kind::kNotNeeded);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(JqPatchTest, ConflictReadsAnew) {  // W4
  api.on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")))
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "6")))
      .on("PUT", kMap, refused(409, "Conflict", "the object has been modified"))
      .on("PUT", kMap, ok(object_json("ConfigMap", "c", "u1", "7")));
  EXPECT_EQ(apply(jq(R"(.data.k = "v")")).kind, Kind::kDone);
  EXPECT_EQ(json_string_at(api.last().body, {"metadata", "resourceVersion"}), "6");
}

TEST_F(JqPatchTest, BadFiltersAreFinalAndSendNothing) {
  api.on("GET", kMap, ok(object_json("ConfigMap", "c", "u1", "5")));
  EXPECT_EQ(apply(jq(".[")).kind, Kind::kRefused);
  EXPECT_TRUE(api.requests.empty());
  EXPECT_EQ(apply(jq(".data")).kind, Kind::kRefused);
  EXPECT_EQ(apply(jq(R"(error("no"))")).kind, Kind::kRefused);
  EXPECT_EQ(apply(jq(R"(.metadata.name = "other")")).kind, Kind::kRefused);
  EXPECT_THAT(api.lines(), testing::Each(fmt::format("GET {}", kMap)));
}

TEST_F(JqPatchTest, MissingAndOtherObjects) {
  api.on("GET", kMap, not_found())
      .on("GET", kMap, not_found())
      .on("GET", kMap, ok(object_json("ConfigMap", "c", "u2")));
  EXPECT_EQ(apply(jq(".")).kind, Kind::kRefused);
  EXPECT_EQ(apply(jq(".", R"(,"ignoreMissingObject":true)")).kind, Kind::kNotNeeded);
  EXPECT_THAT(apply(jq(".data.k=1", R"(,"uid":"u1")")).text, HasSubstr("another object has this name now"));
}

}  // namespace
}  // namespace hookd::apply
