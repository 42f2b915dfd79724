#include "embedded/print/openapi.h"

#include <gtest/gtest.h>

#include "embedded/schema/builtin.h"
#include "embedded/schema/custom_schema.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

const Strategy kPlain;

Resource resource(std::string group, std::string plural, std::string kind, const Schema& schema) {
  Resource made;
  made.group = std::move(group);
  made.version = "v1";
  made.plural = std::move(plural);
  made.kind = std::move(kind);
  made.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  made.strategy = &kPlain;
  made.schema = &schema;
  return made;
}

class OpenApiTest : public testing::Test {
 protected:
  OpenApiTest() {
    registry_.add(resource("", "pods", "Pod", *builtin_schema("", "v1", "Pod")));
    registry_.add(resource("apps", "deployments", "Deployment", *builtin_schema("apps", "v1", "Deployment")));
    add_custom(R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}})");
  }

  void add_custom(std::string_view schema) {
    registry_.remove_group_resource("example.com", "foos");
    custom_ = CustomSchema::build(parse_text(schema).value().as_object());
    Resource made = resource("example.com", "foos", "Foo", custom_->root());
    made.custom = true;
    made.status = true;
    registry_.add(std::move(made));
  }

  static json::value parsed(const OpenApi::Document& document) { return parse_text(document.body).value(); }
  std::string hash(std::string_view path) {
    const std::string url(parsed(api_.index()).at("paths").at(path).at("serverRelativeURL").as_string());
    return url.substr(url.find('='));
  }

  std::shared_ptr<const CustomSchema> custom_;
  Registry registry_;
  OpenApi api_{registry_};
};

TEST_F(OpenApiTest, IndexNamesADocumentForEachGroupVersion) {
  const json::value paths = parsed(api_.index()).at("paths");
  for (const char* path : {"api", "apis", "version", "api/v1", "apis/apps/v1", "apis/example.com/v1"}) {
    ASSERT_TRUE(paths.as_object().contains(path)) << path;
    EXPECT_TRUE(api_.v3(path)) << path;
  }
  EXPECT_FALSE(api_.v3("apis/none/v1"));
  EXPECT_FALSE(api_.v3(""));
}

TEST_F(OpenApiTest, PatchesTellTheirKindTheirFormsAndFieldValidation) {
  const json::value document = parsed(*api_.v3("apis/apps/v1"));
  const json::object& patch =
      document.at("paths").at("/apis/apps/v1/namespaces/{namespace}/deployments/{name}").at("patch").as_object();
  EXPECT_EQ(patch.at("x-kubernetes-group-version-kind"),
            parse_text(R"({"group":"apps","version":"v1","kind":"Deployment"})").value());
  EXPECT_TRUE(patch.at("requestBody").at("content").as_object().contains("application/strategic-merge-patch+json"));
  bool validates = false;
  for (const json::value& parameter : patch.at("parameters").as_array()) {
    validates = validates || (parameter.at("name") == "fieldValidation" && parameter.at("in") == "query");
  }
  EXPECT_TRUE(validates);
}

TEST_F(OpenApiTest, CustomKindsHaveNoStrategicPatch) {
  const json::value document = parsed(*api_.v3("apis/example.com/v1"));
  const json::value& path = document.at("paths").at("/apis/example.com/v1/namespaces/{namespace}/foos/{name}");
  EXPECT_FALSE(
      path.at("patch").at("requestBody").at("content").as_object().contains("application/strategic-merge-patch+json"));
  const json::value& type = document.at("components").at("schemas").at("com.example.v1.Foo");
  EXPECT_EQ(type.at("properties").at("spec").at("properties").at("a").at("type"), "string");
  EXPECT_EQ(type.at("x-kubernetes-group-version-kind").as_array()[0].at("kind"), "Foo");
}

TEST_F(OpenApiTest, EveryReferenceIsDefined) {
  const json::value document = parsed(*api_.v3("api/v1"));
  const json::object& types = document.at("components").at("schemas").as_object();
  const std::string text(api_.v3("api/v1")->body);
  constexpr std::string_view kMark = "#/components/schemas/";
  size_t count = 0;
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1), ++count) {
    const size_t begin = at + kMark.size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(types.contains(name)) << name;
  }
  EXPECT_GT(count, 100U);
}

TEST_F(OpenApiTest, VersionTwoHasAllGroupsInOneDocument) {
  const json::value document = parsed(api_.v2());
  EXPECT_EQ(document.at("swagger"), "2.0");
  EXPECT_TRUE(document.at("definitions").as_object().contains("io.k8s.api.apps.v1.Deployment"));
  EXPECT_TRUE(document.at("definitions").as_object().contains("com.example.v1.Foo"));
  EXPECT_TRUE(document.at("paths").as_object().contains("/api/v1/namespaces/{namespace}/pods/{name}"));
}

TEST_F(OpenApiTest, HashChangesWithTheSchemaOnly) {
  const std::string apps = hash("apis/apps/v1"), custom = hash("apis/example.com/v1");
  EXPECT_EQ(hash("apis/example.com/v1"), custom);
  add_custom(R"({"type":"object","properties":{"spec":{"type":"object","properties":{"b":{"type":"string"}}}}})");
  EXPECT_EQ(hash("apis/apps/v1"), apps);
  EXPECT_NE(hash("apis/example.com/v1"), custom);
  EXPECT_NE(api_.v3("apis/example.com/v1")->body.find("\"b\""), std::string_view::npos);
}

}  // namespace
}  // namespace hookd::embedded
