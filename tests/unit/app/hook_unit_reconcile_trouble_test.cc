// Hooks that fail, flip or answer badly, and children that cannot be made: what is done then, and what is told.
#include "unit/app/hook_unit_reconcile_fixture.h"

namespace hookd::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(HookUnitReconcileTest, AFailingHookIsBackedOffFromMillisecondsAndForgottenOnSuccess) {
  exit_code = 1;
  start();
  widget("w");
  go(1s);
  const size_t first = calls.size();
  EXPECT_GE(first, 6u);  // 5, 10, 20, 40, 80, 160, 320 ms
  EXPECT_LE(first, 9u);
  go(1h);
  EXPECT_LE(calls.size(), first + 16);
  exit_code = 0;
  go(1000s);
  const size_t well = calls.size();
  go(10h);
  EXPECT_EQ(calls.size(), well);
}

TEST_F(HookUnitReconcileTest, AGivenUpKeyIsToldOnTheParentAndWaitsForTheNextChange) {
  exit_code = 65;
  start();
  widget("w");
  go(1h);
  EXPECT_THAT(calls, SizeIs(1));
  EXPECT_THAT(writes("events"), SizeIs(1));
  EXPECT_THAT(cluster.written.back().body, HasSubstr("GivenUp"));
  widget("w", "{}", 2);
  EXPECT_THAT(calls, SizeIs(2));
}

TEST_F(HookUnitReconcileTest, AConflictIsToldOnceAndWhatIsInTheWayIsLeftAlone) {
  cluster.put(kMaps, test::object_json(kMaps, "a", "m", "u-foreign", "", R"("data":{"v":"mine"})"));
  answer = [](const auto&) {
    return R"({"children":[)" + map_json("m") + "," + map_json("n") + R"(],"status":{"ok":1}})";
  };
  start();
  widget("w");
  go(5s);
  EXPECT_EQ(map_value("m"), "mine");
  EXPECT_EQ(map_value("n"), "red");
  EXPECT_EQ(parent_field("w", {"status"}), R"({"ok":1})");
  EXPECT_THAT(writes("events"), SizeIs(1));
  cluster.remove(kMaps, "a", "m");
  go(10ms);
  EXPECT_EQ(map_value("m"), "red") << "its end calls the key, whatever the back-off is";
}

TEST_F(HookUnitReconcileTest, OfTwoParentsThatWantTheSameChildOneHasIt) {
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  widget("one");
  go(100ms);
  widget("two");
  go(5s);
  EXPECT_THAT(cluster.object(kMaps, "a", "m"), HasSubstr("\"uid\":\"u-one\""));
  EXPECT_THAT(cluster.object(kMaps, "a", "m"), testing::Not(HasSubstr("u-two")));
  const auto told = std::ranges::find_if(
      cluster.written, [](const auto& request) { return request.body.find("ChildConflict") != std::string::npos; });
  ASSERT_NE(told, cluster.written.end());
  EXPECT_THAT(told->body, AllOf(HasSubstr("\"name\":\"two\""), HasSubstr("Widget one")));
}

TEST_F(HookUnitReconcileTest, ABadAnswerDoesNothingAtAll) {
  std::string text = R"({"children":[)" + map_json("m") + "]}";
  answer = [&](const auto&) { return text; };
  start();
  widget("w");
  go(1s);
  int generation = 1;
  for (const std::string& bad :
       {std::string(R"({"children":null})"), std::string(R"({"children":[null]})"), std::string(R"({"childen":[]})"),
        R"({"children":[)" + map_json("x") + "," + map_json("x") + "]}", std::string(R"({"children":[],"status":1})"),
        std::string(R"({"children":[],"finalized":"no"})"), std::string(R"({"children":[)")}) {
    const size_t before = writes("configmaps").size();
    text = bad;
    widget("w", "{}", ++generation);
    go(1s);
    EXPECT_THAT(writes("configmaps"), SizeIs(before)) << bad;
    EXPECT_EQ(map_value("m"), "red") << bad;
  }
  EXPECT_THAT(cluster.written, Contains(testing::Field(&kube::ApiRequest::body, HasSubstr("BadAnswer"))));
}

TEST_F(HookUnitReconcileTest, AHookThatFlipsIsSlowedButNotForAnotherSpec) {
  answer = [](const auto& call) {
    const auto& maps = call.at("children").at("ConfigMap.v1").as_object();
    const bool tick = maps.contains("m") && maps.at("m").at("data").at("v") == "tick";
    return R"({"children":[)" + map_json("m", tick ? "tock" : "tick") + "]}";
  };
  start();
  widget("w");
  go(100ms);
  EXPECT_LE(calls.size(), 20u);
  EXPECT_THAT(cluster.written, Contains(testing::Field(&kube::ApiRequest::body,
                                                       AllOf(HasSubstr("RepeatedWrites"), HasSubstr("data.v")))));
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr("data.v")));
  go(1h);
  const size_t slow = calls.size();
  EXPECT_LE(slow, 45u);
  answer = [](const auto&) { return R"({"children":[)" + map_json("m", "still") + "]}"; };
  widget("w", R"({"cured":true})", 2);
  go(10ms);
  EXPECT_GT(calls.size(), slow);
  EXPECT_EQ(map_value("m"), "still");
}

TEST_F(HookUnitReconcileTest, OnceEndsAlthoughAHookFlips) {
  once = true;
  answer = [](const auto& call) {
    const auto& maps = call.at("children").at("ConfigMap.v1").as_object();
    const bool tick = maps.contains("m") && maps.at("m").at("data").at("v") == "tick";
    return R"({"children":[)" + map_json("m", tick ? "tock" : "tick") + "]}";
  };
  widget("w");
  start();
  go(1min);
  EXPECT_TRUE(unit->idle());
  EXPECT_TRUE(unit->failed());
}

// Or it would wait for its own writes in vain, and take children for somebody else's that it made itself.
TEST_F(HookUnitReconcileTest, OnceHearsOfWhatItWroteAlthoughAllWasKnownBefore) {
  once = hang = true;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "," + map_json("n") + "]}"; };
  widget("w");
  start();
  unit->watch_no_more();
  hang = false;
  held.at(0)->print(answer({}));
  held.at(0)->exit(0);
  go(1s);
  EXPECT_TRUE(unit->idle());
  EXPECT_FALSE(unit->failed());
  EXPECT_EQ(calls.size(), 2u) << "its children call it, once";
  unit->watch_no_more();
  widget("late");
  go(1s);
  EXPECT_EQ(calls.size(), 2u) << "for the next run";
}

TEST_F(HookUnitReconcileTest, AnOperationThatChangesAChildEachTimeIsSlowed) {
  int number = 0;
  answer = [&](const auto&) {
    if (++number > 2000) return std::string();
    return fmt::format(R"({{"children":[{}],"operations":[{{"operation":"MergePatch","apiVersion":"v1",
      "kind":"ConfigMap","name":"m","patch":{{"data":{{"n":"{}"}}}}}}]}})",
                       map_json("m"), number);
  };
  start();
  widget("w");
  go(10min);
  EXPECT_LT(number, 200);
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr(".data.n")));
}

TEST_F(HookUnitReconcileTest, AParentWhoseSelectFailsIsNotAskedAndKeepsItsChildren) {
  hook->reconcile->finalizer = true;
  hook->reconcile->related.emplace_back();
  hook::RelatedRule& rule = hook->reconcile->related.back();
  rule.name = "r";
  rule.api_version = "v1";
  rule.kind = "ConfigMap";
  rule.select = *filter::Filter::compile(R"({pick: .spec.want})");
  cluster.put(kMaps, test::object_json(kMaps, "a", "x", "u-x", R"("labels":{"pick":"it"})"));
  answer = [](const boost::json::object& call) {  // a child for each that it finds
    return call.at("related").at("r").as_object().empty() ? std::string(R"({"children":[]})")
                                                          : R"({"children":[)" + map_json("m") + "]}";
  };
  start();
  widget("w", R"({"want":"it"})");
  go(1s);
  ASSERT_EQ(map_value("m"), "red");
  const size_t before = calls.size();
  int generation = 1;
  const auto change = [&](std::string_view spec, std::string_view meta = "") {
    apply::Changes metadata{{"generation", std::to_string(++generation)}};
    if (!meta.empty()) metadata.emplace_back("deletionTimestamp", std::string(meta));
    const std::string text = apply::with_members(cluster.object(kWidgets, "a", "w"), {{"spec", std::string(spec)}});
    cluster.put(kWidgets, apply::with_metadata(text, metadata));
    go(10s);
  };
  change(R"({"want":7})");
  EXPECT_EQ(calls.size(), before);
  EXPECT_EQ(map_value("m"), "red");
  EXPECT_THAT(writes("events"), SizeIs(1));
  EXPECT_THAT(cluster.written.back().body, AllOf(HasSubstr("BadSelect"), HasSubstr("pick")));
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr("select")));
  change(R"({"want":7})", kEnds);  // also when it is deleted: nothing is known of it
  EXPECT_EQ(calls.size(), before);
  change(R"({"want":"it"})", kEnds);
  ASSERT_GT(calls.size(), before);
  EXPECT_TRUE(calls.back().at("finalizing").as_bool());
  EXPECT_THAT(unit->reconcile_troubles(), IsEmpty());
}

TEST_F(HookUnitReconcileTest, ANewParentWhoseSelectFailsGetsNoFinalizer) {
  hook->reconcile->finalizer = true;
  hook->reconcile->related.emplace_back();
  hook::RelatedRule& rule = hook->reconcile->related.back();
  rule.name = "r";
  rule.api_version = "v1";
  rule.kind = "ConfigMap";
  rule.select = *filter::Filter::compile(R"({pick: .spec.want})");
  start();
  widget("w");
  go(1s);
  EXPECT_THAT(calls, IsEmpty());
  EXPECT_THAT(writes("widgets"), IsEmpty());
}

TEST_F(HookUnitReconcileTest, AHookThatKeepsFailingIsToldOnTheParentFromTheThirdTryOnce) {
  exit_code = 3;
  start();
  widget("w");
  go(9ms);  // tries at 0 and 5 ms
  EXPECT_THAT(calls, SizeIs(2));
  EXPECT_THAT(writes("events"), IsEmpty());
  go(60s);
  EXPECT_THAT(writes("events"), SizeIs(1));
  EXPECT_THAT(cluster.written.back().body, AllOf(HasSubstr("CallFailed"), HasSubstr("exit code 3")));
}

TEST_F(HookUnitReconcileTest, AChildThatIsForbiddenIsToldOnTheParentInFewWords) {
  test::LogTap tap;
  const std::string rights(4000, 'x');
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "PATCH" || request.path.find("configmaps") == std::string::npos) return std::nullopt;
    Error error;
    error.code = Errc::kForbidden;
    error.what = "user \"u\" is attempting to grant RBAC permissions not currently held: " + rights;
    error.http_status = 403;
    error.reason = "Forbidden";
    return Result<kube::ApiResponse>(fail(error));
  };
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  widget("w");
  go(9ms);
  EXPECT_THAT(writes("events"), IsEmpty());
  go(60s);
  ASSERT_THAT(writes("events"), SizeIs(1));
  const auto told =
      std::ranges::find_if(cluster.written, [](const auto& one) { return one.path.ends_with("/events"); });
  EXPECT_THAT(told->body, AllOf(HasSubstr("ChildFailed"), HasSubstr("escalate")));
  EXPECT_LT(told->body.size(), 1200u);
  EXPECT_GE(tap.count(rights), 1u) << "the operation's own line has it all";
  ASSERT_GE(tap.count("call failed"), 3u);
  EXPECT_LT(tap.first("call failed").line.size(), 900u);
}

}  // namespace
}  // namespace hookd::app
