#include "embedded/resources/crd_strategy.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "embedded/resources/fields.h"
#include "embedded/resources/metadata.h"
#include "unit/embedded/resources/answers.h"

namespace hookd::embedded {
namespace {

using Strings = std::vector<std::string>;

struct Fixture {
  ManualScheduler scheduler;
  SeededRandom random;
  WriteContext context{scheduler, random, false, "", "", nullptr};
};

json::object crd(json::object spec_more = {}) {
  json::object spec = json::parse(R"({"group": "example.com", "scope": "Namespaced",
    "names": {"plural": "foos", "kind": "Foo"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]})")
                          .as_object();
  for (auto& [key, value] : spec_more) spec[key] = value;
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "foos.example.com"}}},
          {"spec", std::move(spec)}};
}

// Without what the real server shows of its inner form of a whole schema.
std::string without_schema_value(std::string text) {
  const std::string cut = "openAPIV3Schema: Invalid value: {";
  const size_t from = text.find(cut), to = text.find("}: only [");
  if (from != std::string::npos && to != std::string::npos) text.erase(from + cut.size(), to - from - cut.size());
  return text;
}

TEST(CrdStrategy, FindsTheSameFaultsAsTheRealServer) {
  Fixture fixture;
  Resource resource;
  resource.strategy = &crd_strategy();
  resource.namespaced = false;
  const json::value file = answers("crd_answers.json");
  for (const json::value& answer : file.as_array()) {
    SCOPED_TRACE(json::serialize(answer.at("crd").at("spec")));
    json::object object = answer.at("crd").as_object();
    crd_strategy().defaults(object);
    crd_strategy().prepare_create(object, fixture.context);
    FieldErrors errors;
    validate_metadata(object, resource, errors);
    crd_strategy().validate(object, errors);
    Strings found, wanted;
    for (const FieldError& error : errors) found.push_back(without_schema_value(error.text()));
    for (const json::value& text : answer.at("errors").as_array())
      wanted.push_back(without_schema_value(std::string(as_string(text))));
    std::ranges::sort(found);
    std::ranges::sort(wanted);
    EXPECT_EQ(found, wanted);
  }
}

TEST(CrdStrategy, FillsInNamesConversionAndStatus) {
  Fixture fixture;
  json::object object = crd();
  crd_strategy().defaults(object);
  crd_strategy().prepare_create(object, fixture.context);
  EXPECT_EQ(string_at(object, {"spec", "names", "singular"}), "foo");
  EXPECT_EQ(string_at(object, {"spec", "names", "listKind"}), "FooList");
  EXPECT_EQ(string_at(object, {"spec", "conversion", "strategy"}), "None");
  EXPECT_EQ(
      object.at("status"),
      json::parse(R"({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]})"));
}

TEST(CrdStrategy, RemembersEveryStorageVersion) {
  Fixture fixture;
  json::object next =
      crd(json::parse(R"({"versions": [{"name": "v1"}, {"name": "v2", "storage": true}]})").as_object());
  next["status"] = json::object{{"storedVersions", json::array{"v1"}}};
  crd_strategy().prepare_update(next, {}, fixture.context);
  EXPECT_EQ(array_at(next, {"status", "storedVersions"}), (json::array{"v1", "v2"}));

  next["spec"].as_object()["versions"].as_array().erase(next["spec"].as_object()["versions"].as_array().begin());
  FieldErrors errors;
  crd_strategy().validate(next, errors);
  const bool missing = std::ranges::any_of(errors, [](const FieldError& error) {
    return error.field == "status.storedVersions[0]" && error.detail.starts_with("missing from spec.versions; v1 was");
  });
  EXPECT_TRUE(missing);
}

TEST(CrdStrategy, FixesNamesAndScopeOnceEstablished) {
  json::object live = crd();
  json::object next =
      crd({{"scope", "Cluster"}, {"group", "other.com"}, {"names", {{"plural", "bars"}, {"kind", "Bar"}}}});
  FieldErrors before, after;
  crd_strategy().validate_update(next, live, before);
  EXPECT_EQ(before.size(), 2u);  // group and plural, which are in its name
  live["status"] = json::parse(R"({"conditions": [{"type": "Established", "status": "True"}]})");
  crd_strategy().validate_update(next, live, after);
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(after[0].text(), R"(spec.scope: Invalid value: "Cluster": field is immutable)");
  EXPECT_EQ(after[1].text(), R"(spec.names.kind: Invalid value: "Bar": field is immutable)");
}

TEST(CrdStrategy, SaysThatCelIsNotEvaluated) {
  json::object object = crd(json::parse(R"({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object",
    "x-kubernetes-validations": [{"rule": "self.a > 1"}], "properties": {"p": {"type": "string", "format": "phone"}}}}}]})")
                                .as_object());
  EXPECT_THAT(
      crd_strategy().warnings(object),
      testing::ElementsAre(R"(unrecognized format "phone")",
                           testing::HasSubstr("x-kubernetes-validations of foos.example.com (v1) are not evaluated")));
}

}  // namespace
}  // namespace hookd::embedded
