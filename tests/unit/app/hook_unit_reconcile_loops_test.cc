// A hook whose operations change what calls it: it must not run at full speed for ever.
#include "unit/app/hook_unit_reconcile_fixture.h"

namespace hookd::app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class HookUnitLoopsTest : public HookUnitReconcileTest {
 protected:
  void relate_maps() {
    hook::RelatedRule& rule = hook->reconcile->related.emplace_back();
    rule.name = "r";
    rule.api_version = "v1";
    rule.kind = "ConfigMap";
  }
  void map(std::string_view name, std::string_view value, std::string_view uid = "u-x") {
    cluster.put(kMaps, test::object_json(kMaps, "a", name, uid, "", fmt::format(R"("data":{{"v":"{}"}})", value)));
  }
  static std::string patch(std::string_view kind, std::string_view name, std::string_view patch) {
    return fmt::format(R"({{"operations":[{{"operation":"MergePatch","apiVersion":"{}","kind":"{}","name":"{}",)"
                       R"("patch":{}}}]}})",
                       kind == "Widget" ? "x.io/v1" : "v1", kind, name, patch);
  }
  static std::string flip(const boost::json::object& call) {
    const bool tick = call.at("related").at("r").at("x").at("data").at("v") == "tick";
    return patch("ConfigMap", "x", tick ? R"({"data":{"v":"tock"}})" : R"({"data":{"v":"tick"}})");
  }
  // Each call changes what calls it.
  void flip_a_related_map() {
    relate_maps();
    map("x", "start");
    answer = [this](const auto& call) { return enough() ? "" : flip(call); };
  }
  // Some would never end.
  bool enough() const { return calls.size() > 2000; }
};

TEST_F(HookUnitLoopsTest, AnOperationThatFlipsARelatedObjectIsSlowedAndTold) {
  flip_a_related_map();
  start();
  widget("w");
  go(100ms);
  EXPECT_LE(calls.size(), 20u);
  EXPECT_THAT(cluster.written,
              Contains(testing::Field(&kube::ApiRequest::body, testing::AllOf(HasSubstr("RepeatedWrites"),
                                                                              HasSubstr(".data.v of ConfigMap a/x")))));
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr(".data.v of ConfigMap a/x")));
  go(1h);
  EXPECT_LE(calls.size(), 45u);
}

TEST_F(HookUnitLoopsTest, AnOperationThatGivesARelatedObjectAnotherValueEachTimeIsSlowed) {
  relate_maps();
  map("x", "start");
  answer = [&](const auto&) {
    return enough() ? "" : patch("ConfigMap", "x", fmt::format(R"({{"data":{{"v":"{}"}}}})", calls.size()));
  };
  start();
  widget("w");
  go(10min);
  EXPECT_LE(calls.size(), 200u);
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr(".data.v of ConfigMap a/x gets another value")));
}

TEST_F(HookUnitLoopsTest, AnOperationThatFlipsItsParentIsSlowedButNotForWhatSomebodyElseChanges) {
  bool still = false;
  answer = [&](const auto& call) -> std::string {
    if (still || enough()) return "";
    const auto* notes = call.at("object").at("metadata").as_object().if_contains("annotations");
    const bool tick = notes && notes->at("at") == "tick";
    return patch("Widget", "w",
                 fmt::format(R"({{"metadata":{{"annotations":{{"at":"{}"}}}}}})", tick ? "tock" : "tick"));
  };
  start();
  widget("w");
  go(100ms);
  EXPECT_LE(calls.size(), 20u);
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr("of Widget a/w keeps being changed")));
  go(1h);
  EXPECT_LE(calls.size(), 45u);
  still = true;
  const size_t slow = calls.size();
  cluster.put(kWidgets, apply::with_members(cluster.object(kWidgets, "a", "w"), {{"spec", R"({"cured":true})"}}));
  go(1ms);
  EXPECT_EQ(calls.size(), slow) << "spec goes by generation";
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"), {{"generation", "7"}}));
  go(1ms);
  EXPECT_EQ(calls.size(), slow + 1);
}

TEST_F(HookUnitLoopsTest, AnOperationThatDeletesWhatIsMadeAnewIsSlowed) {
  relate_maps();
  map("x", "red", "u-0");
  answer = [&](const auto& call) -> std::string {
    if (enough()) return "";
    if (!call.at("related").at("r").as_object().contains("x")) {
      map("x", "red", fmt::format("u-{}", calls.size()));  // somebody else
      return "";
    }
    return R"({"operations":[{"operation":"Delete","apiVersion":"v1","kind":"ConfigMap","name":"x"}]})";
  };
  start();
  widget("w");
  go(100ms);
  EXPECT_LE(calls.size(), 40u);
  EXPECT_THAT(unit->reconcile_troubles(), Contains(HasSubstr("ConfigMap a/x is deleted again and again")));
}

// A new version is not kept waiting, and what it would not find out itself (an event of a source) is not lost.
TEST_F(HookUnitLoopsTest, WhatASlowedKeyWasCalledForIsHandedOver) {
  flip_a_related_map();
  start();
  widget("w");
  go(100ms);
  map("x", "other");
  go();
  unit->stop(true);
  const Inheritance inherited = unit->hand_over();
  ASSERT_EQ(inherited.waiting.size(), 1u);
  EXPECT_EQ(inherited.waiting[0].first, "a/w");
}

// Its hook was called before that, and its status is answered with it.
TEST_F(HookUnitLoopsTest, WhatSomebodyChangesDuringACallOfASlowedKeyCallsItAtOnce) {
  relate_maps();
  map("x", "start");
  bool flips = true, cures = false;
  answer = [&](const auto& call) -> std::string {
    if (!flips) return "";
    if (cures) {
      const auto cured = apply::with_members(cluster.object(kWidgets, "a", "w"), {{"spec", R"({"cured":true})"}});
      cluster.put(kWidgets, apply::with_metadata(cured, {{"generation", "2"}}));
      flips = false;
    }
    const std::string op = flip(call);
    return fmt::format(R"({},"status":{{"calls":{}}}}})", op.substr(0, op.size() - 1), calls.size());
  };
  start();
  widget("w");
  go(1ms);
  const size_t slowed = calls.size();
  cures = true;
  go(1s);
  EXPECT_EQ(calls.size(), slowed + 2);
}

TEST_F(HookUnitLoopsTest, WhatTimeCallsForIsAReasonToWrite) {
  int times = 0;
  answer = [&](const auto& call) {
    for (const auto& cause : call.at("causes").as_array()) times += cause.at("type") == "Requeue";
    return fmt::format(R"({{"children":[{}],"requeueAfter":"5s"}})", map_json("m", std::to_string(times)));
  };
  start();
  widget("w");
  go(10min);
  EXPECT_GE(times, 119);
  EXPECT_EQ(map_value("m"), std::to_string(times));
  EXPECT_THAT(unit->reconcile_troubles(), IsEmpty());
}

// What others change of that which is related is a reason to write, as often as it happens.
TEST_F(HookUnitLoopsTest, WhoFollowsWhatOthersChangeIsNotSlowed) {
  relate_maps();
  map("x", "0");
  answer = [](const auto& call) {
    const auto value = call.at("related").at("r").at("x").at("data").at("v").as_string();
    return R"({"children":[)" + map_json("m", std::string_view(value)) + "]}";
  };
  start();
  widget("w");
  for (int i = 0; i < 50; ++i) {
    map("x", i % 2 == 0 ? "red" : "blue");
    go(100ms);
    EXPECT_EQ(map_value("m"), i % 2 == 0 ? "red" : "blue");
  }
  EXPECT_THAT(unit->reconcile_troubles(), IsEmpty());
}

}  // namespace
}  // namespace hookd::app
