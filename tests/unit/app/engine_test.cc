#include "app/engine.h"

#include <gmock/gmock.h>

#include "unit/support/engine_world.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes down what it hears, one line each.
struct Notes final : hook::CallObserver {
  void call_started(const hook::Call& call) override {
    lines.push_back(fmt::format("{} called: {} {} attempt {}", call.hook, hook::to_string(call.events.front().type),
                                call.events.front().object ? call.events.front().object->key() : "", call.attempt));
  }
  void call_said(const hook::Call&, std::string_view line) override { lines.push_back("says " + std::string(line)); }
  void call_answered(const hook::Call&, const process::ChildExit*, const std::vector<apply::Operation>& operations,
                     const std::vector<std::string>& messages) override {
    for (const auto& op : operations) lines.push_back("answers " + op.describe());
    for (const auto& message : messages) lines.push_back("message " + message);
  }
  void operation_done(const hook::Call&, const apply::Operation& operation, const apply::Outcome& outcome) override {
    lines.push_back(fmt::format("{}: {}", operation.describe(), apply::to_string(outcome.kind)));
  }
  void call_ended(const hook::CallResult& result) override {
    lines.push_back(fmt::format("{}: {}{}", result.call.hook, result.result,
                                result.then == hook::CallResult::Then::kRetry    ? ", again"
                                : result.then == hook::CallResult::Then::kGiveUp ? ", given up"
                                                                                 : ""));
  }
  std::vector<std::string> taken() { return std::exchange(lines, {}); }
  std::vector<std::string> lines;
};

class EngineTest : public testing::Test, protected test::EngineWorld {
 protected:
  EngineTest() {
    options.observer = &notes;
    for (const auto& type : {test::pods(), test::nodes()}) cluster.serve(type);
  }

  std::shared_ptr<hook::Hook> add(const std::string& name, uint64_t version = 1) {
    auto hook = make_hook(name, "/hooks/" + name + ".hook.yaml", version);
    loaded.hooks.push_back(hook);
    return hook;
  }
  void start() { engine = start_engine(); }

  Notes notes;
  std::unique_ptr<Engine> engine;
};

// The file of a hook is broken when hookd starts: the hook is not gone, and will need its finalizer.
TEST_F(EngineTest, AHookWithABrokenFileLeftNoFinalizer) {
  auto hook = add("h");
  hook->holds = {{"x.dev/h", "v1", "Pod"}};
  start();
  engine.reset();
  loaded = {};
  loaded.errors = {{hook->path, 3, 1, "run: is missing"}};
  start();
  EXPECT_THAT(engine->finalizers_left(), IsEmpty());
  const auto uses = engine->left_finalizers().left(engine->hooks());
  ASSERT_EQ(uses.size(), 1u);
  ASSERT_NE(engine->why_not_loaded(uses[0]), nullptr);
  EXPECT_THAT(engine->why_not_loaded(uses[0])->text(), HasSubstr("run: is missing"));
  loaded.errors = {{"/hooks/other.hook.yaml", 3, 1, "run: is missing"}};
  engine->reload("test");
  ASSERT_EQ(engine->finalizers_left().size(), 1u) << "the broken one is another";
  loaded.errors = {{"/hooks", 0, 0, "cannot be read"}};
  engine->reload("test");
  EXPECT_THAT(engine->finalizers_left(), IsEmpty());
}

TEST_F(EngineTest, AHookThatLooksAtFewerNamespacesIsToldWhatItLeft) {
  add("h")->holds = {{"x.dev/h", "v1", "Pod", {"a", "b"}}};
  cluster.put(test::pods(), test::object_json(test::pods(), "b", "lost", "u1", R"("finalizers":["x.dev/h"])"));
  start();
  loaded = {};
  add("h", 2)->holds = {{"x.dev/h", "v1", "Pod", {"a"}}};
  engine->reload("test");
  scheduler.advance(1s);
  EXPECT_EQ(log.count("1 object(s) still carry the finalizer x.dev/h"), 1u);
  ASSERT_EQ(engine->finalizers_left().size(), 1u);
}

TEST_F(EngineTest, TellsItsObserverEveryPartOfACallInOrder) {
  watch_pods(*add("h"));
  complaint = "looking\n";
  output =
      R"({"operations":[{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"x"}],"message":"away"})";
  start();
  EXPECT_TRUE(engine->quiet());
  EXPECT_TRUE(engine->health().ready);
  pod("x", "u1");
  auto lines = notes.taken();
  lines.resize(6);
  EXPECT_THAT(lines, ElementsAre("h called: Added a/x attempt 1", "says looking", "answers Delete Pod a/x",
                                 "message away", "Delete Pod a/x: done", "h: ok"));
}

TEST_F(EngineTest, ARemovedHookSaysWhatItLeavesOnObjects) {
  const auto hook = add("h");
  watch_pods(*hook);
  hook->holds = {{"hookd.dev/h", "v1", "Pod"}};
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "x", "u1", R"("finalizers":["hookd.dev/h"])"));
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "y", "u2"));
  start();
  loaded.hooks.clear();
  engine->reload("test");
  scheduler.advance(1s);
  EXPECT_EQ(log.count("1 object(s) still carry the finalizer hookd.dev/h"), 1u);
  EXPECT_EQ(log.count("hookd finalizers drop h"), 1u);
}

TEST_F(EngineTest, TellsOfTriesThatFail) {
  watch_pods(*add("h"));
  exit_code = 1;
  start();
  pod("x", "u1");
  EXPECT_THAT(notes.taken(), ElementsAre("h called: Added a/x attempt 1", "h: failed, again"));
  EXPECT_TRUE(engine->quiet());  // it waits for its next try
  exit_code = 65;
  scheduler.advance(2s);
  EXPECT_THAT(notes.taken(), ElementsAre("h called: Added a/x attempt 2", "h: refused, given up"));
  EXPECT_FALSE(engine->all_well());
}

// What an answer left undone is finished without a new call: the observer hears the operation alone.
TEST_F(EngineTest, AnOperationThatIsTriedAgainIsNoNewCall) {
  watch_pods(*add("h"));
  output = R"({"operation":"Label","apiVersion":"v1","kind":"Pod","namespace":"a","name":"x","labels":{"a":"b"}})";
  int failures = 1;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "PATCH" || failures-- <= 0) return std::nullopt;
    return fail(Error{Errc::kUnavailable, "etcd is away", 503, "ServiceUnavailable", {}});
  };
  start();
  pod("x", "u1");
  EXPECT_THAT(notes.taken(), ElementsAre("h called: Added a/x attempt 1", "answers Label Pod a/x",
                                         "Label Pod a/x: retry", "h: failed, again"));
  scheduler.advance(2s);
  const auto lines = notes.taken();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "Label Pod a/x: done");
  EXPECT_EQ(lines[1], "h: ok");
}

TEST_F(EngineTest, IsNotQuietWhileACallRunsOrABindingIsUnknown) {
  watch_pods(*add("h"));
  cluster.hold("/api/v1/pods");
  start();
  EXPECT_FALSE(engine->quiet());
  EXPECT_THAT(engine->health().reasons, ElementsAre("h: the first list is not complete yet"));
  cluster.release("/api/v1/pods");
  scheduler.advance(0s);
  EXPECT_TRUE(engine->quiet());
  hang = true;
  pod("x", "u1");
  EXPECT_EQ(engine->running(), 1u);
  EXPECT_FALSE(engine->quiet());
  running.at(0)->exit(0);
  scheduler.advance(0s);
  EXPECT_TRUE(engine->quiet());
}

TEST_F(EngineTest, StartUpCallsHaveTheirTurnOneAfterAnother) {
  add("late")->startup = hook::Startup{.order = 20, .include = {}};
  add("early")->startup = hook::Startup{.order = 10, .include = {}};
  start();
  EXPECT_THAT(notes.taken(), ElementsAre("early called: Startup  attempt 1", "early: ok",
                                         "late called: Startup  attempt 1", "late: ok"));
}

TEST_F(EngineTest, ReloadStartsWhatChangedAndKeepsWhatIsBroken) {
  watch_pods(*add("changed"));
  watch_pods(*add("broken"));
  watch_pods(*add("removed"));
  start();
  loaded.hooks.clear();
  watch_pods(*add("changed", 2));
  watch_pods(*add("new"));
  loaded.errors.push_back({"/hooks/broken.hook.yaml", 3, 1, "spec: what is this"});
  engine->reload("test");
  std::vector<std::string> names;
  for (const auto& [name, unit] : engine->units()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("broken", "changed", "new"));
  EXPECT_EQ(engine->units().at("changed")->hook().content_hash, 2u);
  EXPECT_THAT(engine->health().degraded, ElementsAre("broken hook: /hooks/broken.hook.yaml:3:1: spec: what is this"));
}

// The loader holds hooks against each other, but does not know which old versions go on.
TEST_F(EngineTest, AHookThatOwnsTheChildrenOfAnOldVersionThatGoesOnIsNotStarted) {
  const auto owns_nodes = [](hook::Hook& hook) {
    hook.reconcile.emplace();
    hook.reconcile->parent.kind = "Pod";
    hook.reconcile->parent.api_version = "v1";
    hook.reconcile->children.emplace_back();
    hook.reconcile->children.back().kind = "Node";
    hook.reconcile->children.back().api_version = "v1";
  };
  owns_nodes(*add("old"));
  start();
  loaded.hooks.clear();
  owns_nodes(*add("another"));
  loaded.errors.push_back({"/hooks/old.hook.yaml", 3, 1, "spec: what is this"});
  engine->reload("test");
  ASSERT_EQ(engine->units().size(), 1u);
  EXPECT_TRUE(engine->units().contains("old"));
  EXPECT_THAT(engine->health().degraded, testing::Contains(HasSubstr("each would delete what the other makes")));
  loaded.errors.clear();  // its file is gone
  engine->reload("test");
  scheduler.advance(1s);
  ASSERT_EQ(engine->units().size(), 1u);
  EXPECT_TRUE(engine->units().contains("another"));
}

TEST_F(EngineTest, ANewVersionWaitsForTheCallsOfTheOldOne) {
  watch_pods(*add("h"));
  hang = true;
  start();
  pod("x", "u1");
  loaded.hooks.clear();
  watch_pods(*add("h", 2));
  engine->reload("test");
  EXPECT_THAT(engine->units(), IsEmpty());
  EXPECT_FALSE(engine->quiet());
  hang = false;
  running.at(0)->exit(0);
  scheduler.advance(1s);
  EXPECT_EQ(engine->units().at("h")->hook().content_hash, 2u);
}

TEST_F(EngineTest, StrictRefusesABrokenHook) {
  loaded.errors.push_back({"/hooks/h.hook.yaml", 1, 1, "broken"});
  options.strict = true;
  Engine strict({scheduler, random, transport, launcher, metrics, store}, connection, options);
  const auto result = strict.load();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("1 broken hook(s)"));
  EXPECT_FALSE(strict.all_well());
}

TEST_F(EngineTest, MayGoAtAnyMoment) {
  watch_pods(*add("h"));
  add("s")->startup = hook::Startup{};
  hang = true;
  start();
  pod("x", "u1");
  engine.reset();
  scheduler.advance(10min);
  for (const auto& child : running) EXPECT_TRUE(child->killed);
}

}  // namespace
}  // namespace hookd::app
