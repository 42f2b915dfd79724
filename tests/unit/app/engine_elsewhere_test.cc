// Hooks that do not come from folders: put, replaced and removed while the engine runs.
#include <gmock/gmock.h>

#include "unit/support/engine_world.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class ElsewhereTest : public testing::Test, protected test::EngineWorld {
 protected:
  ElsewhereTest() { cluster.serve(test::pods()); }

  static std::shared_ptr<hook::Hook> make(const std::string& name, uint64_t version = 1) {
    auto hook = make_hook(name, "CompositeController/" + name, version);
    watch_pods(*hook);
    return hook;
  }
  static kube::ResourceType alpha(std::string kind, std::string plural) {
    auto type = test::make_type("metacontroller.k8s.io", std::move(kind), std::move(plural), false);
    type.version = "v1alpha1";
    return type;
  }
  void serve_controllers() {
    cluster.serve(alpha("CompositeController", "compositecontrollers"));
    cluster.serve(decorators);
  }
  void start() {
    engine = start_engine();
    scheduler.advance(1s);
  }

  const kube::ResourceType decorators = alpha("DecoratorController", "decoratorcontrollers");
  std::unique_ptr<Engine> engine;
};

TEST_F(ElsewhereTest, AReloadLeavesThemAlone) {
  loaded.hooks.push_back(make("of-a-folder"));
  start();
  ASSERT_TRUE(engine->put_hook(make("x")));
  const HookUnit* unit = engine->find("x");
  loaded.hooks.clear();
  engine->reload("test");
  EXPECT_EQ(engine->find("of-a-folder"), nullptr);
  EXPECT_EQ(engine->find("x"), unit);
}

TEST_F(ElsewhereTest, ANameOfAFolderIsNotTaken) {
  loaded.hooks.push_back(make("x", 7));
  start();
  EXPECT_FALSE(engine->put_hook(make("x")));
  EXPECT_EQ(engine->find("x")->hook().content_hash, 7u);
  engine->remove_hook("x");
  EXPECT_NE(engine->find("x"), nullptr) << "it is not theirs to remove";
}

TEST_F(ElsewhereTest, AHookOfAFolderThatComesWithTheirNameIsBroken) {
  start();
  ASSERT_TRUE(engine->put_hook(make("x")));
  auto late = make("x", 7);
  late->path = "/hooks/x.yaml";
  loaded.hooks.push_back(late);
  engine->reload("test");
  EXPECT_EQ(engine->find("x")->hook().content_hash, 1u);
  ASSERT_EQ(engine->load_errors().size(), 1u);
  EXPECT_THAT(engine->load_errors().front().text(),
              AllOf(HasSubstr("/hooks/x.yaml"), HasSubstr("CompositeController/x")));
  engine->remove_hook("x");
  scheduler.advance(1s);
  ASSERT_NE(engine->find("x"), nullptr) << "its name is free, although no file changed";
  EXPECT_EQ(engine->find("x")->hook().content_hash, 7u);
  EXPECT_THAT(engine->load_errors(), IsEmpty());
}

// However many calls by URL hang: others by URL get their turn, and none of them keeps a process from starting.
TEST_F(ElsewhereTest, CallsByUrlThatHangDoNotStarveOthers) {
  options.concurrency = 1;
  start();
  for (int i = 0; i < 10; ++i)
    cluster.put(test::pods(), test::object_json(test::pods(), "a", fmt::format("p{}", i), fmt::format("u{}", i)));
  const auto put = [&](std::string name) {
    auto hook = make(name);
    hook->run.command.clear();
    hook->run.mode = hook::Run::Mode::kUrl;
    hook->run.url.url = "http://" + name + "/";
    hook->run.timeout = 1h;
    hook->concurrency = 10;
    ASSERT_TRUE(engine->put_hook(hook));
  };
  const auto asked = [&](const std::string& name) {
    return std::ranges::count_if(hook_transport.asked,
                                 [&](const auto& one) { return one->request.url == "http://" + name + "/"; });
  };
  for (const auto* name : {"bad", "worse"}) {
    put(name);
    scheduler.advance(1s);
  }
  EXPECT_EQ(asked("bad"), Engine::kUrlCalls);
  EXPECT_EQ(asked("worse"), 1) << "one each, although none is free";
  put("good");
  scheduler.advance(1s);
  ASSERT_EQ(asked("good"), 1);
  for (int i = 0; i < 3; ++i) {
    hook_transport.last().answer(200, "");
    scheduler.advance(1s);
  }
  EXPECT_EQ(asked("good"), 4) << "one after the other";
  ASSERT_TRUE(engine->put_hook(make("program")));
  scheduler.advance(1s);
  EXPECT_EQ(launcher.started.size(), 10u);
}

TEST_F(ElsewhereTest, ANewVersionWaitsForTheCallsOfTheOldOne) {
  start();
  hang = true;
  engine->put_hook(make("x", 1));
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "p", "u"));
  scheduler.advance(1s);
  ASSERT_EQ(running.size(), 1u);
  engine->put_hook(make("x", 2));
  engine->put_hook(make("x", 3));
  scheduler.advance(1s);
  EXPECT_EQ(engine->find("x")->hook().content_hash, 1u);
  engine->reload("test");
  hang = false;
  running[0]->exit(0);
  scheduler.advance(1s);
  ASSERT_NE(engine->find("x"), nullptr);
  EXPECT_EQ(engine->find("x")->hook().content_hash, 3u);
  engine->remove_hook("x");
  EXPECT_EQ(engine->find("x"), nullptr);
}

TEST_F(ElsewhereTest, ControllersOfTheClusterAreHooks) {
  serve_controllers();
  cluster.put(decorators, test::object_json(decorators, "", "d", "u", "",
                                            R"("spec":{"resources":[{"apiVersion":"v1","resource":"pods"}],
                                               "hooks":{"sync":{"webhook":{"url":"http://h/s"}}}})"));
  options.metacontroller.emplace();
  start();
  ASSERT_NE(engine->find("decoratorcontroller-d"), nullptr);
  EXPECT_EQ(engine->find("decoratorcontroller-d")->look().path, "DecoratorController/d");
  EXPECT_THAT(engine->health().degraded, IsEmpty());
  engine->update_gauges();
  EXPECT_THAT(metrics.text(), HasSubstr("workqueue_depth{controller=\"DecoratorController-d\""));

  cluster.put(decorators, test::object_json(decorators, "", "broken", "u2", "", R"("spec":{})"));
  scheduler.advance(1s);
  EXPECT_THAT(engine->health().degraded, Contains(HasSubstr("DecoratorController broken: spec.resources")));
  EXPECT_TRUE(engine->health().ready);

  cluster.remove(decorators, "", "d");
  scheduler.advance(1s);
  EXPECT_EQ(engine->find("decoratorcontroller-d"), nullptr);
}

// A finalize webhook that hangs keeps its own parents waiting, not those that only want to be synced.
TEST_F(ElsewhereTest, AFinalizeHookThatHangsDoesNotStopTheSyncs) {
  serve_controllers();
  cluster.put(decorators, test::object_json(decorators, "", "d", "u", "",
                                            R"("spec":{"resources":[{"apiVersion":"v1","resource":"pods"}],
                                   "hooks":{"sync":{"webhook":{"url":"http://h/s"}},
                                            "finalize":{"webhook":{"url":"http://h/f"}}}})"));
  constexpr char kHeld[] = R"("finalizers":["metacontroller.io/decoratorcontroller-d"])";
  for (int i = 0; i < 5; ++i)
    cluster.put(test::pods(),
                test::object_json(test::pods(), "a", fmt::format("goes-{}", i), fmt::format("u{}", i),
                                  fmt::format(R"({},"deletionTimestamp":"2026-01-01T00:00:00Z")", kHeld)));
  options.metacontroller.emplace();
  start();
  const auto answer = [&] {
    for (const auto& asked : std::vector(hook_transport.asked)) {
      if (asked->over) continue;
      if (asked->request.url.ends_with("/f"))
        asked->done(fail(Errc::kTimeout, "no answer"));
      else
        asked->answer(200, R"({"attachments":[]})");
    }
    scheduler.advance(10ms);
  };
  for (int i = 0; i < 5; ++i) answer();
  EXPECT_THAT(engine->health().degraded, Contains(HasSubstr("http://h:80/f")));
  engine->update_gauges();
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr("hookd_queue_delayed{hook=\"decoratorcontroller-d\"} 5"),
                                    HasSubstr("name=\"DecoratorController-d\"} 0")));
  const size_t before = hook_transport.asked.size();
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "stays", "u9", kHeld));
  scheduler.advance(100ms);
  ASSERT_EQ(hook_transport.asked.size(), before + 1);
  EXPECT_EQ(hook_transport.last().request.url, "http://h/s");
}

}  // namespace
}  // namespace hookd::app
