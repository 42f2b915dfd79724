#include "app/hook_unit.h"

#include <gmock/gmock.h>

#include "unit/app/hook_unit_fixture.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Existing = hook::WatchBinding::Existing;

TEST_F(HookUnitTest, CarriesAnEventThroughToItsOperation) {
  watch("pods", "Pod");
  output = R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"x"})";
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "x", "u1"));
  start();
  go(1s);
  ASSERT_FALSE(cluster.writes().empty());
  EXPECT_EQ(cluster.writes().front(), "DELETE /api/v1/namespaces/a/pods/x");
  EXPECT_FALSE(cluster.has(test::pods(), "a", "x"));
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Deleted x:u1"));
  EXPECT_TRUE(unit->ready());
  EXPECT_TRUE(unit->idle());
}

// product.md section 2: no call is made before the snapshots it includes are known.
TEST_F(HookUnitTest, ACallWaitsForTheSnapshotsThatItIncludes) {
  watch("pods", "Pod", {"nodes"});
  auto& nodes = watch("nodes", "Node");
  nodes.added = nodes.modified = nodes.deleted = false;
  schedule("sweep", 10s, {"nodes"});
  schedule("alone", 15s);
  cluster.put(test::nodes(), test::object_json(test::nodes(), "", "n1", "n-1"));
  cluster.hold("/api/v1/nodes");
  pod("x", "u1");
  start();
  pod("x", "u1", "\"labels\":{}");
  go(30s);
  EXPECT_THAT(taken(), ElementsAre("Schedule alone", "Schedule alone"));  // it includes nothing
  EXPECT_FALSE(unit->ready());
  EXPECT_FALSE(unit->idle());
  cluster.release("/api/v1/nodes");
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Schedule sweep"));  // what waited became one each
  EXPECT_THAT(inputs.back(), HasSubstr(R"("nodes":[{"object":{"apiVersion":"v1","kind":"Node")"));
  EXPECT_TRUE(unit->ready());
}

TEST_F(HookUnitTest, HeldEventsKeepTheirOrder) {
  watch("pods", "Pod", {"nodes"});
  watch("nodes", "Node").added = false;
  cluster.hold("/api/v1/nodes");
  start();
  pod("x", "u1");
  pod("y", "u2");
  pod("x", "u3");  // a namesake
  cluster.release("/api/v1/nodes");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1", "Added y:u2", "Added x:u3"));
}

TEST_F(HookUnitTest, ASyncComesFirstAndChangesAfterIt) {
  watch("pods", "Pod").existing = Existing::kSync;
  hook->concurrency = 5;
  pod("x", "u1");
  hang = true;
  start();
  pod("y", "u2");
  EXPECT_THAT(taken(), ElementsAre("Sync pods"));
  EXPECT_THAT(inputs.back(), HasSubstr(R"("type":"Sync","objects":[{"object":{)"));
  launcher.last().exit(1);
  go();
  EXPECT_THAT(taken(), IsEmpty());
  hang = false;
  go(2s);
  EXPECT_THAT(taken(), ElementsAre("Sync pods", "Added y:u2"));
}

TEST_F(HookUnitTest, OneObjectsCallsNeverOverlapAlsoAcrossBindings) {
  watch("one", "Pod");
  watch("two", "Pod");
  hook->concurrency = 5;
  hang = true;
  start();
  pod("x", "u1");
  pod("y", "u2");
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Added y:u2"));
  EXPECT_EQ(unit->running(), 2u);
  launcher.started[0]->exit(0);
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));  // the other binding's event of x
}

// ---------------------------------------------------------------- start-up

TEST_F(HookUnitTest, StartUpComesBeforeEverythingElseOfItsHook) {
  hook->startup = hook::Startup{.order = 1, .include = {"pods"}};
  watch("pods", "Pod");
  schedule("sweep", 1s);
  pod("x", "u1");
  exit_code = 1;
  start();
  go(5s);
  EXPECT_THAT(taken(), IsEmpty());  // its turn has not come
  int tried = 0;
  unit->run_startup([&] { ++tried; });
  go();
  EXPECT_THAT(taken(), ElementsAre("Startup startup"));
  EXPECT_THAT(inputs.back(), AllOf(HasSubstr(R"("reason":"startup")"), HasSubstr(R"("pods":[{)")));
  EXPECT_EQ(tried, 1);  // the next hook's turn, although this one failed
  exit_code = 0;
  go(2s);
  const auto after = taken();
  ASSERT_GE(after.size(), 3u);
  EXPECT_EQ(after[0], "Startup startup");
  EXPECT_THAT(after, testing::Contains("Added x:u1"));
  EXPECT_EQ(tried, 1);
}

TEST_F(HookUnitTest, AStartUpThatWaitsForItsSnapshotsDoesNotHoldUpTheOtherHooksForEver) {
  hook->startup = hook::Startup{.order = 0, .include = {"pods"}};
  watch("pods", "Pod");
  cluster.hold("/api/v1/pods");
  start();
  int tried = 0;
  unit->run_startup([&] { ++tried; });
  go(HookUnit::kStartupTurn - 1s);
  EXPECT_EQ(tried, 0);
  go(1s);
  EXPECT_EQ(tried, 1);
  cluster.release("/api/v1/pods");
  go();
  EXPECT_THAT(taken(), ElementsAre("Startup startup"));
  EXPECT_EQ(tried, 1);
}

TEST_F(HookUnitTest, StoppedBeforeItsStartUpItStartsNothing) {
  hook->startup = hook::Startup{.order = 0, .include = {"pods"}};
  watch("pods", "Pod");
  cluster.hold("/api/v1/pods");
  start();
  unit->run_startup([] {});
  unit->stop();
  cluster.release("/api/v1/pods");
  go(1h);
  EXPECT_THAT(taken(), IsEmpty());
}

// ---------------------------------------------------------------- called again

TEST_F(HookUnitTest, RequeueAfterIsExactAndSeesTheObjectAsItIsThen) {
  watch("pods", "Pod").modified = false;
  output = R"({"requeueAfter":"20s"})";
  pod("x", "u1");
  start();
  taken();
  pod("x", "u1", R"("labels":{"n":"2"})");  // no event, but the snapshot knows
  output.clear();
  go(20s - 1ns);
  EXPECT_THAT(taken(), IsEmpty());
  go(1ns);
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_THAT(inputs.back(),
              AllOf(HasSubstr(R"("reason":"requeue")"), HasSubstr(R"("n":"2")"), HasSubstr(R"("attempt":1)")));
}

TEST_F(HookUnitTest, ARequeueOfAnObjectThatIsGoneMakesNoCall) {
  watch("pods", "Pod").deleted = false;
  output = R"({"requeueAfter":"20s"})";
  pod("x", "u1");
  start();
  taken();
  cluster.remove(test::pods(), "a", "x");
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitTest, ARequeueNeverMeansANamesake) {
  auto& pods = watch("pods", "Pod");
  pods.deleted = pods.modified = false;
  output = R"({"requeueAfter":"20s"})";
  pod("x", "u1");
  start();
  output.clear();
  pod("x", "u2");
  taken();
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitTest, EventsBetweenDoNotAddChainsOfRequeues) {
  watch("pods", "Pod");
  output = R"({"requeueAfter":"20s"})";
  start();
  for (int i = 0; i < 50; ++i) {
    pod("x", "u1", fmt::format(R"("labels":{{"n":"{}"}})", i));
    go(100ms);
  }
  taken();
  go(200s);
  const size_t calls_in_200s = taken().size();
  EXPECT_GE(calls_in_200s, 9u);
  EXPECT_LE(calls_in_200s, 10u);
}

TEST_F(HookUnitTest, ARequeuedTickIsATick) {
  schedule("sweep", 1h);
  output = R"({"requeueAfter":"10s"})";
  start();
  go(1h);
  output.clear();
  go(10s);
  EXPECT_THAT(taken(), ElementsAre("Schedule sweep", "Schedule sweep"));
  EXPECT_THAT(inputs.back(), HasSubstr(R"("reason":"requeue")"));
}

TEST_F(HookUnitTest, OnceDoesNotWaitForRequeuesAndTicksAtTheStart) {
  once = true;
  schedule("sweep", 1h);
  watch("pods", "Pod");
  pod("x", "u1");
  output = R"({"requeueAfter":"10s"})";
  start();
  EXPECT_THAT(taken(), ElementsAre("Schedule sweep", "Added x:u1"));
  EXPECT_TRUE(unit->idle());
  EXPECT_FALSE(unit->failed());
  go(1h);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitTest, OnceDoesNotTryForEver) {
  once = true;
  schedule("sweep", 1h);
  exit_code = 1;
  start();
  go(1h);
  EXPECT_EQ(taken().size(), size_t{HookUnit::kOnceAttempts});
  EXPECT_TRUE(unit->idle());
  EXPECT_TRUE(unit->failed());
}

// ---------------------------------------------------------------- giving up, stopping, handing over

TEST_F(HookUnitTest, WhatIsGivenUpIsParkedWithItsReason) {
  hook->retry.attempts = 2;
  watch("pods", "Pod");
  exit_code = 3;
  pod("x", "u1");
  start();
  go(1min);
  EXPECT_EQ(taken().size(), 2u);
  ASSERT_EQ(unit->parked().size(), 1u);
  EXPECT_EQ(unit->parked()[0].key, "pods./a/x");
  EXPECT_THAT(unit->parked()[0].error, HasSubstr("exit code 3"));
  EXPECT_TRUE(unit->failed());
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitTest, OrDropped) {
  test::LogTap tap;
  hook->retry.on_give_up = hook::Retry::GiveUp::kDrop;
  watch("pods", "Pod");
  exit_code = 65;
  pod("x", "u1");
  start();
  go();
  EXPECT_THAT(unit->parked(), IsEmpty());
  EXPECT_EQ(tap.first("given up, dropped").level, log::Level::kError);
}

TEST_F(HookUnitTest, ParkedItemsAreBounded) {
  test::LogTap tap;
  watch("pods", "Pod");
  hook->concurrency = 16;
  exit_code = 65;
  for (size_t i = 0; i <= Parking::kMaxItems; ++i)
    cluster.put(test::pods(), test::object_json(test::pods(), "a", "p" + std::to_string(i), "u" + std::to_string(i)));
  start();
  go(1s);
  EXPECT_EQ(unit->parked().size(), Parking::kMaxItems);
  EXPECT_EQ(tap.count("too many parked items"), 1u);
}

TEST_F(HookUnitTest, StopLetsWhatRunsGoOnAndKeepsTheRest) {
  watch("pods", "Pod");
  hang = true;
  start();
  pod("x", "u1");
  pod("y", "u2");
  cluster.remove(test::pods(), "a", "x");
  go();
  unit->stop();
  EXPECT_EQ(unit->running(), 1u);
  auto waiting = unit->hand_over().waiting;
  ASSERT_EQ(waiting.size(), 2u);
  launcher.last().exit(0);
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  EXPECT_EQ(unit->running(), 0u);

  // The next version of the hook hears of the deletion; what is there it sees for itself.
  hang = false;
  unit.reset();
  start(std::move(waiting));
  EXPECT_THAT(taken(), testing::UnorderedElementsAre("Deleted x:u1", "Added y:u2"));
}

TEST_F(HookUnitTest, ADeletionThatTheNextVersionDoesNotAskForIsNotHandedOver) {
  watch("pods", "Pod").deleted = false;
  hook::Event gone;
  gone.type = hook::Event::Type::kDeleted;
  gone.binding = "pods";
  gone.object = test::make_object("a", "x", "u1", "1", test::object_json(test::pods(), "a", "x", "u1"));
  hook::Event other = gone;
  other.binding = "no-more";
  start({{"pods./a/x", gone}, {"pods./a/x", other}});
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitTest, TerminateAsksTheProcessesToEnd) {
  watch("pods", "Pod");
  hang = true;
  pod("x", "u1");
  start();
  unit->stop();
  unit->terminate();
  EXPECT_TRUE(launcher.last().terminated);
  unit.reset();
  EXPECT_TRUE(launcher.last().killed);
  go(1min);
}

TEST_F(HookUnitTest, SaysWhichBindingIsInTrouble) {
  watch("pods", "Pod");
  watch("gadgets", "Gadget");
  start();
  go(1min);
  ASSERT_EQ(unit->troubles().size(), 1u);
  EXPECT_EQ(unit->troubles()[0].first, "gadgets");
  EXPECT_THAT(unit->troubles()[0].second.what, HasSubstr("Gadget"));
  EXPECT_FALSE(unit->ready());
  pod("x", "u1");
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));  // the other binding works
  cluster.serve(test::make_type("x.io", "Gadget", "gadgets"));
  go(1min);
  EXPECT_THAT(unit->troubles(), IsEmpty());
  EXPECT_TRUE(unit->ready());
}

// Issue 3: nothing lost while a hook fails for an hour.
TEST_F(HookUnitTest, NothingIsLostWhileTheHookFailsForAnHour) {
  watch("pods", "Pod");
  hook->concurrency = 4;
  exit_code = 1;
  start();
  for (int i = 0; i < 600; ++i) {
    cluster.put(test::pods(),
                test::object_json(test::pods(), "a", "p" + std::to_string(i % 20), "u" + std::to_string(i % 20),
                                  fmt::format(R"("labels":{{"n":"{}"}})", i)));
    go(6s);
  }
  taken();
  inputs.clear();
  exit_code = 0;
  go(10min);
  std::map<std::string, std::string> last;
  for (const std::string& input : inputs) {
    const auto call = *parse_json(input);
    for (const auto& event : call.at("events").as_array())
      last[event.at("object").at("metadata").at("name").as_string().c_str()] =
          event.at("object").at("metadata").at("labels").at("n").as_string().c_str();
  }
  EXPECT_EQ(inputs.size(), 20u);  // one call each
  ASSERT_EQ(last.size(), 20u);
  for (int i = 580; i < 600; ++i) EXPECT_EQ(last["p" + std::to_string(i % 20)], std::to_string(i));
  EXPECT_TRUE(unit->idle());
}

}  // namespace
}  // namespace hookd::app
