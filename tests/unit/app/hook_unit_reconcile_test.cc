// A unit whose hook reconciles, as a whole: on a fake cluster that keeps what is written, in virtual time.
#include <gmock/gmock.h>

#include <filesystem>

#include "app/hook_unit.h"
#include "base/json_read.h"
#include "state/sqlite_store.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const kube::ResourceType kWidgets = test::make_type("x.io", "Widget", "widgets");
const kube::ResourceType kMaps = [] {
  auto type = test::make_type("", "ConfigMap", "configmaps", true, {"cm"});
  type.subresources.clear();
  return type;
}();

class HookUnitReconcileTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitReconcileTest() {
    std::string pattern = testing::TempDir() + "hookd-unit-XXXXXX";
    options.runtime_dir = ::mkdtemp(pattern.data());
    options.default_namespace = "default";
    for (const auto& type : {kWidgets, kMaps, test::pods()}) cluster.serve(type);
    cluster.keeps_writes = true;
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    hook->concurrency = 5;
    hook->retry.initial = 5ms;
    hook->retry.max = 1000s;
    hook::Reconcile rule;
    rule.parent.api_version = "x.io/v1";
    rule.parent.kind = "Widget";
    rule.finalizer_name = "hookd.dev/h";
    rule.children.emplace_back();
    rule.children.back().api_version = "v1";
    rule.children.back().kind = "ConfigMap";
    hook->reconcile = rule;
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      const auto call = *parse_json(child->read_input());
      calls.push_back(call);
      if (hang) return held.push_back(child);
      if (const std::string text = answer(call.as_object()); !text.empty()) child->print(text);
      child->exit(exit_code);
    };
  }
  ~HookUnitReconcileTest() override {
    unit.reset();
    std::filesystem::remove_all(options.runtime_dir);
  }

  void start() {
    UnitServices services{
        {scheduler, random, launcher, applier, metrics, options, nullptr, store}, pool, slots, nullptr, once};
    services.api = &cluster;
    services.discovery = &discovery;
    unit = std::make_unique<HookUnit>(hook, std::move(services));
    unit->start();
    go();
  }
  void go(Duration time = 0s) { scheduler.advance(time); }
  void widget(std::string_view name, std::string_view spec = "{}", int generation = 1, std::string_view meta = "") {
    cluster.put(kWidgets,
                test::object_json(kWidgets, "a", name, fmt::format("u-{}", name),
                                  fmt::format("\"generation\":{}{}{}", generation, meta.empty() ? "" : ",", meta),
                                  fmt::format("\"spec\":{}", spec)));
    go();
  }
  static std::string map_json(std::string_view name, std::string_view value = "red") {
    return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})",
                       name, value);
  }
  std::string map_value(const std::string& name) const {
    return json_string_at(cluster.object(kMaps, "a", name), {"data", "v"}).value_or("");
  }
  std::string parent_field(const std::string& name, std::initializer_list<std::string_view> path) const {
    return std::string(json_raw_at(cluster.object(kWidgets, "a", name), path).value_or(""));
  }
  // "binding/type" of a call's causes.
  static std::vector<std::string> causes(const boost::json::value& call) {
    std::vector<std::string> all;
    for (const auto& cause : call.at("causes").as_array())
      all.push_back(std::string(cause.at("binding").as_string()) + "/" + std::string(cause.at("type").as_string()));
    return all;
  }
  std::vector<std::string> writes(std::string_view plural) const {
    std::vector<std::string> all;
    for (const std::string& write : cluster.writes())
      if (write.find("/" + std::string(plural)) != std::string::npos) all.push_back(write);
    return all;
  }

  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  state::Store* store = nullptr;
  bool once = false, hang = false;
  int exit_code = 0;
  std::function<std::string(const boost::json::object& call)> answer = [](const auto&) { return std::string(); };
  std::vector<boost::json::value> calls;
  std::vector<std::shared_ptr<test::FakeLauncher::Started>> held;
  std::unique_ptr<HookUnit> unit;
};

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
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"),
                                             {{"deletionTimestamp", "\"2026-01-01T00:00:00Z\""}}));
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
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"),
                                             {{"deletionTimestamp", "\"2026-01-01T00:00:00Z\""}}));
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
  cluster.put(kWidgets, apply::with_metadata(cluster.object(kWidgets, "a", "w"),
                                             {{"deletionTimestamp", "\"2026-01-01T00:00:00Z\""}}));
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
  UnitServices services{
      {scheduler, random, launcher, applier, metrics, options, nullptr, store}, pool, slots, nullptr, once};
  services.api = &cluster;
  services.discovery = &discovery;
  services.sources = false;
  unit = std::make_unique<HookUnit>(hook, std::move(services));
  unit->start();
  go();
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
  const auto make = [&](Inheritance inherited) {
    UnitServices services{
        {scheduler, random, launcher, applier, metrics, options, nullptr, store}, pool, slots, nullptr, once};
    services.api = &cluster;
    services.discovery = &discovery;
    services.sources = false;
    unit = std::make_unique<HookUnit>(hook, std::move(services));
    unit->start(std::move(inherited));
    go();
  };
  cluster.hold(kMaps.collection_path(""));
  widget("w");
  make({});
  ASSERT_TRUE(unit->give_source_event("bus", R"({"who":"w"})", std::nullopt));
  go(1s);
  unit->stop(true);
  Inheritance inherited = unit->hand_over();
  unit.reset();
  make(std::move(inherited));
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

// What two objects are called for after a restart in which one of them changed.
struct RestartCase {
  hook::Reconcile::AtStart at_start;
  std::vector<std::string> called;
};
class HookUnitRestartTest : public HookUnitReconcileTest, public testing::WithParamInterface<RestartCase> {};

TEST_P(HookUnitRestartTest, WhatWasAtRestComesLaterOrNotAtAll) {
  state::SqliteStore kept(scheduler, {.folder = options.runtime_dir});
  ASSERT_TRUE(kept.open());
  store = &kept;
  hook->concurrency = 1;
  hook->reconcile->at_start = GetParam().at_start;
  answer = [](const auto& call) {
    return R"({"children":[)" + map_json(std::string(call.at("key").at("name").as_string())) + "]}";
  };
  start();
  widget("one");
  widget("two");
  go(10s);
  unit->stop();
  unit->stop_watching();
  unit.reset();
  widget("two", R"({"x":1})", 2);
  calls.clear();
  start();
  go(10s);
  std::vector<std::string> called;
  for (const auto& call : calls) called.emplace_back(call.at("key").at("name").as_string());
  EXPECT_EQ(called, GetParam().called);
  unit.reset();
  store = nullptr;
}
INSTANTIATE_TEST_SUITE_P(AtStart, HookUnitRestartTest,
                         testing::Values(RestartCase{hook::Reconcile::AtStart::kChanged, {"two"}},
                                         RestartCase{hook::Reconcile::AtStart::kAll, {"two", "one"}}));

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

// ---------------------------------------------------------------- what changes while the hook is at work

constexpr char kEnds[] = "\"2026-01-01T00:00:00Z\"";

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
  change(R"({"want":7})", "\"2026-01-01T00:00:00Z\"");  // also when it is deleted: nothing is known of it
  EXPECT_EQ(calls.size(), before);
  change(R"({"want":"it"})", "\"2026-01-01T00:00:00Z\"");
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

// What was written before is not known after a start, so that children are written once more, as they are.
TEST_F(HookUnitReconcileTest, WritesThatChangeNothingLeaveAnObjectAtRest) {
  hook->reconcile->at_start = hook::Reconcile::AtStart::kChanged;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  start();
  widget("w");
  go(10s);
  state::SqliteStore kept(scheduler, {.folder = options.runtime_dir});
  ASSERT_TRUE(kept.open());
  store = &kept;
  for (const size_t called : {1u, 0u}) {  // at rest is what was found so with this store
    unit->stop();
    unit->stop_watching();
    unit.reset();
    calls.clear();
    start();
    go(10s);
    EXPECT_THAT(calls, SizeIs(called));
  }
  unit.reset();
  store = nullptr;
}

// Who is in the way is no child, so that no digest tells of it.
TEST_F(HookUnitReconcileTest, WhoWaitedForANameIsCalledAfterARestart) {
  state::SqliteStore kept(scheduler, {.folder = options.runtime_dir});
  ASSERT_TRUE(kept.open());
  store = &kept;
  hook->reconcile->at_start = hook::Reconcile::AtStart::kChanged;
  answer = [](const auto&) { return R"({"children":[)" + map_json("m") + "]}"; };
  cluster.put(kMaps, test::object_json(kMaps, "a", "m", "foreign", fmt::format("\"deletionTimestamp\":{}", kEnds)));
  start();
  widget("w");
  go(10s);
  unit->stop();
  unit->stop_watching();
  unit.reset();
  cluster.remove(kMaps, "a", "m");
  start();
  go(10s);
  EXPECT_EQ(map_value("m"), "red");
  unit.reset();
  store = nullptr;
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
