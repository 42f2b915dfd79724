// hook/done_operations.h: the table in its head, line by line.
#include "hook/done_operations.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

apply::Operation parsed(const std::string& json) {
  auto op = apply::parse_operation(json);
  EXPECT_TRUE(op) << (op ? "" : op.error().what);
  return op.value_or(apply::Operation{});
}

apply::Operation of(std::string_view verb, std::string_view rest) {
  return parsed(fmt::format(R"({{"operation":"{}",{}}})", verb, rest));
}
constexpr std::string_view kPod = R"("apiVersion":"v1","kind":"Pod","namespace":"a","name":"x")";
constexpr std::string_view kManifest =
    R"("object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"x"}})";

apply::Outcome outcome(std::string version = "10", std::string uid = "u1") {
  apply::Outcome outcome;
  outcome.resource_version = std::move(version);
  outcome.uid = std::move(uid);
  return outcome;
}

DoneOperations::Seen unseen() {
  return [](const apply::Operation&) { return nullptr; };
}
DoneOperations::Seen seen(std::string version, std::string uid = "u1") {
  return [=](const apply::Operation&) { return test::make_object("a", "x", uid, version, "{}"); };
}

// How many of these are left to do.
size_t left(const DoneOperations& done, std::vector<apply::Operation> operations,
            const DoneOperations::Seen& see = unseen()) {
  done.leave_out(operations, see);
  return operations.size();
}

DoneOperations done_with(const apply::Operation& op, bool news) {
  DoneOperations done;
  done.note(op, outcome());
  if (news) done.events_changed();
  return done;
}

TEST(DoneOperations, ARetryOfTheSameEventsRepeatsNothing) {
  for (const auto& op :
       {of("Create", kManifest), of("CreateIfNotExists", kManifest), of("Apply", kManifest), of("Delete", kPod),
        of("Evict", R"("namespace":"a","name":"x")"), of("MergePatch", fmt::format(R"({},"patch":{{}})", kPod)),
        of("JSONPatch", fmt::format(R"({},"patch":[])", kPod)), of("Metric", R"("name":"m_total")")})
    EXPECT_EQ(left(done_with(op, false), {op}), 0u) << op.describe();
}

// The object may have gone since: the hook was called with news, and says that it is to be there.
TEST(DoneOperations, WithNewsWhatShouldBeIsSaidAgain) {
  for (const auto& op : {of("CreateIfNotExists", kManifest), of("Apply", kManifest),
                         of("MergePatch", fmt::format(R"({},"patch":{{}})", kPod))}) {
    EXPECT_EQ(left(done_with(op, true), {op}), 1u) << op.describe();
    EXPECT_EQ(left(done_with(op, true), {op}, seen("10")), 0u) << op.describe();
    EXPECT_EQ(left(done_with(op, true), {op}, seen("11")), 1u) << op.describe();
  }
}

TEST(DoneOperations, WithNewsACreateOfANameIsTriedAgainAndKnowsWhatItMade) {
  const auto op = of("Create", kManifest);
  std::vector<apply::Operation> operations{op};
  done_with(op, true).leave_out(operations, unseen());
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].made_uid, "u1");
}

TEST(DoneOperations, WithNewsADeletionByNameIsSaidAgainAndOneByUidIsNot) {
  const auto by_name = of("Delete", kPod);
  EXPECT_EQ(left(done_with(by_name, true), {by_name}), 1u);
  const auto by_uid = of("Delete", fmt::format(R"({},"uid":"u1")", kPod));
  EXPECT_EQ(left(done_with(by_uid, true), {by_uid}), 0u);
}

TEST(DoneOperations, WhatWouldAddOnceMoreStaysOut) {
  const std::string generated = R"("object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"x-"}})";
  for (const auto& op :
       {of("Create", generated), of("Metric", R"("name":"m_total")"),
        of("Event", R"("reason":"R","message":"m","about":{"apiVersion":"v1","kind":"Pod","name":"x"})")})
    EXPECT_EQ(left(done_with(op, true), {op}), 0u) << op.describe();
  const auto patch = of("JSONPatch", fmt::format(R"({},"patch":[{{"op":"add","path":"/l/-","value":1}}])", kPod));
  EXPECT_EQ(left(done_with(patch, true), {patch}), 0u);
  EXPECT_EQ(left(done_with(patch, true), {patch}, seen("9")), 0u);  // the cache lags behind it
  EXPECT_EQ(left(done_with(patch, true), {patch}, seen("10")), 0u);
  EXPECT_EQ(left(done_with(patch, true), {patch}, seen("11")), 1u);       // the hook saw it and says it all the same
  EXPECT_EQ(left(done_with(patch, true), {patch}, seen("9", "u2")), 1u);  // a namesake
}

// The object was not there, or was as wanted: on the object of today it may change something.
TEST(DoneOperations, APatchInStepsThatChangedNothingIsNotDone) {
  for (const auto& op : {of("JSONPatch", fmt::format(R"({},"patch":[],"ignoreMissingObject":true)", kPod)),
                         of("JQPatch", fmt::format(R"({},"jqFilter":".")", kPod))}) {
    DoneOperations done;
    apply::Outcome nothing;
    nothing.kind = apply::Outcome::Kind::kNotNeeded;
    done.note(op, nothing);
    done.events_changed();
    EXPECT_EQ(left(done, {op}, seen("11")), 1u) << op.describe();
    done.note(op, outcome());
    done.note(op, nothing);
    EXPECT_EQ(left(done, {op}, seen("10")), 0u) << op.describe();
    done.events_changed();
    EXPECT_EQ(left(done, {op}, seen("11")), 1u) << op.describe();
  }
}

TEST(DoneOperations, WishesAndAbsoluteMetricsAlwaysCount) {
  for (const auto& op :
       {of("Requeue", R"("after":"20s")"), of("Metric", R"("name":"m","action":"set","value":1)"),
        of("Metric", R"("name":"m_total","group":"g")"), of("Metric", R"("action":"expire","group":"g")")})
    EXPECT_EQ(left(done_with(op, false), {op}), 1u) << op.describe();
}

// What was old for one attempt is not new for the next, though that has the same events.
TEST(DoneOperations, WhatIsOlderStaysOlderUntilItIsDoneAgain) {
  const auto create = of("Create", kManifest);
  DoneOperations done = done_with(create, true);
  EXPECT_EQ(left(done, {create}), 1u);
  done.note(create, outcome());
  EXPECT_EQ(left(done, {create}), 0u);
}

TEST(DoneOperations, EachOfTwoThatAddCountsOnce) {
  const auto create =
      of("Create", R"("object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"x-","namespace":"a"}})");
  DoneOperations done = done_with(create, true);
  EXPECT_EQ(left(done, {create, create}), 1u);
  done.note(create, outcome("11", "u2"));
  EXPECT_EQ(left(done, {create, create}), 0u);
}

// Whatever news comes between attempts, and however far each gets.
TEST(DoneOperations, WhatAddsIsDoneAsOftenAsOneAnswerAskedForItAndNotMore) {
  const std::string generated = R"("object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"x-"}})";
  for (const auto& op :
       {of("Create", generated), of("Metric", R"("name":"m_total")"),
        of("Event", R"("reason":"R","message":"m","about":{"apiVersion":"v1","kind":"Pod","name":"x"})"),
        of("JSONPatch", fmt::format(R"({},"patch":[])", kPod))}) {
    SeededRandom random;
    for (int round = 0; round < 200; ++round) {
      DoneOperations done;
      size_t sent = 0, most = 0;
      for (int attempt = 0; attempt < 8; ++attempt) {
        if (random.bits() % 3 == 0) done.events_changed();
        const size_t asked = random.bits() % 4;
        std::vector<apply::Operation> operations(asked, op);
        done.leave_out(operations, unseen());
        const size_t succeed = operations.empty() ? 0 : random.bits() % (operations.size() + 1);
        EXPECT_GE(sent + operations.size(), asked) << op.describe();
        for (size_t i = 0; i < succeed; ++i) done.note(operations[i], outcome());
        sent += succeed;
        most = std::max(most, asked);
        EXPECT_LE(sent, most) << op.describe();
      }
    }
  }
}

}  // namespace
}  // namespace hookd::hook
