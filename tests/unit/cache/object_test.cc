// Rules: k8s-client.md R12, R61-R63; T27.
#include "cache/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_read.h"

namespace hookd::cache {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& text, bool drop = true, std::string_view api_version = "v1",
                    std::string_view kind = "Pod") {
  const auto object = read_object(text, api_version, kind, drop);
  return object ? object->text : "error: " + object.error().what;
}

TEST(ReadObject, FindsWhoItIs) {
  const auto object = read_object(
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"a","uid":"u-1","resourceVersion":"42"},"spec":{"metadata":{"name":"x"}}})",
      "v1", "Pod");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->name, "web-0");
  EXPECT_EQ(object->ns, "a");
  EXPECT_EQ(object->uid, "u-1");
  EXPECT_EQ(object->resource_version, "42");
  EXPECT_EQ(object->key(), "a/web-0");
  EXPECT_EQ(object->kind, "Pod");
}

TEST(ReadObject, ClusterScopedKeysHaveNoSlash) {
  EXPECT_EQ(read_object(R"({"metadata":{"name":"n1"}})", "v1", "Node")->key(), "n1");
}

TEST(ReadObject, EscapesAreDecodedInTheIdentityAndKeptInTheText) {
  const auto text =
      R"({"kind":"X","apiVersion":"v1","metadata":{"n\u0061me":"caf\u00e9-\uD83D\uDE00-\"q\"","uid":"\u0031"},"a":"\u0041"})";
  const auto object = read_object(text, "v1", "X");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->name, "café-😀-\"q\"");
  EXPECT_EQ(object->uid, "1");
  EXPECT_EQ(object->text, text);
}

TEST(ReadObject, KeysLikeMetadataDeeperInsideAreNotIt) {
  const auto text =
      R"({"spec":{"template":{"metadata":{"name":"inner","uid":"i","managedFields":[1]}},"metadata":{"name":"inner"}},"kind":"D","apiVersion":"apps/v1","metadata":{"labels":{"name":"label","uid":"l","managedFields":"m"},"annotations":{"x":"{\"metadata\":{\"name\":\"text\",\"managedFields\":[2]}}"},"name":"outer"}})";
  const auto object = read_object(text, "apps/v1", "D");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->name, "outer");
  EXPECT_EQ(object->uid, "");
  EXPECT_EQ(object->text, text);  // and none of those managedFields is taken out
}

TEST(ReadObject, ManagedFieldsAreTakenOutWhereverTheyStand) {
  const std::string fields = R"("managedFields":[{"manager":"x","f":{"f:a":{".":{},"k:{\"a\":\"]}\"}":[1,[2]]}}},{}])";
  const auto whole = [](const std::string& metadata) {
    return R"({"kind":"Pod","apiVersion":"v1","metadata":{)" + metadata + R"(},"spec":{"a":1}})";
  };
  EXPECT_EQ(text_of(whole(fields + R"(,"name":"a","uid":"u")")), whole(R"("name":"a","uid":"u")"));
  EXPECT_EQ(text_of(whole(R"("name":"a",)" + fields + R"(,"uid":"u")")), whole(R"("name":"a","uid":"u")"));
  EXPECT_EQ(text_of(whole(R"("name":"a","uid":"u",)" + fields)), whole(R"("name":"a","uid":"u")"));
  EXPECT_EQ(text_of(whole(R"("name":"a","uid":"u")")), whole(R"("name":"a","uid":"u")"));
  EXPECT_EQ(text_of(whole(R"("name":"a","managedFields":[])")), whole(R"("name":"a")"));
  EXPECT_EQ(text_of(whole(R"("name":"a","managedFields":null)")), whole(R"("name":"a","managedFields":null)"));
  EXPECT_EQ(text_of(whole(fields + R"(,"name":"a")"), false), whole(fields + R"(,"name":"a")"));  // kept if asked for
}

TEST(ReadObject, PrettyPrintedTextStaysWholeJson) {
  const std::string pretty =
      "{\n  \"metadata\": {\n    \"managedFields\" : [\n      { \"a\": 1 }\n    ] ,\n    \"name\" : \"a\",\n    "
      "\"uid\": \"u\"\n  },\n  \"spec\": { }\n}\n";
  const std::string last = "{ \"metadata\" : { \"name\" : \"a\" ,\n \"managedFields\"\t: [ ]\n } }";
  for (const auto& text : {pretty, last}) {
    const auto object = read_object(text, "v1", "Pod");
    ASSERT_TRUE(object);
    EXPECT_TRUE(validate_json(object->text)) << object->text;
    EXPECT_THAT(object->text, testing::Not(HasSubstr("managedFields")));
    EXPECT_EQ(json_string_at(object->text, {"kind"}), "Pod");
    EXPECT_EQ(json_string_at(object->text, {"apiVersion"}), "v1");
    EXPECT_EQ(json_string_at(object->text, {"metadata", "name"}), "a");
  }
}

TEST(ReadObject, ListItemsGetTheirKindOnlyIfBothAreMissing) {  // R12, T27
  EXPECT_EQ(text_of(R"({"metadata":{"name":"a"}})"), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})");
  EXPECT_EQ(text_of(R"( {"metadata":{"name":"a"}})", true, "apps/v1", "Deployment"),
            R"( {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}})");
  EXPECT_EQ(text_of(R"({"kind":"Q","metadata":{"name":"a"}})"), R"({"kind":"Q","metadata":{"name":"a"}})");
  EXPECT_EQ(text_of(R"({"apiVersion":"q/v1","metadata":{"name":"a"}})"),
            R"({"apiVersion":"q/v1","metadata":{"name":"a"}})");
  EXPECT_EQ(text_of(R"({"metadata":{"name":"a","managedFields":[1]},"spec":{}})"),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{}})");
}

TEST(ReadObject, PartialObjectMetadataGetsTheRealType) {  // R61
  EXPECT_EQ(text_of(R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}})"),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}})");
  EXPECT_EQ(
      text_of(
          R"({"apiVersion":"meta.k8s.io\/v1","metadata":{"managedFields":[1],"name":"a"},"kind" : "PartialObjectMetadata" })"),
      R"({"apiVersion":"v1","metadata":{"name":"a"},"kind" : "Pod" })");
  EXPECT_EQ(
      text_of(
          R"({"metadata":{"name":"a","managedFields":[1]},"apiVersion": "meta.k8s.io/v1","kind":"PartialObjectMetadata"})",
          true, "example.com/v1beta1", "Long"),
      R"({"metadata":{"name":"a"},"apiVersion": "example.com/v1beta1","kind":"Long"})");
  EXPECT_EQ(read_object(R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}})",
                        "v1", "Pod")
                ->kind,
            "PartialObjectMetadata");
  // Not a shape that a server sends; it must not break the text.
  EXPECT_TRUE(validate_json(text_of(R"({"kind":"PartialObjectMetadata","metadata":{"name":"a"}})")));
}

TEST(ReadObject, NumbersKeepTheirDigits) {  // R63
  const auto text =
      R"({"kind":"X","apiVersion":"v1","metadata":{"name":"a"},"n":[9223372036854775807,18446744073709551615,1.50,1e400,-0,0.1000]})";
  EXPECT_EQ(text_of(text), text);
}

TEST(ReadObject, DeepObjectsAreTaken) {  // section 11: thousands of levels
  const std::string text = R"({"kind":"X","apiVersion":"v1","deep":)" + std::string(5000, '[') +
                           std::string(5000, ']') + R"(,"metadata":{"name":"a"}})";
  EXPECT_EQ(text_of(text), text);
}

TEST(ReadObject, AHugeObjectThenSmallOnes) {
  const std::string text =
      R"({"kind":"X","apiVersion":"v1","data":")" + std::string(8u << 20, 'x') + R"(","metadata":{"name":"a"}})";
  EXPECT_TRUE(text_of(text) == text);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(text_of(R"({"kind":"X","apiVersion":"v1","metadata":{"name":"a"}})"),
              R"({"kind":"X","apiVersion":"v1","metadata":{"name":"a"}})");
}

TEST(ReadObject, WhatIsNoObjectWithANameIsAnError) {
  for (const std::string text : {"", " ", "null", "[]", "{}", "7", "\"x\"", R"({"metadata":{}})",
                                 R"({"metadata":null})", R"({"metadata":{"name":""}})", R"({"metadata":{"name":7}})",
                                 R"({"metadata":[{"name":"a"}]})", R"({"metadata":{"name":"a")", "{",
                                 R"({"metadata":{"name":"a\)", "<html>", "{\"metadata\":{\"name\":\"\xff\"}}"}) {
    const auto object = read_object(text, "v1", "Pod");
    ASSERT_FALSE(object) << text;
    EXPECT_EQ(object.error().code, Errc::kDecode);
    EXPECT_THAT(object.error().what, HasSubstr("Pod"));
  }
}

}  // namespace
}  // namespace hookd::cache
