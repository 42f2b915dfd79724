// Units whose hooks reconcile, when something around them does not work for a while: the hook, or a kind that the
// server serves no more.
#include <gmock/gmock.h>

#include "app/hook_unit.h"
#include "base/json_read.h"
#include "state/memory_store.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

const kube::ResourceType kWidgets = test::make_type("x.io", "Widget", "widgets");
const kube::ResourceType kParts = test::make_type("y.io", "Part", "parts");

class HookUnitOutageTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitOutageTest() {
    for (const auto& type : {kWidgets, kParts}) cluster.serve(type);
    cluster.keeps_writes = true;
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    hook->concurrency = 5;
    hook->retry.initial = 5ms;
    hook->retry.max = 1000s;
    hook::Reconcile rule;
    rule.parent.api_version = "x.io/v1";
    rule.parent.kind = "Widget";
    rule.children.emplace_back();
    rule.children.back().api_version = "y.io/v1";
    rule.children.back().kind = "Part";
    hook->reconcile = rule;
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      const auto call = *parse_json(child->read_input());
      ++calls;
      if (call.at("object").is_null()) gone.emplace_back(call.at("key").at("name").as_string());
      if (works) {
        const std::string name(call.at("key").at("name").as_string());
        handled[name] = scheduler.now();
        child->print(fmt::format(
            R"({{"children":[{{"apiVersion":"y.io/v1","kind":"Part","metadata":{{"name":"{}"}},"spec":{{"n":1}}}}]}})",
            name));
      }
      child->exit(works ? 0 : 1);
    };
  }
  void start(Inheritance inherited = {}) {
    UnitServices services{{scheduler, random, launcher, applier, metrics, options, nullptr, nullptr}, pool, slots};
    services.api = &cluster;
    services.discovery = &discovery;
    unit = std::make_unique<HookUnit>(hook, std::move(services));
    unit->start(std::move(inherited));
    go();
  }
  void go(Duration time = 0s) { scheduler.advance(time); }
  void widget(std::string_view name, int generation = 1) {
    cluster.put(kWidgets, test::object_json(kWidgets, "a", name, fmt::format("u-{}", name),
                                            fmt::format("\"generation\":{}", generation)));
  }
  size_t deletions() const {
    size_t count = 0;
    for (const std::string& write : cluster.writes()) count += write.starts_with("DELETE") ? 1 : 0;
    return count;
  }

  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  bool works = true;
  int calls = 0;
  std::vector<std::string> gone;  // keys whose calls had no object
  std::map<std::string, SteadyTime> handled;
  std::unique_ptr<HookUnit> unit;
};

TEST_F(HookUnitOutageTest, AfterTwentyMinutesAllKeysAreHandledWithinSeconds) {
  test::LogTap tap;
  works = false;
  for (int i = 0; i < 100; ++i) widget("w" + std::to_string(i));
  start();
  go(20min);
  EXPECT_EQ(unit->queue().delayed(), 100u);
  works = true;
  const SteadyTime end = scheduler.now();
  go(30s);
  EXPECT_EQ(handled.size(), 100u);
  for (const auto& [name, at] : handled) EXPECT_LE(at - end, 25s) << name;
  EXPECT_EQ(unit->queue().delayed(), 0u);
  EXPECT_EQ(tap.count("the hook works again"), 1u);
}

TEST_F(HookUnitOutageTest, OneKeyThatFailsKeepsItsBackOff) {
  widget("w");
  works = false;
  start();
  go(20min);
  const int before = calls;
  go(5min);
  EXPECT_LE(calls - before, 1);
}

TEST_F(HookUnitOutageTest, AChildKindThatVanishesHoldsThePassesAndDeletesNothing) {
  widget("w");
  start();
  go(1s);
  EXPECT_TRUE(cluster.has(kParts, "a", "w"));
  cluster.unserve("parts");
  go(2min);
  EXPECT_FALSE(unit->ready());
  EXPECT_THAT(unit->troubles(), testing::Not(IsEmpty()));
  const int before = calls;
  const size_t written = cluster.written.size();
  widget("w", 2);
  go(5min);
  EXPECT_EQ(calls, before);  // held: its hook would be told of no children
  EXPECT_EQ(cluster.written.size(), written);
  // The CRD is back, without any object: now they are really gone, and made anew.
  cluster.serve(kParts);
  go(2min);
  EXPECT_TRUE(unit->ready());
  EXPECT_GT(calls, before);
  EXPECT_TRUE(cluster.has(kParts, "a", "w"));
  EXPECT_EQ(deletions(), 0u);
}

TEST_F(HookUnitOutageTest, AParentKindThatVanishesIsNoDeletionOfAllParents) {
  widget("w");
  widget("v");
  start();
  go(1s);
  cluster.unserve("widgets");
  go(2min);
  const int before = calls;
  go(10min);
  EXPECT_EQ(calls, before);
  EXPECT_FALSE(unit->ready());
  EXPECT_EQ(deletions(), 0u);
  EXPECT_TRUE(cluster.has(kParts, "a", "w"));
}

// What an older version of the hook was told last and had no time for is told to nobody else.
TEST_F(HookUnitOutageTest, AReloadHandsOverParentsThatWent) {
  widget("w");
  widget("v");
  start();
  go(1s);
  unit->stop(true);
  cluster.remove(kWidgets, "a", "w");
  go(1s);
  EXPECT_THAT(gone, IsEmpty());
  unit->stop_watching();
  Inheritance inherited = unit->hand_over();
  start(std::move(inherited));
  go(1s);
  EXPECT_THAT(gone, testing::ElementsAre("w"));
  EXPECT_TRUE(unit->idle());
}

}  // namespace
}  // namespace hookd::app
