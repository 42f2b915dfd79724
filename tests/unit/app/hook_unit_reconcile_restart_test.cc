// What a unit that reconciles finds again after a restart, in its store.
#include "unit/app/hook_unit_reconcile_fixture.h"

namespace hookd::app {
namespace {

using testing::SizeIs;

// What two objects are called for after a restart in which one of them changed.
struct RestartCase {
  hook::Reconcile::AtStart at_start;
  std::vector<std::string> called;
};
class HookUnitRestartTest : public HookUnitReconcileTest, public testing::WithParamInterface<RestartCase> {};

TEST_P(HookUnitRestartTest, WhatWasAtRestComesLaterOrNotAtAll) {
  keep();
  hook->concurrency = 1;
  hook->reconcile->at_start = GetParam().at_start;
  answer = [](const auto& call) {
    return R"({"children":[)" + map_json(std::string(call.at("key").at("name").as_string())) + "]}";
  };
  start();
  widget("one");
  widget("two");
  go(10s);
  stop();
  widget("two", R"({"x":1})", 2);
  calls.clear();
  start();
  go(10s);
  std::vector<std::string> called;
  for (const auto& call : calls) called.emplace_back(call.at("key").at("name").as_string());
  EXPECT_EQ(called, GetParam().called);
}
INSTANTIATE_TEST_SUITE_P(AtStart, HookUnitRestartTest,
                         testing::Values(RestartCase{hook::Reconcile::AtStart::kChanged, {"two"}},
                                         RestartCase{hook::Reconcile::AtStart::kAll, {"two", "one"}}));

// What was written before is not known after a start, so that children are written once more, as they are.
TEST_F(HookUnitReconcileTest, WritesThatChangeNothingLeaveAnObjectAtRest) {
  hook->reconcile->at_start = hook::Reconcile::AtStart::kChanged;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  widget("w");
  go(10s);
  keep();
  for (const size_t called : {1u, 0u}) {  // at rest is what was found so with this store
    stop();
    calls.clear();
    start();
    go(10s);
    EXPECT_THAT(calls, SizeIs(called));
  }
}

// Each child used to cost an apply after a start, however little had changed.
TEST_F(HookUnitReconcileTest, AfterARestartChildrenThatNobodyChangedCostNoCall) {
  keep();
  std::string colour = "red";
  answer = [&](const auto& call) {
    std::string all;
    for (int i = 0; i < 4; ++i)
      all += (i == 0 ? "" : ",") +
             map_json(fmt::format("{}-{}", std::string_view(call.at("key").at("name").as_string()), i), colour);
    return R"({"children":[)" + all + "]}";
  };
  start();
  for (int i = 0; i < 10; ++i) widget(fmt::format("w{}", i));
  go(10s);
  EXPECT_THAT(writes("configmaps"), SizeIs(40));
  const auto start_again = [this] {
    const size_t before = writes("configmaps").size();
    calls.clear();
    start();
    go(10s);
    return writes("configmaps").size() - before;
  };
  stop();
  EXPECT_EQ(start_again(), 0u);
  EXPECT_THAT(calls, SizeIs(10));
  stop();
  cluster.put(kMaps, apply::with_members(cluster.object(kMaps, "a", "w3-1"), {{"data", R"({"v":"blue"})"}}));
  EXPECT_EQ(start_again(), 1u) << "somebody changed one while it was down";
  EXPECT_EQ(map_value("w3-1"), "red");
  stop();
  colour = "green";
  EXPECT_EQ(start_again(), 40u) << "the answer is another";
  stop();
  store = nullptr;
  EXPECT_EQ(start_again(), 40u) << "nothing is known without a store";
}

// Its parent was deleted while hookd was down, and with it what the store knows of them would stay for ever.
TEST_F(HookUnitReconcileTest, AfterARestartNothingIsKeptOfChildrenThatAreGone) {
  keep();
  answer = [](const auto& call) {
    return R"({"children":[)" + map_json(std::string(call.at("key").at("name").as_string())) + "]}";
  };
  start();
  for (const char* name : {"one", "two"}) widget(name);
  go(10s);
  EXPECT_THAT(kept->page("written", "h\n", "", 10), SizeIs(2));
  stop();
  cluster.remove(kWidgets, "a", "one");
  cluster.remove(kMaps, "a", "one");
  start();
  go(10s);
  const auto rows = kept->page("written", "h\n", "", 10);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].first, testing::EndsWith(" a/two"));
}

// Who is in the way is no child, so that no digest tells of it.
TEST_F(HookUnitReconcileTest, WhoWaitedForANameIsCalledAfterARestart) {
  keep();
  hook->reconcile->at_start = hook::Reconcile::AtStart::kChanged;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  cluster.put(kMaps, test::object_json(kMaps, "a", "m", "foreign", fmt::format("\"deletionTimestamp\":{}", kEnds)));
  start();
  widget("w");
  go(10s);
  stop();
  cluster.remove(kMaps, "a", "m");
  start();
  go(10s);
  EXPECT_EQ(map_value("m"), "red");
}

}  // namespace
}  // namespace hookd::app
