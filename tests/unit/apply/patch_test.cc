// Apply and the patches: k8s-client.md W1, W2, W4, W5, W12, W13, section 11.
#include "applier_fixture.h"
#include "base/log.h"

namespace hookd::apply {
namespace {

constexpr std::string_view kPod = "/api/v1/namespaces/a/pods/b";
constexpr std::string_view kDeployment = "/apis/apps/v1/namespaces/a/deployments/d";

std::string pod_op(std::string_view verb, std::string_view more) {
  return fmt::format(R"({{"operation":"{}","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b",{}}})", verb,
                     more);
}

class PatchTest : public ApplierTest {
 protected:
  Operation config_map() {
    return manifest(
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"data":{"k":"v"}})");
  }
  static constexpr std::string_view kConfigMap = "/api/v1/namespaces/a/configmaps/c";
};

TEST_F(PatchTest, ManifestIsAServerSideApply) {  // W1, W5
  api.on("PATCH", kConfigMap, ok(object_json("ConfigMap", "c", "u1", "12"), 201));
  const auto outcome = apply(config_map());
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.text, "created (by apply) ConfigMap a/c");
  EXPECT_EQ(outcome.uid, "u1");
  EXPECT_EQ(outcome.resource_version, "12");
  EXPECT_EQ(api.last().content_type, "application/apply-patch+yaml");
  EXPECT_EQ(query("fieldManager"), "hookd-test-hook");
  EXPECT_EQ(query("force"), "true");
  EXPECT_EQ(query("fieldValidation"), "Warn");
  EXPECT_EQ(query("dryRun"), "");
}

TEST_F(PatchTest, FieldManagerIsCutAndPrintable) {  // W5: at most 128
  api.on("PATCH", kConfigMap, ok());
  request.field_manager = "naïve " + std::string(200, 'x');
  apply(config_map());
  EXPECT_EQ(query("fieldManager").size(), 128u);
  EXPECT_TRUE(query("fieldManager").starts_with("na__ve_x"));
}

TEST_F(PatchTest, WhatTheServerRefusesInAnApplyIsTakenOut) {  // W5: managedFields is a 400; the digits stay
  api.on("PATCH", kConfigMap, ok());
  apply(manifest(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a","creationTimestamp":null,"managedFields":[]},"n":1.50})"));
  EXPECT_EQ(api.last().body,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"n":1.50})");
}

TEST_F(PatchTest, FieldConflictIsForThePerson) {  // W5
  api.on("PATCH", kConfigMap,
         refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.k",
                 R"([{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\"","field":".data.k"}])"));
  Operation apply_op = config_map();
  apply_op.force = false;
  const auto outcome = apply(apply_op);
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, testing::AllOf(HasSubstr("force: true"), HasSubstr("kubectl"), HasSubstr(".data.k")));
  EXPECT_EQ(query("force"), "");
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(PatchTest, ConflictWithoutFieldsIsARace) {  // W5
  api.on("PATCH", kConfigMap, refused(409, "Conflict", "the object has been modified")).on("PATCH", kConfigMap, ok());
  EXPECT_EQ(apply(config_map()).kind, Kind::kDone);
  EXPECT_EQ(api.requests.size(), 2u);
}

TEST_F(PatchTest, RaceIsNotRunForEver) {  // W4
  api.on("PATCH", kConfigMap, refused(409, "Conflict", "the object has been modified"));
  EXPECT_EQ(apply(config_map()).kind, Kind::kRetry);
  EXPECT_EQ(api.requests.size(), 5u);
}

TEST_F(PatchTest, ConflictOnTheVersionThatTheHookNamesIsFinal) {  // W2
  api.on("PATCH", kPod, refused(409, "Conflict", "the object has been modified"));
  EXPECT_EQ(apply(pod_op("MergePatch", R"("patch":{"metadata":{"resourceVersion":"5"}})")).kind, Kind::kRefused);
  EXPECT_EQ(apply(pod_op("Label", R"("labels":{"a":"b"},"resourceVersion":"5")")).kind, Kind::kRefused);
  EXPECT_EQ(api.last().body, R"({"metadata":{"resourceVersion":"5","labels":{"a":"b"}}})");
  EXPECT_EQ(api.requests.size(), 2u);
}

// The server takes a version for an object that is not there, and compares it with that of one that is.
TEST_F(PatchTest, AnApplyThatIsToMakeAnObjectChangesNone) {
  Operation op = config_map();
  op.object = fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"a","resourceVersion":"{}"}}}})",
      kMustNotExist);
  api.on("PATCH", kConfigMap, refused(409, "Conflict", "the object has been modified"));
  const auto outcome = apply(op);
  EXPECT_EQ(outcome.kind, Kind::kRetry);  // whose it is, the watch tells
  EXPECT_EQ(outcome.http_status, 409);
  EXPECT_THAT(outcome.text, HasSubstr("an object of this name is there already, not changed"));
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(PatchTest, AnApplyThatIsToMakeAnObjectTellsOfNoFields) {  // they are compared before the versions
  Operation op = config_map();
  op.force = false;
  op.object = fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"a","resourceVersion":"{}"}}}})",
      kMustNotExist);
  api.on("PATCH", kConfigMap,
         refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.k",
                 R"([{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\"","field":".data.k"}])"));
  const auto outcome = apply(op);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.http_status, 409);
  EXPECT_THAT(outcome.text, HasSubstr("an object of this name is there already, not changed"));
}

TEST_F(PatchTest, AnApplyToAnObjectThatIsGoneMakesNone) {
  api.on(
      "PATCH", kConfigMap,
      refused(409, "Conflict", "uid mismatch: the provided object specified uid u1, and no existing object was found"));
  Operation op = config_map();
  op.uid = "u1";
  const auto outcome = apply(op);
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_THAT(outcome.text, HasSubstr("is gone already (uid u1)"));
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(PatchTest, OfAnObjectThatWentMeanwhileNoNamesakeIsToldOf) {
  // What the storage layer says of a patch with a uid when the object goes in the middle of it.
  api.on(
      "PATCH", kPod,
      refused(409, "Conflict",
              "Operation cannot be fulfilled on pods \"b\": StorageError: invalid object, Code: 4, Key: /registry/a/b, "
              "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u1, UID in object "
              "meta: "));
  const auto outcome = apply(pod_op("MergePatch", R"("patch":{"spec":{"x":1}},"uid":"u1")"));
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_EQ(outcome.text, "Pod a/b is gone already (uid u1)");
}

TEST_F(PatchTest, RightsThatWouldBeGivenAreHintedAtBeforeTheLongText) {
  api.on("PATCH", kConfigMap,
         refused(403, "Forbidden",
                 "rolebindings \"x\" is forbidden: user \"u\" is attempting to grant RBAC permissions not currently "
                 "held:\n{APIGroups:[\"\"]}"));
  const auto outcome = apply(config_map());
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_THAT(outcome.text, HasSubstr("or the verbs `escalate` (roles) and `bind` (bindings): rolebindings"));
}

TEST_F(PatchTest, BareServerErrorAboutTheContentIsFinal) {  // section 11
  api.on("PATCH", kConfigMap,
         refused(500, "",
                 "failed to create typed patch object (a/c; /v1, Kind=ConfigMap): .data.k: expected string, got 1"));
  EXPECT_EQ(apply(config_map()).kind, Kind::kRefused);
}

TEST_F(PatchTest, OtherServerErrorsPass) {  // T36, A25
  api.on("PATCH", kConfigMap, refused(500, "InternalError", "etcdserver: request timed out"));
  const auto outcome = apply(config_map());
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_TRUE(outcome.unknown);
  EXPECT_EQ(outcome.http_status, 500);
}

TEST_F(PatchTest, RetryAfterIsHandedOn) {  // T36
  api.on("PATCH", kConfigMap, refused(429, "TooManyRequests", "busy", "[]", "7"));
  const auto outcome = apply(config_map());
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_FALSE(outcome.unknown);
  EXPECT_EQ(outcome.retry_after, std::chrono::seconds(7));
}

TEST_F(PatchTest, ContentTypesOfPatches) {  // W1
  api.on("PATCH", kPod, ok());
  for (const auto& [verb, patch, type] : {std::tuple{"MergePatch", "{}", "application/merge-patch+json"},
                                          {"StrategicMergePatch", "{}", "application/strategic-merge-patch+json"},
                                          {"JSONPatch", "[]", "application/json-patch+json"}}) {
    EXPECT_EQ(apply(pod_op(verb, fmt::format(R"("patch":{})", patch))).kind, Kind::kDone);
    EXPECT_EQ(api.last().content_type, type);
    EXPECT_EQ(api.last().body, patch);
    EXPECT_EQ(query("force"), "");
  }
}

TEST_F(PatchTest, StrategicMergeOfCustomResourcesHasAHint) {  // W1: 415
  api.on("PATCH", kPod, refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format"));
  const auto outcome = apply(pod_op("StrategicMergePatch", R"("patch":{})"));
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, HasSubstr("MergePatch"));
}

TEST_F(PatchTest, MissingObject) {
  api.on("PATCH", kPod, not_found());
  const auto outcome = apply(pod_op("MergePatch", R"("patch":{})"));
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, HasSubstr("pods \"b\" not found"));
  EXPECT_EQ(apply(pod_op("MergePatch", R"("patch":{},"ignoreMissingObject":true)")).kind, Kind::kNotNeeded);
}

TEST_F(PatchTest, UnservedTypeIsTriedLaterEvenIfMissingIsFine) {  // R46
  api.on("PATCH", kPod, not_served());
  EXPECT_EQ(apply(pod_op("MergePatch", R"("patch":{},"ignoreMissingObject":true)")).kind, Kind::kRetry);
}

TEST_F(PatchTest, UidGuardsPatches) {  // W2
  api.on("PATCH", kPod,
         refused(409, "Conflict", "Precondition failed: UID in precondition: u1, UID in object meta: u2"));
  const auto outcome = apply(pod_op("MergePatch", R"("patch":{"spec":{"x":1.50}},"uid":"u1")"));
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_EQ(api.last().body, R"({"spec":{"x":1.50},"metadata":{"uid":"u1"}})");
}

TEST_F(PatchTest, UidGuardsJsonPatchesByATest) {
  api.on("PATCH", kPod, refused(422, "Invalid", "the server rejected our request: testing value /metadata/uid failed"));
  const auto outcome = apply(pod_op("JSONPatch", R"("patch":[{"op":"remove","path":"/spec/x"}],"uid":"u1")"));
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_EQ(api.last().body, R"([{"op":"test","path":"/metadata/uid","value":"u1"},{"op":"remove","path":"/spec/x"}])");
}

TEST_F(PatchTest, StatusScaleLabelAnnotate) {  // W12
  const std::string deployment = R"("apiVersion":"apps/v1","kind":"Deployment","namespace":"a","name":"d")";
  api.on("PATCH", fmt::format("{}/status", kDeployment), ok())
      .on("PATCH", fmt::format("{}/scale", kDeployment), ok())
      .on("PATCH", kDeployment, ok());
  EXPECT_EQ(apply(fmt::format(R"({{"operation":"Status",{},"status":{{"n":1e3}}}})", deployment)).text,
            "patched the status of Deployment a/d");
  EXPECT_EQ(api.last().body, R"({"status":{"n":1e3}})");
  EXPECT_EQ(apply(fmt::format(R"({{"operation":"Scale",{},"replicas":0}})", deployment)).text,
            "scaled to 0: Deployment a/d");
  EXPECT_EQ(api.last().body, R"({"spec":{"replicas":0}})");
  apply(fmt::format(R"({{"operation":"Annotate",{},"annotations":{{"a/b":"x\"y","gone":null}}}})", deployment));
  EXPECT_EQ(api.last().body, R"({"metadata":{"annotations":{"a/b":"x\"y","gone":null}}})");
  EXPECT_EQ(api.last().content_type, "application/merge-patch+json");
}

TEST_F(PatchTest, StatusOfOthersThanParsedOnesGoesToTheSubresource) {  // the runner makes such operations itself
  Operation status;
  status.verb = Verb::kStatus;
  status.api_version = "v1";
  status.kind = "Pod";
  status.ns = "a";
  status.name = "b";
  status.patch = R"({"x":1})";
  api.on("PATCH", fmt::format("{}/status", kPod), ok());
  EXPECT_EQ(apply(status).kind, Kind::kDone);
}

TEST_F(PatchTest, MissingSubresourceIsSaid) {  // W12: a bare 404
  api.on("PATCH", "/api/v1/namespaces/a/configmaps/c/scale",
         refused(404, "NotFound", "the server could not find the requested resource"));
  const auto outcome =
      apply(R"({"operation":"Scale","apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"c","replicas":1})");
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, HasSubstr("ConfigMap (v1) has no subresource scale"));
}

TEST_F(PatchTest, TerminatingNamespaceIsFinal) {  // W6
  api.on(
      "PATCH", kConfigMap,
      refused(
          403, "Forbidden", "unable to create new content in namespace a because it is being terminated",
          R"([{"reason":"NamespaceTerminating","message":"namespace a is being terminated","field":"metadata.namespace"}])"));
  EXPECT_EQ(apply(config_map()).kind, Kind::kRefused);
}

TEST_F(PatchTest, MissingNamespaceMayCome) {
  api.on("PATCH", kConfigMap, not_found("namespaces \"a\" not found"));
  EXPECT_EQ(apply(config_map()).kind, Kind::kRetry);
  EXPECT_EQ(unserved, 0);  // the type is known well
}

TEST_F(PatchTest, DryRunTellsWhatWouldChange) {  // W13
  request.dry_run = true;
  api.on("GET", kPod, ok(R"({"kind":"Pod","metadata":{"labels":{"a":"1"},"resourceVersion":"1"}})"))
      .on("PATCH", kPod, ok(R"({"kind":"Pod","metadata":{"labels":{"a":"2"},"resourceVersion":"2"}})"));
  const auto outcome = apply(pod_op("Label", R"("labels":{"a":"2"})"));
  EXPECT_EQ(query("dryRun"), "All");
  EXPECT_EQ(outcome.text, "dry run: labelled Pod a/b");
  EXPECT_EQ(outcome.diff, "~ .metadata.labels.a: \"1\" -> \"2\"");
}

TEST_F(PatchTest, DryRunOfWhatIsNotThereShowsTheWhole) {
  request.dry_run = true;
  api.on("GET", kConfigMap, not_found("configmaps \"c\" not found"))
      .on("PATCH", kConfigMap, ok(R"({"kind":"ConfigMap","data":{"k":"v"}})"));
  EXPECT_EQ(apply(config_map()).diff, "+ .kind: \"ConfigMap\"\n+ .data.k: \"v\"");
}

TEST_F(PatchTest, WarningsAreLogged) {  // W14
  std::vector<std::string> lines;
  log::set_tap([&](log::Level, std::string_view line) { lines.emplace_back(line); });
  auto warned = ok();
  warned->warnings = {"unknown field \"spec.foo\"", "unknown field \"spec.foo\""};
  api.on("PATCH", kPod, warned);
  apply(pod_op("MergePatch", R"("patch":{"status":{}})"));
  log::set_tap({});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("use the operation Status"));  // W12
  EXPECT_THAT(lines[1], testing::AllOf(HasSubstr("spec.foo"), HasSubstr("test-hook")));
}

TEST_F(PatchTest, NamesAreEncodedInPaths) {
  api.on("PATCH", "/api/v1/nodes/a%20b%3Fc:d", ok());
  EXPECT_EQ(apply(R"({"operation":"Label","apiVersion":"v1","kind":"Node","name":"a b?c:d","labels":{"a":"1"}})").kind,
            Kind::kDone);
}

}  // namespace
}  // namespace hookd::apply
