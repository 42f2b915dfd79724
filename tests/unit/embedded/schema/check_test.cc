#include "embedded/schema/check.h"

#include <gmock/gmock.h>

#include "embedded/schema/custom_schema.h"

namespace hookd::embedded {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What the real server says to many more values is in resources/custom_kind_test.cc.
std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) out.push_back(error.text());
  return out;
}

std::shared_ptr<const CustomSchema> with_spec(std::string_view spec) {
  return CustomSchema::build({{"type", "object"}, {"properties", {{"spec", json::parse(spec)}}}});
}

std::vector<std::string> checked(std::string_view schema, std::string_view value) {
  FieldErrors errors;
  check_custom(json::object{{"spec", json::parse(value)}}, with_spec(schema)->root(), errors);
  return texts(errors);
}

std::vector<std::string> updated(std::string_view schema, std::string_view live, std::string_view next) {
  FieldErrors errors;
  check_custom_update(json::object{{"spec", json::parse(next)}}, json::object{{"spec", json::parse(live)}},
                      with_spec(schema)->root(), errors);
  return texts(errors);
}

constexpr std::string_view kSized = R"({"type": "object", "properties": {
  "size": {"type": "integer", "maximum": 5}, "mode": {"type": "string", "enum": ["a"]},
  "list": {"type": "array", "items": {"type": "string", "maxLength": 1}, "x-kubernetes-list-type": "set"},
  "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
          "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 5}}}}}})";

TEST(CheckCustom, SaysNothingOfGoodValues) {
  EXPECT_THAT(checked(kSized, R"({"size": 5, "mode": "a", "list": ["a"], "map": [{"k": "x", "v": 1}]})"), IsEmpty());
}

TEST(CheckCustom, TellsTheBranchThatCameFurthest) {
  EXPECT_THAT(checked(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                          "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"a": {"minLength": 2}}}]})",
                      R"({"a2": "x"})"),
              ElementsAre(R"(<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf))",
                          "spec.a: Required value"));
}

TEST(CheckCustom, PrintsLimitsAsTheyAreWritten) {
  EXPECT_THAT(checked(R"({"type": "number", "maximum": 0.25})", "0.5"),
              ElementsAre("spec: Invalid value: 0.5: spec in body should be less than or equal to 0.25"));
}

TEST(CheckCustomUpdate, ForgivesWhatWasWrongBeforeAndDidNotChange) {
  EXPECT_THAT(updated(kSized, R"({"size": 9, "mode": "a"})", R"({"size": 9, "mode": "a", "list": ["b"]})"), IsEmpty());
  EXPECT_THAT(updated(kSized, R"({"size": 9})", R"({"size": 8})"),
              ElementsAre("spec.size: Invalid value: 8: spec.size in body should be less than or equal to 5"));
}

TEST(CheckCustomUpdate, KnowsItemsOfMapsByTheirKeysOnly) {
  EXPECT_THAT(
      updated(kSized, R"({"map": [{"k": "x", "v": 9}]})", R"({"map": [{"k": "y", "v": 1}, {"k": "x", "v": 9}]})"),
      IsEmpty());
  EXPECT_THAT(updated(kSized, R"({"list": ["long"]})", R"({"list": ["a", "long"]})"),
              ElementsAre("spec.list[1]: Too long: may not be more than 1 byte"));
}

TEST(CheckCustomUpdate, ForgivesDuplicatesThatWereThere) {
  EXPECT_THAT(updated(kSized, R"({"list": ["a", "a"]})", R"({"list": ["a", "a", "b"]})"), IsEmpty());
  EXPECT_THAT(updated(kSized, R"({"list": ["a"]})", R"({"list": ["a", "a"]})"),
              ElementsAre(R"(spec.list[1]: Duplicate value: "a")"));
}

TEST(CheckCustomStatus, LooksAtStatusAloneWithItsPathBeforeEveryField) {
  const auto schema = CustomSchema::build(json::parse(R"({"type": "object", "required": ["spec"], "properties": {
    "status": {"type": "object", "required": ["phase"], "properties": {"n": {"type": "integer"}}}}})")
                                              .as_object());
  FieldErrors errors;
  check_custom_status(json::parse(R"({"status": {"n": "x"}})"), json::object{}, schema->root(), errors);
  EXPECT_THAT(texts(errors),
              ElementsAre(R"(status.n: Invalid value: "string": n in body must be of type integer: "string")",
                          "status.phase: Required value"));
}

TEST(CheckCustomPart, StandsAtItsPath) {
  FieldErrors errors;
  check_custom_part("x", CustomSchema::build_part({{"type", "integer"}})->root(), "a.default", errors);
  EXPECT_THAT(texts(errors),
              ElementsAre(R"(a.default: Invalid value: "string":  in body must be of type integer: "string")"));
}

}  // namespace
}  // namespace hookd::embedded
