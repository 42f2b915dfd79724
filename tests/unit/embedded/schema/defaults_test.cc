#include "embedded/schema/defaults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "embedded/schema/decode.h"
#include "unit/embedded/schema/schema_support.h"

namespace hookd::embedded {
namespace {

Schema of_type(Schema::Type type) {
  Schema schema;
  schema.type = type;
  return schema;
}

TEST(Defaults, FillAbsentFieldsAndNullsThatAreNotAllowed) {
  Schema text = of_type(Schema::Type::kString), maybe = of_type(Schema::Type::kString);
  maybe.nullable = true;
  Schema root = of_type(Schema::Type::kObject);
  root.fields = {{.name = "a", .schema = &text, .default_value = json::value("x")},
                 {.name = "b", .schema = &text, .default_value = json::value("y")},
                 {.name = "c", .schema = &maybe, .default_value = json::value("z")},
                 {.name = "d", .schema = &text}};
  json::object object = object_of(R"({"b":null,"c":null,"d":null})");
  apply_defaults(object, root);
  EXPECT_EQ(object, object_of(R"({"a":"x","b":"y","c":null,"d":null})"));
}

TEST(Defaults, GoIntoDefaultsItemsAndMaps) {
  Schema text = of_type(Schema::Type::kString);
  Schema inner = of_type(Schema::Type::kObject);
  inner.fields = {{.name = "a", .schema = &text, .default_value = json::value("x")}};
  inner.default_value = json::object();
  Schema list = of_type(Schema::Type::kList), map = of_type(Schema::Type::kMap);
  list.items = map.items = &inner;
  Schema root = of_type(Schema::Type::kObject);
  root.fields = {{.name = "inner", .schema = &inner, .default_value = json::value(json::object())},
                 {.name = "list", .schema = &list},
                 {.name = "map", .schema = &map}};
  json::object object = object_of(R"({"list":[{},null,{"a":"own"}],"map":{"k":{},"n":null}})");
  apply_defaults(object, root);
  EXPECT_EQ(object, object_of(R"({"inner":{"a":"x"},"list":[{"a":"x"},{"a":"x"},{"a":"own"}],
                                  "map":{"k":{"a":"x"},"n":{"a":"x"}}})"));
}

json::object stored(json::object object, DecodeReport* report = nullptr) {
  const std::string api(object.at("apiVersion").as_string()), kind(object.at("kind").as_string());
  const size_t slash = api.find('/');
  const std::string group = slash == std::string::npos ? "" : api.substr(0, slash);
  const std::string version = api.substr(slash == std::string::npos ? 0 : slash + 1);
  const Schema& schema = kind_schema(group, version, kind);
  auto decoded = decode(object, schema);
  if (!decoded) throw std::runtime_error(decoded.error());
  if (report) *report = std::move(*decoded);
  apply_builtin_defaults(object, group, version, kind);
  complete(object, schema);
  return object;
}

// Each line: what was POSTed to a kube-apiserver 1.36.3 and what it answered, without what only the server knows (uid,
// times, managedFields, ...) and what admission and the kind's strategy made (clusterIP, tolerations, phase, ...).
TEST(BuiltinObjects, AreAsTheRealServerPrintsThem) {
  std::ifstream file(HOOKD_SOURCE_DIR "/tests/unit/embedded/schema/real_answers.jsonl");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const json::object pair = object_of(line);
    DecodeReport report;
    const json::object made = stored(pair.at("sent").as_object(), &report);
    EXPECT_EQ(made, pair.at("answered").as_object());
    std::vector<std::string> unknown;
    if (const json::value* told = pair.if_contains("unknown")) {
      for (const json::value& text : told->as_array()) unknown.emplace_back(text.as_string());
    }
    std::sort(report.unknown.begin(), report.unknown.end());
    EXPECT_EQ(report.unknown, unknown);
    // What is stored, read again and defaulted again, stays as it is.
    EXPECT_EQ(stored(made), made) << line;
  }
  EXPECT_GE(count, 60);
}

TEST(BuiltinDefaults, PullPolicyFollowsTheTag) {
  const auto policy = [](std::string_view image) {
    json::object pod = object_of(R"({"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a"}]}})");
    pod["spec"].as_object()["containers"].as_array()[0].as_object()["image"] = image;
    return std::string(stored(pod).at("spec").at("containers").as_array()[0].at("imagePullPolicy").as_string());
  };
  EXPECT_EQ(policy("nginx"), "Always");
  EXPECT_EQ(policy("nginx:latest"), "Always");
  EXPECT_EQ(policy("localhost:5000/nginx"), "Always");
  EXPECT_EQ(policy("nginx:1.2"), "IfNotPresent");
  EXPECT_EQ(policy("localhost:5000/nginx:1.2"), "IfNotPresent");
  EXPECT_EQ(policy("nginx@sha256:0000"), "IfNotPresent");
  EXPECT_EQ(policy(""), "IfNotPresent");
}

TEST(BuiltinDefaults, PodLevelRequestsAreTheSumOfItsContainers) {
  const json::object pod = stored(object_of(R"({"apiVersion":"v1","kind":"Pod","spec":{
      "resources":{"limits":{"cpu":"4","memory":"1Gi"}},
      "containers":[{"name":"a","resources":{"requests":{"cpu":"500m"}}},{"name":"b","resources":{"requests":{"cpu":"1"}}}],
      "initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}]}})"));
  EXPECT_EQ(pod.at("spec").at("resources").at("requests"), json_of(R"({"cpu":"2","memory":"1Gi"})"));
}

TEST(BuiltinDefaults, TemplatesOfPodsGetLessThanPods) {
  const json::object deployment = stored(object_of(R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{
      "spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}}}})"));
  const json::object& spec = deployment.at("spec").at("template").at("spec").as_object();
  EXPECT_FALSE(spec.contains("enableServiceLinks"));
  EXPECT_FALSE(spec.at("containers").as_array()[0].at("resources").as_object().contains("requests"));
  EXPECT_EQ(spec.at("restartPolicy"), "Always");
}

TEST(BuiltinDefaults, BothNamesOfAServiceAccountAgree) {
  const json::object pod =
      stored(object_of(R"({"apiVersion":"v1","kind":"Pod","spec":{"serviceAccount":"a","containers":[]}})"));
  EXPECT_EQ(pod.at("spec").at("serviceAccountName"), "a");
}

TEST(BuiltinDefaults, StringDataOfASecretIsForWritingOnly) {
  const json::object secret =
      stored(object_of(R"({"apiVersion":"v1","kind":"Secret","data":{"a":"eA=="},"stringData":{"a":"hi","b":""}})"));
  EXPECT_FALSE(secret.contains("stringData"));
  EXPECT_EQ(secret.at("data"), json_of(R"({"a":"aGk=","b":""})"));
}

TEST(BuiltinDefaults, UnknownKindsAreLeftAlone) {
  json::object object = object_of(R"({"spec":{}})");
  apply_builtin_defaults(object, "example.com", "v1", "Foo");
  EXPECT_EQ(object, object_of(R"({"spec":{}})"));
}

}  // namespace
}  // namespace hookd::embedded
