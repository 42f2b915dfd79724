#include "compat/metacontroller/revisions.h"

#include "compat/metacontroller/sha1.h"
#include "unit/compat/metacontroller/parts.h"

namespace hookd::metacontroller {
namespace {

using apply::Verb;
using test::json;
using test::Parts;

const Revision::Group kPods{"", "Pod"};
const std::vector<std::string> kTemplate{"spec.template"};

std::string spec_of(int version) { return fmt::format(R"("spec":{{"x":{}}})", version); }

// A roll-out of pods from answers of two revisions, played sync by sync.
struct World : Parts {
  explicit World(UpdateMethod method = UpdateMethod::kRollingInPlace) : Parts(method) {
    revisions.resize(2);
    revisions[0].name = "new";
    revisions[0].newest = true;
    revisions[1].name = "old";
    revisions[1].identity.uid = "old-uid";
  }
  // Names of pods; those of the newest answer, then those of the old one.
  RollOut sync(std::vector<std::string> names_now, std::vector<std::string> names_before) {
    std::vector<Wanted> now, before;
    for (const auto& name : names_now) now.push_back(wanted(name, spec_of(2)));
    for (const auto& name : names_before) before.push_back(wanted(name, spec_of(1)));
    std::vector<std::vector<Wanted>> all{now};
    if (revisions.size() > 1) all.push_back(before);
    return roll(revisions, {spec, options, there, std::move(all)});
  }
  void is_there(std::string_view name, int version, std::string_view status = "", std::string_view meta = "") {
    std::erase_if(there, [&](const auto& one) { return one.object->name == name; });
    there.push_back(observed(wanted(name, spec_of(version)), status, meta));
  }
  std::vector<std::string> claims(size_t revision) { return revisions[revision].claims[kPods]; }
  static int version_of(const RollOut& out, std::string_view name) {
    for (const auto& one : out.wanted)
      if (one.name == name) return std::stoi(one.object.at_path({"spec", "x"})->text());
    return 0;
  }
  std::vector<Revision> revisions;
  std::vector<ObservedChild> there;
};
using Names = std::vector<std::string>;

TEST(RollOut, MovesOneChildASyncInTheHooksOrder) {
  World world;
  world.revisions[1].claims[kPods] = {"c", "b", "a"};
  for (const auto* name : {"a", "b", "c"}) world.is_there(name, 1);
  for (const auto* name : {"b", "a", "c"}) {
    const auto out = world.sync({"b", "a", "c"}, {"a", "b", "c"});
    EXPECT_EQ(out.status + " " + out.reason, "False RolloutProgressing");
    EXPECT_EQ(out.message, fmt::format("updating Pod {}", name));
    EXPECT_EQ(World::version_of(out, name), 2);
    const auto held = world.sync({"b", "a", "c"}, {"a", "b", "c"});
    if (std::string_view(name) != "c") {
      EXPECT_EQ(held.reason, "RolloutWaiting");
      EXPECT_EQ(held.message, fmt::format("child Pod {} is not updated yet", name));
    }
    world.is_there(name, 2);
  }
  EXPECT_TRUE(world.claims(1).empty());
  const auto out = world.sync({"b", "a", "c"}, {"a", "b", "c"});
  EXPECT_EQ(out.status + " " + out.reason, "True OnLatestRevision");
  EXPECT_EQ(out.message, "latest ControllerRevision: new");
}

TEST(RollOut, OthersStayOnTheirRevision) {
  World world;
  world.revisions[1].claims[kPods] = {"a", "b"};
  world.is_there("a", 1);
  world.is_there("b", 1);
  const auto out = world.sync({"a", "b"}, {"a", "b"});
  EXPECT_EQ(World::version_of(out, "a"), 2);
  EXPECT_EQ(World::version_of(out, "b"), 1);
  EXPECT_EQ(world.claims(0), Names{"a"});
  EXPECT_EQ(world.claims(1), Names{"b"});
}

TEST(RollOut, WaitsForAMovedChildThatIsMissing) {
  World world(UpdateMethod::kRollingRecreate);
  world.revisions[0].claims[kPods] = {"a"};
  world.revisions[1].claims[kPods] = {"b"};
  world.is_there("b", 1);
  const auto out = world.sync({"a", "b"}, {"a", "b"});
  EXPECT_EQ(out.reason, "RolloutWaiting");
  EXPECT_EQ(out.message, "missing child Pod a");
  EXPECT_EQ(World::version_of(out, "a"), 2) << "it is made again all the same";
}

TEST(RollOut, WaitsForAMovedChildThatIsBeingDeleted) {
  World world(UpdateMethod::kRollingRecreate);
  world.revisions[0].claims[kPods] = {"a"};
  world.revisions[1].claims[kPods] = {"b"};
  world.is_there("a", 2, "", R"("deletionTimestamp":"2026-01-01T00:00:00Z")");
  world.is_there("b", 1);
  const auto out = world.sync({"a", "b"}, {"a", "b"});
  EXPECT_EQ(out.reason, "RolloutWaiting");
  EXPECT_EQ(out.message, "child Pod a is being deleted");
}

TEST(RollOut, WaitsForChecksAndForAStatusOfThisGeneration) {
  World world;
  world.spec.children.front().checks = {{"Ready", "True", std::nullopt}};
  world.revisions[0].claims[kPods] = {"a"};
  world.revisions[1].claims[kPods] = {"b"};
  world.is_there("b", 1);
  const auto why = [&](std::string_view status, std::string_view meta = R"("generation":2)") {
    world.is_there("a", 2, status, meta);
    auto revisions = world.revisions;
    const auto out = world.sync({"a", "b"}, {"a", "b"});
    world.revisions = revisions;
    return out.message;
  };
  EXPECT_EQ(why("{}"), "child Pod a: it has no condition Ready");
  EXPECT_EQ(why(R"({"conditions":[{"type":"Ready","status":"False"}]})"),
            "child Pod a: condition Ready is False, not True");
  EXPECT_EQ(why(R"({"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]})"),
            "child Pod a: its status is of generation 1, not yet of 2");
  EXPECT_EQ(why(R"({"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]})"), "updating Pod b");
}

TEST(RollOut, WhatWouldNotChangeMovesAtOnce) {
  World world;
  world.revisions[1].claims[kPods] = {"a", "b"};
  world.is_there("a", 2);
  world.is_there("b", 2);
  const auto out = world.sync({"a", "b"}, {"a", "b"});
  EXPECT_EQ(out.reason, "OnLatestRevision");
  EXPECT_EQ(world.claims(0), (Names{"a", "b"}));
}

TEST(RollOut, UnderServerSideApplyOnlyTheAnswersTellThatNothingChanges) {
  World world;
  world.options.server_side = true;
  world.revisions[1].claims[kPods] = {"a"};
  std::vector<Wanted> now{world.wanted("a", R"("spec":{"x":1})")}, before{world.wanted("a", R"("spec":{"x":1,"y":1})")};
  world.there = {world.observed(before.front())};
  auto revisions = world.revisions;
  EXPECT_EQ(roll(revisions, {world.spec, world.options, world.there, {now, before}}).reason, "RolloutProgressing");
  revisions = world.revisions;
  EXPECT_EQ(roll(revisions, {world.spec, world.options, world.there, {now, now}}).reason, "OnLatestRevision");
}

TEST(RollOut, WhatNobodyClaimsGoesToTheNewest) {
  World world;
  world.revisions[1].claims[kPods] = {"a"};
  world.is_there("a", 1);
  world.is_there("b", 2);
  const auto out = world.sync({"a", "b", "c"}, {"a"});
  EXPECT_EQ(World::version_of(out, "b"), 2);
  EXPECT_EQ(World::version_of(out, "c"), 2);
  EXPECT_EQ(world.claims(0), (Names{"b", "c"})) << "as it is there so already, or is made";
  EXPECT_EQ(out.message, "missing child Pod c");
}

// Its revision was deleted, or it was made before its kind rolled: all of them at once would be an outage.
TEST(RollOut, WhatNobodyClaimsAndWouldChangeMovesInItsTurn) {
  World world(UpdateMethod::kRollingRecreate);
  for (const auto* name : {"a", "b", "c"}) world.is_there(name, 1);
  auto out = world.sync({"a", "b", "c"}, {});
  EXPECT_EQ(out.message, "updating Pod a");
  EXPECT_EQ(out.untouched, (std::vector<Revision::Child>{{kPods, "b"}, {kPods, "c"}}));
  out = world.sync({"a", "b", "c"}, {});
  EXPECT_EQ(out.reason, "RolloutWaiting");
  EXPECT_EQ(out.untouched.size(), 2u);
  world.is_there("a", 2);
  out = world.sync({"a", "b", "c"}, {});
  EXPECT_EQ(out.message, "updating Pod b");
  world.is_there("b", 2);
  world.sync({"a", "b", "c"}, {});
  world.is_there("c", 2);
  out = world.sync({"a", "b", "c"}, {});
  EXPECT_EQ(out.reason, "OnLatestRevision");
  EXPECT_TRUE(out.untouched.empty());
}

TEST(RollOut, ClaimsOfWhatIsNoLongerWantedGo) {
  World world;
  world.revisions[0].claims[kPods] = {"gone"};
  world.revisions[1].claims[kPods] = {"scaled-down", "a"};
  world.is_there("a", 1);
  const auto out = world.sync({"a"}, {"a", "scaled-down"});
  EXPECT_EQ(out.message, "updating Pod a") << "neither holds it";
  EXPECT_EQ(world.claims(0), Names{"a"});
  EXPECT_TRUE(world.claims(1).empty());
  ASSERT_EQ(out.wanted.size(), 1u);
}

TEST(RollOut, AChildTwiceClaimedBelongsToTheNewest) {
  World world;
  world.revisions[0].claims[kPods] = {"a"};
  world.revisions[1].claims[kPods] = {"a"};
  world.is_there("a", 2);
  EXPECT_EQ(world.sync({"a"}, {"a"}).reason, "OnLatestRevision");
  EXPECT_TRUE(world.claims(1).empty());
}

TEST(RollOut, KindsThatDoNotRollAreAlwaysAsTheNewestWants) {
  World world(UpdateMethod::kInPlace);
  world.revisions[1].claims[kPods] = {"a"};
  world.is_there("a", 1);
  const auto out = world.sync({"a"}, {"a"});
  EXPECT_EQ(World::version_of(out, "a"), 2);
  EXPECT_EQ(out.reason, "OnLatestRevision");
  EXPECT_TRUE(world.revisions[1].empty());
}

TEST(Revision, IsTheParentRestrictedToItsFields) {
  const Value parent = json(R"({"spec":{"replicas":3,"template":{"a":1}},"other":{"deep":{"x":true}}})");
  EXPECT_EQ(revision_patch(parent, {"spec.template", "other.deep.x", "spec.missing.y"}),
            json(R"({"spec":{"template":{"a":1}},"other":{"deep":{"x":true}}})"));
  EXPECT_EQ(revision_patch(parent, {"spec"}), json(R"({"spec":{"replicas":3,"template":{"a":1}}})"));
  EXPECT_EQ(parent_at(parent, json(R"({"spec":{"template":{"a":0}}})"), {"spec.template", "other.deep"}),
            json(R"({"spec":{"replicas":3,"template":{"a":0}},"other":{}})"));
}

TEST(Revision, NameIsOfKindUidAndFields) {
  const Parts parts;
  const std::string name = revision_name(parts.parent_type, "u", json(R"({"spec":{"b":1,"a":2}})"));
  EXPECT_EQ(name, "catsets.ctl.example.com-" + sha1_hex(R"(u{"spec":{"a":2,"b":1}})"));
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(revision_name(test::pods(), "u", json("{}")).substr(0, 10), "pods.core-");
  const auto longest = test::make_type(std::string(300, 'g'), "X", "xs");
  EXPECT_EQ(revision_name(longest, "u", json("{}")).size(), 253u);
}

TEST(Revision, IsReadAlsoAsOlderVersionsWroteIt) {
  cache::Identity identity{"a", "r", "ru", "3"};
  const auto revision = read_revision(
      identity, R"({"parentPatch":{"spec":{}},"children":[{"apiGroup":"","kind":"Pod","names":["a/x","y"]},
                    {"apiGroup":"apps","kind":"StatefulSet","names":[]}]})");
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->claims.at(kPods), (Names{"x", "y"}));
  EXPECT_EQ(revision->claims, revision->stored);
  EXPECT_TRUE(read_revision(identity, R"({"parentPatch":null,"children":null})"));
  EXPECT_TRUE(read_revision(identity, R"({"parentPatch":7,"children":[7,{"names":[7]}]})"));
  EXPECT_FALSE(read_revision(identity, "7x"));
}

TEST(Revisions, TheNewestIsFoundByItsFieldsOrMade) {
  const Parts parts;
  const Value parent = json(R"({"spec":{"replicas":3,"template":{"a":1}}})");
  Revision same, old;
  same.name = "z-any-name";
  same.identity.uid = "s";
  same.patch = json(R"({"spec":{"template":{"a":1.0}}})");
  old.name = "a-old";
  old.patch = json(R"({"spec":{"template":{"a":0}}})");
  auto all = revisions_of({old, same}, parent, parts.parent_type, "u", kTemplate);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "z-any-name");
  EXPECT_TRUE(all[0].newest);
  EXPECT_FALSE(all[1].newest);
  all = revisions_of({old}, parent, parts.parent_type, "u", kTemplate);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, revision_name(parts.parent_type, "u", json(R"({"spec":{"template":{"a":1}}})")));
  EXPECT_EQ(all[0].identity.uid, "");
}

TEST(RevisionWrites, MakeChangeAndDelete) {
  Parts parts;
  const auto type = test::make_type("metacontroller.k8s.io", "ControllerRevision", "controllerrevisions");
  const Value parent = json(R"({"spec":{"template":{"metadata":{"labels":{"app":"cats"}}}}})");
  Revision made, changed, emptied, same, never;
  made.name = "made";
  made.patch = json(R"({"spec":{"x":1}})");
  made.take(kPods, "a");
  changed.name = "changed";
  changed.identity = {"a", "changed", "cu", "9"};
  changed.take(kPods, "b");
  emptied.name = "emptied";
  emptied.identity.uid = "eu";
  emptied.stored[kPods] = {"z"};
  same.name = "same";
  same.identity.uid = "su";
  same.take(kPods, "c");
  same.stored = same.claims;
  never.name = "never";
  const auto ops =
      revision_writes({made, changed, emptied, same, never}, type, parts.parent_type, parts.parent, parts.spec, parent);
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].verb, Verb::kCreate);
  const Value object = json(ops[0].object);
  EXPECT_EQ(*object.at_path({"metadata", "labels"}),
            json(R"({"app":"cats","metacontroller.k8s.io/apiGroup":"ctl.example.com",
                     "metacontroller.k8s.io/resource":"catsets"})"));
  EXPECT_EQ(object.at_path({"metadata", "ownerReferences"})->items().at(0).text_at({"uid"}), "parent-uid");
  EXPECT_EQ(*object.find("children"), json(R"([{"apiGroup":"","kind":"Pod","names":["a"]}])"));
  EXPECT_EQ(*object.find("parentPatch"), json(R"({"spec":{"x":1}})"));
  EXPECT_EQ(ops[1].verb, Verb::kMergePatch);
  EXPECT_EQ(ops[1].uid + " " + ops[1].resource_version, "cu 9");
  EXPECT_EQ(ops[2].verb, Verb::kDeleteInBackground);
  EXPECT_EQ(ops[2].uid, "eu");
  parts.spec.generate_selector = true;
  const auto generated = revision_writes({made}, type, parts.parent_type, parts.parent, parts.spec, parent);
  EXPECT_EQ(json(generated.at(0).object).text_at({"metadata", "labels", "controller-uid"}), "parent-uid");
}

TEST(UpdatedCondition, TakesThePlaceOfOneThatTheHookSentAlong) {
  RollOut out{{}, "False", "RolloutWaiting", "why"};
  const std::string condition = R"({"type":"Updated","status":"False","reason":"RolloutWaiting","message":"why"})";
  EXPECT_EQ(with_updated_condition(Value(), out), json(fmt::format(R"({{"conditions":[{}]}})", condition)));
  EXPECT_EQ(
      with_updated_condition(
          json(R"({"x":1,"conditions":[{"type":"Updated","status":"True","message":"old"},{"type":"Ready"}]})"), out),
      json(fmt::format(R"({{"x":1,"conditions":[{},{{"type":"Ready"}}]}})", condition)));
  EXPECT_EQ(with_updated_condition(json(R"({"conditions":null})"), out),
            json(fmt::format(R"({{"conditions":[{}]}})", condition)));
}

}  // namespace
}  // namespace hookd::metacontroller
