// Hooks that do not come from folders: put, replaced and removed while the engine runs.
#include <gmock/gmock.h>

#include <filesystem>

#include "app/engine.h"
#include "state/memory_store.h"
#include "unit/support/fake_cluster_transport.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class ElsewhereTest : public testing::Test {
 protected:
  ElsewhereTest() {
    std::string pattern = testing::TempDir() + "hookd-elsewhere-XXXXXX";
    options.runtime_dir = ::mkdtemp(pattern.data());
    options.load = [this] { return loaded; };
    connection.server = "http://cluster";
    cluster.serve(test::pods());
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      child->read_input();
      if (hang)
        running.push_back(child);
      else
        child->exit(0);
    };
  }
  ~ElsewhereTest() override { std::filesystem::remove_all(options.runtime_dir); }

  static std::shared_ptr<hook::Hook> make(std::string name, uint64_t version = 1) {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = std::move(name);
    hook->path = "CompositeController/" + hook->name;
    hook->content_hash = version;
    hook->run.command = {"/h.sh"};
    auto& binding = hook->watches.emplace_back();
    binding.name = "pods";
    binding.kind = "Pod";
    return hook;
  }
  void start() {
    engine = std::make_unique<Engine>(EngineServices{scheduler, random, transport, launcher, metrics, store},
                                      connection, options);
    ASSERT_TRUE(engine->load());
    engine->start();
    scheduler.advance(1s);
  }

  test::LogTap log;
  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  test::FakeClusterTransport transport{cluster};
  test::FakeLauncher launcher{scheduler};
  metrics::Registry metrics;
  state::MemoryStore store;
  kube::ConnectionConfig connection;
  EngineOptions options;
  hook::LoadResult loaded;
  bool hang = false;
  std::vector<std::shared_ptr<test::FakeLauncher::Started>> running;
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
  const auto alpha = [](std::string kind, std::string plural) {
    auto type = test::make_type("metacontroller.k8s.io", std::move(kind), std::move(plural), false);
    type.version = "v1alpha1";
    return type;
  };
  const auto decorators = alpha("DecoratorController", "decoratorcontrollers");
  cluster.serve(alpha("CompositeController", "compositecontrollers"));
  cluster.serve(decorators);
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

}  // namespace
}  // namespace hookd::app
