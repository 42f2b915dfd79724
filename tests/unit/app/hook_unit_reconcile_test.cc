// What calls a key, what an answer makes, and when a unit that reconciles is at rest.
#include "unit/app/hook_unit_reconcile_fixture.h"

namespace hookd::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(HookUnitReconcileTest, MakesWhatTheAnswerWantsAndIsThenAtRest) {
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + R"(],"status":{"ok":true}})"; };
  start();
  widget("w");
  go(1s);
  EXPECT_EQ(map_value("m"), "red");
  EXPECT_EQ(parent_field("w", {"status"}), R"({"ok":true})");
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(causes(calls[0]), ElementsAre("for/Added"));
  EXPECT_THAT(causes(calls[1]), ElementsAre("children/Added"));
  const auto& key = calls[0].at("key").as_object();
  EXPECT_EQ(key.at("name"), "w");
  EXPECT_EQ(key.at("kind"), "Widget");
  EXPECT_EQ(key.at("uid"), "u-w");
  EXPECT_EQ(calls[0].at("reason"), "reconcile");
  EXPECT_TRUE(calls[0].at("children").at("ConfigMap.v1").as_object().empty());
  EXPECT_TRUE(calls[1].at("children").at("ConfigMap.v1").as_object().contains("m"));
  EXPECT_FALSE(calls[0].at("finalizing").as_bool());
  const size_t written = cluster.written.size();
  go(1h);
  EXPECT_THAT(calls, SizeIs(2));
  EXPECT_EQ(cluster.written.size(), written);
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitReconcileTest, AnEmptyAnswerAndOneWithoutChildrenTouchNone) {
  std::string text = R"({"children":[)" + map_json("m") + "]}";
  answer = [&](const auto&) { return text; };
  start();
  widget("w");
  go(1s);
  for (const std::string_view other : {"", "{}", "just text", R"({"status":null})"}) {
    text = other;
    static int generation = 1;
    widget("w", "{}", ++generation);
    go(1s);
    EXPECT_EQ(map_value("m"), "red") << other;
  }
  text = R"({"children":[]})";
  widget("w", "{}", 99);
  go(1s);
  EXPECT_EQ(map_value("m"), "");
}

TEST_F(HookUnitReconcileTest, TheNextPassWaitsUntilItsOwnWritesCameBack) {
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  cluster.dam(kMaps.collection_path(""));
  widget("w");
  go(10ms);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(map_value("m"), "red");
  widget("w", "{}", 2);
  go(2s);
  EXPECT_THAT(calls, SizeIs(1)) << "the child that it made is not seen yet";
  cluster.flow(kMaps.collection_path(""));
  go(10ms);
  ASSERT_THAT(calls, SizeIs(testing::Ge(2u)));
  EXPECT_TRUE(calls[1].at("children").at("ConfigMap.v1").as_object().contains("m"));
  EXPECT_THAT(writes("configmaps"), SizeIs(1));
}

TEST_F(HookUnitReconcileTest, AWatchThatTellsNothingHoldsAKeyForAWhileOnly) {
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  cluster.dam(kMaps.collection_path(""));
  widget("w");
  widget("w", "{}", 2);
  go(9s);
  EXPECT_THAT(calls, SizeIs(1));
  go(2s);
  EXPECT_THAT(calls, SizeIs(testing::Ge(2u)));
}

TEST_F(HookUnitReconcileTest, RequeueAfterIsExactAndTellsWhy) {
  answer = [](const auto&) { return R"({"requeueAfter":"20s"})"; };
  start();
  widget("w");
  go(19999ms);
  EXPECT_THAT(calls, SizeIs(1));
  go(1ms);
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(causes(calls[1]), ElementsAre("requeue/Requeue"));
  // An event between neither takes it away nor moves it.
  go(10s);
  widget("w", "{}", 2);
  ASSERT_THAT(calls, SizeIs(3));
  go(20s);
  EXPECT_THAT(calls, SizeIs(testing::Ge(4u)));
}

TEST_F(HookUnitReconcileTest, NoPassBeginsWhileAKindIsNotKnown) {
  cluster.hold(kMaps.collection_path(""));
  widget("w");
  start();
  go(10s);
  EXPECT_THAT(calls, IsEmpty());
  EXPECT_FALSE(unit->ready());
  cluster.release(kMaps.collection_path(""));
  go(1s);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_THAT(causes(calls[0]), ElementsAre("start/Start"));
}

TEST_F(HookUnitReconcileTest, ASourceCallsWhomItNames) {
  hook->sources.emplace_back();
  hook->sources.back().name = "bus";
  hook->sources.back().command = {"/bus"};
  hook->reconcile->sources.push_back({"bus", *filter::Filter::compile(".who")});
  run_sources = false;
  start();
  widget("one");
  widget("two");
  const size_t before = calls.size();
  ASSERT_TRUE(unit->give_source_event("bus", R"({"who":"two"})", std::nullopt));
  go();
  ASSERT_THAT(calls, SizeIs(before + 1));
  EXPECT_EQ(calls.back().at("key").at("name"), "two");
  EXPECT_THAT(causes(calls.back()), ElementsAre("bus/Source"));
  ASSERT_TRUE(unit->give_source_event("bus", R"({"who":["a/one","a/two","gone"]})", std::nullopt));
  go();
  EXPECT_THAT(calls, SizeIs(before + 3));
}

TEST_F(HookUnitReconcileTest, WhatASourceToldBeforeTheKindsWereKnownIsHandedOver) {
  hook->sources.emplace_back();
  hook->sources.back().name = "bus";
  hook->sources.back().command = {"/bus"};
  hook->reconcile->sources.push_back({"bus", *filter::Filter::compile(".who")});
  run_sources = false;
  cluster.hold(kMaps.collection_path(""));
  widget("w");
  start();
  ASSERT_TRUE(unit->give_source_event("bus", R"({"who":"w"})", std::nullopt));
  go(1s);
  unit->stop(true);
  Inheritance inherited = unit->hand_over();
  unit.reset();
  start(std::move(inherited));
  cluster.release(kMaps.collection_path(""));
  go(1s);
  ASSERT_FALSE(calls.empty());
  EXPECT_THAT(causes(calls[0]), Contains("bus/Source"));
}

TEST_F(HookUnitReconcileTest, ResyncCallsEveryKeyOnceAPeriod) {
  hook->reconcile->resync = 10min;
  start();
  for (int i = 0; i < 20; ++i) widget(fmt::format("w{}", i));
  const size_t before = calls.size();
  go(10min);
  EXPECT_EQ(calls.size(), before + 20);
  EXPECT_THAT(causes(calls.back()), ElementsAre("resync/Resync"));
}

TEST_F(HookUnitReconcileTest, ADryRunSendsNothingThatStays) {
  options.dry_run = true;
  hook->reconcile->finalizer = true;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + R"(],"status":{"a":1}})"; };
  start();
  widget("w");
  go(1s);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(map_value("m"), "");
  EXPECT_EQ(parent_field("w", {"status"}), "");
  for (const auto& request : cluster.written)
    EXPECT_THAT(request.query, Contains(std::pair<std::string, std::string>("dryRun", "All"))) << request.path;
}

TEST_F(HookUnitReconcileTest, OperationsActInTheParentsNamespaceAndAreNotRepeatedByARetry) {
  answer = [](const auto&) {
    return R"({"children":[)" + map_json("m") + R"(],"operations":[
      {"operation":"CreateIfNotExists","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}]})";
  };
  int refusals = 3;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method == "PATCH" && request.path.find("configmaps") != std::string::npos && refusals-- > 0)
      return fail(kube::error_from_answer(422, R"({"kind":"Status","reason":"Invalid","message":"no"})", "", "PATCH"));
    return std::nullopt;
  };
  start();
  widget("w");
  go(1s);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "p"));
  EXPECT_EQ(map_value("m"), "red");
  size_t posts = 0;
  for (const std::string& write : writes("pods")) posts += write.starts_with("POST") ? 1 : 0;
  EXPECT_THAT(calls, SizeIs(testing::Ge(5u)));
  EXPECT_LE(posts, 2u) << "by the first attempt, and by the call that its child's event brings";
}

TEST_F(HookUnitReconcileTest, ASelectThatAsksForSomethingElseCallsItsObject) {
  hook->reconcile->related.emplace_back();
  hook::RelatedRule& rule = hook->reconcile->related.back();
  rule.name = "r";
  rule.api_version = "v1";
  rule.kind = "ConfigMap";
  rule.select = *filter::Filter::compile(R"(if .status.want then {pick: .status.want} else null end)");
  cluster.put(kMaps, test::object_json(kMaps, "a", "x", "u-x", R"("labels":{"pick":"it"})"));
  answer = [](const auto&) { return std::string(R"({"status":{"want":"it"}})"); };
  start();
  widget("w");
  go(1s);
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(causes(calls[1]), ElementsAre("r/Modified"));
  EXPECT_TRUE(calls[1].at("related").at("r").as_object().contains("x"));
}

}  // namespace
}  // namespace hookd::app
