// Custom resources against what a real API server said to the same ones.
#include <gmock/gmock.h>

#include <algorithm>

#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/fields.h"
#include "embedded/schema/check.h"
#include "embedded/schema/defaults.h"
#include "embedded/schema/prune.h"
#include "embedded/wire/json_text.h"
#include "unit/embedded/resources/answers.h"

namespace hookd::embedded {
namespace {

using Strings = std::vector<std::string>;

json::object established(json::object spec) {
  json::object names = spec["names"].as_object();
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "probes.example.com"}}},
          {"spec", std::move(spec)},
          {"status",
           {{"conditions", json::array{json::object{{"type", "Established"}, {"status", "True"}}}},
            {"acceptedNames", std::move(names)}}}};
}

json::object crd_with(json::value schema, json::object version = {}) {
  version["name"] = "v1";
  version["served"] = true;
  version["storage"] = true;
  version["schema"] = json::object{{"openAPIV3Schema", std::move(schema)}};
  return established(
      {{"group", "example.com"},
       {"scope", "Namespaced"},
       {"names", {{"plural", "probes"}, {"singular", "probe"}, {"kind", "Probe"}, {"listKind", "ProbeList"}}},
       {"versions", json::array{std::move(version)}}});
}

Strings sorted(Strings texts) {
  std::ranges::sort(texts);
  return texts;
}

TEST(CustomKind, AnswersAsTheRealServer) {
  const json::value file = answers("custom_answers.json");
  const std::vector<Resource> resources = resources_of_crd(crd_with(file.at("schema")));
  ASSERT_EQ(resources.size(), 1u);
  const Resource& probe = resources.front();
  for (const json::value& answer : file.at("answers").as_array()) {
    SCOPED_TRACE(json::serialize(answer.at("spec")));
    json::value object = json::object{{"apiVersion", "example.com/v1"},
                                      {"kind", "Probe"},
                                      {"metadata", {{"name", "p"}}},
                                      {"spec", answer.at("spec")}};
    const json::object& expected = answer.as_object();
    Strings unknown;
    const auto coerced = coerce_custom_meta(object, *probe.schema, false, &unknown);
    if (expected.contains("refused")) {
      ASSERT_FALSE(coerced);
      EXPECT_EQ(coerced.error().message, expected.at("refused").as_string());
      continue;
    }
    ASSERT_TRUE(coerced) << coerced.error().message;
    prune_custom(object, *probe.schema, &unknown);
    prune_custom_nulls(object, *probe.schema);
    apply_defaults(object, *probe.schema);
    FieldErrors errors;
    check_custom(object, *probe.schema, errors);
    probe.strategy->validate(object.as_object(), errors);
    Strings texts;
    for (const FieldError& error : errors) texts.push_back(error.text());
    Strings wanted;
    for (const json::value& text : array_at(expected, {"errors"})) wanted.emplace_back(as_string(text));
    EXPECT_EQ(sorted(texts), sorted(wanted));
    if (const json::value* stored = expected.if_contains("stored")) {
      // Through text: 2.0 is printed as 2.
      EXPECT_EQ(json::parse(to_text(object.at("spec"))), *stored);
    }
    Strings told;
    for (const json::value& path : array_at(expected, {"unknown"})) told.emplace_back(as_string(path));
    EXPECT_EQ(unknown, told);
  }
}

TEST(CustomKind, ChecksTheNumbersOfScale) {
  const auto resources =
      resources_of_crd(crd_with(json::parse(R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})"),
                                json::parse(R"({"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n",
                      "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}}})")
                                    .as_object()));
  ASSERT_TRUE(resources.front().scale);
  EXPECT_TRUE(resources.front().status);
  FieldErrors errors;
  resources.front().strategy->validate(json::parse(R"({"spec": {"n": -1}, "status": {"n": 3000000000}})").as_object(),
                                       errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].text(), ".spec.n: Invalid value: -1: should be a non-negative integer");
  EXPECT_EQ(errors[1].text(), ".status.n: Invalid value: 3000000000: should be less than or equal to 2147483647");
}

TEST(CustomKind, SelectsByFieldsOfItsOwn) {
  const auto resources = resources_of_crd(crd_with(
      json::parse(R"({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "color": {"type": "string"}, "size": {"type": "integer"}, "on": {"type": "boolean"}}}}})"),
      json::parse(
          R"({"selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.on"}]})")
          .as_object()));
  const auto& selectable = resources.front().strategy->selectable;
  const json::object object = json::parse(R"({"spec": {"size": 3, "on": true}})").as_object();
  EXPECT_EQ(selectable.at("spec.size")(object), "3");
  EXPECT_EQ(selectable.at("spec.on")(object), "true");
  EXPECT_EQ(selectable.at("spec.color")(object), "");
}

TEST(CustomKind, CountsStatusAsAChangeWithoutTheSubresource) {
  const auto resources = resources_of_crd(crd_with(json::parse(R"({"type": "object"})")));
  ManualScheduler scheduler;
  SeededRandom random;
  const WriteContext context{scheduler, random, false, "", "", nullptr};
  json::object next{{"metadata", {{"generation", 4}}}, {"status", {{"a", 1}}}};
  resources.front().strategy->prepare_update(next, {{"metadata", {{"generation", 4}}}}, context);
  EXPECT_EQ(integer_at(next, {"metadata", "generation"}), 5);
}

TEST(ResourcesOfCrd, OrdersVersionsAndWarnsOfOldOnes) {
  json::object spec{
      {"group", "example.com"},
      {"scope", "Cluster"},
      {"names",
       {{"plural", "foos"}, {"kind", "Foo"}, {"shortNames", json::array{"fo"}}, {"categories", json::array{"all"}}}}};
  json::array versions;
  for (const char* name : {"v1alpha1", "v1", "v2beta1", "x", "v10", "v2"})
    versions.push_back(json::object{{"name", name},
                                    {"served", std::string_view(name) != "x"},
                                    {"storage", std::string_view(name) == "v1"},
                                    {"deprecated", std::string_view(name) == "v1alpha1"}});
  spec["versions"] = versions;
  const auto resources = resources_of_crd(established(std::move(spec)));
  Strings order;
  for (const Resource& resource : resources) order.push_back(resource.version);
  EXPECT_EQ(order, (Strings{"v10", "v2", "v1", "v2beta1", "v1alpha1"}));
  EXPECT_EQ(resources.back().deprecation_warning, "example.com/v1alpha1 Foo is deprecated; use example.com/v10 Foo");
  EXPECT_EQ(resources.front().deprecation_warning, "");
  EXPECT_EQ(resources.front().storage_version, "example.com/v1");
  EXPECT_EQ(resources.front().storage_key, "foos.example.com");
  EXPECT_EQ(resources.front().short_names, Strings{"fo"});
  EXPECT_EQ(resources.front().categories, Strings{"all"});
  EXPECT_FALSE(resources.front().namespaced);
}

TEST(ResourcesOfCrd, ServesNothingBeforeItIsEstablishedAndNoWritesAtItsEnd) {
  json::object crd = crd_with(json::parse(R"({"type": "object"})"));
  EXPECT_TRUE(mark_crd_ending(crd, "2026-01-01T00:00:00Z"));
  EXPECT_FALSE(mark_crd_ending(crd, "2026-01-02T00:00:00Z"));
  EXPECT_EQ(array_at(crd, {"metadata", "finalizers"}), json::array{json::value(kCrdFinalizer)});
  const auto resources = resources_of_crd(crd);
  EXPECT_TRUE(resources.front().terminating);
  crd["status"].as_object()["conditions"].as_array()[0].as_object()["status"] = "False";
  EXPECT_TRUE(resources_of_crd(crd).empty());
}

TEST(ResourcesOfCrd, OutliveTheCrd) {
  Resource kept;
  {
    auto resources =
        resources_of_crd(crd_with(json::parse(R"({"type": "object", "properties": {"a": {"type": "string"}}})")));
    kept = resources.front();
  }
  EXPECT_NE(kept.schema->field("a"), nullptr);
  FieldErrors errors;
  kept.strategy->validate({}, errors);
  EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace hookd::embedded
