// Passes that are overtaken by what happens around them, and hooks whose writes never come to rest.
#include "unit/compat/metacontroller/controller_pass_fixture.h"

namespace hookd::metacontroller {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct EdgePassTest : ControllerPassTest {
  // Runs the key whenever it is called, and again when it is slowed; how often the hook was asked in that time.
  size_t asked_within(Duration time) {
    const size_t before = asked("sync");
    const SteadyTime end = scheduler.now() + time;
    while (scheduler.now() < end) {
      const auto how = run("a/p");
      scheduler.advance(std::max<Duration>(how.at_least, 50ms));
    }
    return asked("sync") - before;
  }
};

TEST_F(EdgePassTest, AParentThatGoesWhileItsPassWaitsForItsOwnWritesEndsIt) {
  answer("sync", kOne);
  make_parent("p");
  start();
  cluster.dam(config_maps().collection_path(""));
  run("a/p");
  begin("a/p");
  advance_run();
  ASSERT_FALSE(over) << "the child that it made is not known yet";
  cluster.remove(catsets(), "a", "p");
  settle();
  cluster.flow(config_maps().collection_path(""));
  advance_run();
  ASSERT_TRUE(over) << "it would hold its key and a place for ever";
  EXPECT_EQ(over->result, "gone");
}

TEST_F(EdgePassTest, ButNotLongerThanThePatience) {
  answer("sync", kOne);
  make_parent("p");
  start();
  cluster.dam(config_maps().collection_path(""));
  run("a/p");
  begin("a/p");
  advance_run();
  cluster.remove(catsets(), "a", "p");
  settle();
  scheduler.advance(reconcile::OwnVersions::kPatience);
  advance_run();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->result, "gone");
}

TEST_F(EdgePassTest, AParentThatLeavesBeforeTheHookIsAskedIsNotAskedAboutWithoutItsRelatedObjects) {
  spec->parents[0].label_selector = *cache::LabelSelector::parse("in=yes");
  spec->customize = webhook("customize");
  answer("customize", R"({"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":["s"]}]})");
  answer("sync", R"({"status":{},"children":[]})");
  cluster.put(test::secrets(), object_json(test::secrets(), "a", "s", "u1"));
  make_child("x", "uid-p", R"("controller-uid":"uid-p")");
  make_parent("p", R"("labels":{"in":"yes"})");
  start();
  cluster.hold(test::secrets().collection_path(""));
  begin("a/p");
  advance_run();
  ASSERT_FALSE(over);
  make_parent("p", R"("labels":{"in":"no"})");
  cluster.release(test::secrets().collection_path(""));
  for (int i = 0; i < 40 && !over; ++i) {
    scheduler.advance(1s);
    advance_run();
  }
  ASSERT_TRUE(over);
  EXPECT_EQ(asked("sync"), 0u) << "with related: {} it would tell that there are to be no children";
  EXPECT_TRUE(cluster.has(config_maps(), "a", "x"));
}

TEST_F(EdgePassTest, FinalizedCountsInAnAnswerOfFinalizeAlone) {
  spec->finalize = webhook("finalize");
  answer("sync", R"({"status":{},"children":[],"finalized":true})");
  make_parent("p");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_EQ(parent().at_path({"metadata", "finalizers"})->to_json(),
            R"(["metacontroller.io/compositecontroller-catset"])")
      << "or it is set and taken off for ever, and a parent that is deleted in between is never finalized";
  settle();
  writes();
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_THAT(writes(), IsEmpty());
}

TEST_F(EdgePassTest, AParentThatGoesIsFinalizedAlsoWithoutAUsableSelector) {
  spec->generate_selector = false;
  spec->finalize = webhook("finalize");
  answer("finalize", R"({"status":{},"children":[],"finalized":true})");
  make_child("x", "uid-p", "");
  cluster.put(config_maps(), object_json(config_maps(), "a", "foreign", "uid-f"));
  const std::string finalizers = R"("finalizers":["metacontroller.io/compositecontroller-catset","example.com/x"])";
  make_parent("p", finalizers, R"("spec":{"selector":{}})");
  start();
  EXPECT_EQ(run("a/p").verdict, Verdict::kRetry) << "while it lives that is an error";
  EXPECT_THAT(writes(), IsEmpty());
  make_parent("p", R"("deletionTimestamp":"2026-01-01T00:00:00Z",)" + finalizers, R"("spec":{"selector":{}})");
  EXPECT_EQ(run("a/p").verdict, Verdict::kDone);
  EXPECT_EQ(parent().at_path({"metadata", "finalizers"})->to_json(), R"(["example.com/x"])");
  EXPECT_THAT(requests.back().second, HasSubstr(R"("children":{"ConfigMap.v1":{"x":)")) << "those that it owns";
  EXPECT_THAT(requests.back().second, Not(HasSubstr("foreign")));
}

TEST_F(EdgePassTest, AChildThatIsRecreatedAgainAndAgainIsSlowed) {
  spec->children[0].method = UpdateMethod::kRecreate;
  int value = 0;
  hooks["sync"] = [&](const Value&) {
    return fmt::format(
        R"({{"status":{{}},"children":[{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},"data":{{"v":"{}"}}}}]}})",
        ++value);
  };
  make_parent("p");
  start();
  asked_within(30s);
  EXPECT_LT(asked_within(10min), 60u);
  EXPECT_THAT(events(), Contains(HasSubstr("RepeatedWrites: ConfigMap a/x is made again and again")));
  ASSERT_FALSE(reconciler->troubles().empty());
}

TEST_F(EdgePassTest, AnAnnotationOfEachCallsTimeIsSlowed) {
  decorate();
  int value = 0;
  hooks["sync"] = [&](const Value&) {
    ++value;
    return fmt::format(R"({{"annotations":{{"t":"{}"}},"labels":{{"l":"{}"}},"attachments":[]}})", value, value);
  };
  make_parent("p");
  start();
  asked_within(30s);
  EXPECT_LT(asked_within(10min), 100u);
  EXPECT_THAT(events(), Contains(HasSubstr("RepeatedWrites")));
  // Somebody else's change is a reason, at once.
  const size_t before = asked("sync");
  make_parent("p", R"("annotations":{"theirs":"1"})");
  EXPECT_FALSE(run("a/p").quiet);
  EXPECT_EQ(asked("sync"), before + 1);
}

TEST_F(EdgePassTest, AParentThatIsDeletedIsNotSlowed) {
  spec->children[0].method = UpdateMethod::kRecreate;
  int value = 0;
  hooks["sync"] = [&](const Value&) {
    return fmt::format(
        R"({{"status":{{}},"children":[{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},"data":{{"v":"{}"}}}}]}})",
        ++value);
  };
  make_parent("p");
  start();
  asked_within(2min);
  const size_t before = asked("sync");
  make_parent("p", R"("deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["example.com/x"])");
  run("a/p");
  EXPECT_EQ(asked("sync"), before + 1);
}

TEST_F(EdgePassTest, ServerSideApplyMakesAChildAndTakesNone) {
  apply_options.server_side = true;
  answer("sync", kOne);
  make_parent("p");
  start();
  run("a/p");
  const auto made = std::ranges::find_if(
      cluster.written, [](const auto& request) { return request.path == config_maps().object_path("a", "x"); });
  ASSERT_NE(made, cluster.written.end());
  EXPECT_EQ(json(made->body).text_at({"metadata", "resourceVersion"}), apply::kMustNotExist)
      << "an object of that name that the watch has not told of yet would be taken over";
}

TEST_F(EdgePassTest, ADecoratorMakesNothingForAParentThatIsGone) {
  decorate();
  answer("sync",
         R"({"labels":{"l":"1"},"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}]})");
  make_parent("p");
  start();
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "PATCH" || request.path != catsets().object_path("a", "p")) return std::nullopt;
    return fail(Error{Errc::kNotFound, "it is no more", 404, "NotFound", {}});
  };
  run("a/p");
  EXPECT_THAT(writes(), Not(Contains("POST configmaps")));
}

}  // namespace
}  // namespace hookd::metacontroller
