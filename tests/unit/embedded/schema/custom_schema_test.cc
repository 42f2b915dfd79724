#include "embedded/schema/custom_schema.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

json::object object(std::string_view text) { return json::parse(text).as_object(); }

TEST(CustomSchema, ReadsTypesFieldsAndRequired) {
  const auto schema = CustomSchema::build(object(R"({"type": "object", "properties": {
    "spec": {"type": "object", "required": ["size", "absent"], "properties": {
      "size": {"type": "integer", "format": "int32", "default": 3},
      "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
      "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}},
      "any": {"x-kubernetes-preserve-unknown-fields": true},
      "point": {"type": "object", "x-kubernetes-map-type": "atomic", "nullable": true}}}}})"));
  const Schema& spec = *schema->root().field("spec")->schema;
  EXPECT_EQ(spec.type, Schema::Type::kObject);
  EXPECT_EQ(spec.checks->required, (std::vector<std::string>{"size", "absent"}));
  const Field& size = *spec.field("size");
  EXPECT_TRUE(size.required);
  EXPECT_EQ(size.schema->type, Schema::Type::kInteger);
  EXPECT_EQ(size.schema->format, "int32");
  EXPECT_EQ(size.default_value, json::value(3));
  EXPECT_EQ(spec.field("tags")->schema->list_type, Schema::ListType::kSet);
  EXPECT_EQ(spec.field("tags")->schema->items->type, Schema::Type::kString);
  EXPECT_EQ(spec.field("limits")->schema->type, Schema::Type::kMap);
  EXPECT_EQ(spec.field("limits")->schema->items->type, Schema::Type::kIntOrString);
  EXPECT_TRUE(spec.field("any")->schema->preserve_unknown);
  EXPECT_TRUE(spec.field("point")->schema->atomic);
  EXPECT_TRUE(spec.field("point")->schema->nullable);
  EXPECT_FALSE(schema->has_rules());
}

TEST(CustomSchema, ImpliesTypeMetaAndObjectMeta) {
  const auto schema = CustomSchema::build(object(R"({"type": "object", "properties": {
    "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}})"));
  EXPECT_EQ(schema->root().field("kind")->schema->type, Schema::Type::kString);
  EXPECT_NE(schema->root().field("metadata")->schema->field("ownerReferences"), nullptr);
  ASSERT_NE(schema->root().checks->metadata, nullptr);
  EXPECT_EQ(schema->root().checks->metadata->field("name")->schema->checks->max_length, 3);
}

TEST(CustomSchema, FindsCelRulesAtAnyDepth) {
  EXPECT_TRUE(CustomSchema::build(object(R"({"type": "object", "properties": {"a": {"type": "array", "items": {
    "type": "object", "x-kubernetes-validations": [{"rule": "true"}]}}}})"))
                  ->has_rules());
}

TEST(CustomSchema, SurvivesWhatIsNoSchema) {
  EXPECT_EQ(CustomSchema::build(object(R"({"type": 5, "properties": [], "items": "x", "enum": {}, "allOf": [1]})"))
                ->root()
                .type,
            Schema::Type::kAny);
}

}  // namespace
}  // namespace hookd::embedded
