// Sources of a unit: their events on the way to a call, on a reload, and by hand.
#include <gmock/gmock.h>

#include "app/hook_unit.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Started = test::FakeLauncher::Started;

class HookUnitSourcesTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitSourcesTest() {
    for (const auto& type : {test::pods(), test::nodes()}) cluster.serve(type);
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    auto& source = hook->sources.emplace_back();
    source.name = "bus";
    source.command = {"/bus"};
    launcher.script = [this](const std::shared_ptr<Started>& child) {
      if (child->spec.command[0] == "/bus") {
        programs.push_back(child);
        return;
      }
      const auto call = *parse_json(child->read_input());
      EXPECT_EQ(call.at("reason"), "source");
      for (const auto& event : call.at("events").as_array()) {
        EXPECT_EQ(event.at("type"), "Source");
        told.push_back(boost::json::serialize(event.at("data")));
        if (event.as_object().contains("oldData")) told.back() += " after " + serialize(event.at("oldData"));
      }
      calls.push_back(child);
      if (hang) return;
      child->exit(exit_code);
      child->handlers = {};  // as a real child's go: they hold the call
    };
  }

  std::unique_ptr<HookUnit> make() {
    UnitServices services{{scheduler, random, launcher, applier, metrics, options}, pool, slots, &routes, once};
    services.sources = run_sources;
    return std::make_unique<HookUnit>(hook, services);
  }
  void start(Inheritance inherited = {}) {
    unit = make();
    unit->start(std::move(inherited));
    go();
  }
  void go(Duration time = 0s) { scheduler.advance(time); }
  std::vector<std::string> taken() { return std::exchange(told, {}); }

  net::HttpRoutes routes;
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  bool once = false, run_sources = true, hang = false;
  int exit_code = 0;
  std::vector<std::shared_ptr<Started>> programs, calls;
  std::vector<std::string> told;
  std::unique_ptr<HookUnit> unit;
};

TEST_F(HookUnitSourcesTest, EachLineIsACallInItsOrder) {
  start();
  ASSERT_EQ(programs.size(), 1u);
  programs[0]->print("1\n2\n{\"three\":3}\n");
  go();
  EXPECT_THAT(taken(), ElementsAre("1", "2", "{\"three\":3}"));
  EXPECT_EQ(calls.size(), 3u);
  EXPECT_TRUE(unit->idle());
  EXPECT_EQ(unit->sources().front()->waiting(), 0u);
}

TEST_F(HookUnitSourcesTest, ACallWaitsForTheSnapshotsThatItIncludes) {
  auto& nodes = hook->watches.emplace_back();
  nodes.name = "nodes";
  nodes.kind = "Node";
  nodes.added = nodes.modified = nodes.deleted = false;
  hook->sources[0].include = {"nodes"};
  cluster.hold("/api/v1/nodes");
  start();
  programs[0]->print("1\n2\n");
  go(10s);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(unit->sources().front()->waiting(), 2u);
  cluster.release("/api/v1/nodes");
  go();
  EXPECT_THAT(taken(), ElementsAre("1", "2"));
}

TEST_F(HookUnitSourcesTest, AHookThatFailsHoldsItsSourceBackUntilTheEventIsGivenUp) {
  hook->sources[0].buffer = 2;
  hook->retry.attempts = 3;
  exit_code = 1;
  start();
  programs[0]->print("1\n2\n3\n");
  go();
  EXPECT_TRUE(programs[0]->paused);
  EXPECT_THAT(unit->parked(), IsEmpty());
  exit_code = 65;
  go(10s);
  EXPECT_THAT(unit->parked(), testing::SizeIs(3));
  EXPECT_FALSE(programs[0]->paused);  // what is parked holds nothing back
  EXPECT_EQ(unit->sources().front()->waiting(), 0u);
}

TEST_F(HookUnitSourcesTest, OnAReloadWhatWaitsAndWhatTheOldProgramStillTellsIsHandedOver) {
  hang = true;
  start();
  programs[0]->print("1\n2\n");
  go();
  EXPECT_THAT(taken(), ElementsAre("1"));
  unit->stop(true);
  EXPECT_FALSE(unit->over());
  EXPECT_FALSE(programs[0]->terminated);  // while a call runs nothing may be missed
  programs[0]->print("3\n");
  calls[0]->exit(0);
  go();
  EXPECT_FALSE(unit->over());
  EXPECT_TRUE(programs[0]->terminated);
  programs[0]->print("4\n");
  programs[0]->exit(0);
  go();
  ASSERT_TRUE(unit->over());
  const auto old = std::move(unit);
  hang = false;
  hook = std::make_shared<hook::Hook>(*hook);
  start(old->hand_over());
  EXPECT_THAT(taken(), ElementsAre("2", "3", "4"));
  EXPECT_EQ(programs.size(), 2u);
}

// A changed hook goes on where the version before was: with the same content there is nothing to tell, and a change
// that happens in between is one, with what was there before.
TEST_F(HookUnitSourcesTest, AReloadTellsAFileOnlyIfItChanged) {
  const test::ScratchFolder folder;
  auto& file = hook->sources[0];
  file.command.clear();
  file.name = "conf";
  file.file = folder.path() + "/conf";
  const auto reload = [&](const std::function<void()>& meanwhile) {
    unit->stop(true);
    ASSERT_TRUE(unit->over());
    const auto old = std::move(unit);
    hook = std::make_shared<hook::Hook>(*hook);
    meanwhile();
    start(old->hand_over());
  };
  ASSERT_TRUE(write_file(file.file, "one"));
  start();
  EXPECT_THAT(taken(), ElementsAre(HasSubstr("one")));
  reload([] {});
  EXPECT_THAT(taken(), IsEmpty());
  reload([&] { ASSERT_TRUE(write_file(hook->sources[0].file, "two")); });
  EXPECT_THAT(taken(), ElementsAre(AllOf(HasSubstr("two"), HasSubstr("after {"), HasSubstr("one"))));
  reload([&] { hook->sources[0].when = *filter::Filter::compile(".exists"); });  // another selection: told anew
  EXPECT_THAT(taken(), ElementsAre(HasSubstr("two")));
}

TEST_F(HookUnitSourcesTest, InheritedEventsHoldTheNewSourceBack) {
  hang = true;
  hook->sources[0].buffer = 2;
  start();
  programs[0]->print("1\n2\n");
  go();
  unit->stop(true);
  calls[0]->exit(0);
  go();
  unit->over();
  programs[0]->exit(0);
  go();
  const auto old = std::move(unit);
  start(old->hand_over());
  EXPECT_EQ(unit->sources().front()->waiting(), 1u);
}

TEST_F(HookUnitSourcesTest, EventsOfASourceThatIsNoMoreAreNotInherited) {
  hang = true;
  start();
  programs[0]->print("1\n2\n");
  go();
  unit->stop();
  EXPECT_TRUE(programs[0]->terminated);
  programs[0]->exit(0);
  calls[0]->exit(0);
  go();
  auto inherited = unit->hand_over();
  hook = std::make_shared<hook::Hook>(*hook);
  hook->sources[0].name = "other";
  hang = false;
  taken();
  start(std::move(inherited));
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitSourcesTest, EventsByHandNeedNoProgram) {
  run_sources = false;
  start();
  EXPECT_THAT(programs, IsEmpty());
  ASSERT_TRUE(unit->give_source_event("bus", "{\"a\":\n1}", "{\"a\":0}"));
  go();
  EXPECT_THAT(taken(), ElementsAre("{\"a\":1} after {\"a\":0}"));
  const auto unknown = unit->give_source_event("bush", "1", std::nullopt);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("no source \"bush\""));
  EXPECT_FALSE(unit->give_source_event("bus", "{", std::nullopt));
}

TEST_F(HookUnitSourcesTest, OnceTellsWhatIsInAFileAndStartsNothing) {
  once = true;
  auto& file = hook->sources.emplace_back();
  file.name = "conf";
  file.file = options.runtime_dir + "/none";
  start();
  EXPECT_THAT(programs, IsEmpty());
  EXPECT_THAT(taken(), ElementsAre(HasSubstr("\"exists\":false")));
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitSourcesTest, ItsTroublesAndFiguresAreSeen) {
  start();
  programs[0]->exit(3);
  go();
  ASSERT_EQ(unit->source_troubles().size(), 1u);
  EXPECT_EQ(unit->source_troubles()[0].first, "bus");
  EXPECT_TRUE(unit->ready());
  unit->update_source_gauges();
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_source_waiting{binding="bus",hook="h"} 0)"));
  const auto look = unit->look();
  ASSERT_EQ(look.bindings.size(), 1u);
  EXPECT_EQ(look.bindings[0].what, "command /bus");
  EXPECT_THAT(look.bindings[0].trouble, HasSubstr("exit code 3"));
}

}  // namespace
}  // namespace hookd::app
