#include "embedded/schema/prune.h"

#include <gtest/gtest.h>

#include "embedded/schema/custom_schema.h"

namespace hookd::embedded {
namespace {

using Strings = std::vector<std::string>;

std::shared_ptr<const CustomSchema> schema() {
  return CustomSchema::build(json::parse(R"({"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "size": {"type": "integer"},
    "withDefault": {"type": "integer", "default": 1},
    "nullable": {"type": "integer", "nullable": true},
    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
      "known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
      "spec": {"type": "object"}}}}}}})")
                                 .as_object());
}

json::value pruned(std::string_view spec, Strings* unknown = nullptr) {
  json::value object =
      json::object{{"apiVersion", "g/v1"}, {"kind", "K"}, {"metadata", {{"name", "a"}}}, {"spec", json::parse(spec)}};
  prune_custom(object, schema()->root(), unknown);
  return object.at("spec");
}

TEST(PruneCustom, DropsUnknownFieldsAndTellsTheirPathsInOrder) {
  Strings unknown;
  EXPECT_EQ(pruned(R"({"zz": 1, "size": 1, "list": [{"a": "x"}, {"b": {"c": 1}}], "map": {"k": {"a": "1", "b": 2}}})",
                   &unknown),
            json::parse(R"({"size": 1, "list": [{"a": "x"}, {}], "map": {"k": {"a": "1"}}})"));
  EXPECT_EQ(unknown, (Strings{"spec.list[1].b", "spec.map.k.b", "spec.zz"}));
}

TEST(PruneCustom, KeepsWhatIsPreservedButLooksIntoWhatIsDescribed) {
  EXPECT_EQ(pruned(R"({"free": {"any": {"x": [1]}, "known": {"a": "1", "b": 2}}})"),
            json::parse(R"({"free": {"any": {"x": [1]}, "known": {"a": "1"}}})"));
}

TEST(PruneCustom, KeepsTypeAndMetadataOfEmbeddedResources) {
  EXPECT_EQ(
      pruned(
          R"({"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": 1}, "status": {}}})"),
      json::parse(R"({"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}})"));
}

TEST(PruneCustom, DropsUnknownFieldsOfTheRoot) {
  json::value object = json::parse(R"({"apiVersion": "g/v1", "kind": "K", "extra": 1, "metadata": {}})");
  Strings unknown;
  prune_custom(object, schema()->root(), &unknown);
  EXPECT_EQ(object, json::parse(R"({"apiVersion": "g/v1", "kind": "K", "metadata": {}})"));
  EXPECT_EQ(unknown, Strings{"extra"});
}

TEST(PruneCustomNulls, LeavesThoseThatAreAllowedOrGetADefault) {
  json::value object =
      json::parse(R"({"spec": {"size": null, "withDefault": null, "nullable": null, "unknown": null}})");
  prune_custom_nulls(object, schema()->root());
  EXPECT_EQ(object, json::parse(R"({"spec": {"withDefault": null, "nullable": null, "unknown": null}})"));
}

TEST(CoerceCustomMeta, RefusesWrongTypesOrDropsThem) {
  const json::value sent = json::parse(R"({"metadata": {"name": "a", "labels": 5, "bogus": 1}})");
  json::value object = sent;
  const auto refused = coerce_custom_meta(object, schema()->root(), false, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string");
  object = sent;
  ASSERT_TRUE(coerce_custom_meta(object, schema()->root(), true, nullptr));
  EXPECT_EQ(object, json::parse(R"({"metadata": {"name": "a"}})"));
}

TEST(CoerceCustomMeta, TellsUnknownFields) {
  json::value object = json::parse(R"({"metadata": {"name": "a", "bogus": 1},
    "spec": {"pod": {"metadata": {"name": "b", "more": 2}}}})");
  Strings unknown;
  ASSERT_TRUE(coerce_custom_meta(object, schema()->root(), false, &unknown));
  EXPECT_EQ(unknown, (Strings{"metadata.bogus", "spec.pod.metadata.more"}));
}

}  // namespace
}  // namespace hookd::embedded
