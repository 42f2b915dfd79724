// Parents that end, with a finalizer and without, also while the hook is at work.
#include "unit/app/hook_unit_reconcile_fixture.h"

namespace hookd::app {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST_F(HookUnitReconcileTest, TheFinalizerIsOnBeforeTheFirstCallAndOffWhenTheHookIsDone) {
  hook->reconcile->finalizer = true;
  bool done = false;
  answer = [&](const auto& call) {
    if (!call.at("finalizing").as_bool()) return R"({"children":[)" + map_json("m") + "]}";
    return done ? std::string(R"({"children":[],"finalized":true})") : std::string(R"({"requeueAfter":"1s"})");
  };
  start();
  widget("w");
  go(1s);
  ASSERT_THAT(calls, SizeIs(testing::Ge(1u)));
  EXPECT_EQ(calls[0].at("object").at("metadata").at("finalizers"), (boost::json::array{"hookd.dev/h"}));
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"deletionTimestamp", kEnds}}));
  go(100ms);
  EXPECT_TRUE(calls.back().at("finalizing").as_bool());
  EXPECT_EQ(map_value("m"), "red");
  done = true;
  go(2s);
  EXPECT_EQ(map_value("m"), "");
  EXPECT_EQ(cluster.object(kWidgets, "a", "w"), "");
  go(10s);
  EXPECT_TRUE(calls.back().at("object").is_object()) << "it said itself that it is through";
}

// `for.labelSelector` was narrowed while hookd was down, or by a reload: who has the finalizer is still looked after.
TEST_F(HookUnitReconcileTest, AParentThatTheSelectorDoesNotMeanAnyMoreIsFinalized) {
  hook->reconcile->finalizer = true;
  hook->reconcile->parent.label_selector = *cache::LabelSelector::parse("keep=yes");
  answer = [](const auto& call) {
    return call.at("finalizing").as_bool() ? std::string(R"({"children":[],"finalized":true})") : std::string();
  };
  widget("w", "{}", 1, R"("finalizers":["hookd.dev/h"])");
  widget("other");
  start();
  go(1s);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(parent_field("w", {"metadata", "finalizers"}), "");
}

// What is cleaned up for an object that left would be made anew if it takes part again by then.
TEST_F(HookUnitReconcileTest, AParentThatTakesPartAgainDuringTheCallKeepsItsChildren) {
  hook->reconcile->finalizer = true;
  hook->reconcile->parent.label_selector = *cache::LabelSelector::parse("keep=yes");
  answer = [](const auto& call) {
    return call.at("finalizing").as_bool() ? std::string(R"({"children":[],"finalized":true})")
                                           : R"({"children":[)" + map_json("m") + "]}";
  };
  start();
  widget("w", "{}", 1, R"("labels":{"keep":"yes"})");
  go(1s);
  ASSERT_EQ(map_value("m"), "red");
  hang = true;
  const auto label = [this](const char* labels) {
    cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"labels", labels}}));
    go(1ms);
  };
  label("{}");
  ASSERT_THAT(held, SizeIs(1));
  label(R"({"keep":"yes"})");
  hang = false;
  held[0]->print(R"({"children":[],"finalized":true})");
  held[0]->exit(0);
  go(1s);
  EXPECT_EQ(map_value("m"), "red");
  EXPECT_THAT(cluster.writes(), testing::Not(testing::Contains(testing::HasSubstr("DELETE"))));
  EXPECT_EQ(parent_field("w", {"metadata", "finalizers"}), R"(["hookd.dev/h"])");
}

TEST_F(HookUnitReconcileTest, FinalizedDoesNotCountWhileSomethingOfTheAnswerFailed) {
  hook->reconcile->finalizer = true;
  answer = [](const auto& call) {
    return call.at("finalizing").as_bool() ? std::string(R"({"children":[],"finalized":true})")
                                           : R"({"children":[)" + map_json("m") + "]}";
  };
  start();
  widget("w");
  go(1s);
  bool broken = true;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (broken && request.method == "DELETE") return fail(kube::error_from_answer(403, "{}", "", "DELETE"));
    return std::nullopt;
  };
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"deletionTimestamp", kEnds}}));
  go(5s);
  EXPECT_NE(cluster.object(kWidgets, "a", "w"), "");
  broken = false;
  go(1000s);
  EXPECT_EQ(cluster.object(kWidgets, "a", "w"), "");
}

TEST_F(HookUnitReconcileTest, AParentThatGoesWithoutOurFinalizerKeepsItsChildrenAsTheyAre) {
  bool less = false;
  answer = [&](const auto&) {
    return less ? std::string(R"({"children":[]})") : R"({"children":[)" + map_json("m") + "]}";
  };
  start();
  widget("w", "{}", 1, R"("finalizers":["others.dev/x"])");
  go(1s);
  less = true;
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"deletionTimestamp", kEnds}}));
  go(1s);
  EXPECT_FALSE(calls.back().at("finalizing").as_bool());
  EXPECT_EQ(map_value("m"), "red");
}

TEST_F(HookUnitReconcileTest, AFinalizerThatTheHookNoLongerWantsGoes) {
  widget("w", "{}", 1, R"("finalizers":["hookd.dev/h","others.dev/x"])");
  start();
  go(1s);
  EXPECT_EQ(parent_field("w", {"metadata", "finalizers"}), R"(["others.dev/x"])");
  ASSERT_THAT(calls, SizeIs(testing::Ge(1u)));
  EXPECT_EQ(calls[0].at("object").at("metadata").at("finalizers"), (boost::json::array{"others.dev/x"}));
}

TEST_F(HookUnitReconcileTest, AChildThatSomebodyFreedDuringTheCallIsNotDeleted) {
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  widget("w");
  go(1s);
  hang = true;
  widget("w", "{}", 2);
  ASSERT_THAT(held, SizeIs(1));
  cluster.put(kMaps, apply::with_metadata(cluster.object(kMaps, "a", "m"), {{"ownerReferences", std::nullopt}}));
  go(1s);
  hang = false;
  answer = [](const auto&) { return std::string(); };
  held[0]->print(R"({"children":[]})");
  held[0]->exit(0);
  go(1s);
  EXPECT_EQ(map_value("m"), "red") << "it is nobody's child any more";
}

TEST_F(HookUnitReconcileTest, NothingIsMadeForAParentThatEndsOrWentDuringTheCall) {
  start();
  for (const bool gone : {false, true}) {
    const std::string name = gone ? "gone" : "ends";
    hang = true;
    widget(name);
    ASSERT_FALSE(held.empty());
    if (gone)
      cluster.remove(kWidgets, "a", name);
    else
      cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", name),
                                                 {{"deletionTimestamp", kEnds}, {"finalizers", R"(["orphan"])"}}));
    go(1s);
    hang = false;
    held.back()->print(R"({"children":[)" + map_json("m") + "]}");
    held.back()->exit(0);
    go(1s);
    EXPECT_EQ(map_value("m"), "") << name;
    EXPECT_THAT(writes("configmaps"), IsEmpty()) << name;
  }
}

TEST_F(HookUnitReconcileTest, AParentThatWentBeforeItsFinalizerWasOnIsNotToldOfAsAlive) {
  hook->reconcile->finalizer = true;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method == "PATCH") return fail(kube::error_from_answer(404, "{}", "", "PATCH"));
    return std::nullopt;
  };
  start();
  widget("w");
  go(1s);
  EXPECT_THAT(calls, IsEmpty());
  cluster.remove(kWidgets, "a", "w");
  go(1s);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_TRUE(calls[0].at("object").is_null());
}

TEST_F(HookUnitReconcileTest, FinalizedNeedsNoChildMadeThatIsInTheWay) {
  hook->reconcile->finalizer = true;
  cluster.put(kMaps, test::object_json(kMaps, "a", "m", "foreign", "", R"("data":{"v":"theirs"})"));
  answer = [](const auto& call) {
    return fmt::format(R"({{"children":[{}],"finalized":{}}})", map_json("m"), call.at("finalizing").as_bool());
  };
  start();
  widget("w");
  go(1s);
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"deletionTimestamp", kEnds}}));
  go(10s);
  EXPECT_EQ(cluster.object(kWidgets, "a", "w"), "");
  EXPECT_EQ(map_value("m"), "theirs");
}

TEST_F(HookUnitReconcileTest, SomebodyElsesWritesDuringASlowCallDoNotKeepTheFinalizerOn) {
  hook->reconcile->finalizer = true;
  start();
  widget("w");
  go(1s);
  hang = true;
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"deletionTimestamp", kEnds}}));
  go(1s);
  ASSERT_THAT(held, SizeIs(1));
  cluster.put(kWidgets, apply::with_members(cluster.object(kWidgets, "a", "w"), {{"status", R"({"others":1})"}}));
  go(1s);
  held[0]->print(R"({"finalized":true})");
  held[0]->exit(0);
  go(1ms);
  EXPECT_EQ(cluster.object(kWidgets, "a", "w"), "");
}

}  // namespace
}  // namespace hookd::app
