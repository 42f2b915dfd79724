#include "apply/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hookd::apply {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view json) {
  const auto parsed = parse_operation(json);
  return parsed ? "(no error)" : parsed.error().what;
}

constexpr std::string_view kPod = R"("apiVersion":"v1","kind":"Pod","namespace":"a","name":"b")";
std::string pod(std::string_view verb, std::string_view more = "") {
  return fmt::format(R"({{"operation":"{}",{}{}{}}})", verb, kPod, more.empty() ? "" : ",", more);
}

TEST(Operation, EveryVerbHasAReadableName) {
  for (int i = 0; i <= static_cast<int>(Verb::kRequeue); ++i) {
    const auto verb = static_cast<Verb>(i);
    EXPECT_EQ(parse_verb(to_string(verb)), verb) << i;
  }
  EXPECT_FALSE(parse_verb("delete"));
}

TEST(Operation, DeleteOfTheContractIsRead) {
  const auto op = parse_operation(
      R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","gracePeriodSeconds":0,"uid":"u1",)"
      R"("resourceVersion":"12","propagationPolicy":"Foreground","dryRun":true,"repeat":true})");
  ASSERT_TRUE(op) << op.error().what;
  EXPECT_EQ(op->verb, Verb::kDelete);
  EXPECT_EQ(op->display(), "Pod a/b");
  EXPECT_EQ(op->describe(), "Delete Pod a/b");
  EXPECT_EQ(op->grace_period_seconds, 0);
  EXPECT_EQ(op->uid, "u1");
  EXPECT_EQ(op->resource_version, "12");
  EXPECT_EQ(op->propagation_policy, "Foreground");
  EXPECT_TRUE(op->dry_run);
  EXPECT_TRUE(op->repeat);
}

TEST(Operation, EveryKeyOfEveryVerbIsRead) {
  for (
      const std::string& json : {
          std::string(
              R"({"operation":"Create","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}},"namespace":"a","dryRun":true,"fieldManager":"m"})"),
          std::string(
              R"({"operation":"Apply","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}},"force":true,"subresource":"status"})"),
          pod("MergePatch",
              R"("patch":{},"subresource":"/status","ignoreMissingObject":true,"fieldManager":"m","uid":"u","resourceVersion":"1")"),
          pod("StrategicMergePatch", R"("patch":{"spec":{}})"),
          pod("JSONPatch", R"("patch":[])"),
          pod("JQPatch", R"("jqFilter":".")"),
          pod("DeleteInBackground"),
          pod("DeleteNonCascading", R"("propagationPolicy":"Orphan")"),
          std::string(R"({"operation":"Evict","namespace":"a","name":"b","gracePeriodSeconds":5})"),
          pod("Scale", R"("replicas":3)"),
          pod("Status", R"("status":{"ready":true})"),
          pod("Label", R"("labels":{"a":"1","b":null})"),
          pod("Annotate", R"("annotations":{"a":"1"})"),
          pod("Event", R"("reason":"R","message":"m","type":"Warning","uid":"u")"),
          std::string(
              R"({"operation":"Metric","name":"x_total","action":"observe","value":1.5,"labels":{"a":"b"},"buckets":[1,2.5],"group":"g"})"),
          std::string(R"({"operation":"Requeue","after":"20s"})"),
      }) {
    const auto op = parse_operation(json);
    EXPECT_TRUE(op) << json << ": " << op.error().what;
  }
}

TEST(Operation, SubresourceMayHaveASlash) {
  const auto op = parse_operation(pod("MergePatch", R"("patch":{},"subresource":"/status")"));
  ASSERT_TRUE(op);
  EXPECT_EQ(op->subresource, "status");
}

TEST(Operation, UnknownKeyNamesTheNearest) {
  EXPECT_THAT(error_of(pod("Delete", R"("gracePeriod":0)")),
              testing::AllOf(HasSubstr("`gracePeriod`"), HasSubstr("gracePeriodSeconds")));
  EXPECT_THAT(error_of(pod("Delete", R"("resourceversion":"1")")), HasSubstr("resourceVersion"));
  EXPECT_THAT(error_of(pod("Scale", R"("replica":1)")), HasSubstr("did you mean"));
  EXPECT_THAT(error_of(pod("Delete", R"("replicas":1)")), HasSubstr("not a key of it"));
  EXPECT_THAT(error_of(R"({"operation":"Delet","kind":"Pod"})"), HasSubstr("Delete"));
}

TEST(Operation, MissingKeysAreAllNamed) {
  EXPECT_THAT(error_of(R"({"operation":"Scale","kind":"Pod"})"), HasSubstr("`apiVersion`, `name`, `replicas`"));
  EXPECT_THAT(error_of(R"({"operation":"Event","reason":"R","message":"m"})"),
              HasSubstr("`apiVersion`, `kind`, `name`"));
  EXPECT_THAT(error_of(R"({"operation":"Metric","name":"x","action":"set"})"), HasSubstr("`value`"));
  EXPECT_THAT(error_of(R"({"operation":"Evict","namespace":null,"name":"b"})"), HasSubstr("`namespace`"));
}

TEST(Operation, WrongTypesSayWhatWasExpected) {
  EXPECT_THAT(error_of(pod("Delete", R"("gracePeriodSeconds":"0")")), HasSubstr("whole number"));
  EXPECT_THAT(error_of(pod("Delete", R"("gracePeriodSeconds":-1)")), HasSubstr("-1"));
  EXPECT_THAT(error_of(pod("Delete", R"("gracePeriodSeconds":0.5)")), HasSubstr("whole number"));
  EXPECT_THAT(error_of(pod("Delete", R"("propagationPolicy":"background")")), HasSubstr("Background"));
  EXPECT_THAT(error_of(pod("Delete", R"("uid":null)")),
              HasSubstr("`uid` must be text, not null"));  // a precondition lost to a typo in jq
  EXPECT_THAT(error_of(pod("Delete", R"("uid":"")")), HasSubstr("`uid` is empty"));
  EXPECT_THAT(error_of(pod("Delete", R"("dryRun":"yes")")), HasSubstr("true or false"));
  EXPECT_THAT(error_of(pod("JSONPatch", R"("patch":{})")), HasSubstr("a list"));
  EXPECT_THAT(error_of(pod("MergePatch", R"("patch":[])")), HasSubstr("an object"));
  EXPECT_THAT(error_of(pod("Label", R"("labels":{"a":1})")),
              HasSubstr("`labels.a` must be text (in quotes) or null, not a number"));
  EXPECT_THAT(error_of(R"({"operation":"Requeue","after":20})"), HasSubstr("\"20s\""));
  EXPECT_THAT(error_of(R"({"operation":"Metric","name":"a-b"})"), HasSubstr("a-b"));
  EXPECT_THAT(error_of(pod("DeleteInBackground", R"("propagationPolicy":"Orphan")")), HasSubstr("use Delete"));
}

TEST(Operation, NullNamespaceIsNone) {
  const auto op =
      parse_operation(R"({"operation":"Delete","apiVersion":"v1","kind":"Node","namespace":null,"name":"n"})");
  ASSERT_TRUE(op) << op.error().what;
  EXPECT_EQ(op->ns, "");
}

TEST(Operation, NamesThatWouldLeaveTheUrlPathAreRefused) {
  for (const std::string_view name : {"..", ".", "a/b", "x%2e", "a\\nb"})
    EXPECT_THAT(error_of(fmt::format(
                    R"({{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}"}})", name)),
                HasSubstr("cannot be the name"));
  EXPECT_THAT(error_of(pod("MergePatch", R"("patch":{},"subresource":"proxy")")), HasSubstr("cannot be patched"));
  EXPECT_THAT(error_of(pod("MergePatch", R"("patch":{},"subresource":"status/../x")")), HasSubstr("subresource"));
}

// What `allow` is checked against must be what the server reads: Go takes the last of two keys, others the first.
TEST(Operation, AKeyTwiceIsRefused) {
  EXPECT_THAT(error_of(pod("Delete", R"("name":"c")")), HasSubstr("`name` stands twice"));
  EXPECT_THAT(
      error_of(
          R"({"operation":"Create","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","na\u006de":"b"}}})"),
      HasSubstr("`name` stands twice"));
  EXPECT_FALSE(manifest_operation(R"({"apiVersion":"v1","kind":"Pod","kind":"Secret","metadata":{"name":"a"}})"));
}

TEST(Operation, ObjectKeepsItsText) {
  const std::string object =
      R"({ "apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"a"},"spec":{"big":12345678901234567890123,"f":1.50} })";
  const auto op = parse_operation(fmt::format(R"({{"operation":"Create", "object" : {} }})", object));
  ASSERT_TRUE(op) << op.error().what;
  EXPECT_EQ(op->object, object);
}

TEST(Operation, AboutNamesTheObjectOfAnEvent) {
  const auto op = parse_operation(
      R"({"operation":"Event","about":{"apiVersion":"apps/v1","kind":"StatefulSet","namespace":"a","name":"web","uid":"u"},"reason":"R","message":"m"})");
  ASSERT_TRUE(op) << op.error().what;
  EXPECT_EQ(op->display(), "StatefulSet a/web");
  EXPECT_EQ(op->uid, "u");
  EXPECT_EQ(op->event_type, "Normal");
  EXPECT_THAT(error_of(R"({"operation":"Event","about":{"kind":"Pod"},"reason":"R","message":"m"})"),
              HasSubstr("`apiVersion`"));
  EXPECT_THAT(error_of(R"({"operation":"Event","about":{"knd":"Pod"},"reason":"R","message":"m"})"), HasSubstr("kind"));
}

TEST(Manifest, BecomesAForcedApply) {
  const auto op =
      manifest_operation(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"data":{}})");
  ASSERT_TRUE(op) << op.error().what;
  EXPECT_EQ(op->verb, Verb::kApply);
  EXPECT_TRUE(op->force);
  EXPECT_EQ(op->display(), "ConfigMap a/c");
}

TEST(Manifest, NeedsANameAndAKind) {
  const auto generated = manifest_operation(R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"x-"}})");
  ASSERT_FALSE(generated);
  EXPECT_THAT(generated.error().what, HasSubstr("Create"));
  const auto nameless = manifest_operation(R"({"apiVersion":"v1","kind":"Pod"})");
  ASSERT_FALSE(nameless);
  EXPECT_THAT(nameless.error().what, HasSubstr("metadata"));
  EXPECT_FALSE(manifest_operation(R"({"apiVersion":"v1","metadata":{"name":"x"}})"));
  EXPECT_FALSE(manifest_operation("[]"));
  EXPECT_FALSE(manifest_operation("{"));
}

TEST(Manifest, ListsAreTakenApart) {
  const auto list = manifest_operations(
      R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},)"
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}]})");
  ASSERT_TRUE(list) << list.error().what;
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->at(1).kind, "Secret");
  // Items of typed lists do not say what they are (R12).
  const auto typed =
      manifest_operations(R"({"apiVersion":"apps/v1","kind":"DeploymentList","items":[{"metadata":{"name":"a"}}]})");
  ASSERT_TRUE(typed) << typed.error().what;
  EXPECT_EQ(typed->at(0).kind, "Deployment");
  EXPECT_EQ(typed->at(0).api_version, "apps/v1");
  const auto bad = manifest_operations(R"({"apiVersion":"v1","kind":"List","items":[{"metadata":{"name":"a"}}]})");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().what, HasSubstr("item 0 of List"));
  EXPECT_FALSE(manifest_operation(R"({"apiVersion":"v1","kind":"List","items":[]})"));
}

}  // namespace
}  // namespace hookd::apply
