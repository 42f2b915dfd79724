// Rules: k8s-client.md D3, D6-D9.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/discovery_documents.h"
#include "unit/kube/discovery_server.h"

namespace hookd::kube {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

class ResourceTableTest : public testing::Test {
 protected:
  ResourceTableTest() {
    const auto core = groups_of({group_of(
        "",
        {version_of(
            "v1",
            {resource_of(
                 "pods", "Pod",
                 R"(,"shortNames":["po"],"subresources":[{"subresource":"status"},{"subresource":"eviction"}])"),
             resource_of("events", "Event", R"(,"shortNames":["ev"])"),
             R"({"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node","verbs":["list"]})",
             R"({"resource":"nothings","scope":"Namespaced","subresources":[{"subresource":"x"}]})"})})});
    const auto groups = groups_of(
        {group_of("apps",
                  {version_of("v1", {resource_of("deployments", "Deployment", R"(,"shortNames":["deploy"])")})}),
         group_of("events.k8s.io", {version_of("v1", {resource_of("events", "Event", R"(,"shortNames":["ev"])")})}),
         group_of("machinelearning.seldon.io",
                  {version_of("v1", {resource_of("seldondeployments", "SeldonDeployment",
                                                 R"(,"shortNames":["sdep","deploy"])")}),
                   version_of("v1alpha2", {resource_of("seldondeployments", "SeldonDeployment")})}),
         group_of("metrics.k8s.io", {version_of("v1beta1", {}, true)}),
         group_of("tricky.io", {version_of("v1", {resource_of("po", "Po")})})});
    EXPECT_TRUE(read_aggregated(core, table_));
    EXPECT_TRUE(read_aggregated(groups, table_));
  }
  std::string find(std::string_view name, std::string_view api_version = "") const {
    const auto found = table_.find(api_version, name);
    return found ? fmt::format("{} {}", found->api_version(), found->plural)
                 : fmt::format("{}: {}", to_string(found.error().code), found.error().what);
  }
  ResourceTable table_;
};

TEST_F(ResourceTableTest, KindPluralSingularAndShortName) {  // D7
  for (const auto* name : {"Pod", "pod", "pods", "PODS"}) EXPECT_EQ(find(name), "v1 pods") << name;
  EXPECT_EQ(find("deploy"), "apps/v1 deployments");  // on a clash the first group wins
  EXPECT_EQ(find("sdep"), "machinelearning.seldon.io/v1 seldondeployments");
}

TEST_F(ResourceTableTest, AFullNameBeatsAShortOne) {  // D7
  EXPECT_EQ(find("po"), "tricky.io/v1 po");
}

TEST_F(ResourceTableTest, WithoutAnApiVersionTheServersOrderDecides) {  // D7
  EXPECT_EQ(find("Event"), "v1 events");
  EXPECT_EQ(find("events.events.k8s.io"), "events.k8s.io/v1 events");
  EXPECT_EQ(find("SeldonDeployment"), "machinelearning.seldon.io/v1 seldondeployments");  // the preferred version
}

TEST_F(ResourceTableTest, NamesWithGroupAndVersion) {  // D7, and the names of the crd-watch example
  EXPECT_EQ(find("seldondeployments.v1.machinelearning.seldon.io"), "machinelearning.seldon.io/v1 seldondeployments");
  EXPECT_EQ(find("seldondeployments.v1alpha2.machinelearning.seldon.io"),
            "machinelearning.seldon.io/v1alpha2 seldondeployments");
  EXPECT_EQ(find("deployments.apps"), "apps/v1 deployments");
  EXPECT_EQ(find("deploy.app"), "apps/v1 deployments");
  EXPECT_EQ(find("deploy.machinelearning.seldon.io"), "machinelearning.seldon.io/v1 seldondeployments");
  EXPECT_EQ(find("pods.v1"), "v1 pods");
  EXPECT_EQ(find("pods.v1."), "v1 pods");
  EXPECT_THAT(find("seldondeployments.v3.machinelearning.seldon.io"), HasSubstr("not_found"));
  EXPECT_THAT(find("pods."), HasSubstr("not_found"));
  EXPECT_THAT(find(""), HasSubstr("not_found"));
}

TEST_F(ResourceTableTest, AnUnservedVersionIsNotReplacedByAnother) {  // D8
  EXPECT_EQ(find("SeldonDeployment", "machinelearning.seldon.io/v1alpha2"),
            "machinelearning.seldon.io/v1alpha2 seldondeployments");
  EXPECT_EQ(find("Deployment", "extensions/v1beta1"),
            "not_found: the server serves no Deployment in extensions/v1beta1; it serves Deployment (apps/v1)");
}

TEST_F(ResourceTableTest, SomethingNearIsNamed) {
  EXPECT_THAT(find("Deploymnet"), HasSubstr("did you mean Deployment (apps/v1)?"));
  EXPECT_THAT(find("Xyzzyfrobnicator"), testing::Not(HasSubstr("did you mean")));
}

TEST_F(ResourceTableTest, AGroupThatDoesNotAnswerIsNoMissingOne) {  // D3, D4
  EXPECT_THAT(find("PodMetrics", "metrics.k8s.io/v1beta1"), HasSubstr("unavailable"));
  EXPECT_THAT(find("podmetrics.metrics.k8s.io"), HasSubstr("unavailable"));
  EXPECT_THAT(find("podmetrics.v1beta1.metrics.k8s.io"), HasSubstr("unavailable"));
  EXPECT_THAT(find("PodMetricsXX"), HasSubstr("do not answer now: metrics.k8s.io/v1beta1"));
  EXPECT_THAT(find("PodMetrics", "metrics.k8s.io/v1"), HasSubstr("not_found"));
  EXPECT_THAT(table_.failed_groups, ElementsAre("metrics.k8s.io/v1beta1"));
}

TEST_F(ResourceTableTest, FieldsOfAResource) {  // D3, D9, D11
  const auto pod = table_.find("v1", "Pod");
  ASSERT_TRUE(pod);
  EXPECT_TRUE(pod->namespaced);
  EXPECT_TRUE(pod->has_verb("watch"));
  EXPECT_FALSE(pod->has_verb("patch"));
  EXPECT_TRUE(pod->has_subresource("eviction"));
  EXPECT_FALSE(pod->has_subresource("scale"));
  EXPECT_EQ(pod->object_path("a", "b"), "/api/v1/namespaces/a/pods/b");
  EXPECT_EQ(pod->object_path("a", "b", "status"), "/api/v1/namespaces/a/pods/b/status");
  EXPECT_EQ(pod->collection_path(""), "/api/v1/pods");
  EXPECT_EQ(pod->display(), "Pod (v1)");
  const auto node = table_.find("v1", "Node");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->collection_path("ignored"), "/api/v1/nodes");
  EXPECT_FALSE(table_.find("v1", "nothings"));  // without a kind it cannot be read
}

TEST(DiscoveryDocuments, ContentTypeDecides) {  // D1
  EXPECT_TRUE(is_aggregated("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));
  EXPECT_TRUE(
      is_aggregated("application/json; as=APIGroupDiscoveryList; charset=utf-8 ;v=v2beta1;g=apidiscovery.k8s.io"));
  for (const auto* other :
       {"", "application/json", "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryListX",
        "application/json;as=APIGroupDiscoveryList;v=v2"})
    EXPECT_FALSE(is_aggregated(other)) << other;
}

TEST(DiscoveryDocuments, OddShapesAreLeftOutNotBelieved) {
  ResourceTable table;
  EXPECT_TRUE(read_aggregated(
      R"({"kind":"APIGroupDiscoveryList","items":[null,1,{},{"metadata":7,"versions":[null,{"version":"v1","resources":[null,5,{"resource":"a"}]}]}]})",
      table));
  EXPECT_TRUE(table.entries.empty());
  EXPECT_FALSE(read_aggregated(R"({"kind":"APIGroupList"})", table));
  EXPECT_FALSE(read_aggregated("", table));
  EXPECT_FALSE(read_group_versions("", R"({"kind":"APIVersions"})"));
  EXPECT_FALSE(read_resource_list(R"({"kind":"Status"})", {}, table));
  EXPECT_TRUE(read_resource_list(R"({"kind":"APIResourceList","resources":null})", {}, table));
}

TEST(DiscoveryDocuments, GroupVersionsInOrderPreferredFirst) {  // D7
  const auto versions = read_group_versions(
      R"({"kind":"APIVersions","versions":["v1","v2"]})",
      R"({"kind":"APIGroupList","groups":[{"name":"b","versions":[{"version":"v1alpha1"},{"version":"v1"}],
                                                "preferredVersion":{"version":"v1"}},{"name":"a","versions":[{"version":"v1"}]}]})");
  ASSERT_TRUE(versions);
  std::vector<std::string> names;
  for (const auto& version : *versions) names.push_back(version.path());
  EXPECT_THAT(names, ElementsAre("/api/v1", "/api/v2", "/apis/b/v1", "/apis/b/v1alpha1", "/apis/a/v1"));
}

}  // namespace
}  // namespace hookd::kube
