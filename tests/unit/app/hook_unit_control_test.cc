// What people see of a hook and do to its queue: parked items, retry, drop, pause, over restarts and new versions too.
#include "state/memory_store.h"
#include "unit/app/hook_unit_fixture.h"

namespace hookd::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HookUnitControlTest : public HookUnitTest {
 protected:
  HookUnitControlTest() { store = &memory; }
  std::vector<std::string> rows(size_t limit = 100) const {
    std::vector<std::string> list;
    for (const QueueRow& row : unit->rows(limit))
      list.push_back(fmt::format("{} {}{} {} #{}{}{}", row.key, row.state, row.id.empty() ? "" : " " + row.id,
                                 row.events, row.attempt, row.due ? " due" : "",
                                 row.error.empty() ? "" : " " + row.error));
    return list;
  }
  size_t stored(std::string_view table) const {
    size_t count = 0;
    memory.each(table, "", [&](std::string_view, std::string_view) { ++count; });
    return count;
  }
  // A pod whose event is parked.
  void park(std::string_view name, std::string_view uid) {
    const int before = std::exchange(exit_code, 65);
    pod(name, uid);
    exit_code = before;
    taken();
  }
  // The process ends and another begins.
  void restart() {
    unit.reset();
    taken();
    start();
  }

  state::MemoryStore memory;
};

TEST_F(HookUnitControlTest, ShowsEveryKeyAndItsState) {
  watch("pods", "Pod", {"nodes"});
  auto& nodes = watch("nodes", "Node");
  nodes.added = nodes.modified = nodes.deleted = false;
  hook->concurrency = 2;
  cluster.hold("/api/v1/nodes");
  start();
  pod("held", "u0");
  EXPECT_THAT(rows(), ElementsAre("pods./a/held held 1 #0"));
  EXPECT_EQ(unit->look().waiting, 1u);
  cluster.release("/api/v1/nodes");
  go();
  taken();
  park("bad", "u1");
  exit_code = 3;
  pod("failing", "u2");
  hang = true;
  pod("running", "u3");
  pod("running", "u3", R"("labels":{"a":"b"})");
  pod("running2", "u4");
  pod("ready", "u5");
  EXPECT_THAT(rows(), ElementsAre("pods./a/running running 1 #1", "pods./a/running2 running 1 #1",
                                  AllOf(HasSubstr("pods./a/bad parked p1 1 #1"), HasSubstr("exit code 65")),
                                  AllOf(HasSubstr("pods./a/failing delayed 1 #2 due"), HasSubstr("exit code 3")),
                                  "pods./a/ready ready 1 #0", "pods./a/running ready 1 #0"));
  EXPECT_THAT(rows(2), SizeIs(2));
  const HookLook look = unit->look();
  EXPECT_EQ(look.running, 2u);
  EXPECT_EQ(look.delayed, 1u);
  EXPECT_EQ(look.parked, 1u);
  EXPECT_EQ(look.waiting, 1u);
  EXPECT_EQ(look.mode, "once");
  EXPECT_TRUE(look.ready);
  ASSERT_THAT(look.bindings, SizeIs(2));
  EXPECT_EQ(look.bindings[0].objects, 6u);
  EXPECT_EQ(look.bindings[0].what, "Pod");
}

TEST_F(HookUnitControlTest, AParkedItemIsTriedAgainByHand) {
  watch("pods", "Pod");
  start();
  park("x", "u1");
  park("y", "u2");
  EXPECT_EQ(stored("parked"), 2u);
  EXPECT_EQ(unit->retry("no-such"), 0u);
  EXPECT_EQ(unit->retry("p1"), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_EQ(unit->retry("pods./a/y"), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added y:u2"));
  EXPECT_THAT(unit->parked(), IsEmpty());
  EXPECT_EQ(stored("parked"), 0u);
}

TEST_F(HookUnitControlTest, GivenUpOnceMoreItIsParkedAnew) {
  watch("pods", "Pod");
  start();
  park("x", "u1");
  exit_code = 65;
  EXPECT_EQ(unit->retry(""), 1u);
  go();
  ASSERT_THAT(unit->parked(), SizeIs(1));
  EXPECT_EQ(unit->parked()[0].id, "p2");
  EXPECT_EQ(stored("parked"), 1u);
}

// Events that came after it were handled: it must not take the hook back in time.
TEST_F(HookUnitControlTest, TriedAgainItIsAboutTheObjectAsItIsNow) {
  watch("pods", "Pod");
  start();
  park("x", "u1");
  pod("x", "u1", R"("labels":{"a":"new"})");
  EXPECT_THAT(taken(), ElementsAre("Modified x:u1"));
  inputs.clear();
  unit->retry("");
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_THAT(inputs.at(0), HasSubstr(R"("a":"new")"));
}

TEST_F(HookUnitControlTest, AnObjectThatWentNeedsNoCallForItsParkedEvent) {
  watch("pods", "Pod").deleted = false;
  start();
  park("x", "u1");
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_EQ(unit->retry(""), 1u);
  go();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(stored("parked"), 0u);
  EXPECT_TRUE(unit->idle());
}

// A hook that undoes by name what it did for the object must do it anew for the namesake.
TEST_F(HookUnitControlTest, AParkedDeletionIsFollowedByTheNamesakeThatIsThereNow) {
  watch("pods", "Pod");
  start();
  pod("x", "u1");
  taken();
  exit_code = 65;
  cluster.remove(test::pods(), "a", "x");
  go();
  exit_code = 0;
  pod("x", "u2");
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1", "Added x:u2"));
  unit->retry("");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1", "Added x:u2"));
}

TEST_F(HookUnitControlTest, ADelayedKeyRunsNowByHand) {
  watch("pods", "Pod");
  start();
  exit_code = 1;
  pod("x", "u1");
  pod("y", "u2");
  taken();
  exit_code = 0;
  EXPECT_EQ(unit->retry("pods./a/x"), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_EQ(unit->retry(""), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added y:u2"));
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitControlTest, DropForgetsParkedAndDelayedItems) {
  watch("pods", "Pod");
  start();
  park("x", "u1");
  park("y", "u2");
  exit_code = 1;
  pod("z", "u3");
  pod("z2", "u4");
  taken();
  EXPECT_EQ(unit->drop("no-such"), 0u);
  EXPECT_EQ(unit->drop("p1"), 1u);
  EXPECT_EQ(unit->drop("pods./a/z"), 1u);
  EXPECT_EQ(unit->drop(""), 2u);
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_EQ(stored("parked"), 0u);
  go(1h);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitControlTest, PausedItTakesEventsAndCallsNobody) {
  watch("pods", "Pod");
  schedule("sweep", 10s);
  start();
  unit->pause("a fuse blew");
  pod("x", "u1");
  pod("x", "u1", R"("labels":{"a":"b"})");
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(unit->look().paused, "a fuse blew");
  EXPECT_TRUE(unit->quiet());
  unit->resume();
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Schedule sweep"));
  EXPECT_EQ(unit->paused(), "");
}

TEST_F(HookUnitControlTest, ARestartLiftsNoPauseAndLosesNoParkedItem) {
  watch("pods", "Pod").existing = hook::WatchBinding::Existing::kNone;
  hook->retry.attempts = 3;
  start();
  exit_code = 1;
  pod("x", "u1", R"("labels":{"a":"old"})");
  for (int i = 0; i < 10; ++i) go(10s);
  ASSERT_THAT(unit->parked(), SizeIs(1));
  const Parked before = unit->parked()[0];
  EXPECT_EQ(before.attempts, 3);
  unit->pause("look at it first");
  exit_code = 0;
  restart();
  EXPECT_EQ(unit->paused(), "look at it first");
  ASSERT_THAT(unit->parked(), SizeIs(1));
  EXPECT_EQ(unit->parked()[0].id, before.id);
  EXPECT_EQ(unit->parked()[0].error, before.error);
  EXPECT_EQ(unit->parked()[0].at, before.at);
  unit->retry("");
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());  // paused
  unit->resume();
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_THAT(inputs.back(), HasSubstr(R"("a":"old")"));
  restart();
  EXPECT_EQ(unit->paused(), "");
  EXPECT_THAT(unit->parked(), IsEmpty());
  park("y", "u2");
  EXPECT_EQ(unit->parked().at(0).id, "p1");  // nothing is left that it could be confused with
}

// The process ends while the hook is called for it: it is parked still.
TEST_F(HookUnitControlTest, AParkedItemThatIsTriedAgainStaysStoredUntilItIsDone) {
  watch("pods", "Pod").existing = hook::WatchBinding::Existing::kNone;
  start();
  park("x", "u1");
  hang = true;
  unit->retry("");
  go();
  EXPECT_THAT(unit->parked(), IsEmpty());
  hang = false;
  restart();
  EXPECT_THAT(unit->parked(), SizeIs(1));
  unit->retry("");
  go();
  EXPECT_EQ(stored("parked"), 0u);
}

// It must be brought up to date, so it waits until that is possible.
TEST_F(HookUnitControlTest, AfterARestartARetriedItemWaitsForTheFirstList) {
  watch("pods", "Pod");
  start();
  park("x", "u1");
  unit.reset();
  cluster.hold("/api/v1/pods");
  start();
  EXPECT_EQ(unit->retry(""), 1u);
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(rows(), ElementsAre("pods./a/x held 1 #0"));
  cluster.release("/api/v1/pods");
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
}

TEST_F(HookUnitControlTest, ANewVersionKeepsWhatIsParkedPausedAndAskedForLater) {
  watch("pods", "Pod");
  output = R"({"requeueAfter":"1h"})";
  start();
  pod("x", "u1");
  output.clear();
  park("y", "u2");
  go(20min);
  unit->pause("test");
  unit->stop();
  Inheritance inheritance = unit->hand_over();
  store = nullptr;  // from hand to hand, not through the store
  auto old = std::move(unit);
  taken();
  start(std::move(inheritance));
  old.reset();
  EXPECT_EQ(unit->paused(), "test");
  EXPECT_THAT(unit->parked(), SizeIs(1));
  unit->resume();
  go();
  EXPECT_THAT(taken(), testing::UnorderedElementsAre("Added x:u1", "Added y:u2"));  // its first list
  go(40min - 1ns);
  EXPECT_THAT(taken(), IsEmpty());
  go(1ns);
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));  // exactly when it was asked for
}

TEST_F(HookUnitControlTest, AParkedEventOfABindingThatIsNoMoreIsDropped) {
  test::LogTap tap;
  watch("pods", "Pod");
  start();
  park("x", "u1");
  hook->watches[0].name = "renamed";
  restart();
  taken();
  EXPECT_EQ(unit->retry(""), 1u);
  go();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(stored("parked"), 0u);
  EXPECT_EQ(tap.count("no more, it is dropped"), 1u);
}

TEST_F(HookUnitControlTest, AGivenUpSyncRunsAloneWhenItIsTriedAgain) {
  watch("pods", "Pod").existing = hook::WatchBinding::Existing::kSync;
  hook->concurrency = 4;
  exit_code = 65;
  start();
  EXPECT_THAT(taken(), ElementsAre("Sync pods"));
  ASSERT_THAT(unit->parked(), SizeIs(1));
  hang = true;
  unit->retry("");
  pod("x", "u1");
  EXPECT_THAT(taken(), ElementsAre("Sync pods"));
  launcher.last().exit(0);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
}

}  // namespace
}  // namespace hookd::app
