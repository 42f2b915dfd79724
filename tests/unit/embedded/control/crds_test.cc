#include "embedded/control/crds.h"

#include <gmock/gmock.h>

#include "unit/embedded/control/world.h"

namespace hookd::embedded::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct CrdsTest : testing::Test {
  World world;
  std::vector<std::string> changed;
  Crds crds{world.context(), [this](std::string_view key) { changed.emplace_back(key); }};

  void crd(std::string_view plural, std::string_view kind, std::string_view more = "",
           std::string_view schema = R"({"type": "object"})") {
    json::object object = object_of(fmt::format(
        R"({{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
             "metadata": {{"name": "{0}.example.com"}},
             "spec": {{"group": "example.com", "scope": "Namespaced",
               "names": {{"plural": "{0}", "singular": "{2}", "kind": "{1}", "listKind": "{1}List"{3}}},
               "versions": [{{"name": "v1", "served": true, "storage": true, "schema": {{"openAPIV3Schema": {4}}}}}]}},
             "status": {{"storedVersions": ["v1"]}}}})",
        plural, kind, std::string(plural).substr(0, plural.size() - 1), more, schema));
    if (const json::object live = world.get(kCrdStorageKey, "", std::string(plural) + ".example.com"); !live.empty())
      object["status"] = live.at("status");
    world.put(kCrdStorageKey, std::move(object));
  }
  std::string condition(std::string_view name, std::string_view type) {
    const json::object object = world.get(kCrdStorageKey, "", std::string(name) + ".example.com");
    for (const json::value& entry : array_at(object, {"status", "conditions"}))
      if (string_at(as_object(entry), {"type"}) == type)
        return fmt::format("{} {} {}", string_at(as_object(entry), {"status"}), string_at(as_object(entry), {"reason"}),
                           string_at(as_object(entry), {"message"}));
    return "";
  }
  void instance(std::string_view name, std::string_view finalizers = "[]") {
    world.put(
        "foos.example.com",
        fmt::format(R"({{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {{"name": "{}", "namespace": "a",
                              "finalizers": {}}}}})",
                    name, finalizers));
  }
};

TEST_F(CrdsTest, AcceptsNamesThenEstablishesThenServes) {
  crd("foos", "Foo", R"(, "shortNames": ["fo"])");
  EXPECT_FALSE(crds.settled());
  EXPECT_EQ(world.registry.find("example.com", "v1", "foos"), nullptr);
  crds.run_all();
  EXPECT_TRUE(crds.settled());
  EXPECT_THAT(
      world.writes,
      ElementsAre("update customresourcedefinitions.apiextensions.k8s.io /foos.example.com status by kube-apiserver",
                  "update customresourcedefinitions.apiextensions.k8s.io /foos.example.com status by kube-apiserver"));
  EXPECT_EQ(condition("foos", "NamesAccepted"), "True NoConflicts no conflicts found");
  EXPECT_EQ(condition("foos", "Established"), "True InitialNamesAccepted the initial names have been accepted");
  EXPECT_EQ(
      world.get(kCrdStorageKey, "", "foos.example.com").at("status").at("acceptedNames"),
      json::parse(
          R"({"plural": "foos", "singular": "foo", "shortNames": ["fo"], "kind": "Foo", "listKind": "FooList"})"));
  const ResourcePtr served = world.registry.find("example.com", "v1", "foos");
  ASSERT_NE(served, nullptr);
  EXPECT_EQ(served->short_names, std::vector<std::string>{"fo"});
  EXPECT_THAT(changed, IsEmpty());
}

TEST_F(CrdsTest, WorksOnItsOwnAsAPostedTask) {
  crd("foos", "Foo");
  world.scheduler.run_posted();
  EXPECT_NE(world.registry.find_kind("example.com", "v1", "Foo"), nullptr);
}

TEST_F(CrdsTest, KnowsWhatWasThereBefore) {
  crd("foos", "Foo");
  Crds later(world.context(), {});
  later.run_all();
  EXPECT_NE(world.registry.find("example.com", "v1", "foos"), nullptr);
}

TEST_F(CrdsTest, RefusesNamesThatAreTakenUntilTheyAreFree) {
  crd("foos", "Foo", R"(, "shortNames": ["fo"])");
  crds.run_all();
  crd("bars", "Foo", R"(, "shortNames": ["fo", "ba"])");
  crds.run_all();
  EXPECT_EQ(condition("bars", "NamesAccepted"), "False ListKindConflict \"FooList\" is already in use");
  EXPECT_EQ(condition("bars", "Established"), "False NotAccepted not all names are accepted");
  EXPECT_EQ(world.registry.find("example.com", "v1", "bars"), nullptr);
  EXPECT_EQ(world.get(kCrdStorageKey, "", "bars.example.com").at("status").at("acceptedNames"),
            json::parse(R"({"plural": "bars", "singular": "bar"})"));

  world.take(kCrdStorageKey, "", "foos.example.com");
  crds.run_all();
  EXPECT_EQ(condition("bars", "NamesAccepted"), "True NoConflicts no conflicts found");
  EXPECT_NE(world.registry.find("example.com", "v1", "bars"), nullptr);
  EXPECT_EQ(world.registry.find("example.com", "v1", "foos"), nullptr);
  EXPECT_THAT(changed, ElementsAre("foos.example.com"));
}

TEST_F(CrdsTest, ServesAChangedSchemaAndCoercesWhatWasStoredBefore) {
  crd("foos", "Foo");
  crds.run_all();
  EXPECT_FALSE(world.registry.find("example.com", "v1", "foos")->coerce_on_read);
  instance("one");
  crd("foos", "Foo", "", R"({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}})");
  crds.run_all();
  const ResourcePtr served = world.registry.find("example.com", "v1", "foos");
  EXPECT_NE(served->schema->field("a"), nullptr);
  EXPECT_TRUE(served->coerce_on_read);
  EXPECT_THAT(changed, ElementsAre("foos.example.com"));
}

TEST_F(CrdsTest, EndsWithItsObjects) {
  crd("foos", "Foo");
  crds.run_all();
  instance("free");
  instance("held", R"(["x.io/y"])");
  json::object object = world.get(kCrdStorageKey, "", "foos.example.com");
  ASSERT_TRUE(mark_crd_ending(object, "2026-01-01T00:00:00Z"));
  world.put(kCrdStorageKey, object);
  crds.run_all();
  EXPECT_EQ(condition("foos", "Terminating"), "True InstanceDeletionInProgress CustomResource deletion is in progress");
  EXPECT_FALSE(world.exists("foos.example.com", "a", "free"));
  EXPECT_TRUE(world.registry.find("example.com", "v1", "foos")->terminating);

  world.take("foos.example.com", "a", "held");
  crds.run_all();
  EXPECT_FALSE(world.exists(kCrdStorageKey, "", "foos.example.com"));
  EXPECT_EQ(world.registry.find("example.com", "v1", "foos"), nullptr);
  EXPECT_TRUE(crds.settled());
}

TEST_F(CrdsTest, ANewNamesakeIsServedAnew) {
  crd("foos", "Foo");
  crds.run_all();
  json::object object = world.get(kCrdStorageKey, "", "foos.example.com");
  mark_crd_ending(object, "2026-01-01T00:00:00Z");
  world.put(kCrdStorageKey, object);
  crds.run_all();
  crd("foos", "Foo");
  crds.run_all();
  ASSERT_NE(world.registry.find("example.com", "v1", "foos"), nullptr);
  EXPECT_FALSE(world.registry.find("example.com", "v1", "foos")->terminating);
}

}  // namespace
}  // namespace hookd::embedded::control
