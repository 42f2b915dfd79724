#include "embedded/control/namespaces.h"

#include <gmock/gmock.h>

#include "embedded/control/namespace_contents.h"
#include "unit/embedded/control/world.h"

namespace hookd::embedded::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void add_namespace(World& world, std::string_view name) {
  world.put("namespaces", fmt::format(R"({{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{}"}},
                                         "spec": {{"finalizers": ["kubernetes"]}}, "status": {{"phase": "Active"}}}})",
                                      name));
}

struct NamespacesTest : testing::Test {
  World world;
  Namespaces namespaces{world.context()};

  void add(std::string_view key, std::string_view name, std::string_view finalizers = "[]",
           std::string_view more = "{}") {
    world.put(key, fmt::format(R"({{"metadata": {{"name": "{}", "namespace": "a", "finalizers": {}}}, "spec": {}}})",
                               name, finalizers, more));
  }
  void end() {
    add_namespace(world, "a");
    world.mark_ending("namespaces", "", "a");
    run();
  }
  void run() {
    world.scheduler.run_posted();
    EXPECT_TRUE(namespaces.settled());
  }
  std::string condition(std::string_view type) {
    const json::object found = world.get("namespaces", "", "a");
    for (const json::value& entry : array_at(found, {"status", "conditions"}))
      if (string_at(as_object(entry), {"type"}) == type)
        return fmt::format("{} {} {}", string_at(as_object(entry), {"status"}), string_at(as_object(entry), {"reason"}),
                           string_at(as_object(entry), {"message"}));
    return "";
  }
};

TEST_F(NamespacesTest, AnEmptyOneGoesAtOnce) {
  end();
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
}

TEST_F(NamespacesTest, TakesItsContentWithIt) {
  add("configmaps", "c");
  add("deployments.apps", "d");
  world.put("configmaps", R"({"metadata": {"name": "c", "namespace": "b"}})");
  end();
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
  EXPECT_FALSE(world.exists("configmaps", "a", "c"));
  EXPECT_FALSE(world.exists("deployments.apps", "a", "d"));
  EXPECT_TRUE(world.exists("configmaps", "b", "c"));
}

TEST_F(NamespacesTest, PodsGoFirstAndInTheirOwnTime) {
  add("pods", "p", "[]", R"({"nodeName": "n"})");
  add("configmaps", "c");
  end();
  EXPECT_TRUE(world.exists("pods", "a", "p"));
  EXPECT_TRUE(world.exists("configmaps", "a", "c"));
  EXPECT_EQ(string_at(world.get("namespaces", "", "a"), {"status", "phase"}), "Terminating");
  world.take("pods", "a", "p");
  run();
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
}

TEST_F(NamespacesTest, FinalizersHoldItAndAreTold) {
  add("configmaps", "c", R"(["x.io/y"])");
  add("configmaps", "d", R"(["x.io/y"])");
  add("deployments.apps", "e", R"(["z.io/w"])");
  end();
  EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure"),
            "False ResourcesDiscovered All resources successfully discovered");
  EXPECT_EQ(condition("NamespaceDeletionContentFailure"),
            "False ContentDeleted All content successfully deleted, may be waiting on finalization");
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain Some resources are remaining: configmaps. has 2 resource instances, "
            "deployments.apps has 1 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining"),
            "True SomeFinalizersRemain Some content in the namespace has finalizers remaining: x.io/y in 2 resource "
            "instances, z.io/w in 1 resource instances");
  for (auto [key, name] : {std::pair{"configmaps", "c"}, {"configmaps", "d"}, {"deployments.apps", "e"}})
    world.take(key, "a", name);
  run();
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
}

TEST_F(NamespacesTest, WhatAppearsLateGoesToo) {
  add("configmaps", "c", R"(["x.io/y"])");
  end();
  add("configmaps", "late");
  run();
  EXPECT_FALSE(world.exists("configmaps", "a", "late"));
  EXPECT_TRUE(world.exists("namespaces", "", "a"));
}

TEST_F(NamespacesTest, TriesAgainWhatFailed) {
  add("configmaps", "c");
  world.fail_deletes = true;
  end();
  EXPECT_EQ(condition("NamespaceDeletionContentFailure").substr(0, 27), "True ContentDeletionFailed ");
  world.fail_deletes = false;
  world.scheduler.advance(std::chrono::seconds(30));
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
}

TEST_F(NamespacesTest, KeepsOtherFinalizersOfTheSpec) {
  world.put("namespaces", R"({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"},
                              "spec": {"finalizers": ["kubernetes", "other"]}, "status": {"phase": "Terminating"}})");
  run();
  EXPECT_EQ(array_at(world.get("namespaces", "", "a"), {"spec", "finalizers"}), json::array{"other"});
}

TEST_F(NamespacesTest, TakesManyInSlices) {
  for (int i = 0; i < 350; ++i) add("configmaps", fmt::format("c{}", i));
  end();
  EXPECT_EQ(world.store.count("configmaps"), 0u);
  EXPECT_FALSE(world.exists("namespaces", "", "a"));
}

struct ContentsTest : testing::Test {
  World world;
  NamespaceContents contents{world.context(), {.service_account = true, .root_ca = true, .ca_certificate = "PEM"}};
};

TEST_F(ContentsTest, EveryNamespaceGetsAnAccountAndTheRootCa) {
  add_namespace(world, "a");
  world.scheduler.run_posted();
  EXPECT_TRUE(contents.settled());
  EXPECT_THAT(world.writes, ElementsAre("create serviceaccounts a/default by kube-controller-manager",
                                        "create configmaps a/kube-root-ca.crt by kube-controller-manager"));
  EXPECT_EQ(string_at(world.get("configmaps", "a", "kube-root-ca.crt"), {"data", "ca.crt"}), "PEM");
}

TEST_F(ContentsTest, TheyComeBackAndAreMended) {
  add_namespace(world, "a");
  world.scheduler.run_posted();
  world.take("serviceaccounts", "a", "default");
  json::object map = world.get("configmaps", "a", "kube-root-ca.crt");
  map["data"] = json::object{{"ca.crt", "forged"}};
  world.put("configmaps", map);
  world.scheduler.run_posted();
  EXPECT_TRUE(world.exists("serviceaccounts", "a", "default"));
  EXPECT_EQ(string_at(world.get("configmaps", "a", "kube-root-ca.crt"), {"data", "ca.crt"}), "PEM");
}

TEST_F(ContentsTest, NotInANamespaceThatEnds) {
  add_namespace(world, "a");
  world.scheduler.run_posted();
  world.mark_ending("namespaces", "", "a");
  world.writes.clear();
  world.take("serviceaccounts", "a", "default");
  world.scheduler.run_posted();
  EXPECT_THAT(world.writes, IsEmpty());
}

}  // namespace
}  // namespace hookd::embedded::control
