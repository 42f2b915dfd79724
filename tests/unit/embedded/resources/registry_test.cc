#include <gtest/gtest.h>

#include <set>

#include "unit/embedded/resources/harness.h"

namespace hookd::embedded {
namespace {

TEST(BuiltinTable, EveryKindHasSchemaStrategyAndStorage) {
  const Desk desk;
  std::set<std::string> seen;
  for (const ResourcePtr& resource : desk.registry.all()) {
    EXPECT_NE(resource->schema, nullptr) << resource->plural;
    EXPECT_NE(resource->strategy, nullptr) << resource->plural;
    EXPECT_FALSE(resource->storage_key.empty());
    EXPECT_TRUE(seen.insert(resource->api_version() + "/" + resource->plural).second) << resource->plural;
  }
  EXPECT_GE(seen.size(), 55u);
}

TEST(BuiltinTable, NamesAsKubectlApiResourcesShowsThem) {
  const Desk desk;
  const ResourcePtr deployments = desk.resource("apps/v1", "deployments");
  EXPECT_EQ(deployments->short_names, std::vector<std::string>{"deploy"});
  EXPECT_EQ(deployments->categories, std::vector<std::string>{"all"});
  EXPECT_EQ(deployments->singular, "deployment");
  EXPECT_EQ(deployments->list_kind, "DeploymentList");
  EXPECT_TRUE(deployments->scale && deployments->status && deployments->namespaced);
  EXPECT_FALSE(desk.resource("v1", "nodes")->namespaced);
  const ResourcePtr namespaces = desk.resource("v1", "namespaces");
  EXPECT_EQ(std::ranges::count(namespaces->verbs, "deletecollection"), 0);
  EXPECT_EQ(desk.resource("authorization.k8s.io/v1", "subjectaccessreviews")->verbs,
            std::vector<std::string>{"create"});
}

TEST(BuiltinTable, EventsOfBothGroupsAreStoredAsOne) {
  const Desk desk;
  EXPECT_EQ(desk.resource("events.k8s.io/v1", "events")->storage_key, desk.resource("v1", "events")->storage_key);
  EXPECT_EQ(desk.resource("autoscaling/v1", "horizontalpodautoscalers")->storage_version, "autoscaling/v2");
}

TEST(Registry, FindsByPluralKindAndStorageAndForgets) {
  Desk desk;
  EXPECT_EQ(desk.registry.find_kind("apps", "v1", "Deployment")->plural, "deployments");
  EXPECT_EQ(desk.registry.stored("pods")->kind, "Pod");
  EXPECT_EQ(desk.registry.find("apps", "v2", "deployments"), nullptr);
  const uint64_t before = desk.registry.changes();
  desk.registry.remove_group_resource("apps", "deployments");
  EXPECT_EQ(desk.registry.find("apps", "v1", "deployments"), nullptr);
  EXPECT_GT(desk.registry.changes(), before);
}

TEST(Metadata, RulesThatHoldForEveryKind) {
  struct Case {
    const char* meta;
    const char* part;  // of the message; "" = fine
  };
  const Case cases[] = {
      {R"({"name":"a"})", ""},
      {R"({})", "metadata.name: Required value: name or generateName is required"},
      {R"({"name":"a","labels":{"-x":"1"}})", "metadata.labels: Invalid value: \"-x\": name part must consist of"},
      {R"({"name":"a","annotations":{"x y":"1"}})", "metadata.annotations: Invalid value: \"x y\""},
      {R"({"name":"a","finalizers":["x"]})", "name is neither a standard finalizer name nor is it fully qualified"},
      {R"({"name":"a","finalizers":["x.y/z"]})", ""},
      {R"({"name":"a","finalizers":["orphan","foregroundDeletion"]})", "cannot be both set"},
      {R"({"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"","name":"b","uid":"1"}]})",
       "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty"},
      {R"({"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"b","uid":"1","controller":true},
          {"apiVersion":"v1","kind":"B","name":"c","uid":"2","controller":true}]})",
       "Only one reference can have Controller set to true. Found \"true\" in references for A/b and B/c"},
  };
  Desk desk;
  for (const Case& entry : cases) {
    const std::string fault = desk.fault("v1", "configmaps", fmt::format(R"({{"metadata":{}}})", entry.meta));
    if (!*entry.part) {
      EXPECT_EQ(fault, "") << entry.meta;
    } else {
      EXPECT_NE(fault.find(entry.part), std::string::npos) << entry.meta << "\n" << fault;
    }
  }
}

TEST(Metadata, UpdatesKeepIdentityAndAddNoFinalizersWhileItEnds) {
  Desk desk;
  json::object live = desk.create("v1", "configmaps", R"({"metadata":{"name":"a"}})");
  desk.update("v1", "configmaps", live, R"({"metadata":{"uid":"other"}})");
  EXPECT_NE(desk.message.find("metadata.uid: Invalid value: \"other\": field is immutable"), std::string::npos);
  live["metadata"].as_object()["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  desk.update("v1", "configmaps", live, R"({"metadata":{"finalizers":["a.b/c"]}})");
  EXPECT_NE(desk.message.find("no new finalizers can be added if the object is being deleted, found new finalizers "
                              "[]string{\"a.b/c\"}"),
            std::string::npos);
}

TEST(Metadata, GeneratedNamesAreFiveCharactersOfTheAlphabetWithoutVowels) {
  SeededRandom random;
  const std::string name = generated_name("web-", random);
  EXPECT_EQ(name.size(), 9u);
  EXPECT_EQ(name.find_first_of("aeiou013", 4), std::string::npos);
  EXPECT_EQ(generated_name(std::string(80, 'a'), random).size(), 63u);
}

}  // namespace
}  // namespace hookd::embedded
