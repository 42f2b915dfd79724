#include "unit/reconcile/plan_fixture.h"

namespace hookd::reconcile {
namespace {

class RollOutPlan : public PlanChildren {
 protected:
  RollOutPlan() { roll(Update::kRolling); }
  void roll(Update update) {
    rule(update);
    kinds.rule(0).checks = {{"Ready", "True", {}}};
  }
  // A child made from that image, as it stands in the cluster.
  void child(std::string_view name, std::string_view image, bool ready = true, std::string_view meta = "") {
    have(object(
        name, image, mark_of(manifest(name, image)),
        fmt::format(R"(,"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}})", ready ? "True" : "False"),
        meta));
  }
};

TEST_F(RollOutPlan, OneMovesAtATimeInTheAnswersOrder) {
  want({manifest("z", "2"), manifest("x", "2"), manifest("y", "2")});
  for (const char* name : {"x", "y", "z"}) child(name, "1");
  const auto first = plan();
  EXPECT_TRUE(first.rolling);
  EXPECT_THAT(first.moving, ElementsAre("Pod a/z"));
  EXPECT_THAT(first.waiting, IsEmpty());
  ASSERT_THAT(first.writes, SizeIs(1));
  EXPECT_EQ(first.writes[0].name, "z");
  EXPECT_EQ(at(first.writes[0], {"metadata", "annotations", kManifestHash}),
            fmt::format("\"{}\"", mark_of(manifest("z", "2"))));
}

TEST_F(RollOutPlan, TheNextWaitsForTheOneBefore) {
  want({manifest("x", "2"), manifest("y", "2")});
  child("x", "2", false);
  child("y", "1");
  const auto held = plan();
  EXPECT_TRUE(held.rolling);
  EXPECT_THAT(held.moving, IsEmpty());
  EXPECT_THAT(held.waiting, ElementsAre("Pod a/x: condition Ready is False, not True"));
  for (const auto& op : held.writes) EXPECT_EQ(op.name, "x");
  observed.clear();
  child("x", "2");
  child("y", "1");
  EXPECT_THAT(plan().moving, ElementsAre("Pod a/y"));
}

TEST_F(RollOutPlan, OldOnesThatAreNotWellDoNotHoldIt) {
  want({manifest("x", "2"), manifest("y", "2")});
  child("x", "1", false);
  child("y", "1", false);
  EXPECT_THAT(plan().moving, ElementsAre("Pod a/x"));
}

TEST_F(RollOutPlan, WithoutAnythingToMoveNothingWaits) {
  want({manifest("x", "2"), manifest("y", "2")});
  child("x", "2", false);
  child("y", "2");
  const auto done = plan();
  EXPECT_FALSE(done.rolling);
  EXPECT_THAT(done.waiting, IsEmpty());
  EXPECT_THAT(done.writes, IsEmpty());
}

TEST_F(RollOutPlan, MissingOnesAreMadeAtOnceAndWaitedFor) {
  want({manifest("x", "2"), manifest("y", "2"), manifest("z", "2")});
  child("z", "1");
  const auto making = plan();
  EXPECT_THAT(making.waiting, ElementsAre("Pod a/x: it is being made", "Pod a/y: it is being made"));
  ASSERT_THAT(making.writes, SizeIs(2));
  EXPECT_EQ(making.writes[0].name, "x");
  EXPECT_EQ(making.writes[1].name, "y");
  EXPECT_THAT(making.removals, IsEmpty());
}

TEST_F(RollOutPlan, WhatIsUpToDateIsRepairedAtOnce) {
  want({manifest("x", "2"), manifest("y", "2")});
  have(object("x", "broken", mark_of(manifest("x", "2")),
              R"(,"status":{"conditions":[{"type":"Ready","status":"False"}]})"));
  child("y", "1");
  const auto repaired = plan();
  ASSERT_THAT(repaired.writes, SizeIs(1));
  EXPECT_EQ(repaired.writes[0].name, "x");
  EXPECT_THAT(repaired.waiting, SizeIs(1));
}

TEST_F(RollOutPlan, AMoveThatItsControllerHasNotSeenHolds) {
  kinds.rule(0).checks.clear();
  want({manifest("x", "2"), manifest("y", "2")});
  have(object("x", "2", mark_of(manifest("x", "2")), R"(,"status":{"observedGeneration":0})"));
  child("y", "1");
  EXPECT_THAT(plan().waiting, ElementsAre("Pod a/x: its controller has seen generation 0 of 1"));
}

TEST_F(RollOutPlan, RecreateDeletesOneAndWaitsUntilItIsBackAndWell) {
  roll(Update::kRollingRecreate);
  want({manifest("x", "2"), manifest("y", "2")});
  child("x", "1");
  child("y", "1");
  const auto first = plan();
  EXPECT_THAT(first.writes, IsEmpty());
  ASSERT_THAT(first.removals, SizeIs(1));
  expect_delete(first.removals[0], "x");

  observed.clear();
  child("x", "1", true, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  child("y", "1");
  auto held = plan();
  EXPECT_THAT(held.removals, IsEmpty());
  EXPECT_THAT(held.writes, IsEmpty());
  EXPECT_THAT(held.waiting, ElementsAre("Pod a/x: it ends"));

  observed.clear();
  child("y", "1");
  held = plan();
  EXPECT_THAT(held.removals, IsEmpty());
  ASSERT_THAT(held.writes, SizeIs(1));
  EXPECT_THAT(held.waiting, ElementsAre("Pod a/x: it is being made"));

  observed.clear();
  child("x", "2", false);
  child("y", "1");
  held = plan();
  EXPECT_THAT(held.removals, IsEmpty());
  EXPECT_THAT(held.waiting, ElementsAre("Pod a/x: condition Ready is False, not True"));

  observed.clear();
  child("x", "2");
  child("y", "1");
  const auto second = plan();
  ASSERT_THAT(second.removals, SizeIs(1));
  expect_delete(second.removals[0], "y");
}

TEST_F(RollOutPlan, TheLastOneThatEndsIsPartOfTheRollOut) {
  roll(Update::kRollingRecreate);
  want({manifest("x", "2")});
  child("x", "1", true, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_TRUE(plan().rolling);
}

TEST_F(RollOutPlan, WhatIsAsWrittenIsStillLookedAt) {
  want({manifest("x", "2"), manifest("y", "2")});
  child("x", "2", false);
  child("y", "1");
  const auto first = plan();
  for (const auto& same : first.same) memory.wrote(same.key, same.object->uid, same.object->text.unpack());
  EXPECT_THAT(plan().waiting, ElementsAre("Pod a/x: condition Ready is False, not True"));
}

TEST_F(RollOutPlan, AConflictHoldsIt) {
  want({manifest("x", "2"), manifest("y", "2")});
  foreign = object("x", "1", "", "", "", "");
  child("y", "1");
  const auto held = plan();
  EXPECT_THAT(held.conflicts, SizeIs(1));
  EXPECT_THAT(held.moving, IsEmpty());
  EXPECT_THAT(held.waiting, SizeIs(1));
}

TEST_F(RollOutPlan, KindsRollApart) {
  kinds.add(test::deployments(), Update::kRolling);
  want({manifest("x", "2"), R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"r":2}})"});
  child("x", "1");
  observed.push_back({kinds.kinds[1], test::make_object("a", "d", "ud", "5",
                                                        test::object_json(test::deployments(), "a", "d", "ud", "",
                                                                          R"("spec":{"r":1})"))});
  EXPECT_THAT(plan().moving, ElementsAre("Pod a/x", "Deployment a/d"));
}

}  // namespace
}  // namespace hookd::reconcile
