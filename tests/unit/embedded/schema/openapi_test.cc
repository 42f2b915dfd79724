#include "embedded/schema/openapi.h"

#include <gtest/gtest.h>

#include "embedded/schema/custom_schema.h"
#include "unit/embedded/schema/schema_support.h"

namespace hookd::embedded {
namespace {

json::value written(OpenApiForm form, const Schema& schema, const Field* field = nullptr) {
  JsonWriter out;
  OpenApiSchemas(form).write(out, schema, field);
  return json_of(std::move(out).take());
}

json::value field_written(OpenApiForm form, std::string_view path) {
  const Field& field = field_at(kind_schema("apps", "v1", "Deployment"), path);
  return written(form, *field.schema, &field);
}

TEST(OpenApiSchemas, StructsAreReferences) {
  EXPECT_EQ(field_written(OpenApiForm::kV3, "spec.template"),
            json_of(R"({"default":{},"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}]})"));
  EXPECT_EQ(field_written(OpenApiForm::kV2, "spec.template"),
            json_of(R"({"$ref":"#/definitions/io.k8s.api.core.v1.PodTemplateSpec"})"));
}

TEST(OpenApiSchemas, FieldsTellHowTheyMerge) {
  EXPECT_EQ(field_written(OpenApiForm::kV3, "spec.template.spec.containers"),
            json_of(R"({"type":"array","items":{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"},
                "x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map",
                "x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"})"));
  EXPECT_EQ(field_written(OpenApiForm::kV2, "spec.strategy"),
            json_of(R"({"$ref":"#/definitions/io.k8s.api.apps.v1.DeploymentStrategy",
                "x-kubernetes-patch-strategy":"retainKeys"})"));
  EXPECT_EQ(field_written(OpenApiForm::kV3, "spec.template.spec.nodeSelector"),
            json_of(R"({"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-map-type":"atomic"})"));
}

TEST(OpenApiSchemas, DefinitionsHoldEveryTypeReferredTo) {
  JsonWriter out;
  OpenApiSchemas schemas(OpenApiForm::kV3);
  const Schema& root = kind_schema("apps", "v1", "Deployment");
  out.begin_object().key("").begin_object();
  schemas.refer(out, root.name, &root);
  out.end_object();
  schemas.definitions(out, [](const Schema&) {});
  const json::object types = json_of(std::move(out.end_object()).take()).as_object();
  for (const char* name : {"io.k8s.api.apps.v1.Deployment", "io.k8s.api.core.v1.Container",
                           "io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
                           "io.k8s.apimachinery.pkg.util.intstr.IntOrString"}) {
    EXPECT_TRUE(types.contains(name)) << name;
  }
  EXPECT_EQ(types.at("io.k8s.apimachinery.pkg.apis.meta.v1.Time"),
            json_of(R"({"type":"string","format":"date-time"})"));
  EXPECT_EQ(types.at("io.k8s.api.core.v1.ContainerPort").at("required"), json_of(R"(["containerPort"])"));
}

TEST(OpenApiSchemas, CustomSchemasKeepTheirChecksAndDescriptions) {
  const auto custom = CustomSchema::build_part(object_of(R"({"type":"object","required":["a"],"properties":{
          "a":{"type":"string","description":"what it is","enum":["x","y"],"default":"x"},
          "p":{"x-kubernetes-int-or-string":true},
          "u":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
          "n":{"type":"integer","minimum":0,"nullable":true}}})"));
  const json::value made = written(OpenApiForm::kV3, custom->root());
  EXPECT_EQ(made.at("properties").at("a"),
            json_of(R"({"type":"string","description":"what it is","enum":["x","y"],"default":"x"})"));
  EXPECT_EQ(made.at("properties").at("p").at("x-kubernetes-int-or-string"), true);
  EXPECT_EQ(made.at("properties").at("u").at("x-kubernetes-preserve-unknown-fields"), true);
  EXPECT_EQ(made.at("properties").at("n").at("nullable"), true);
  EXPECT_EQ(made.at("required"), json_of(R"(["a"])"));
}

TEST(OpenApiSchemas, NamesOfCustomTypes) {
  EXPECT_EQ(custom_type_name("cache.example.com", "v1", "Foo"), "com.example.cache.v1.Foo");
}

}  // namespace
}  // namespace hookd::embedded
