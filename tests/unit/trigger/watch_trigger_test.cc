#include "trigger/watch_trigger.h"

#include <gmock/gmock.h>

#include "base/time.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/log_tap.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Existing = hook::WatchBinding::Existing;
using Keep = hook::WatchBinding::Keep;

std::shared_ptr<const filter::Filter> jq(std::string_view expression) {
  auto compiled = filter::Filter::compile(expression);
  EXPECT_TRUE(compiled) << expression << ": " << (compiled ? "" : compiled.error().what);
  return compiled ? *std::move(compiled) : nullptr;
}

class WatchTriggerTest : public testing::Test {
 protected:
  WatchTriggerTest() {
    for (const auto& type : {test::pods(), test::nodes(), test::namespaces(), test::deployments()}) cluster.serve(type);
    binding.name = "pods";
    binding.kind = "Pod";
  }

  void start() {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = "h";
    hook->watches = {binding};
    trigger = std::make_unique<WatchTrigger>(
        hook, hook->watches.front(), pool, scheduler, metrics,
        [this](const std::string& key, hook::Event event, bool exclusive) {
          keys.push_back(key);
          exclusives.push_back(exclusive);
          events.push_back(std::move(event));
        },
        [this] { ++readies; });
    trigger->start();
    settle();
  }
  void settle(Duration time = 0s) { scheduler.advance(time); }

  // What was told since the last look: "Added a/x u1 =value".
  std::vector<std::string> taken() {
    settle();
    std::vector<std::string> shown;
    for (const auto& event : std::exchange(events, {})) {
      std::string text(to_string(event.type));
      if (event.object) text += fmt::format(" {} {}", event.object->key(), event.object->uid);
      if (event.value) text += " =" + *event.value;
      if (event.old_value) text += " was " + *event.old_value;
      if (event.final_state_unknown) text += " unseen";
      shown.push_back(text);
    }
    return shown;
  }
  std::vector<std::string> snapshot() const {
    std::vector<std::string> shown;
    for (const auto& entry : trigger->snapshot().entries)
      shown.push_back(entry.object->key() + (entry.value ? " =" + *entry.value : ""));
    return shown;
  }
  void pod(std::string_view name, std::string_view uid, std::string_view meta = "", std::string_view more = "",
           std::string_view ns = "a") {
    cluster.put(test::pods(), test::object_json(test::pods(), ns, name, uid, meta, more));
  }
  void ns(std::string_view name, std::string_view labels) {
    cluster.put(test::namespaces(), test::object_json(test::namespaces(), "", name, "ns-" + std::string(name),
                                                      fmt::format("\"labels\":{{{}}}", labels)));
  }
  // A pod whose grace period ends `from_now` (may be past).
  void dying(std::string_view name, std::string_view uid, Duration from_now) {
    pod(name, uid, fmt::format(R"("deletionTimestamp":"{}")", format_rfc3339(scheduler.wall_now() + from_now)));
  }

  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  kube::Discovery discovery{cluster, scheduler};
  kube::InformerPool pool{{cluster, discovery, scheduler, random, 500}, [] {}};
  metrics::Registry metrics;
  hook::WatchBinding binding;
  std::unique_ptr<WatchTrigger> trigger;
  std::vector<hook::Event> events;
  std::vector<std::string> keys;
  std::vector<bool> exclusives;
  int readies = 0;
};

// ---------------------------------------------------------------- plain bindings

TEST_F(WatchTriggerTest, ExistingObjectsAreAddedThenChangesFollow) {
  pod("x", "u1");
  pod("y", "u2", "", "", "b");
  start();
  EXPECT_EQ(readies, 1);
  EXPECT_TRUE(trigger->ready());
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1", "Added b/y u2"));
  pod("z", "u3");
  pod("x", "u1", "\"labels\":{\"n\":\"2\"}");
  cluster.remove(test::pods(), "b", "y");
  EXPECT_THAT(taken(), ElementsAre("Added a/z u3", "Modified a/x u1", "Deleted b/y u2"));
  EXPECT_THAT(snapshot(), ElementsAre("a/x", "a/z"));
  EXPECT_EQ(keys.front(), "pods./a/x");
  EXPECT_THAT(exclusives, testing::Each(false));
  EXPECT_EQ(readies, 1);
}

TEST_F(WatchTriggerTest, AModificationTellsTheStateBefore) {
  pod("x", "u1", "\"labels\":{\"n\":\"1\"}");
  start();
  events.clear();
  pod("x", "u1", "\"labels\":{\"n\":\"2\"}");
  settle();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].old->text.unpack(), HasSubstr(R"("n":"1")"));
  EXPECT_THAT(events[0].object->text.unpack(), HasSubstr(R"("n":"2")"));
  EXPECT_EQ(events[0].resource->kind, "Pod");
}

TEST_F(WatchTriggerTest, ExistingNoneIsSilentAboutWhatWasThere) {
  binding.existing = Existing::kNone;
  pod("x", "u1");
  start();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(snapshot(), ElementsAre("a/x"));
  pod("y", "u2");
  cluster.remove(test::pods(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2", "Deleted a/x u1"));
}

TEST_F(WatchTriggerTest, ExistingSyncIsOneExclusiveCallThatCanSeeTheSnapshot) {
  binding.existing = Existing::kSync;
  pod("x", "u1");
  pod("y", "u2");
  start();
  EXPECT_THAT(taken(), ElementsAre("Sync"));
  EXPECT_THAT(keys, ElementsAre("sync/pods"));
  EXPECT_THAT(exclusives, ElementsAre(true));
  EXPECT_THAT(snapshot(), ElementsAre("a/x", "a/y"));
  pod("z", "u3");
  EXPECT_THAT(taken(), ElementsAre("Added a/z u3"));
}

TEST_F(WatchTriggerTest, ASyncOfNothingIsStillACall) {
  binding.existing = Existing::kSync;
  start();
  EXPECT_THAT(taken(), ElementsAre("Sync"));
}

TEST_F(WatchTriggerTest, SnapshotOnlyBindingsTellNothing) {
  binding.added = binding.modified = binding.deleted = false;
  for (const Existing existing : {Existing::kAdded, Existing::kSync}) {
    binding.existing = existing;
    pod("x", "u1");
    start();
    pod("y", "u2");
    cluster.remove(test::pods(), "a", "x");
    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(snapshot(), ElementsAre("a/y"));
  }
}

TEST_F(WatchTriggerTest, OnlyTheEventsAskedForAreTold) {
  binding.modified = binding.added = false;
  pod("x", "u1");
  start();
  pod("x", "u1", "\"labels\":{}");
  pod("y", "u2");
  cluster.remove(test::pods(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1"));
  binding.modified = true;
  binding.deleted = false;
  start();
  pod("y", "u2", "\"labels\":{}");
  cluster.remove(test::pods(), "a", "y");
  EXPECT_THAT(taken(), ElementsAre("Modified a/y u2"));
}

TEST_F(WatchTriggerTest, WhatHappenedWhileTheWatchWasAwayIsToldFromTheNextList) {
  pod("x", "u1");
  pod("y", "u2");
  start();
  taken();
  cluster.cut("/api/v1/pods");
  cluster.remove(test::pods(), "a", "x");
  pod("y", "u3");  // a namesake
  settle(2min);
  EXPECT_THAT(taken(),
              testing::UnorderedElementsAre(HasSubstr("Deleted a/x u1"), HasSubstr("Deleted a/y u2"), "Added a/y u3"));
  EXPECT_THAT(snapshot(), ElementsAre("a/y"));
}

TEST_F(WatchTriggerTest, ANamesakeIsADeletionAndAnAddition) {
  pod("x", "u1");
  start();
  taken();
  pod("x", "u2");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen", "Added a/x u2"));
}

// R46-R48: a CRD that goes takes its objects with it, and may come back.
TEST_F(WatchTriggerTest, AResourceThatIsServedNoMoreIsDeletedAndMayComeBack) {
  binding.kind = "Deployment";
  cluster.put(test::deployments(), test::object_json(test::deployments(), "a", "d", "u1"));
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/d u1"));
  EXPECT_EQ(keys.back(), "deployments.apps/a/d");
  cluster.unserve("deployments");
  settle(5min);
  EXPECT_THAT(taken(), ElementsAre("Deleted a/d u1 unseen"));
  cluster.serve(test::deployments());
  cluster.put(test::deployments(), test::object_json(test::deployments(), "a", "d", "u2"));
  settle(1min);
  EXPECT_THAT(taken(), ElementsAre("Added a/d u2"));
}

TEST_F(WatchTriggerTest, IsNotReadyUntilTheResourceIsServedAndListed) {
  binding.kind = "Gadget";
  start();
  settle(1min);
  EXPECT_FALSE(trigger->ready());
  auto gadgets = test::make_type("x.io", "Gadget", "gadgets");
  cluster.serve(gadgets);
  cluster.hold("/apis/x.io/v1/gadgets");
  settle(1min);
  EXPECT_FALSE(trigger->ready());
  cluster.release("/apis/x.io/v1/gadgets");
  settle();
  EXPECT_TRUE(trigger->ready());
  EXPECT_EQ(readies, 1);
}

TEST_F(WatchTriggerTest, ALateTriggerOnTheSameStreamHearsWhatIsThere) {
  pod("x", "u1");
  start();
  taken();
  auto first = std::move(trigger);
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  EXPECT_EQ(cluster.lists("/api/v1/pods"), 1u);  // R4: the same collection is streamed once
  first.reset();
  pod("y", "u2");
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2"));
}

TEST_F(WatchTriggerTest, GoesInTheMiddleOfEverything) {
  binding.hold_for = 30s;
  pod("x", "u1");
  start();
  pod("y", "u2");
  trigger.reset();
  settle(10min);
  EXPECT_THAT(taken(), IsEmpty());
}

// ---------------------------------------------------------------- selections

TEST_F(WatchTriggerTest, OneNameIsChosenByTheServerSeveralHere) {
  binding.names = {"x"};
  pod("x", "u1");
  pod("y", "u2");
  pod("z", "u3");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  ASSERT_FALSE(cluster.lists().empty());
  EXPECT_THAT(cluster.lists().back().query,
              testing::Contains(std::pair<std::string, std::string>("fieldSelector", "metadata.name=x")));
  binding.names = {"x", "z"};
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1", "Added a/z u3"));
  EXPECT_THAT(snapshot(), ElementsAre("a/x", "a/z"));
}

TEST_F(WatchTriggerTest, LabelsAreChosenByTheServerAndLeavingThemIsADeletion) {
  binding.label_selector = *cache::LabelSelector::parse("app=web");
  pod("x", "u1", "\"labels\":{\"app\":\"web\"}");
  pod("y", "u2");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  pod("y", "u2", "\"labels\":{\"app\":\"web\"}");
  pod("x", "u1", "\"labels\":{\"app\":\"db\"}");
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2", "Deleted a/x u1"));  // R25
}

// R4: named namespaces are streams of their own, so that a Role in each is right enough.
TEST_F(WatchTriggerTest, NamedNamespacesAreStreamsOfTheirOwn) {
  binding.namespaces.names = {"a", "b"};
  pod("x", "u1", "", "", "a");
  pod("y", "u2", "", "", "b");
  pod("z", "u3", "", "", "c");
  cluster.hold("/api/v1/namespaces/b/pods");
  start();
  EXPECT_FALSE(trigger->ready());
  cluster.release("/api/v1/namespaces/b/pods");
  settle();
  EXPECT_TRUE(trigger->ready());
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1", "Added b/y u2"));
  EXPECT_EQ(cluster.lists("/api/v1/pods"), 0u);
  pod("w", "u4", "", "", "b");
  pod("v", "u5", "", "", "c");
  EXPECT_THAT(taken(), ElementsAre("Added b/w u4"));
  EXPECT_THAT(snapshot(), ElementsAre("a/x", "b/w", "b/y"));
  EXPECT_EQ(trigger->informers().size(), 2u);
}

TEST_F(WatchTriggerTest, NamespacesByLabelComeAndGo) {
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  ns("a", "\"team\":\"x\"");
  ns("b", "\"team\":\"y\"");
  pod("p", "u1", "", "", "a");
  pod("q", "u2", "", "", "b");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/p u1"));
  ns("b", "\"team\":\"x\"");
  EXPECT_THAT(taken(), ElementsAre("Added b/q u2"));
  ns("a", "\"team\":\"y\"");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/p u1"));
  pod("r", "u3", "", "", "a");
  EXPECT_THAT(taken(), IsEmpty());
  ns("a", "\"team\":\"x\"");
  EXPECT_THAT(taken(), UnorderedElementsAre("Added a/p u1", "Added a/r u3"));
  EXPECT_THAT(snapshot(), ElementsAre("a/p", "a/r", "b/q"));
}

TEST_F(WatchTriggerTest, ANamespaceThatComesLaterThanItsObjectsIsNotMissed) {
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  start();
  EXPECT_TRUE(trigger->ready());
  pod("p", "u1", "", "", "new");  // told before its namespace is
  ns("new", "\"team\":\"x\"");
  EXPECT_THAT(taken(), ElementsAre("Added new/p u1"));
  cluster.remove(test::namespaces(), "", "new");
  EXPECT_THAT(taken(), ElementsAre("Deleted new/p u1"));
}

TEST_F(WatchTriggerTest, IsReadyOnlyWhenTheNamespacesAreKnownToo) {
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  binding.existing = Existing::kSync;
  ns("a", "\"team\":\"x\"");
  pod("p", "u1");
  cluster.hold("/api/v1/namespaces");
  start();
  EXPECT_FALSE(trigger->ready());
  EXPECT_THAT(taken(), IsEmpty());
  cluster.release("/api/v1/namespaces");
  settle();
  EXPECT_THAT(taken(), ElementsAre("Sync"));
  EXPECT_THAT(snapshot(), ElementsAre("a/p"));
}

// A replay tells the newest state; what the store tells after it must not turn back time.
TEST_F(WatchTriggerTest, ANamespaceThatComesAmidChangesTurnsNothingBack) {
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  ns("a", "\"team\":\"y\"");
  pod("p", "u1");
  start();
  taken();
  for (int i = 0; i < 3; ++i) {
    pod("p", i < 2 ? "u1" : "u2", fmt::format("\"labels\":{{\"n\":\"{}\"}}", i));
    if (i == 0) ns("a", "\"team\":\"x\"");
  }
  settle();
  std::string version = "0";
  std::string uid;
  for (const auto& event : events) {
    if (event.type == hook::Event::Type::kDeleted) continue;
    EXPECT_GT(std::stoi(event.object->resource_version), std::stoi(version));
    version = event.object->resource_version;
    uid = event.object->uid;
  }
  EXPECT_EQ(uid, "u2");
}

// ---------------------------------------------------------------- when, value, keep

TEST_F(WatchTriggerTest, WhenDecidesWhoTakesPart) {
  binding.when = jq(".spec.go == true");
  pod("x", "u1", "", R"("spec":{"go":true})");
  pod("y", "u2", "", R"("spec":{"go":false})");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  EXPECT_THAT(snapshot(), ElementsAre("a/x"));
  pod("y", "u2", "", R"("spec":{"go":true})");
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2"));
  pod("x", "u1", "", R"("spec":{"go":false})");  // it ceases to hold
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1"));
  pod("x", "u1", "", R"("spec":{"go":true})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  pod("z", "u3", "", R"("spec":{"go":false})");
  cluster.remove(test::pods(), "a", "z");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(WatchTriggerTest, AWhenThatFailsOnAnObjectDoesNotHoldAndIsSaid) {
  test::LogTap tap;
  binding.when = jq(".spec.n + 1 > 2");
  pod("x", "u1", "", R"("spec":{"n":"text"})");
  pod("y", "u2", "", R"("spec":{"n":5})");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2"));
  EXPECT_EQ(tap.count("a filter failed on an object"), 1u);
  EXPECT_THAT(tap.first("a filter failed").line, AllOf(HasSubstr("filter=when"), HasSubstr("object=a/x")));
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_filter_errors_total{binding="pods",hook="h"} 1)"));
}

TEST_F(WatchTriggerTest, AFilterThatAlwaysFailsDoesNotFillTheLog) {
  test::LogTap tap;
  binding.when = jq(".metadata.name + 1 > 2");
  for (int i = 0; i < 100; ++i) pod("p" + std::to_string(i), "u" + std::to_string(i));
  start();
  EXPECT_EQ(tap.count("a filter failed on an object"), 10u);
}

TEST_F(WatchTriggerTest, AnUnchangedValueIsNoEvent) {
  binding.value = jq(".metadata.labels");
  pod("x", "u1", R"("labels":{"n":"1"})", R"("spec":{"a":1})");
  start();
  EXPECT_THAT(taken(), ElementsAre(R"(Added a/x u1 ={"n":"1"})"));
  pod("x", "u1", R"("labels":{"n":"1"})", R"("spec":{"a":2})");
  EXPECT_THAT(taken(), IsEmpty());
  pod("x", "u1", R"("labels":{"n":"2"})", R"("spec":{"a":2})");
  EXPECT_THAT(taken(), ElementsAre(R"(Modified a/x u1 ={"n":"2"} was {"n":"1"})"));
  EXPECT_THAT(snapshot(), ElementsAre(R"(a/x ={"n":"2"})"));
  cluster.remove(test::pods(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre(R"(Deleted a/x u1 ={"n":"2"})"));
}

TEST_F(WatchTriggerTest, TheOldStateIsTheNewestBeforeNotThatOfTheLastEvent) {
  binding.value = jq(".spec.a");
  pod("x", "u1", R"("labels":{"n":"1"})", R"("spec":{"a":1})");
  start();
  pod("x", "u1", R"("labels":{"n":"2"})", R"("spec":{"a":1})");
  taken();
  pod("x", "u1", R"("labels":{"n":"3"})", R"("spec":{"a":2})");
  settle();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].old->text.unpack(), HasSubstr(R"("n":"2")"));
}

TEST_F(WatchTriggerTest, KeepValueHoldsTheValueAndTheIdentity) {
  binding.value = jq(".spec.a");
  binding.keep = Keep::kValue;
  pod("x", "u1", "", R"("spec":{"a":1})");
  start();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].object->text.unpack(), HasSubstr(R"("spec":{"a":1})"));  // the event still has the object
  EXPECT_THAT(snapshot(), ElementsAre("a/x =1"));
  EXPECT_TRUE(trigger->snapshot().entries[0].object->text.empty());
  EXPECT_EQ(trigger->snapshot().entries[0].object->uid, "u1");
  EXPECT_EQ(trigger->snapshot().type->kind, "Pod");
  EXPECT_EQ(trigger->informers()[0]->store().stored_bytes(), 0u);
  pod("x", "u1", "", R"("spec":{"a":2})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1 =1", "Modified a/x u1 =2 was 1"));
}

TEST_F(WatchTriggerTest, KeepNoneStillKnowsWhatChanged) {
  binding.value = jq(".spec.a");
  binding.keep = Keep::kNone;
  pod("x", "u1", "", R"("spec":{"a":1})");
  start();
  taken();
  EXPECT_THAT(snapshot(), ElementsAre("a/x"));  // no value
  pod("x", "u1", R"("labels":{})", R"("spec":{"a":1})");
  EXPECT_THAT(taken(), IsEmpty());
  pod("x", "u1", "", R"("spec":{"a":2})");
  settle();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].old);
  EXPECT_THAT(events[0].object->text.unpack(), HasSubstr(R"("a":2)"));
}

TEST_F(WatchTriggerTest, InsideGivesTheNewestStateByNameAndUid) {
  binding.value = jq(".spec.a");
  pod("x", "u1", "", R"("spec":{"a":1})");
  start();
  pod("x", "u1", "", R"("spec":{"a":2})");
  settle();
  const auto entry = trigger->inside("a/x", "u1");
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry->value, "2");
  EXPECT_THAT(entry->object->text.unpack(), HasSubstr(R"("a":2)"));
  EXPECT_FALSE(trigger->inside("a/x", "u2"));
  EXPECT_FALSE(trigger->inside("a/y", "u1"));
}

// ---------------------------------------------------------------- for and since

TEST_F(WatchTriggerTest, ForLetsAnObjectInOnceTheConditionHasHeldThatLong) {
  binding.when = jq(".spec.bad");
  binding.hold_for = 30s;
  pod("x", "u1", "", R"("spec":{"bad":true})");
  start();
  EXPECT_TRUE(trigger->ready());
  EXPECT_EQ(trigger->waiting(), 1u);
  EXPECT_THAT(snapshot(), IsEmpty());
  settle(20s);
  pod("x", "u1", R"("labels":{"n":"1"})", R"("spec":{"bad":true})");  // changes do not matter, it still holds
  settle(10s - 1ns);
  EXPECT_THAT(taken(), IsEmpty());
  settle(1ns);
  settle();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].object->text.unpack(), HasSubstr(R"("n":"1")"));  // the newest state
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  EXPECT_THAT(snapshot(), ElementsAre("a/x"));
  EXPECT_EQ(trigger->waiting(), 0u);
  settle(1h);
  EXPECT_THAT(taken(), IsEmpty());  // once
}

TEST_F(WatchTriggerTest, ForBrokenInBetweenStartsAnew) {
  binding.when = jq(".spec.bad");
  binding.hold_for = 30s;
  start();
  pod("x", "u1", "", R"("spec":{"bad":true})");
  settle(29s);
  pod("x", "u1", "", R"("spec":{"bad":false})");
  settle(1s);
  pod("x", "u1", "", R"("spec":{"bad":true})");
  settle(29s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(1s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
}

TEST_F(WatchTriggerTest, DeletedWhileWaitingIsNoEvent) {
  binding.hold_for = 30s;
  start();
  pod("x", "u1");
  settle(10s);
  cluster.remove(test::pods(), "a", "x");
  settle(1min);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(trigger->waiting(), 0u);
}

TEST_F(WatchTriggerTest, ANamesakeWhileWaitingWaitsForItself) {
  binding.hold_for = 30s;
  start();
  pod("x", "u1");
  settle(20s);
  pod("x", "u2");
  settle(20s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(10s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u2"));
}

TEST_F(WatchTriggerTest, WhenCeasesAfterForIsADeletion) {
  binding.when = jq(".spec.bad");
  binding.hold_for = 30s;
  start();
  pod("x", "u1", "", R"("spec":{"bad":true})");
  settle(30s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  pod("x", "u1", "", R"("spec":{"bad":false})");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1"));
}

// The main job: 30 s after the end of the grace period, which deletionTimestamp tells.
TEST_F(WatchTriggerTest, SinceIsWhenTheObjectSaysItBegan) {
  binding.when = jq(".metadata.deletionTimestamp != null");
  binding.since = jq(".metadata.deletionTimestamp");
  binding.hold_for = 30s;
  pod("healthy", "u0");
  dying("past", "u1", -40s);
  dying("now", "u2", -10s);
  dying("future", "u3", 20s);
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/past u1"));  // at once: a restart does not start the 30 s anew
  settle(20s);
  EXPECT_THAT(taken(), ElementsAre("Added a/now u2"));
  settle(29s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(1s);
  EXPECT_THAT(taken(), ElementsAre("Added a/future u3"));
}

TEST_F(WatchTriggerTest, AGracePeriodShortenedWhileWaitingCounts) {
  binding.when = jq(".metadata.deletionTimestamp != null");
  binding.since = jq(".metadata.deletionTimestamp");
  binding.hold_for = 30s;
  start();
  dying("x", "u1", 300s);
  settle(10s);
  dying("x", "u1", 0s);
  settle(29s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(1s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  dying("y", "u2", 0s);
  settle(10s);
  dying("y", "u2", -100s);
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2"));
}

TEST_F(WatchTriggerTest, WithoutAnAnswerSinceIsWhenItWasFirstSeen) {
  test::LogTap tap;
  binding.since = jq(".spec.since");
  binding.hold_for = 30s;
  start();
  pod("null", "u1");
  pod("odd", "u2", "", R"("spec":{"since":"yesterday"})");
  pod("zero", "u3", "", R"("spec":{"since":"0001-01-01T00:00:00Z"})");
  pod("huge", "u4", "", R"("spec":{"since":1e300})");
  settle(20s);
  for (const char* name : {"null", "odd", "zero", "huge"})
    pod(name,
        name == std::string("null")   ? "u1"
        : name == std::string("odd")  ? "u2"
        : name == std::string("zero") ? "u3"
                                      : "u4",
        R"("labels":{"n":"1"})");
  settle(9s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(1s);
  EXPECT_EQ(taken().size(), 4u);
  EXPECT_EQ(tap.count("a time such as"), 3u);
}

TEST_F(WatchTriggerTest, SinceMayBeSecondsSince1970AndFarAway) {
  binding.since = jq(".spec.since");
  binding.hold_for = 30s;
  start();
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(scheduler.wall_now().time_since_epoch()).count();
  pod("x", "u1", "", fmt::format(R"("spec":{{"since":{}}})", now - 20));
  pod("far", "u2", "", R"("spec":{"since":"2261-12-31T00:00:00Z"})");
  pod("long-ago", "u3", "", R"("spec":{"since":"1678-01-01T00:00:00Z"})");
  EXPECT_THAT(taken(), ElementsAre("Added a/long-ago u3"));
  settle(10s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  settle(1h);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(trigger->waiting(), 1u);
}

TEST_F(WatchTriggerTest, ExistingNoneIsNewsWhenForEndsLater) {
  binding.existing = Existing::kNone;
  binding.since = jq(".metadata.deletionTimestamp");
  binding.hold_for = 30s;
  dying("past", "u1", -40s);
  dying("soon", "u2", -10s);
  start();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(snapshot(), ElementsAre("a/past"));
  settle(20s);
  EXPECT_THAT(taken(), ElementsAre("Added a/soon u2"));
}

TEST_F(WatchTriggerTest, AClockSetBackWhileWaitingDoesNotFireEarly) {
  binding.since = jq(".metadata.deletionTimestamp");
  binding.hold_for = 30s;
  start();
  dying("x", "u1", 0s);
  settle(10s);
  scheduler.set_wall(scheduler.wall_now() - 60s);  // it was ahead
  settle(25s);
  EXPECT_THAT(taken(), IsEmpty());
  settle(60s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
}

TEST_F(WatchTriggerTest, AClockSetForwardIsSeenWithinALook) {
  binding.since = jq(".metadata.deletionTimestamp");
  binding.hold_for = 1h;
  start();
  dying("x", "u1", 0s);
  settle(10s);
  scheduler.set_wall(scheduler.wall_now() + 2h);
  settle(WatchTrigger::kLook);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
}

TEST_F(WatchTriggerTest, ForWithoutSinceDoesNotLookAtTheWallClock) {
  binding.hold_for = 30s;
  start();
  pod("x", "u1");
  settle(10s);
  scheduler.set_wall(scheduler.wall_now() + 24h);
  pod("x", "u1", R"("labels":{})");
  settle(19s);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.set_wall(scheduler.wall_now() - 48h);
  settle(1s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
}

TEST_F(WatchTriggerTest, ForWithKeepNoneStillTellsTheObject) {
  binding.hold_for = 30s;
  binding.keep = Keep::kNone;
  binding.value = jq(".spec.a");
  start();
  pod("x", "u1", "", R"("spec":{"a":1})");
  settle(30s);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].object->text.unpack(), HasSubstr(R"("a":1)"));
  EXPECT_EQ(*events[0].value, "1");
}

TEST_F(WatchTriggerTest, ANamespaceThatLeavesTakesItsWaitingObjectsSilently) {
  binding.namespaces.label_selector = *cache::LabelSelector::parse("team=x");
  binding.hold_for = 30s;
  ns("a", "\"team\":\"x\"");
  start();
  pod("p", "u1");
  settle(10s);
  ns("a", "\"team\":\"y\"");
  settle(1min);
  EXPECT_THAT(taken(), IsEmpty());
}

}  // namespace
}  // namespace hookd::trigger
