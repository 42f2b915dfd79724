#include "embedded/schema/builtin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "unit/embedded/schema/schema_support.h"

namespace hookd::embedded {
namespace {

using Type = Schema::Type;
using Absent = Field::Absent;

TEST(Builtin, KnowsKindsByGroupVersionAndKind) {
  EXPECT_EQ(kind_schema("", "v1", "Pod").name, "io.k8s.api.core.v1.Pod");
  EXPECT_EQ(kind_schema("apps", "v1", "Deployment").name, "io.k8s.api.apps.v1.Deployment");
  EXPECT_EQ(kind_schema("autoscaling", "v2", "HorizontalPodAutoscaler").name,
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler");
  EXPECT_EQ(builtin_schema("apps", "v1", "Pod"), nullptr);
  EXPECT_EQ(builtin_schema("", "v2", "Pod"), nullptr);
  EXPECT_EQ(builtin_schema("", "v1", "PodList"), nullptr);
}

TEST(Builtin, BuildsATypeOnce) {
  EXPECT_EQ(builtin_schema("", "v1", "Pod"), builtin_schema("", "v1", "Pod"));
  EXPECT_EQ(field_at(kind_schema("", "v1", "Pod"), "spec").schema,
            field_at(kind_schema("apps", "v1", "Deployment"), "spec.template.spec").schema);
  EXPECT_EQ(builtin_type("io.k8s.api.core.v1.PodSpec"), field_at(kind_schema("", "v1", "Pod"), "spec").schema);
  EXPECT_EQ(builtin_type("io.k8s.api.core.v1.Nothing"), nullptr);
  EXPECT_EQ(builtin_type("Pod"), nullptr);
}

TEST(Builtin, HasTheKindsOfEveryServedGroup) {
  std::set<std::string> groups;
  for (const BuiltinKind& kind : builtin_kinds()) {
    groups.insert(std::string(kind.group));
    const Schema* schema = builtin_schema(kind.group, kind.version, kind.kind);
    ASSERT_NE(schema, nullptr) << kind.kind;
    EXPECT_EQ(schema->type, Type::kObject);
    EXPECT_NE(schema->field("apiVersion"), nullptr) << kind.kind;
  }
  EXPECT_TRUE(groups.contains("apiextensions.k8s.io"));
  EXPECT_GE(groups.size(), 18U);
}

TEST(Builtin, FieldsAreSortedAndHaveTypes) {
  for (const BuiltinKind& kind : builtin_kinds()) {
    const Schema& schema = kind_schema(kind.group, kind.version, kind.kind);
    EXPECT_TRUE(std::ranges::is_sorted(schema.fields, {}, &Field::name)) << kind.kind;
    for (const Field& field : schema.fields) EXPECT_NE(field.schema, nullptr) << field.name;
  }
}

TEST(Builtin, ListsTellHowTheyMerge) {
  const Schema& pod = kind_schema("", "v1", "Pod");
  const Schema& containers = *field_at(pod, "spec.containers").schema;
  EXPECT_EQ(containers.list_type, Schema::ListType::kMap);
  EXPECT_EQ(containers.list_keys, std::vector<std::string>{"name"});
  EXPECT_TRUE(containers.patch_merge);
  EXPECT_EQ(containers.patch_merge_key, "name");
  const Schema& ports = *field_at(pod, "spec.containers.ports").schema;
  EXPECT_EQ(ports.list_keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_EQ(ports.patch_merge_key, "containerPort");
  EXPECT_TRUE(field_at(pod, "spec.volumes").schema->patch_retain_keys);
  const Schema& finalizers = *field_at(pod, "metadata.finalizers").schema;
  EXPECT_EQ(finalizers.list_type, Schema::ListType::kSet);
  EXPECT_TRUE(finalizers.patch_merge);
  EXPECT_EQ(finalizers.patch_merge_key, "");
  EXPECT_EQ(field_at(pod, "spec.tolerations").schema->list_type, Schema::ListType::kAtomic);
  EXPECT_TRUE(field_at(kind_schema("apps", "v1", "Deployment"), "spec.strategy").schema->patch_retain_keys);
}

TEST(Builtin, AtomicStructsAndMaps) {
  EXPECT_TRUE(field_at(kind_schema("apps", "v1", "Deployment"), "spec.selector").schema->atomic);
  EXPECT_TRUE(field_at(kind_schema("", "v1", "Pod"), "spec.nodeSelector").schema->atomic);
  EXPECT_FALSE(field_at(kind_schema("", "v1", "Pod"), "metadata.labels").schema->atomic);
}

TEST(Builtin, KeysOfListMapsHaveDefaults) {
  const Field& protocol = field_at(kind_schema("", "v1", "Pod"), "spec.containers.ports.protocol");
  ASSERT_TRUE(protocol.default_value);
  EXPECT_EQ(*protocol.default_value, json::value("TCP"));
}

TEST(Builtin, SpecialTypes) {
  const Schema& pod = kind_schema("", "v1", "Pod");
  EXPECT_EQ(field_at(pod, "metadata.creationTimestamp").schema->type, Type::kTime);
  EXPECT_EQ(field_at(pod, "spec.containers.resources.limits").schema->items->type, Type::kQuantity);
  EXPECT_EQ(field_at(pod, "spec.containers.livenessProbe.httpGet.port").schema->type, Type::kIntOrString);
  EXPECT_EQ(field_at(pod, "metadata.managedFields.fieldsV1").schema->type, Type::kAny);
  EXPECT_EQ(field_at(kind_schema("coordination.k8s.io", "v1", "Lease"), "spec.renewTime").schema->format, "micro-time");
  EXPECT_EQ(field_at(kind_schema("", "v1", "Secret"), "data").schema->items->format, "byte");
  EXPECT_EQ(field_at(kind_schema("apps", "v1", "ControllerRevision"), "data").schema->type, Type::kAny);
}

TEST(Builtin, SaysWhatIsPrintedWhereAFieldIsAbsent) {
  const Schema& pod = kind_schema("", "v1", "Pod");
  EXPECT_EQ(pod.field("status")->absent, Absent::kZero);
  EXPECT_EQ(field_at(pod, "metadata.creationTimestamp").absent, Absent::kNothing);
  EXPECT_EQ(field_at(pod, "spec.containers").absent, Absent::kNull);
  EXPECT_EQ(field_at(pod, "spec.containers.name").absent, Absent::kZero);
  EXPECT_EQ(field_at(pod, "spec.hostname").absent, Absent::kNothing);
  EXPECT_TRUE(field_at(pod, "spec.hostname").drop_empty);
  EXPECT_FALSE(field_at(pod, "spec.priority").drop_empty);  // a pointer to 0 is not empty
}

TEST(Builtin, TypesMayContainThemselves) {
  const Schema* props = builtin_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  ASSERT_NE(props, nullptr);
  EXPECT_EQ(props->field("properties")->schema->items, props);
}

}  // namespace
}  // namespace hookd::embedded
