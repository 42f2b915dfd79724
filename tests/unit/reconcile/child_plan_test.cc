#include "reconcile/child_plan.h"

#include "unit/reconcile/plan_fixture.h"

namespace hookd::reconcile {
namespace {

// A delete says which object it means, by its uid.
TEST_F(PlanChildren, AChildWithoutUidIsNeverDeleted) {
  for (const Update update : {Update::kApply, Update::kRecreate, Update::kRollingRecreate}) {
    rule(update);
    observed.clear();
    auto child = std::make_shared<cache::Object>(*object("x", "1", mark_of(manifest("x", "1"))));
    child->uid.clear();
    have(child);
    for (const bool wanted : {true, false}) {
      want(wanted ? std::vector<std::string>{manifest("x", "2")} : std::vector<std::string>{});
      EXPECT_THAT(plan().removals, IsEmpty()) << static_cast<int>(update) << wanted;
    }
  }
}

// --- apply ---

TEST_F(PlanChildren, AMissingChildIsMadeAndNothingOfItsNameTouched) {
  rule(Update::kApply);
  want({manifest("x", "1")});
  const auto made = plan();
  ASSERT_THAT(made.writes, SizeIs(1));
  const Operation& op = made.writes[0];
  EXPECT_EQ(op.describe(), "Apply Pod a/x");
  EXPECT_FALSE(op.force);
  EXPECT_TRUE(op.keep_object);
  EXPECT_EQ(op.uid, "");
  EXPECT_EQ(op.object, fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"x","namespace":"a",)"
                                   R"("ownerReferences":[{}],"resourceVersion":"1"}},"spec":{{"image":"1"}}}})",
                                   kOurs));
  ASSERT_THAT(made.written, SizeIs(1));
  EXPECT_EQ(made.written[0].resource, "pods.");
  EXPECT_EQ(made.written[0].child, "a/x");
  EXPECT_EQ(made.written[0].manifest, desired[0].hash);
}

TEST_F(PlanChildren, AChildOfWhichNothingIsKnownIsAppliedOnce) {
  rule(Update::kApply);
  want({manifest("x", "1", R"(,"ownerReferences":[{"uid":"u9","kind":"ConfigMap"}])")});
  have(object("x", "1"));
  const auto first = plan();
  ASSERT_THAT(first.writes, SizeIs(1));
  EXPECT_TRUE(first.writes[0].force);
  EXPECT_EQ(first.writes[0].uid, "u-x");
  EXPECT_EQ(at(first.writes[0], {"metadata", "uid"}), "\"u-x\"");
  EXPECT_EQ(at(first.writes[0], {"metadata", "resourceVersion"}), "nothing");
  EXPECT_EQ(at(first.writes[0], {"metadata", "ownerReferences"}),
            fmt::format(R"([{{"uid":"u9","kind":"ConfigMap"}},{}])", kOurs));
  remember(first, 0, observed[0].object);
  expect_nothing(plan());
}

TEST_F(PlanChildren, AForeignChangeIsNoReasonToWriteADriftIs) {
  rule(Update::kApply);
  want({manifest("x", "1")});
  have(object("x", "1"));
  remember(plan(), 0, observed[0].object);

  observed.clear();
  have(object("x", "1", "", R"(,"more":1)"));
  const auto foreign_field = plan();
  expect_nothing(foreign_field);
  ASSERT_THAT(foreign_field.same, SizeIs(1));
  memory.wrote(foreign_field.same[0].key, "u-x", foreign_field.same[0].object->text.unpack());
  EXPECT_THAT(plan().same, IsEmpty());

  observed.clear();
  have(object("x", "2"));
  EXPECT_THAT(plan().writes, SizeIs(1));
}

TEST_F(PlanChildren, AStatusIsNoReasonToWrite) {
  rule(Update::kApply);
  want({manifest("x", "1")});
  have(object("x", "1"));
  remember(plan(), 0, observed[0].object);
  observed.clear();
  have(object("x", "1", "", R"(,"status":{"phase":"Running"})"));
  expect_nothing(plan());
}

TEST_F(PlanChildren, AFieldThatIsNoLongerWantedIsAReasonToWrite) {
  rule(Update::kApply);
  want({manifest("x", "1", R"(,"labels":{"a":"b"})")});
  have(object("x", "1", "", "", R"(,"labels":{"a":"b"})"));
  remember(plan(), 0, observed[0].object);
  want({manifest("x", "1")});  // of which the object holds all
  const auto now = plan();
  ASSERT_THAT(now.writes, SizeIs(1));
  EXPECT_EQ(at(now.writes[0], {"metadata", "labels"}), "nothing");
}

TEST_F(PlanChildren, AChildThatEndsIsLeftAloneAndNotMadeAnew) {
  for (const Update update :
       {Update::kApply, Update::kRecreate, Update::kOnDelete, Update::kRolling, Update::kRollingRecreate}) {
    rule(update);
    observed.clear();
    want({manifest("x", "2")});
    have(object("x", "1", "", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"));
    have(object("y", "1", "", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"));
    expect_nothing(plan());
  }
}

// --- removals ---

TEST_F(PlanChildren, AChildThatIsNotWantedIsDeletedByItsUid) {
  rule(Update::kApply);
  have(object("x", "1"));
  have(object("y", "1"));
  const auto gone = plan();
  ASSERT_THAT(gone.removals, SizeIs(2));
  expect_delete(gone.removals[0], "x");
  expect_delete(gone.removals[1], "y");
  remove = false;
  expect_nothing(plan());
}

TEST_F(PlanChildren, NothingIsMadeOrChangedWhereTheParentGoes) {
  rule(Update::kApply);
  want({manifest("x", "2"), manifest("z", "1")});
  have(object("x", "1"));
  have(object("y", "1"));
  write = false;
  const auto gone = plan();
  EXPECT_THAT(gone.writes, IsEmpty());
  ASSERT_THAT(gone.removals, SizeIs(1));
  expect_delete(gone.removals[0], "y");
}

TEST_F(PlanChildren, AReleasedChildLosesOurReferenceOnly) {
  rule(Update::kApply);
  kinds.rule(0).release = true;
  const std::string other = R"({"apiVersion":"v1","kind":"Node","name":"n","uid":"u9"})";
  have(object("x", "1", "1-aa", "", "", fmt::format("{},{}", other, kOurs)));
  have(object("y", "1"));
  const auto gone = plan();
  ASSERT_THAT(gone.removals, SizeIs(2));
  EXPECT_EQ(gone.removals[0].verb, Verb::kMergePatch);
  EXPECT_EQ(gone.removals[0].uid, "u-x");
  EXPECT_EQ(gone.removals[0].resource_version, observed[0].object->resource_version);
  EXPECT_EQ(gone.removals[0].patch,
            fmt::format(R"({{"metadata":{{"ownerReferences":[{}],"annotations":{{"hookd.dev/manifest-hash":null}}}}}})",
                        other));
  EXPECT_EQ(gone.removals[1].patch, R"({"metadata":{"ownerReferences":[]}})");
}

// --- objects that are not the parent's ---

TEST_F(PlanChildren, AnotherControllersObjectIsAConflict) {
  for (const bool adopt : {false, true}) {
    rule(Update::kApply);
    kinds.rule(0).adopt = adopt;
    want({manifest("x", "1")});
    foreign =
        object("x", "9", "", "", "", R"({"apiVersion":"v1","kind":"Foo","name":"f","uid":"u9","controller":true})");
    const auto refused = plan();
    EXPECT_THAT(refused.writes, IsEmpty());
    EXPECT_THAT(refused.removals, IsEmpty());
    ASSERT_THAT(refused.conflicts, SizeIs(1));
    EXPECT_EQ(refused.conflicts[0].child, "Pod a/x");
    EXPECT_THAT(refused.conflicts[0].text, HasSubstr("it belongs to Foo f;"));
    EXPECT_FALSE(refused.conflicts[0].passing);
  }
}

TEST_F(PlanChildren, AnObjectOfAFormerParentOrOneThatEndsIsWaitedFor) {
  rule(Update::kApply);
  kinds.rule(0).adopt = true;
  want({manifest("x", "1")});
  foreign =
      object("x", "9", "", "", "",
             R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","name":"m","uid":"old","controller":true})");
  auto refused = plan();
  ASSERT_THAT(refused.conflicts, SizeIs(1));
  EXPECT_THAT(refused.conflicts[0].text, HasSubstr("a former Memcached a/m of the same name (uid old)"));
  EXPECT_TRUE(refused.conflicts[0].passing);
  foreign = object("x", "9", "", "", "",
                   R"({"apiVersion":"other.io/v1","kind":"Memcached","name":"m","uid":"o","controller":true})");
  EXPECT_FALSE(plan().conflicts.at(0).passing) << "of another group: that parent may well be there";
  foreign = object("x", "9", "", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", "");
  refused = plan();
  EXPECT_THAT(refused.writes, IsEmpty());
  ASSERT_THAT(refused.conflicts, SizeIs(1));
  EXPECT_TRUE(refused.conflicts[0].passing);
  foreign = object("x", "9");  // ours by now: the index comes to know of it
  refused = plan();
  EXPECT_THAT(refused.writes, IsEmpty());
  EXPECT_TRUE(refused.conflicts.at(0).passing);
}

TEST_F(PlanChildren, AnOrphanIsAConflictThatSaysHowToAllowIt) {
  rule(Update::kApply);
  want({manifest("x", "1")});
  foreign = object("x", "9", "", "", "", "");
  const auto refused = plan();
  EXPECT_THAT(refused.writes, IsEmpty());
  ASSERT_THAT(refused.conflicts, SizeIs(1));
  EXPECT_THAT(refused.conflicts[0].text, HasSubstr("Set `adopt: true`"));
}

TEST_F(PlanChildren, WhatIsNotKnownIsLeftAlone) {
  rule(Update::kApply);
  kinds.rule(0).adopt = true;
  want({manifest("x", "1")});
  foreign = test::make_object("a", "x", "u-x", "5");                       // without its text
  observed.push_back({{kinds.kinds[0].rule, nullptr}, object("y", "1")});  // of a kind that vanished
  observed.push_back({kinds.kinds[0], nullptr});
  const auto refused = plan();
  EXPECT_THAT(refused.writes, IsEmpty());
  EXPECT_THAT(refused.removals, IsEmpty());
  EXPECT_THAT(refused.conflicts, SizeIs(1));
}

TEST_F(PlanChildren, AnOrphanIsAdoptedByTheApply) {
  rule(Update::kApply);
  kinds.rule(0).adopt = true;
  want({manifest("x", "1")});
  foreign = object("x", "9", "", "", "", "");
  const auto adopted = plan();
  ASSERT_THAT(adopted.writes, SizeIs(1));
  EXPECT_EQ(adopted.writes[0].uid, "u-x");
  EXPECT_EQ(at(adopted.writes[0], {"metadata", "uid"}), "\"u-x\"");
  EXPECT_EQ(at(adopted.writes[0], {"spec", "image"}), "\"1\"");
  EXPECT_THAT(adopted.conflicts, IsEmpty());
}

TEST_F(PlanChildren, OtherRulesTakeTheReferenceAndLeaveTheRestForLater) {
  for (const Update update : {Update::kRecreate, Update::kOnDelete, Update::kRolling, Update::kRollingRecreate}) {
    rule(update);
    kinds.rule(0).adopt = true;
    want({manifest("x", "1")});
    foreign = object("x", "9", "", "", "", "");
    const auto adopted = plan();
    EXPECT_THAT(adopted.removals, IsEmpty());
    ASSERT_THAT(adopted.writes, SizeIs(1));
    // Not by an apply: it would take away what our manager set when the object was a child before.
    EXPECT_EQ(adopted.writes[0].verb, Verb::kMergePatch);
    EXPECT_EQ(adopted.writes[0].uid, "u-x");
    EXPECT_EQ(adopted.writes[0].resource_version, foreign->resource_version);
    EXPECT_EQ(adopted.writes[0].patch, fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", kOurs));
    EXPECT_EQ(adopted.written.at(0).child, "");  // it was not written from the manifest
  }
}

// --- recreate, onDelete ---

TEST_F(PlanChildren, RecreateMarksWhatItMakesAndLeavesItInPeace) {
  rule(Update::kRecreate);
  want({manifest("x", "1", R"(,"annotations":{"k":"v"})")});
  const auto made = plan();
  ASSERT_THAT(made.writes, SizeIs(1));
  EXPECT_EQ(at(made.writes[0], {"metadata", "annotations"}),
            fmt::format(R"({{"k":"v","hookd.dev/manifest-hash":"1-{:016x}"}})", desired[0].hash));
}

TEST_F(PlanChildren, RecreateDeletesWhatIsFromAnotherManifest) {
  rule(Update::kRecreate);
  want({manifest("x", "2")});
  have(object("x", "2", mark_of(manifest("x", "1"))));  // even if it looks as wanted
  const auto gone = plan();
  EXPECT_THAT(gone.writes, IsEmpty());
  ASSERT_THAT(gone.removals, SizeIs(1));
  expect_delete(gone.removals[0], "x");
}

TEST_F(PlanChildren, RecreateBelievesTheMarkAfterARestart) {
  rule(Update::kRecreate);
  want({manifest("x", "1")});
  have(object("x", "0001", mark_of(manifest("x", "1"))));  // another spelling, of the server or of a webhook
  const auto known = plan();
  expect_nothing(known);
  ASSERT_THAT(known.same, SizeIs(1));  // what it looks like is remembered from now on
  memory.wrote(known.same[0].key, "u-x", known.same[0].object->text.unpack());
  observed.clear();
  have(object("x", "0001", mark_of(manifest("x", "1")), R"(,"added":"by others")"));
  expect_nothing(plan());
  observed.clear();
  have(object("x", "3", mark_of(manifest("x", "1"))));
  EXPECT_THAT(plan().removals, SizeIs(1));
}

TEST_F(PlanChildren, RecreateJudgesWhatHasNoMarkByItsLooks) {
  rule(Update::kRecreate);
  want({manifest("x", "1")});
  have(object("x", "1"));
  expect_nothing(plan());
  observed.clear();
  have(object("x", "2"));
  EXPECT_THAT(plan().removals, SizeIs(1));
  observed.clear();
  have(object("x", "1", "2-of-a-kind-that-we-do-not-know"));
  expect_nothing(plan());
}

TEST_F(PlanChildren, OnDeleteChangesNothing) {
  rule(Update::kOnDelete);
  want({manifest("x", "2"), manifest("y", "1")});
  have(object("x", "1", mark_of(manifest("x", "1"))));
  const auto made = plan();
  EXPECT_THAT(made.removals, IsEmpty());
  ASSERT_THAT(made.writes, SizeIs(1));
  EXPECT_EQ(made.writes[0].name, "y");
}

}  // namespace
}  // namespace hookd::reconcile
