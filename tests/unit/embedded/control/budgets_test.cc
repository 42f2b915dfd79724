#include "embedded/control/budgets.h"

#include <gmock/gmock.h>

#include "embedded/control/loops.h"
#include "unit/embedded/control/world.h"

namespace hookd::embedded::control {
namespace {

constexpr std::string_view kBudgets = "poddisruptionbudgets.policy";

struct BudgetsTest : testing::Test {
  World world;
  Budgets budgets{world.context()};

  void budget(std::string_view spec) {
    world.put(kBudgets,
              fmt::format(R"({{"metadata": {{"name": "b", "namespace": "a", "generation": 1}}, "spec": {}}})", spec));
  }
  void pod(std::string_view name, bool ready = true, std::string_view owner = "",
           std::string_view labels = R"({"app": "x"})") {
    world.put("pods",
              fmt::format(R"({{"metadata": {{"name": "{}", "namespace": "a", "labels": {}, "ownerReferences": [{}]}},
                                      "status": {{"conditions": [{{"type": "Ready", "status": "{}"}}]}}}})",
                          name, labels, owner, ready ? "True" : "False"));
  }
  static std::string owner(std::string_view kind, std::string_view name, std::string_view api_version = "apps/v1") {
    return fmt::format(R"({{"apiVersion": "{0}", "kind": "{1}", "name": "{2}", "uid": "uid-{2}", "controller": true}})",
                       api_version, kind, name);
  }
  // "expected healthy desired allowed", and the condition's status and reason.
  std::string run() {
    world.scheduler.run_posted();
    EXPECT_TRUE(budgets.settled());
    const json::object found = world.get(kBudgets, "a", "b");
    const json::object& status = object_at(found, {"status"});
    auto number = [&](std::string_view key) { return integer_at(status, {key}).value_or(-1); };
    const json::array& conditions = array_at(status, {"conditions"});
    const json::object& condition = conditions.empty() ? as_object({}) : as_object(conditions[0]);
    return fmt::format("{} {} {} {} {} {}", number("expectedPods"), number("currentHealthy"), number("desiredHealthy"),
                       number("disruptionsAllowed"), string_at(condition, {"status"}),
                       string_at(condition, {"reason"}));
  }
};

constexpr std::string_view kMinTwo = R"({"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}})";

TEST_F(BudgetsTest, CountsReadyPods) {
  budget(kMinTwo);
  EXPECT_EQ(run(), "0 0 2 0 False InsufficientPods");
  pod("p1");
  pod("p2");
  pod("p3");
  pod("p4", false);
  pod("other", true, "", R"({"app": "y"})");
  EXPECT_EQ(run(), "4 3 2 1 True SufficientPods");
  world.take("pods", "a", "p1");
  EXPECT_EQ(run(), "3 2 2 0 False InsufficientPods");
}

TEST_F(BudgetsTest, WritesOnlyWhatChanged) {
  budget(kMinTwo);
  pod("p1");
  run();
  world.writes.clear();
  pod("other", true, "", R"({"app": "y"})");
  run();
  EXPECT_TRUE(world.writes.empty());
}

TEST_F(BudgetsTest, TakesTheScaleOfTheDeploymentAboveAReplicaSet) {
  world.put("deployments.apps", R"({"metadata": {"name": "d", "namespace": "a"}, "spec": {"replicas": 7}})");
  world.put("replicasets.apps",
            fmt::format(R"({{"metadata": {{"name": "rs", "namespace": "a", "ownerReferences": [{}]}},
                                                "spec": {{"replicas": 2}}}})",
                        owner("Deployment", "d")));
  for (const char* name : {"p1", "p2", "p3", "p4", "p5", "p6"}) pod(name, true, owner("ReplicaSet", "rs"));
  budget(R"({"maxUnavailable": "30%", "selector": {"matchLabels": {"app": "x"}}})");
  EXPECT_EQ(run(), "7 6 4 2 True SufficientPods");  // 30% of 7, rounded up, is 3
}

TEST_F(BudgetsTest, TakesAPercentageOfWhatIsWanted) {
  world.put("replicasets.apps", R"({"metadata": {"name": "rs", "namespace": "a"}, "spec": {"replicas": 5}})");
  for (const char* name : {"p1", "p2", "p3", "p4"}) pod(name, true, owner("ReplicaSet", "rs"));
  budget(R"({"minAvailable": "50%", "selector": {}})");
  EXPECT_EQ(run(), "5 4 3 1 True SufficientPods");
}

TEST_F(BudgetsTest, AllowsNothingWhereItCannotKnow) {
  pod("p1", true, owner("Job", "j", "batch/v1"));
  budget(R"({"maxUnavailable": 1, "selector": {}})");
  EXPECT_EQ(run(), "-1 -1 -1 0 False SyncFailed");
  EXPECT_EQ(string_at(as_object(array_at(world.get(kBudgets, "a", "b"), {"status", "conditions"})[0]), {"message"}),
            "jobs.batch does not implement the scale subresource");
}

TEST_F(BudgetsTest, PodsWithoutAnOwnerCountForNumbersOnly) {
  pod("p1");
  budget(R"({"maxUnavailable": 1, "selector": {}})");
  EXPECT_EQ(run(), "0 1 0 0 False InsufficientPods");
}

TEST_F(BudgetsTest, ASelectorThatIsMissingSelectsNothing) {
  pod("p1");
  budget(R"({"minAvailable": 0})");
  EXPECT_EQ(run(), "0 0 0 0 False InsufficientPods");
}

TEST_F(BudgetsTest, EvictedPodsAreGoneForTwoMinutes) {
  pod("p1");
  pod("p2");
  pod("p3");
  budget(kMinTwo);
  EXPECT_EQ(run(), "3 3 2 1 True SufficientPods");
  json::object evicted = world.get(kBudgets, "a", "b");
  evicted["status"].as_object()["disruptedPods"] =
      json::object{{"p1", now_text(world.scheduler)}, {"gone", now_text(world.scheduler)}};
  world.put(kBudgets, evicted);
  EXPECT_EQ(run(), "3 2 2 0 False InsufficientPods");
  EXPECT_EQ(object_at(world.get(kBudgets, "a", "b"), {"status", "disruptedPods"}).size(), 1u);
  world.scheduler.advance(std::chrono::minutes(3));
  EXPECT_EQ(run(), "3 3 2 1 True SufficientPods");
}

TEST(Loops, SettleAndStopWhenTheyGo) {
  World world;
  {
    Loops loops(world.scheduler, world.store, world.registry, world, {});
    EXPECT_TRUE(loops.settled());
    world.put("namespaces", R"({"metadata": {"name": "a"}})");
    EXPECT_FALSE(loops.settled());
    world.scheduler.run_posted();
    EXPECT_TRUE(loops.settled());
    EXPECT_TRUE(world.exists("serviceaccounts", "a", "default"));
    world.put("namespaces", R"({"metadata": {"name": "b"}})");
  }
  world.scheduler.run_posted();  // nobody is left to do it
  EXPECT_FALSE(world.exists("serviceaccounts", "b", "default"));
}

TEST(Loops, CanBeTurnedOff) {
  World world;
  Loops loops(world.scheduler, world.store, world.registry, world,
              {.garbage_collection = false,
               .namespaces = false,
               .service_accounts = false,
               .root_ca = false,
               .disruption_budgets = false,
               .ca_certificate = {},
               .kind_changed = {}});
  world.put("namespaces", R"({"metadata": {"name": "a"}})");
  world.put("pods", R"({"metadata": {"name": "p", "namespace": "a", "ownerReferences": [
    {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}]}})");
  world.scheduler.run_posted();
  EXPECT_TRUE(world.writes.empty());
}

}  // namespace
}  // namespace hookd::embedded::control
