// Delete and Evict: k8s-client.md W7-W10, T37, T38.
#include "applier_fixture.h"

namespace hookd::apply {
namespace {

constexpr std::string_view kPath = "/api/v1/namespaces/a/pods/b";
constexpr std::string_view kEviction = "/api/v1/namespaces/a/pods/b/eviction";
constexpr std::string_view kDelete =
    R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","gracePeriodSeconds":0,"uid":"u1"})";
constexpr std::string_view kDeleteByName =
    R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b"})";
constexpr std::string_view kEvict = R"({"operation":"Evict","namespace":"a","name":"b","uid":"u1"})";
constexpr std::string_view kUidMessage =
    "Operation cannot be fulfilled on pods \"b\": the UID in the precondition (u1) does not match the UID in record "
    "(u2). The object might "
    "have been deleted and then recreated";

class DeleteTest : public ApplierTest {};

TEST_F(DeleteTest, OptionsStandInTheBody) {  // W7
  api.on("DELETE", kPath, ok(object_json("Pod", "b", "u1")));
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.text, "deleted Pod a/b (uid u1)");
  EXPECT_EQ(outcome.uid, "u1");
  ASSERT_EQ(api.requests.size(), 1u);
  EXPECT_TRUE(api.last().query.empty());
  EXPECT_EQ(api.last().content_type, "application/json");
  // No propagationPolicy of its own: foreground would put a finalizer on a pod that is to go at once.
  EXPECT_EQ(api.last().body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u1"}})");
}

TEST_F(DeleteTest, DryRunStandsInTheBodyToo) {  // T37: with a body the server ignores the query
  api.on("DELETE", kPath, ok());
  request.dry_run = true;
  const auto outcome = apply(kDelete);
  EXPECT_THAT(api.last().body, HasSubstr(R"("dryRun":["All"])"));
  EXPECT_EQ(outcome.text, "dry run: deleted Pod a/b (uid u1)");
}

TEST_F(DeleteTest, TheVerbsSetThePropagation) {
  api.on("DELETE", kPath, ok());
  Operation delete_op = op(kDelete);
  for (const auto& [verb, policy] :
       {std::pair{Verb::kDeleteInBackground, "Background"}, {Verb::kDeleteNonCascading, "Orphan"}}) {
    delete_op.verb = verb;
    apply(delete_op);
    EXPECT_THAT(api.last().body, HasSubstr(fmt::format(R"("propagationPolicy":"{}")", policy)));
  }
  delete_op.verb = Verb::kDelete;
  delete_op.propagation_policy = "Foreground";
  apply(delete_op);
  EXPECT_THAT(api.last().body, HasSubstr(R"("propagationPolicy":"Foreground")"));
}

TEST_F(DeleteTest, WhatWentMeanwhileIsGoneAndNoNamesake) {
  api.on("DELETE", kPath,
         refused(409, "Conflict", "Precondition failed: UID in precondition: u1, UID in object meta: "));
  EXPECT_EQ(apply(kDelete).text, "Pod a/b is gone already");
}

TEST_F(DeleteTest, NamesakeIsNotKilled) {  // T37, W8
  api.on("DELETE", kPath, refused(409, "Conflict", kUidMessage));
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_EQ(outcome.text, "Pod a/b: another object has this name now, not deleted (uid u1 is gone)");
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(DeleteTest, NamesakeIsFoundByReadingWhenTheConflictDoesNotSay) {
  api.on("DELETE", kPath, refused(409, "Conflict", "it did not work"))
      .on("GET", kPath, ok(object_json("Pod", "b", "u2")));
  EXPECT_EQ(apply(kDelete).kind, Kind::kNotNeeded);
}

TEST_F(DeleteTest, PlainRaceIsTriedFiveTimes) {  // W4
  api.on("DELETE", kPath, refused(409, "Conflict", "try again")).on("GET", kPath, ok(object_json("Pod", "b", "u1")));
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.uid, "u1");
  EXPECT_EQ(std::ranges::count(api.lines(), fmt::format("DELETE {}", kPath)), 5);
}

TEST_F(DeleteTest, MissingObjectIsDone) {  // W9
  api.on("DELETE", kPath, not_found());
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_EQ(outcome.text, "Pod a/b is gone already");
}

TEST_F(DeleteTest, UnservedTypeIsTriedLater) {  // R46
  api.on("DELETE", kPath, not_served());
  EXPECT_EQ(apply(kDelete).kind, Kind::kRetry);
  EXPECT_EQ(unserved, 1);
}

TEST_F(DeleteTest, UidComesFromTheCall) {
  request.uid_of = [](auto version, auto kind, auto ns, auto name) -> std::optional<std::string> {
    if (version == "v1" && kind == "Pod" && ns == "a" && name == "b") return "u9";
    return std::nullopt;
  };
  api.on("DELETE", kPath, ok());
  apply(kDeleteByName);
  ASSERT_EQ(api.requests.size(), 1u);
  EXPECT_THAT(api.last().body, HasSubstr(R"("preconditions":{"uid":"u9"})"));
}

TEST_F(DeleteTest, UnknownUidIsReadFirst) {
  api.on("GET", kPath, ok(object_json("PartialObjectMetadata", "b", "u3"))).on("DELETE", kPath, ok());
  const auto outcome = apply(kDeleteByName);
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.uid, "u3");
  EXPECT_THAT(api.requests[0].accept, HasSubstr("as=PartialObjectMetadata"));
  EXPECT_THAT(api.requests[1].body, HasSubstr(R"("uid":"u3")"));
}

TEST_F(DeleteTest, ReadingTheUidMayFindNothing) {
  api.on("GET", kPath, not_found());
  EXPECT_EQ(apply(kDeleteByName).kind, Kind::kNotNeeded);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(DeleteTest, WithoutTheRightToReadTheHookIsToldWhatToDo) {
  api.on("GET", kPath, refused(403, "Forbidden", "pods \"b\" is forbidden"));
  const auto outcome = apply(kDeleteByName);
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, HasSubstr("give `uid` in the operation, or allow the daemon `get` of pods"));
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(DeleteTest, OtherVersionThanAskedForIsRefused) {
  api.on("DELETE", kPath,
         refused(409, "Conflict",
                 "the ResourceVersion in the precondition (5) does not match the ResourceVersion in record (7)"));
  Operation delete_op = op(kDelete);
  delete_op.resource_version = "5";
  const auto outcome = apply(delete_op);
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_EQ(outcome.text, "Pod a/b: it changed since resourceVersion 5, not deleted");
  EXPECT_THAT(api.last().body, HasSubstr(R"("preconditions":{"uid":"u1","resourceVersion":"5"})"));
}

TEST_F(DeleteTest, LostAnswerIsLookedInto) {  // A25
  api.on("DELETE", kPath, cut()).on("GET", kPath, not_found());
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_THAT(outcome.text, HasSubstr("the answer was lost, but it is gone"));
}

TEST_F(DeleteTest, LostAnswerAndObjectStillThereIsTriedLater) {  // A25: the retry means the same uid
  api.on("DELETE", kPath, cut()).on("GET", kPath, ok(object_json("Pod", "b", "u1")));
  const auto outcome = apply(kDelete);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_TRUE(outcome.unknown);
  EXPECT_EQ(outcome.uid, "u1");
}

TEST_F(DeleteTest, FinalizersAreTold) {  // W9: a 200 with the object is not yet gone
  api.on(
      "DELETE", kPath,
      ok(R"({"kind":"Pod","metadata":{"name":"b","uid":"u1","deletionTimestamp":"x","deletionGracePeriodSeconds":0,"finalizers":["f/x"]}})"));
  EXPECT_EQ(apply(kDelete).text, "deleted Pod a/b (uid u1), it waits for its finalizers [\"f/x\"]");
}

TEST_F(DeleteTest, GracePeriodIsTold) {
  api.on(
      "DELETE", kPath,
      ok(R"({"kind":"Pod","metadata":{"name":"b","uid":"u1","deletionTimestamp":"x","deletionGracePeriodSeconds":30}})"));
  EXPECT_EQ(apply(kDelete).text, "deleted Pod a/b (uid u1), it ends within 30 s");
}

TEST_F(DeleteTest, ForbiddenMayBeGrantedLater) {
  api.on("DELETE", kPath, refused(403, "Forbidden", "no"));
  EXPECT_EQ(apply(kDelete).kind, Kind::kRetry);
}

// T38: 201, 429 without header, 429 with 10, several budgets, gone: five results that differ.
TEST_F(DeleteTest, EvictionIsOneRequestWithTheUidInside) {
  api.on("POST", kEviction, ok(R"({"kind":"Status","apiVersion":"v1","status":"Success"})", 201));
  const auto outcome = apply(kEvict);
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.text, "evicted Pod a/b (uid u1)");
  EXPECT_FALSE(api.last().retry);  // W10: a generic retry would hide the budget for 100 s
  EXPECT_EQ(api.last().body, R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b","namespace":"a"},)"
                             R"("deleteOptions":{"preconditions":{"uid":"u1"}}})");
}

TEST_F(DeleteTest, EvictionBlockedByABudget) {
  api.on("POST", kEviction,
         refused(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
                 R"([{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods"}])"));
  const auto outcome = apply(kEvict);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_THAT(outcome.text, HasSubstr("its disruption budget allows no disruption now"));
  EXPECT_FALSE(outcome.retry_after);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(DeleteTest, EvictionWhoseBudgetIsBeingWorkedOut) {
  api.on(
      "POST", kEviction,
      refused(429, "TooManyRequests", "The disruption budget web is still being processed by the server.", "[]", "10"));
  const auto outcome = apply(kEvict);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_THAT(outcome.text, HasSubstr("still being worked out"));
  EXPECT_EQ(outcome.retry_after, std::chrono::seconds(10));
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(DeleteTest, EvictionWithSeveralBudgetsIsRefused) {
  api.on("POST", kEviction,
         refused(500, "",
                 "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
  const auto outcome = apply(kEvict);
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.text, HasSubstr("several PodDisruptionBudgets"));
}

TEST_F(DeleteTest, EvictionOfWhatIsGoneOrAnother) {
  api.on("POST", kEviction, not_found()).on("POST", kEviction, refused(409, "Conflict", kUidMessage));
  EXPECT_EQ(apply(kEvict).kind, Kind::kNotNeeded);
  const auto outcome = apply(kEvict);
  EXPECT_EQ(outcome.kind, Kind::kNotNeeded);
  EXPECT_THAT(outcome.text, HasSubstr("not evicted"));
}

TEST_F(DeleteTest, EvictionDryRun) {
  api.on("POST", kEviction, ok());
  request.dry_run = true;
  apply(kEvict);
  EXPECT_EQ(query("dryRun"), "All");
}

}  // namespace
}  // namespace hookd::apply
