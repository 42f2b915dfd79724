#include "compat/metacontroller/child_writes.h"

#include "base/json_read.h"
#include "compat/metacontroller/names.h"
#include "unit/compat/metacontroller/parts.h"

namespace hookd::metacontroller {
namespace {

using apply::Verb;
using test::json;
using test::Parts;

struct World : Parts {
  using Parts::Parts;
  ChildWrites plan(const std::vector<ObservedChild>& there, const std::vector<Wanted>& wanted_now) {
    return plan_child_writes({spec, options, parent_type, parent, there, wanted_now,
                              [this](const ChildKind&, std::string_view, std::string_view) { return other; }, memory});
  }
  cache::ObjectPtr other;
  reconcile::WriteMemory memory;
};

TEST(ChildWrites, WhatIsMissingIsMadeWithOwnerAndAnnotation) {
  World world;
  const auto plan = world.plan({}, {world.wanted("x")});
  ASSERT_EQ(plan.writes.size(), 1u);
  const apply::Operation& op = plan.writes[0].operation;
  EXPECT_EQ(op.verb, Verb::kCreate);
  const Value object = json(op.object);
  EXPECT_EQ(object.at_path({"metadata", "ownerReferences"})->to_json(),
            R"([{"apiVersion":"ctl.example.com/v1","kind":"CatSet","name":"cats","uid":"parent-uid","controller":true,)"
            R"("blockOwnerDeletion":true}])");
  EXPECT_EQ(object.text_at({"metadata", "annotations", kLastApplied}),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"a"},"spec":{"x":1}})");
}

TEST(ChildWrites, WhatIsAsWantedIsNotWritten) {
  for (const auto method : {UpdateMethod::kInPlace, UpdateMethod::kRecreate, UpdateMethod::kOnDelete}) {
    World world(method);
    const auto x = world.wanted("x");
    const auto plan = world.plan({world.observed(x, R"({"phase":"Running"})", R"("labels":{"theirs":"1"})")}, {x});
    EXPECT_TRUE(plan.writes.empty() && plan.removals.empty() && plan.errors.empty()) << to_string(method);
  }
}

TEST(ChildWrites, InPlacePatchesOnlyWhatDiffersBoundToVersionAndUid) {
  World world;
  const auto plan =
      world.plan({world.observed(world.wanted("x", R"("spec":{"x":1,"y":1})"), "{}", R"("labels":{"theirs":"1"})")},
                 {world.wanted("x", R"("spec":{"x":2})")});
  ASSERT_EQ(plan.writes.size(), 1u);
  const apply::Operation& op = plan.writes[0].operation;
  EXPECT_EQ(op.verb, Verb::kMergePatch);
  EXPECT_EQ(op.uid, "uid-x");
  EXPECT_EQ(op.resource_version, "10");
  const Value patch = json(op.patch);
  EXPECT_EQ(*patch.find("spec"), json(R"({"x":2,"y":null})"));
  EXPECT_EQ(patch.find("metadata")->members().size(), 1u) << op.patch;
}

TEST(ChildWrites, RecreateDeletesWhatDiffersAndMakesNothingYet) {
  World world(UpdateMethod::kRecreate);
  const auto plan = world.plan({world.observed(world.wanted("x"))}, {world.wanted("x", R"("spec":{"x":2})")});
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].operation.verb, Verb::kDeleteInBackground);
  EXPECT_EQ(plan.writes[0].operation.uid, "uid-x");
  EXPECT_TRUE(plan.removals.empty());
}

TEST(ChildWrites, OnDeleteTouchesNothingThatIsThere) {
  World world(UpdateMethod::kOnDelete);
  const auto plan =
      world.plan({world.observed(world.wanted("x"))}, {world.wanted("x", R"("spec":{"x":2})"), world.wanted("y")});
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].operation.verb, Verb::kCreate);
  EXPECT_EQ(plan.writes[0].operation.name, "y");
}

TEST(ChildWrites, WhatIsNotWantedGoesByItsUidUnlessItGoesAlready) {
  World world;
  const auto plan = world.plan(
      {world.observed(world.wanted("x")), world.observed(world.wanted("going"), "", R"("deletionTimestamp":"t")")}, {});
  ASSERT_EQ(plan.removals.size(), 1u);
  EXPECT_EQ(plan.removals[0].operation.verb, Verb::kDeleteInBackground);
  EXPECT_EQ(plan.removals[0].operation.name, "x");
  EXPECT_EQ(plan.removals[0].operation.uid, "uid-x");
  EXPECT_TRUE(plan.writes.empty());
}

TEST(ChildWrites, WhatGoesIsLeftAloneAlthoughItIsWanted) {
  for (const bool server_side : {false, true}) {
    World world;
    world.options.server_side = server_side;
    const auto plan = world.plan({world.observed(world.wanted("x"), "", R"("deletionTimestamp":"t")")},
                                 {world.wanted("x", R"("spec":{"x":2})")});
    EXPECT_TRUE(plan.writes.empty() && plan.removals.empty() && plan.errors.empty());
  }
}

TEST(ChildWrites, AForeignObjectOfThatNameIsAnErrorAndTheOthersGoOn) {
  for (const bool server_side : {false, true}) {
    World world;
    world.options.server_side = server_side;
    world.other = test::make_object(
        "a", "x", "foreign", "1",
        test::object_json(
            test::pods(), "a", "x", "foreign",
            R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"r","controller":true}])"));
    const auto plan = world.plan({}, {world.wanted("x")});
    EXPECT_TRUE(plan.writes.empty());
    ASSERT_EQ(plan.errors.size(), 1u);
    EXPECT_EQ(
        plan.errors[0],
        "Pod a/x exists already and is not this parent's (ReplicaSet rs controls it), it is left alone; delete it "
        "or let the hook use another name");
  }
}

TEST(ChildWrites, AClashOfKindsIsOneChildsError) {
  World world;
  const auto plan = world.plan({world.observed(world.wanted("x")), world.observed(world.wanted("y"))},
                               {world.wanted("x", R"("spec":[1])"), world.wanted("y", R"("spec":{"x":5})")});
  ASSERT_EQ(plan.errors.size(), 1u);
  EXPECT_NE(plan.errors[0].find("Pod a/x: .spec is of two kinds"), std::string::npos) << plan.errors[0];
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].operation.name, "y");
}

TEST(ChildWrites, KindsThatAreNotDeclaredAreMadeAndNothingElse) {
  World world;
  Wanted wanted = world.wanted("x");
  wanted.kind.rule = nullptr;
  const auto plan = world.plan({}, {wanted});
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].operation.verb, Verb::kCreateIfNotExists);
}

TEST(ChildWrites, ServerSideApplyIsSentOnceAndAgainWhenTheChildChanged) {
  World world;
  world.options.server_side = true;
  const auto x = world.wanted("x");
  auto there = world.observed(x);
  auto plan = world.plan({there}, {x});
  ASSERT_EQ(plan.writes.size(), 1u);
  const apply::Operation& op = plan.writes[0].operation;
  EXPECT_EQ(op.verb, Verb::kApply);
  EXPECT_TRUE(op.force);
  const Value body = json(op.object);
  EXPECT_EQ(body.text_at({"metadata", "uid"}), "uid-x") << "another object of that name is not taken";
  EXPECT_EQ(body.at_path({"metadata", "ownerReferences"})->items().size(), 1u);
  EXPECT_EQ(body.at_path({"metadata", "annotations"}), nullptr);
  world.memory.wrote(memory_key(x), "uid-x", there.text);
  EXPECT_TRUE(world.plan({there}, {x}).writes.empty());
  EXPECT_TRUE(world.plan({world.observed(x, R"({"phase":"Running"})")}, {x}).writes.empty()) << "status is not ours";
  // A label is no new generation, and yet somebody changed what is ours.
  EXPECT_EQ(world.plan({world.observed(x, "", R"("labels":{"drift":"1"})")}, {x}).writes.size(), 1u);
  EXPECT_EQ(world.plan({there}, {world.wanted("x", R"("spec":{"x":2})")}).writes.size(), 1u);
}

TEST(ChildWrites, ServerSideApplyTakesTheOldAnnotationAwayFirst) {
  World world;
  const auto x = world.wanted("x");
  const auto there = world.observed(x);  // made by dynamic apply
  world.options.server_side = true;
  const auto plan = world.plan({there}, {x});
  ASSERT_EQ(plan.writes.size(), 2u);
  EXPECT_EQ(plan.writes[0].operation.verb, Verb::kMergePatch);
  EXPECT_EQ(plan.writes[0].operation.patch,
            R"({"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":null}}})");
  EXPECT_EQ(plan.writes[1].operation.verb, Verb::kApply);
}

TEST(ChildWrites, ServerSideRecreateAsksByADryRunAndDeletesOnlyWhatItWouldChange) {
  World world(UpdateMethod::kRecreate);
  world.options.server_side = true;
  const auto there = world.observed(world.wanted("x"));
  const auto plan = world.plan({there}, {world.wanted("x", R"("spec":{"x":2})")});
  EXPECT_TRUE(plan.writes.empty());
  ASSERT_EQ(plan.probes.size(), 1u);
  EXPECT_TRUE(plan.probes[0].operation.dry_run);
  EXPECT_EQ(recreate(plan.probes[0], there.text), std::nullopt);
  EXPECT_EQ(recreate(plan.probes[0], ""), std::nullopt) << "nothing is known: nothing is deleted";
  const auto write = recreate(plan.probes[0], world.observed(world.wanted("x", R"("spec":{"x":2})")).text);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->operation.verb, Verb::kDeleteInBackground);
  EXPECT_EQ(write->operation.uid, "uid-x");
  EXPECT_FALSE(write->operation.dry_run);
}

}  // namespace

bool operator==(const ChildWrite& one, const ChildWrite& other) { return one.child == other.child; }

}  // namespace hookd::metacontroller
