#include "embedded/control/garbage.h"

#include <gmock/gmock.h>

#include "unit/embedded/control/world.h"

namespace hookd::embedded::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// An owner reference as "v1 ConfigMap name uid", with " blocks" for blockOwnerDeletion.
std::string owner(std::string_view api_version, std::string_view kind, std::string_view name, std::string_view uid,
                  bool blocks = false) {
  return fmt::format(R"({{"apiVersion": "{}", "kind": "{}", "name": "{}", "uid": "{}", "blockOwnerDeletion": {}}})",
                     api_version, kind, name, uid, blocks);
}

struct GarbageTest : testing::Test {
  World world;
  Garbage garbage{world.context()};

  void object(std::string_view key, std::string_view name, std::string_view owners = "", std::string_view ns = "a") {
    world.put(key, fmt::format(R"({{"metadata": {{"name": "{}"{}, "ownerReferences": [{}]}}}})", name,
                               ns.empty() ? "" : fmt::format(R"(, "namespace": "{}")", ns), owners));
  }
  void run() {
    world.scheduler.run_posted();
    EXPECT_TRUE(garbage.settled());
  }
  std::vector<std::string> owners_of(std::string_view key, std::string_view name) {
    std::vector<std::string> out;
    const json::object found = world.get(key, "a", name);
    for (const json::value& entry : array_at(found, {"metadata", "ownerReferences"}))
      out.emplace_back(string_at(as_object(entry), {"uid"}));
    return out;
  }
};

TEST_F(GarbageTest, DependentsFollowTheirOwner) {
  object("deployments.apps", "d");
  object("replicasets.apps", "rs", owner("apps/v1", "Deployment", "d", "uid-d"));
  object("pods", "p", owner("apps/v1", "ReplicaSet", "rs", "uid-rs"));
  object("pods", "other");
  run();
  EXPECT_THAT(world.writes, IsEmpty());
  world.take("deployments.apps", "a", "d");
  EXPECT_FALSE(garbage.settled());
  EXPECT_THAT(world.writes, IsEmpty());  // never inside the write
  run();
  EXPECT_THAT(world.writes, ElementsAre("delete replicasets.apps a/rs Background", "delete pods a/p Background"));
  EXPECT_TRUE(world.exists("pods", "a", "other"));
}

TEST_F(GarbageTest, AnOwnerThatNeverWasIsAbsent) {
  object("pods", "p", owner("v1", "ConfigMap", "gone", "uid-gone"));
  run();
  EXPECT_FALSE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, ANamesakeIsNotTheOwner) {
  object("configmaps", "c");
  object("pods", "p", owner("v1", "ConfigMap", "c", "another-uid"));
  run();
  EXPECT_FALSE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, AnOwnerInAnotherNamespaceIsAbsent) {
  object("configmaps", "c", "", "b");
  object("pods", "p", owner("v1", "ConfigMap", "c", "uid-c"));
  run();
  EXPECT_FALSE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, ClusterScopedOwnersAreSeenFromEveryNamespace) {
  object("nodes", "n", "", "");
  object("pods", "p", owner("v1", "Node", "n", "uid-n"));
  run();
  EXPECT_TRUE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, AClusterScopedObjectNeverFollowsANamespacedOwner) {
  object("nodes", "n", owner("v1", "ConfigMap", "gone", "uid-gone"), "");
  run();
  EXPECT_TRUE(world.exists("nodes", "", "n"));
}

TEST_F(GarbageTest, AnUnknownKindProvesNothingUntilItIsKnown) {
  object("pods", "p", owner("example.com/v1", "Foo", "f", "uid-f"));
  run();
  EXPECT_TRUE(world.exists("pods", "a", "p"));
  Resource foo;
  foo.group = "example.com";
  foo.version = "v1";
  foo.kind = "Foo";
  foo.plural = "foos";
  foo.storage_key = "foos.example.com";
  world.registry.add(foo);
  object("pods", "another");  // the next event, as that of the CRD itself
  run();
  EXPECT_FALSE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, OneLivingOwnerIsEnoughAndTheDeadOnesAreForgotten) {
  object("configmaps", "one");
  object("configmaps", "two");
  object("pods", "p", owner("v1", "ConfigMap", "one", "uid-one") + "," + owner("v1", "ConfigMap", "two", "uid-two"));
  world.take("configmaps", "a", "one");
  run();
  EXPECT_THAT(owners_of("pods", "p"), ElementsAre("uid-two"));
  world.take("configmaps", "a", "two");
  run();
  EXPECT_FALSE(world.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, EventsFollowNobody) {
  object("events", "e", owner("v1", "ConfigMap", "gone", "uid-gone"));
  run();
  EXPECT_TRUE(world.exists("events", "a", "e"));
}

TEST_F(GarbageTest, ForegroundWaitsForThoseThatBlock) {
  object("deployments.apps", "d");
  world.put("pods", fmt::format(R"({{"metadata": {{"name": "slow", "namespace": "a", "ownerReferences": [{}]}},
                                    "spec": {{"nodeName": "n"}}}})",
                                owner("apps/v1", "Deployment", "d", "uid-d", true)));
  object("pods", "free", owner("apps/v1", "Deployment", "d", "uid-d"));
  world.mark_ending("deployments.apps", "a", "d", "foregroundDeletion");
  run();
  EXPECT_FALSE(world.exists("pods", "a", "free"));
  EXPECT_TRUE(world.exists("deployments.apps", "a", "d"));
  world.take("pods", "a", "slow");  // the kubelet is done
  run();
  EXPECT_FALSE(world.exists("deployments.apps", "a", "d"));
}

TEST_F(GarbageTest, ForegroundGoesDownTheTree) {
  object("deployments.apps", "d");
  object("replicasets.apps", "rs", owner("apps/v1", "Deployment", "d", "uid-d", true));
  object("pods", "p", owner("apps/v1", "ReplicaSet", "rs", "uid-rs", true));
  world.mark_ending("deployments.apps", "a", "d", "foregroundDeletion");
  run();
  EXPECT_THAT(world.writes, ElementsAre("delete replicasets.apps a/rs Foreground", "delete pods a/p Background",
                                        "update replicasets.apps a/rs by kube-controller-manager",
                                        "update deployments.apps a/d by kube-controller-manager"));
  EXPECT_EQ(world.store.count("deployments.apps") + world.store.count("replicasets.apps") + world.store.count("pods"),
            0u);
}

TEST_F(GarbageTest, ForegroundKeepsWhatHasAnotherOwner) {
  object("deployments.apps", "d");
  object("configmaps", "c");
  object("pods", "p",
         owner("apps/v1", "Deployment", "d", "uid-d", true) + "," + owner("v1", "ConfigMap", "c", "uid-c"));
  world.mark_ending("deployments.apps", "a", "d", "foregroundDeletion");
  run();
  EXPECT_THAT(owners_of("pods", "p"), ElementsAre("uid-c"));
  EXPECT_FALSE(world.exists("deployments.apps", "a", "d"));
}

TEST_F(GarbageTest, CirclesEndToo) {
  object("configmaps", "x", owner("v1", "ConfigMap", "y", "uid-y", true));
  world.put("configmaps", fmt::format(R"({{"metadata": {{"name": "y", "namespace": "a", "ownerReferences": [{}]}}}})",
                                      owner("v1", "ConfigMap", "x", "uid-x", true)));
  world.mark_ending("configmaps", "a", "x", "foregroundDeletion");
  run();
  EXPECT_EQ(world.store.count("configmaps"), 0u);
  EXPECT_THAT(world.writes,
              ElementsAre("update configmaps a/y by kube-controller-manager",
                          "update configmaps a/x by kube-controller-manager", "delete configmaps a/y Background"));
}

TEST_F(GarbageTest, OrphansKeepLiving) {
  object("deployments.apps", "d");
  object("replicasets.apps", "rs", owner("apps/v1", "Deployment", "d", "uid-d", true));
  world.mark_ending("deployments.apps", "a", "d", "orphan");
  run();
  EXPECT_THAT(owners_of("replicasets.apps", "rs"), IsEmpty());
  EXPECT_FALSE(world.exists("deployments.apps", "a", "d"));
  EXPECT_TRUE(world.exists("replicasets.apps", "a", "rs"));
}

TEST_F(GarbageTest, LeavesAloneWhatEndsAlready) {
  object("configmaps", "c");
  world.put("pods", fmt::format(R"({{"metadata": {{"name": "p", "namespace": "a", "ownerReferences": [{}],
                                     "deletionTimestamp": "2026-01-01T00:00:00Z"}}, "spec": {{"nodeName": "n"}}}})",
                                owner("v1", "ConfigMap", "c", "uid-c")));
  world.take("configmaps", "a", "c");
  run();
  EXPECT_THAT(world.writes, IsEmpty());
}

TEST_F(GarbageTest, FindsWhatWasThereBefore) {
  World other;
  other.put("pods", fmt::format(R"({{"metadata": {{"name": "p", "namespace": "a", "ownerReferences": [{}]}}}})",
                                owner("v1", "ConfigMap", "gone", "uid-gone")));
  Garbage later(other.context());
  other.scheduler.run_posted();
  EXPECT_FALSE(other.exists("pods", "a", "p"));
}

TEST_F(GarbageTest, TakesManyInSlices) {
  object("configmaps", "c");
  for (int i = 0; i < 500; ++i) object("pods", fmt::format("p{}", i), owner("v1", "ConfigMap", "c", "uid-c"));
  run();
  world.take("configmaps", "a", "c");
  run();
  EXPECT_EQ(world.store.count("pods"), 0u);
}

}  // namespace
}  // namespace hookd::embedded::control
