// Guard, `ownWrites: ignore` and loops, from the watch to the API server.
#include <gmock/gmock.h>

#include "app/hook_unit.h"
#include "base/json_read.h"
#include "state/memory_store.h"
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

class HookUnitSafetyTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitSafetyTest() {
    options.default_namespace = "a";
    for (const auto& type : {test::pods(), test::nodes()}) cluster.serve(type);
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    auto& binding = hook->watches.emplace_back();
    binding.name = "pods";
    binding.kind = "Pod";
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      const auto call = *parse_json(child->read_input());
      ++calls;
      events.clear();
      for (const auto& event : call.at("events").as_array()) events.push_back(event.at("type").as_string().c_str());
      // One that goes needs nothing.
      const bool gone = std::ranges::all_of(events, [](const std::string& type) { return type == "Deleted"; });
      if (!answer.empty() && !gone) child->print(answer);
      child->exit(0);
    };
    cluster.intercept = [this](const kube::ApiRequest& request) { return patched(request); };
  }

  void start() {
    RunnerServices services{scheduler, random, launcher, applier, metrics, options, nullptr, &store};
    services.own_writes = &writes;
    unit = std::make_unique<HookUnit>(hook, UnitServices{services, pool, slots, nullptr, false});
    unit->start();
    go();
  }
  using RunnerServices = hook::RunnerServices;
  void go(Duration time = 0s) { scheduler.advance(time); }

  // A pod whose annotation is `value`; every version is one that the watch tells.
  void pod(std::string_view name, std::string_view value) {
    cluster.put(test::pods(), test::object_json(test::pods(), "a", name, uid(name),
                                                fmt::format(R"("annotations":{{"now":"{}"}})", value)));
    annotations[std::string(name)] = value;
  }
  static std::string uid(std::string_view name) { return "u-" + std::string(name); }

  // PATCH of an annotation, as the server does it: its precondition, and nothing new if nothing changes.
  std::optional<Result<kube::ApiResponse>> patched(const kube::ApiRequest& request) {
    if (request.path.ends_with("/events")) event_posts.push_back(request.body);
    if (request.method != "PATCH" || request.path.find("/pods/") == std::string::npos) return std::nullopt;
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    const auto wanted = json_string_at(request.body, {"metadata", "resourceVersion"});
    if (before_patch) before_patch();
    if (wanted && *wanted != cluster.version_of(test::pods(), "a", name))
      return fail(kube::error_from_answer(
          409, R"({"kind":"Status","code":409,"reason":"Conflict","message":"the object has been modified"})", "",
          "PATCH"));
    const auto value = json_string_at(request.body, {"metadata", "annotations", "now"}).value_or("");
    if (annotations[name] != value) pod(name, value);
    ++patches;
    return kube::ApiResponse{.status = 200,
                             .body = test::object_json(
                                 test::pods(), "a", name, uid(name),
                                 fmt::format(R"("resourceVersion":"{}")", cluster.version_of(test::pods(), "a", name))),
                             .content_type = "application/json",
                             .warnings = {}};
  }
  static std::string annotate(std::string_view name, std::string_view value) {
    return fmt::format(
        R"({{"operation":"Annotate","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}","annotations":{{"now":"{}"}}}})"
        "\n",
        name, value);
  }
  static std::string remove(std::string_view name) {
    return fmt::format(R"({{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}"}})"
                       "\n",
                       name);
  }
  int taken() { return std::exchange(calls, 0); }

  state::MemoryStore store;
  hook::OwnWrites writes{scheduler};
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  std::string answer;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> events, event_posts;
  std::function<void()> before_patch;
  int calls = 0, patches = 0;
  std::unique_ptr<HookUnit> unit;
};

TEST_F(HookUnitSafetyTest, AnAnswerPastTheGuardIsNotSentAndPausesTheHook) {
  test::LogTap log;
  hook->guard.deletes = hook::Guard::Rate{2, 1min};
  for (const char* name : {"x", "y", "z"}) pod(name, "1");
  hook->concurrency = 1;
  hook->batch.max = 10;
  answer = remove("x") + remove("y") + remove("z");
  start();
  go(10s);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "x")) << "nothing of the answer is sent, not even what was within";
  EXPECT_THAT(unit->paused(),
              AllOf(HasSubstr("by its guard: 3 deletes within 1m (limit 2/1m)"),
                    HasSubstr("`hookd runs h`, then `hookd resume h`"), HasSubstr("raise `deletes` of its guard")));
  EXPECT_EQ(unit->look().paused, unit->paused());
  EXPECT_EQ(taken(), 1) << "a batch is not split for it";
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_guard_tripped_total{hook="h",limit="deletes"} 1)"));
  ASSERT_EQ(event_posts.size(), 1u);
  EXPECT_THAT(event_posts.front(), AllOf(HasSubstr("HookGuardTripped"), HasSubstr("3 deletes within 1m")));
  EXPECT_TRUE(unit->parked().empty());

  go(1h);  // it waits for a person
  EXPECT_EQ(taken(), 0);
  unit->resume();
  go(10s);
  EXPECT_THAT(unit->paused(), HasSubstr("3 deletes")) << "the same answer is too much again";
  answer = remove("x") + remove("y");
  unit->resume();
  go(10s);
  EXPECT_FALSE(cluster.has(test::pods(), "a", "x"));
  EXPECT_FALSE(cluster.has(test::pods(), "a", "y"));
  EXPECT_TRUE(unit->paused().empty()) << unit->paused();
}

TEST_F(HookUnitSafetyTest, TheGuardCountsWhatHappenedAndOutlivesARestart) {
  hook->guard.deletes = hook::Guard::Rate{2, 1h};
  pod("x", "1");
  answer = remove("x") + remove("gone");  // the second finds nothing: not counted
  start();
  go(1min);
  ASSERT_FALSE(cluster.has(test::pods(), "a", "x"));
  pod("y", "1");
  answer = remove("y");
  go(1min);
  ASSERT_FALSE(cluster.has(test::pods(), "a", "y"));
  unit.reset();
  pod("z", "1");
  answer = remove("z");
  start();
  go(1min);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "z"));
  EXPECT_THAT(unit->paused(), HasSubstr("3 deletes within 1h (limit 2/1h)"));
  unit.reset();
  start();  // the pause outlives it too
  go(2h);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "z"));
}

TEST_F(HookUnitSafetyTest, ARetryOfWhatMayHaveHappenedCountsOnce) {
  hook->guard.writes = hook::Guard::Rate{1, 1h};
  pod("x", "1");
  answer = annotate("x", "2");
  int lost = 1;
  auto usual = cluster.intercept;
  cluster.intercept = [&, usual](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method == "PATCH" && lost-- > 0)
      return fail(kube::error_from_answer(504, R"({"kind":"Status","code":504,"reason":"Timeout"})", "", "PATCH"));
    return usual(request);
  };
  start();
  go(5s);
  EXPECT_EQ(patches, 1);
  EXPECT_EQ(annotations["x"], "2");
  go(1min);
  EXPECT_THAT(unit->paused(), HasSubstr("2 writes")) << "the next call, caused by that write, is another write";
}

TEST_F(HookUnitSafetyTest, OwnWritesAreNotDelivered) {
  hook->watches.front().ignore_own_writes = true;
  pod("x", "1");
  answer = annotate("x", "2");
  start();
  go(1min);
  EXPECT_EQ(taken(), 1);
  EXPECT_EQ(annotations["x"], "2");
  // `old` and the snapshot moved on.
  EXPECT_EQ(unit->snapshot("pods")->entries.front().object->resource_version,
            cluster.version_of(test::pods(), "a", "x"));
  pod("x", "3");
  go(1min);
  EXPECT_EQ(taken(), 1);
  EXPECT_EQ(annotations["x"], "2");
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_own_events_ignored_total{binding="pods",hook="h"} 2)"));
}

// The write changes nothing, and its answer shows what somebody else wrote in the same moment.
TEST_F(HookUnitSafetyTest, WhatSomebodyElseWroteInTheSameMomentIsDelivered) {
  hook->watches.front().ignore_own_writes = true;
  pod("x", "1");
  answer = annotate("x", "2");
  before_patch = [this] {
    before_patch = nullptr;
    pod("x", "2");
  };
  start();
  go(1min);
  EXPECT_EQ(taken(), 2);
}

TEST_F(HookUnitSafetyTest, OwnDeletionsAreNotDelivered) {
  hook->watches.front().ignore_own_writes = true;
  pod("x", "1");
  pod("y", "1");
  answer = remove("x");
  start();
  go(1min);
  EXPECT_EQ(taken(), 2);  // x and y were there
  answer.clear();
  cluster.remove(test::pods(), "a", "y");
  go(1min);
  EXPECT_EQ(taken(), 1);
  EXPECT_THAT(events, ElementsAre("Deleted"));
}

TEST_F(HookUnitSafetyTest, WithoutTheKeyOwnWritesAreDeliveredAndALoopIsSlowed) {
  pod("x", "1");
  int round = 0;
  const auto run = launcher.script;
  launcher.script = [&, run](const std::shared_ptr<test::FakeLauncher::Started>& child) {
    answer = annotate("x", fmt::format("round {}", ++round));
    run(child);
  };
  start();
  go(10min);
  const int in_ten_minutes = taken();
  EXPECT_GE(in_ten_minutes, 15);
  EXPECT_LE(in_ten_minutes, 25);
  EXPECT_THAT(unit->look().trouble, AllOf(HasSubstr("slowed: it keeps changing what calls it"),
                                          HasSubstr(".metadata.annotations.now of Pod a/x")));
  EXPECT_EQ(unit->loops(), 1u);
  EXPECT_THAT(event_posts, Contains(HasSubstr("HookLoop")));
  pod("x", "by somebody else");
  go();
  EXPECT_GE(taken(), 1) << "a change from outside comes at once";
}

}  // namespace
}  // namespace hookd::app
