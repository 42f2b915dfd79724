// A pass from its start to its end, of each kind of controller.
#include "unit/compat/metacontroller/controller_pass_fixture.h"

namespace hookd::metacontroller {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(ControllerPassTest, WritesInTheOrderOfTheDescription) {
  spec->finalize = webhook("finalize");
  answer("sync", kOne);
  make_parent("p");
  make_child("extra", "uid-p", R"("controller-uid":"uid-p")");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(),
              ElementsAre("PATCH catsets/p", "DELETE configmaps/extra", "POST configmaps", "PATCH catsets/p/status"));
  EXPECT_EQ(parent().at_path({"metadata", "finalizers"})->to_json(),
            R"(["metacontroller.io/compositecontroller-catset"])");
  EXPECT_EQ(parent().find("status")->to_json(true), R"({"observedGeneration":1,"ok":true})");
  // The hook was shown the parent with its finalizer.
  EXPECT_THAT(requests.at(0).second, HasSubstr("compositecontroller-catset"));
  settle();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(), IsEmpty()) << "a second time nothing is to do";
}

TEST_F(ControllerPassTest, WaitsForItsOwnWritesToComeBack) {
  answer("sync", kOne);
  make_parent("p");
  start();
  cluster.dam(config_maps().collection_path(""));
  run("a/p");
  EXPECT_EQ(asked("sync"), 1u);
  begin("a/p");
  advance_run();
  EXPECT_FALSE(over);
  EXPECT_EQ(asked("sync"), 1u) << "the child that it made is not known yet";
  cluster.flow(config_maps().collection_path(""));
  advance_run();
  ASSERT_TRUE(over);
  EXPECT_EQ(asked("sync"), 2u);
  EXPECT_THAT(requests.back().second, HasSubstr(R"("x":{)"));
}

TEST_F(ControllerPassTest, AdoptsOnlyForAParentThatLives) {
  answer("sync", kNone);
  make_parent("p");
  make_child("orphan", "", R"("controller-uid":"uid-p")");
  start();
  // The server says that it goes, the watch has not told of it.
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "GET" || request.path != catsets().object_path("a", "p")) return std::nullopt;
    kube::ApiResponse response;
    response.status = 200;
    response.body = object_json(catsets(), "a", "p", "uid-p", R"("deletionTimestamp":"2026-01-01T00:00:00Z")");
    return response;
  };
  EXPECT_EQ(run("a/p").verdict, Verdict::kLater);
  EXPECT_THAT(writes(), IsEmpty());
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "GET" || request.path != catsets().object_path("a", "p")) return std::nullopt;
    kube::ApiResponse response;
    response.status = 200;
    response.body = object_json(catsets(), "a", "p", "another");
    return response;
  };
  EXPECT_EQ(run("a/p").verdict, Verdict::kLater);
  EXPECT_THAT(writes(), IsEmpty());
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(asked("sync"), 0u);
  cluster.intercept = nullptr;
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  // Adopted, and then deleted, as the hook does not want it.
  EXPECT_THAT(writes(), ElementsAre("PATCH configmaps/orphan", "DELETE configmaps/orphan", "PATCH catsets/p/status"));
}

TEST_F(ControllerPassTest, LetsGoOfAChildWhoseLabelsDrifted) {
  answer("sync", kNone);
  make_parent("p");
  make_child("drifted", "uid-p", R"("other":"1")");
  start();
  run("a/p");
  EXPECT_THAT(writes(), ElementsAre("PATCH configmaps/drifted", "PATCH catsets/p/status"));
  EXPECT_TRUE(cluster.has(config_maps(), "a", "drifted"));
  EXPECT_THAT(requests.at(0).second, HasSubstr(R"("children":{"ConfigMap.v1":{}})"));
}

TEST_F(ControllerPassTest, AFailureIsAnEventAnd429IsNot) {
  make_parent("p");
  start();
  answer("sync", "#429");
  EXPECT_EQ(run("a/p").verdict, Verdict::kLater);
  EXPECT_THAT(events(), IsEmpty());
  answer("sync", "#500");
  EXPECT_EQ(run("a/p").verdict, Verdict::kRetry);
  EXPECT_THAT(events(), ElementsAre(HasSubstr("SyncError: Sync error: sync hook http://")));  // named once
}

TEST_F(ControllerPassTest, AGuardThatTripsIsToldOfTheParent) {
  guard =
      std::make_unique<hook::GuardFuse>(hook->name, hook::Guard{hook::Guard::Rate{1, 1min}, {}}, scheduler, nullptr);
  answer("sync", kOne);
  make_parent("p");
  for (const auto* extra : {"y", "z"}) make_child(extra, "uid-p", R"("controller-uid":"uid-p")");
  start();
  EXPECT_EQ(run("a/p").result, "guarded");
  settle();
  ASSERT_EQ(cluster.written.size(), 1u) << "not one of the two deletes, and nothing after them";
  const auto event = json(cluster.written.back().body);
  EXPECT_EQ(event.text_at({"reason"}), "HookGuardTripped");
  EXPECT_EQ(event.text_at({"involvedObject", "kind"}) + " " + event.text_at({"involvedObject", "name"}), "CatSet p");
}

TEST_F(ControllerPassTest, AGuardThatTripsHalfwayDoesNotSayThatNothingWasSent) {
  guard =
      std::make_unique<hook::GuardFuse>(hook->name, hook::Guard{{}, hook::Guard::Rate{1, 1min}}, scheduler, nullptr);
  answer("sync", kOne);
  make_parent("p");
  make_child("y", "uid-p", R"("controller-uid":"uid-p")");
  start();
  const auto how = run("a/p");
  EXPECT_THAT(writes(), ElementsAre("DELETE configmaps/y"));
  EXPECT_THAT(how.why, HasSubstr("nothing more was sent"));
}

TEST_F(ControllerPassTest, AStatusThatCannotBeReadIsToldAndNotLeftOut) {
  answer("sync", R"({"status":{"a":{"x":1,"x":2}},"children":[]})");
  make_parent("p");
  start();
  const auto how = run("a/p");
  EXPECT_EQ(how.verdict, Verdict::kRetry);
  EXPECT_THAT(how.why, HasSubstr("the status that the hook answered"));
}

TEST_F(ControllerPassTest, AConflictThatStaysIsTriedAgainWithoutAnEvent) {
  answer("sync", kNone);
  make_parent("p");
  start();
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (!request.path.ends_with("/status")) return std::nullopt;
    return fail(Error{Errc::kConflict, "the object has been modified", 409, "Conflict", {}});
  };
  begin("a/p");
  for (int seconds = 0; seconds < 60 && !over; ++seconds) {
    advance_run();
    scheduler.advance(1s);
  }
  ASSERT_TRUE(over);
  EXPECT_EQ(over->verdict, Verdict::kLater);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(ControllerPassTest, TheStatusIsWrittenAlthoughAChildFailed) {
  answer("sync", kOne);
  make_parent("p");
  cluster.put(config_maps(), object_json(config_maps(), "a", "x", "foreign"));
  start();
  const auto how = run("a/p");
  EXPECT_EQ(how.verdict, Verdict::kRetry);
  EXPECT_THAT(how.why, HasSubstr("ConfigMap a/x exists already"));
  EXPECT_THAT(writes(), ElementsAre("PATCH catsets/p/status"));
}

TEST_F(ControllerPassTest, TheGarbageCollectorsWorkIsLeftToIt) {
  spec->finalize = webhook("finalize");
  answer("finalize", kNone);
  for (const auto* collector : {"foregroundDeletion", "orphan"}) {
    SCOPED_TRACE(collector);
    make_parent(
        "p",
        fmt::format(R"("deletionTimestamp":"t","finalizers":["metacontroller.io/compositecontroller-catset","{}"])",
                    collector));
    make_child("x", "uid-p", R"("controller-uid":"uid-p")");
    if (!reconciler) start();
    EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
    EXPECT_TRUE(cluster.has(config_maps(), "a", "x"));
    for (const auto& write : writes()) EXPECT_EQ(write, "PATCH catsets/p/status");
  }
}

TEST_F(ControllerPassTest, WithoutOurFinalizerTheChildrenOfAParentThatGoesAreNotTouched) {
  answer("sync", kNone);
  make_parent("p", R"("deletionTimestamp":"t","finalizers":["example.com/other"])");
  make_child("x", "uid-p", R"("controller-uid":"uid-p")");
  start();
  run("a/p");
  EXPECT_THAT(writes(), ElementsAre("PATCH catsets/p/status"));
}

TEST_F(ControllerPassTest, FinalizedTakesTheFinalizerBeforeAnyChild) {
  spec->finalize = webhook("finalize");
  answer("finalize", R"({"status":{},"children":[],"finalized":true})");
  make_parent(
      "p", R"("deletionTimestamp":"t","finalizers":["metacontroller.io/compositecontroller-catset","example.com/x"])");
  make_child("x", "uid-p", R"("controller-uid":"uid-p")");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(), ElementsAre("PATCH catsets/p", "PATCH catsets/p/status"));
  EXPECT_EQ(parent().at_path({"metadata", "finalizers"})->to_json(), R"(["example.com/x"])");
}

TEST_F(ControllerPassTest, ResyncAfterHoldsAndTheSmallestOfRevisionsWins) {
  answer("sync", R"({"status":{},"children":[],"resyncAfterSeconds":0.25})");
  make_parent("p");
  start();
  EXPECT_EQ(run("a/p").requeue_after, Duration(250ms));
}

TEST_F(ControllerPassTest, WithoutASyncHookEverySyncFails) {
  spec->sync.reset();
  spec->finalize = webhook("finalize");
  make_parent("p", R"("finalizers":["metacontroller.io/compositecontroller-catset"])");
  start();
  const auto how = run("a/p");
  EXPECT_EQ(how.verdict, Verdict::kRetry);
  EXPECT_EQ(how.why, "sync hook not defined");
}

TEST_F(ControllerPassTest, CustomizeIsAskedAgainOnlyForAnotherParent) {
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":["s"]}]})");
  answer("sync", kNone);
  cluster.put(test::secrets(), object_json(test::secrets(), "a", "s", "u1"));
  cluster.put(test::secrets(), object_json(test::secrets(), "b", "s", "u2"));
  make_parent("p");
  start();
  run("a/p");
  EXPECT_THAT(requests.back().second, HasSubstr(R"("related":{"Secret.v1":{"s":{)"));
  EXPECT_THAT(requests.back().second, testing::Not(HasSubstr("u2")));
  run("a/p");
  EXPECT_EQ(asked("customize"), 1u) << "the status that it wrote does not count";
  make_parent("p", R"("labels":{"l":"1"})");
  run("a/p");
  EXPECT_EQ(asked("customize"), 2u) << "no generation, and yet another parent";
  scheduler.advance(21min);
  run("a/p");
  EXPECT_EQ(asked("customize"), 3u);
  // The related object calls its parent, others call nobody.
  called.clear();
  cluster.put(test::secrets(), object_json(test::secrets(), "b", "s", "u2", R"("labels":{"x":"1"})"));
  settle();
  EXPECT_THAT(called, IsEmpty());
  cluster.put(test::secrets(), object_json(test::secrets(), "a", "s", "u1", R"("labels":{"x":"1"})"));
  settle();
  EXPECT_EQ(called.size(), 1u);
  EXPECT_EQ(causes.back(), (hook::ReconcileCause{"related", "Modified", "Secret.v1", "a", "s"}));
}

TEST_F(ControllerPassTest, AParentThatLeavesAndComesBackHasItsRelatedObjectsAgain) {
  spec->parents[0].label_selector = *cache::LabelSelector::parse("in=yes");
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":["s"]}]})");
  answer("sync", kNone);
  cluster.put(test::secrets(), object_json(test::secrets(), "a", "s", "u1"));
  make_parent("p", R"("labels":{"in":"yes"})");
  start();
  run("a/p");
  make_parent("p", R"("labels":{"in":"no"})");
  EXPECT_TRUE(run("a/p").quiet);
  EXPECT_EQ(asked("sync"), 1u);
  make_parent("p", R"("labels":{"in":"yes"})");
  run("a/p");
  EXPECT_EQ(asked("sync"), 2u);
  EXPECT_THAT(requests.back().second, HasSubstr(R"("related":{"Secret.v1":{"s":{)"));
}

TEST_F(ControllerPassTest, ADryRunRemembersNothing) {
  options.dry_run = true;
  answer("sync", kOne);
  make_parent("p");
  start(true);
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone) << "it waits for no write to come back";
  for (const auto& request : cluster.written)
    EXPECT_THAT(request.query, Contains(std::pair<std::string, std::string>("dryRun", "All"))) << request.path;
  EXPECT_FALSE(cluster.has(config_maps(), "a", "x"));
}

TEST_F(ControllerPassTest, ServerSideApplyIsSentOnce) {
  apply_options.server_side = true;
  answer("sync", kOne);
  make_parent("p");
  start();
  run("a/p");
  EXPECT_THAT(writes(), ElementsAre("PATCH configmaps/x", "PATCH catsets/p/status"));
  settle();
  run("a/p");
  EXPECT_THAT(writes(), IsEmpty());
}

TEST_F(ControllerPassTest, WaitsForTheFirstListOfARelatedKind) {
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{}}]})");
  answer("sync", kNone);
  make_parent("p");
  start();
  cluster.hold(test::secrets().collection_path(""));
  begin("a/p");
  advance_run();
  EXPECT_FALSE(over);
  EXPECT_EQ(asked("sync"), 0u);
  cluster.release(test::secrets().collection_path(""));
  advance_run();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->verdict, Verdict::kDone);
  EXPECT_EQ(asked("sync"), 1u);
}

TEST_F(ControllerPassTest, ARelatedKindThatNeverComesIsNotWaitedForForEver) {
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{}}]})");
  make_parent("p");
  start();
  cluster.hold(test::secrets().collection_path(""));
  begin("a/p");
  advance_run();
  EXPECT_FALSE(over);
  scheduler.advance(ControllerPass::kRelatedPatience);
  advance_run();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->verdict, Verdict::kLater);
}

TEST_F(ControllerPassTest, ARelatedKindThatIsNotServedIsAnEvent) {
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"ghosts"}]})");
  make_parent("p");
  start();
  begin("a/p");
  for (int i = 0; i < 10 && !over; ++i) {
    advance_run();
    scheduler.advance(1s);
  }
  advance_run();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->verdict, Verdict::kRetry);
  EXPECT_THAT(over->why, HasSubstr("related ghosts (v1)"));
}

TEST_F(ControllerPassTest, AnEndpointThatRefusesForGoodIsTriedAgainAllTheSame) {
  make_parent("p");
  start();
  answer("sync", "#404");
  EXPECT_EQ(run("a/p").verdict, Verdict::kRetry);
  EXPECT_THAT(events(), ElementsAre(HasSubstr("404")));
}

TEST_F(ControllerPassTest, OrphansCallTheParentsThatSelectThem) {
  spec->generate_selector = false;
  answer("sync", kNone);
  make_parent("p", "", R"("spec":{"selector":{"matchLabels":{"app":"p"}}})");
  make_parent("q", "", R"("spec":{"selector":{"matchLabels":{"app":"q"}}})");
  start();
  called.clear();
  make_child("orphan", "", R"("app":"q")");
  EXPECT_EQ(called.size(), 1u);
  EXPECT_TRUE(called.contains("a/q"));
  called.clear();
  make_child("owned", "uid-p", R"("app":"q")");
  EXPECT_EQ(called.size(), 1u);
  EXPECT_TRUE(called.contains("a/p"));
}

TEST_F(ControllerPassTest, AParentThatIsGoneLeavesNothingBehind) {
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":["s"]}]})");
  answer("sync", kNone);
  make_parent("p");
  start();
  run("a/p");
  EXPECT_EQ(reconciler->looks().size(), 3u);
  cluster.remove(catsets(), "a", "p");
  settle();
  const auto how = run("a/p");
  EXPECT_EQ(how.verdict, Verdict::kDone);
  EXPECT_TRUE(how.quiet);
  EXPECT_EQ(reconciler->looks().size(), 2u) << "the related kind is not followed any more";
}

struct DecoratorPassTest : ControllerPassTest {
  DecoratorPassTest() { decorate(); }
};

TEST_F(DecoratorPassTest, PatchesOnlyItsKeysAndTheParentFirst) {
  answer("sync", R"({"labels":{"ours":"1","gone":null},"annotations":{"n":"2"},"status":{"s":1},
                     "attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}]})");
  make_parent("p", R"("labels":{"theirs":"1","gone":"x"})");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  ASSERT_FALSE(cluster.written.empty());
  EXPECT_EQ(*json(cluster.written[0].body).at_path({"metadata", "labels"}), json(R"({"gone":null,"ours":"1"})"));
  EXPECT_THAT(writes(), ElementsAre("PATCH catsets/p", "PATCH catsets/p/status", "POST configmaps"));
  EXPECT_EQ(*parent().at_path({"metadata", "labels"}), json(R"({"theirs":"1","ours":"1"})"));
  EXPECT_EQ(parent().find("status")->to_json(), R"({"s":1})") << "no observedGeneration";
  run("a/p");
  EXPECT_THAT(writes(), IsEmpty());
}

TEST_F(DecoratorPassTest, ANullStatusStays) {
  answer("sync", R"({"status":null,"attachments":[]})");
  make_parent("p", "", R"("status":{"theirs":1})");
  start();
  run("a/p");
  EXPECT_THAT(writes(), IsEmpty());
}

TEST_F(DecoratorPassTest, AdoptsNothingAndTouchesNoOtherDecoratorsAttachments) {
  answer("sync", R"({"attachments":[]})");
  make_parent("p");
  make_child("orphan", "", "");
  make_child("theirs", "uid-p", "", R"(,"annotations":{"metacontroller.k8s.io/decorator-controller":"other"})");
  make_child("ours", "uid-p", "", R"(,"annotations":{"metacontroller.k8s.io/decorator-controller":"deco"})");
  start();
  run("a/p");
  EXPECT_THAT(writes(), ElementsAre("DELETE configmaps/ours"));
}

TEST_F(DecoratorPassTest, SeveralKindsOfParentsHaveKeysOfTheirOwn) {
  spec->parents.push_back({"v1", "secrets", std::nullopt, std::nullopt, false});
  answer("sync", R"({"labels":{"l":"1"},"attachments":[]})");
  make_parent("p");
  cluster.put(test::secrets(), object_json(test::secrets(), "a", "p", "su"));
  start();
  ASSERT_EQ(called.size(), 2u);
  EXPECT_TRUE(called.contains("catsets.ctl.example.com:a/p"));
  EXPECT_TRUE(called.contains("secrets.:a/p"));
  run("secrets.:a/p");
  EXPECT_THAT(writes(), ElementsAre("PATCH secrets/p"));
  run("catsets.ctl.example.com:a/p");
  EXPECT_THAT(writes(), ElementsAre("PATCH catsets/p"));
}

struct RollingPassTest : ControllerPassTest {
  RollingPassTest() {
    spec->children[0].method = UpdateMethod::kRollingInPlace;
    spec->revision_field_paths = {"spec.template"};
    hooks["sync"] = [](const Value& request) {
      std::string children;
      for (const auto* name : {"x", "y"})
        children +=
            fmt::format(R"({}{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})",
                        children.empty() ? "" : ",", name, request.text_at({"parent", "spec", "template"}));
      return fmt::format(R"({{"status":null,"children":[{}]}})", children);
    };
  }
  std::string value(const std::string& child) {
    return json(cluster.object(config_maps(), "a", child)).text_at({"data", "v"});
  }
};

TEST_F(RollingPassTest, RecordsComeBeforeChildrenAndOneMovesASync) {
  make_parent("p", "", R"("spec":{"template":"1"})");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(),
              ElementsAre("POST controllerrevisions", "POST configmaps", "POST configmaps", "PATCH catsets/p/status"));
  make_parent("p", "", R"("spec":{"template":"2"})");
  run("a/p");
  EXPECT_EQ(asked("sync"), 3u) << "once for each revision";
  const auto made = writes();
  ASSERT_EQ(made.size(), 4u);
  EXPECT_THAT(std::vector(made.begin(), made.begin() + 2),
              UnorderedElementsAre("POST controllerrevisions", HasSubstr("PATCH controllerrevisions/")));
  EXPECT_EQ(made[2], "PATCH configmaps/x");
  EXPECT_EQ(value("x") + value("y"), "21");
  run("a/p");
  EXPECT_EQ(value("x") + value("y"), "22");
  run("a/p");
  EXPECT_THAT(writes(), Contains(HasSubstr("DELETE controllerrevisions/")));
  EXPECT_EQ(parent().at_path({"status", "conditions"})->items().at(0).text_at({"reason"}), "OnLatestRevision");
}

TEST_F(RollingPassTest, ARevisionThatSomebodyDeletesDoesNotMoveAllAtOnce) {
  make_parent("p", "", R"("spec":{"template":"1"})");
  start();
  run("a/p");
  settle();
  const std::string revision = json(cluster.written.front().body).text_at({"metadata", "name"});
  ASSERT_TRUE(cluster.has(test::revisions(), "a", revision));
  cluster.remove(test::revisions(), "a", revision);
  make_parent("p", "", R"("spec":{"template":"2"})");
  run("a/p");
  EXPECT_EQ(value("x") + value("y"), "21");
  run("a/p");
  EXPECT_EQ(value("x") + value("y"), "22");
  EXPECT_TRUE(cluster.has(config_maps(), "a", "y"));
}

TEST_F(RollingPassTest, ARevisionWithoutItsOwnerIsAdopted) {
  make_parent("p", "", R"("spec":{"template":"1"})");
  start();
  run("a/p");
  const std::string name = json(cluster.written.front().body).text_at({"metadata", "name"});
  writes();
  const auto orphan = [&](const std::string& text) {
    cluster.put(test::revisions(), text);
    called.clear();
    settle();
  };
  Value revision = json(cluster.object(test::revisions(), "a", name));
  revision.at("metadata").erase("ownerReferences");
  revision.at("metadata").at("labels").erase("controller-uid");  // its name tells all the same
  orphan(revision.to_json());
  EXPECT_TRUE(called.contains("a/p"));
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(), ElementsAre("PATCH controllerrevisions/" + name)) << "not made anew, not deleted";
  EXPECT_EQ(reconcile::controller_of(cluster.object(test::revisions(), "a", name))->uid, "uid-p");

  // Also while it is the older one of a roll-out: its claims hold.
  make_parent("p", "", R"("spec":{"template":"2"})");
  run("a/p");
  ASSERT_EQ(value("x") + value("y"), "21");
  revision = json(cluster.object(test::revisions(), "a", name));
  revision.at("metadata").erase("ownerReferences");
  orphan(revision.to_json());
  run("a/p");
  EXPECT_EQ(value("x") + value("y"), "22");
  run("a/p");
  EXPECT_FALSE(cluster.has(test::revisions(), "a", name));

  // Of another parent: neither its labels nor its name say that it is ours.
  revision.at("metadata").set("name", Value::string("catsets.ctl.example.com-0"));
  revision.at("metadata").at("labels").set("controller-uid", Value::string("another"));
  orphan(revision.to_json());
  writes();
  run("a/p");
  EXPECT_THAT(writes(), IsEmpty());
}

TEST_F(RollingPassTest, WhatCannotBeRecordedIsNotDone) {
  make_parent("p", "", R"("spec":{"template":"1"})");
  start();
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.path.find("controllerrevisions") == std::string::npos) return std::nullopt;
    return fail(Error{Errc::kForbidden, "you may not", 403, "Forbidden", {}});
  };
  EXPECT_EQ(run("a/p").verdict, Verdict::kRetry);
  EXPECT_THAT(writes(), ElementsAre("POST controllerrevisions"));
  EXPECT_THAT(run("a/p").why, HasSubstr("you may not"));
}

TEST_F(RollingPassTest, WhatAnOldRevisionsHookFailsFailsTheSync) {
  make_parent("p", "", R"("spec":{"template":"1"})");
  start();
  run("a/p");
  make_parent("p", "", R"("spec":{"template":"2"})");
  writes();
  const auto good = hooks["sync"];
  hooks["sync"] = [good](const Value& request) {
    return request.text_at({"parent", "spec", "template"}) == "1" ? std::string("#500") : good(request);
  };
  EXPECT_EQ(run("a/p").verdict, Verdict::kRetry);
  EXPECT_THAT(writes(), IsEmpty());
}

}  // namespace
}  // namespace hookd::metacontroller
