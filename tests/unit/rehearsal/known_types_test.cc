#include "rehearsal/known_types.h"

#include <gmock/gmock.h>

#include <fstream>

#include "unit/support/scratch_folder.h"

namespace hookd::rehearsal {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kExamples = HOOKD_SOURCE_DIR "/hooks-examples";

TEST(KnownTypes, BuiltInKindsAsAServerNamesThem) {
  const auto table = builtin_types();
  const auto pod = table.find("v1", "Pod");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->plural, "pods");
  EXPECT_TRUE(pod->namespaced);
  EXPECT_THAT(pod->subresources, AllOf(Contains("eviction"), Contains("status")));
  EXPECT_THAT(pod->verbs, AllOf(Contains("list"), Contains("watch")));
  EXPECT_FALSE(table.find("", "no")->namespaced);
  EXPECT_TRUE(table.find("", "deploy")->has_subresource("scale"));
  EXPECT_EQ(table.find("", "pods")->group, "");
}

TEST(KnownTypes, KindsThatTheEmbeddedServerLacks) {
  const auto table = builtin_types();
  EXPECT_EQ(table.find("flowcontrol.apiserver.k8s.io/v1", "FlowSchema")->plural, "flowschemas");
  const auto metrics = table.find("metrics.k8s.io/v1beta1", "PodMetrics");
  ASSERT_TRUE(metrics);
  EXPECT_FALSE(metrics->has_verb("watch"));
}

TEST(KnownTypes, ADefinitionGivesItsServedVersions) {
  const auto types = types_of_definition(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"cars.x.io"},"spec":{"group":"x.io","scope":"Cluster",
    "names":{"kind":"Car","plural":"cars","shortNames":["c"]},
    "versions":[{"name":"v2","served":true,"subresources":{"status":{},"scale":null}},{"name":"v1","served":false},
                {"name":"v1beta1"}]}})");
  ASSERT_THAT(types, SizeIs(2));
  EXPECT_EQ(types[0].display(), "Car (x.io/v2)");
  EXPECT_EQ(types[0].singular, "car");
  EXPECT_FALSE(types[0].namespaced);
  EXPECT_THAT(types[0].subresources, ElementsAre("status"));
  EXPECT_THAT(types[0].short_names, ElementsAre("c"));
  EXPECT_EQ(types[1].version, "v1beta1");
  EXPECT_THAT(types[1].subresources, IsEmpty());
}

TEST(KnownTypes, HalfADefinitionDefinesNothing) {
  for (
      const char* text :
      {"", "[]", "7", R"({"kind":"Pod"})", R"({"kind":"CustomResourceDefinition"})",
       R"({"kind":"CustomResourceDefinition","spec":{"group":"x","names":{"kind":"A"},"versions":[{"name":"v1"}]}})",
       R"({"kind":"CustomResourceDefinition","spec":{"group":"x","names":{"kind":"A","plural":"as"},"versions":{}}})",
       R"({"kind":"CustomResourceDefinition","spec":{"group":"x","names":{"kind":"A","plural":"as"},"versions":[3,{}]}})"})
    EXPECT_THAT(types_of_definition(text), IsEmpty()) << text;
}

TEST(KnownTypes, DefinitionsAreFoundBelowAFolder) {
  kube::ResourceTable table;
  ASSERT_TRUE(add_defined_types(kExamples + "/crd-watch", table));
  EXPECT_TRUE(table.find("", "seldondeployments.v1.machinelearning.seldon.io"));
  EXPECT_EQ(table.find("example.com/v1alpha1", "Backup")->plural, "backups");
}

TEST(KnownTypes, AFileThatIsGivenMustBeReadable) {
  kube::ResourceTable table;
  EXPECT_TRUE(add_defined_types(kExamples + "/crd-watch/crds/backups.yaml", table));
  EXPECT_THAT(table.entries, SizeIs(1));
  EXPECT_FALSE(add_defined_types("/no/such/file.yaml", table));
  const test::ScratchFolder folder;
  const auto read = add_defined_types(folder.file("broken.yaml", "a: ["), table);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("broken.yaml"));
}

}  // namespace
}  // namespace hookd::rehearsal
