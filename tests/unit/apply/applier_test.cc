// What holds for an answer as a whole.
#include "applier_fixture.h"

namespace hookd::apply {
namespace {

Operation label(std::string name, std::string ns = "a") {
  Operation op;
  op.verb = Verb::kLabel;
  op.api_version = "v1";
  op.kind = "Pod";
  op.ns = std::move(ns);
  op.name = std::move(name);
  op.entries["x"] = "1";
  return op;
}
std::string pod_path(std::string_view name, std::string_view ns = "a") {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name);
}

TEST_F(ApplierTest, NoOperationsIsDone) {
  start({});
  go();
  EXPECT_EQ(finished, 1);
}

TEST_F(ApplierTest, OneObjectInOrderOthersBeside) {
  for (const auto name : {"x", "y"}) api.on("PATCH", pod_path(name), ok());
  api.hold("PATCH", pod_path("x"));
  start({label("x"), label("x"), label("y")});
  go();
  EXPECT_THAT(api.lines(), ElementsAre("PATCH " + pod_path("x"), "PATCH " + pod_path("y")));  // the second of x waits
  EXPECT_EQ(finished, 0);
  api.release();
  go();
  EXPECT_EQ(finished, 1);
  ASSERT_EQ(outcomes.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcomes[i].index, i);
    EXPECT_EQ(outcomes[i].kind, Kind::kDone);
  }
}

TEST_F(ApplierTest, AtMostEightAtOnce) {
  std::vector<Operation> many;
  for (int i = 0; i < 30; ++i) {
    many.push_back(label(fmt::format("p{}", i)));
    api.on("PATCH", pod_path(many.back().name), ok());
  }
  start(many);
  go();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(api.requests.size(), 30u);
  EXPECT_EQ(api.most_open, 8);
}

TEST_F(ApplierTest, AfterAFailureTheSameObjectIsLeftAlone) {
  api.on("PATCH", pod_path("x"), refused(503, "ServiceUnavailable", "later")).on("PATCH", pod_path("y"), ok());
  start({label("x"), label("y"), label("x")});
  go();
  EXPECT_EQ(outcomes[0].kind, Kind::kRetry);
  EXPECT_EQ(outcomes[1].kind, Kind::kDone);
  EXPECT_EQ(outcomes[2].kind, Kind::kRetry);
  EXPECT_EQ(outcomes[2].text, "Label Pod a/x not sent: operation 1 on the same object failed");
  EXPECT_EQ(api.requests.size(), 2u);
}

TEST_F(ApplierTest, RefusalStopsTheObjectUnlessTheFrontEndGoesOn) {
  api.on("PATCH", pod_path("x"), refused(422, "Invalid", "no"));
  start({label("x"), label("x")});
  go();
  EXPECT_EQ(outcomes[1].kind, Kind::kRefused);
  EXPECT_EQ(api.requests.size(), 1u);
  request.go_on_after_refusal = true;
  start({label("x"), label("x")});
  go();
  EXPECT_EQ(api.requests.size(), 3u);
}

TEST_F(ApplierTest, NothingIsSentIfOneIsNotAllowed) {
  request.allow = std::vector<AllowRule>{
      {.api_version = "v1", .kind = "Pod", .verbs = {"patch"}, .namespaces = {"a"}, .names = {}}};
  start({label("x"), label("y", "b")});
  go();
  EXPECT_EQ(finished, 1);
  EXPECT_TRUE(api.requests.empty());
  EXPECT_TRUE(asked_types.empty());
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcomes[0].text, HasSubstr("operation 2 (Label Pod b/y)"));
}

TEST_F(ApplierTest, NothingIsSentIfAKindIsUnknown) {
  Operation unknown = label("f");
  unknown.api_version = "x.io/v1";
  unknown.kind = "Foo";
  start({label("x"), unknown});
  go();
  EXPECT_TRUE(api.requests.empty());
  EXPECT_EQ(outcomes[0].kind, Kind::kRetry);
  EXPECT_THAT(outcomes[0].text, HasSubstr("because of operation 2"));
  EXPECT_EQ(outcomes[1].kind, Kind::kRetry);  // the CRD may come
  EXPECT_THAT(outcomes[1].text, HasSubstr("no kind Foo"));
}

TEST_F(ApplierTest, NothingIsSentIfTheScopeIsWrong) {
  Operation node = label("n1");  // with a namespace: a rule for that namespace must not reach a Node
  node.kind = "Node";
  start({label("x"), node});
  go();
  EXPECT_TRUE(api.requests.empty());
  EXPECT_EQ(outcomes[1].kind, Kind::kRefused);
  EXPECT_THAT(outcomes[1].text, HasSubstr("cluster-scoped"));
  start({label("x", "")});
  go();
  EXPECT_THAT(outcomes[0].text, HasSubstr("needs a namespace"));
}

TEST_F(ApplierTest, DefaultNamespaceIsForNamespacedKindsOnly) {
  request.default_namespace = "home";
  Operation node = label("n1", "");
  node.kind = "Node";
  api.on("PATCH", pod_path("x", "home"), ok()).on("PATCH", "/api/v1/nodes/n1", ok());
  start({label("x", ""), node});
  go();
  EXPECT_EQ(outcomes[0].text, "labelled Pod home/x");
  EXPECT_EQ(outcomes[1].kind, Kind::kDone);
}

class NewType : public ApplierTest {
 protected:
  const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.x.io";
  Operation crd = manifest(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.x.io"},)"
      R"("spec":{"group":"x.io","names":{"kind":"Foo","plural":"foos"}}})");
  Operation foo = manifest(R"({"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"f","namespace":"a"}})");
};

TEST_F(NewType, IsLookedForAfterItsDefinition) {
  api.on("PATCH", crds, ok("{}", 201)).on("PATCH", "/apis/x.io/v1/namespaces/a/foos/f", ok("{}", 201));
  start({foo, crd});
  go(std::chrono::milliseconds(300));
  EXPECT_EQ(finished, 0);
  types[{"x.io/v1", "Foo"}] = make_type("x.io", "Foo", "foos");
  go();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(outcomes[0].kind, Kind::kDone);
  EXPECT_THAT(api.lines(), ElementsAre("PATCH " + crds, "PATCH /apis/x.io/v1/namespaces/a/foos/f"));
}

TEST_F(NewType, ThatNeverComesIsTriedLater) {
  api.on("PATCH", crds, ok("{}", 201));
  start({crd, foo});
  go();
  EXPECT_EQ(outcomes[0].kind, Kind::kDone);
  EXPECT_EQ(outcomes[1].kind, Kind::kRetry);
}

TEST_F(ApplierTest, MetricAndRequeueComeBack) {
  start({op(R"({"operation":"Metric","name":"x_total","value":2,"labels":{"a":"b"}})"),
         op(R"({"operation":"Requeue","after":"20s"})")});
  go();
  ASSERT_TRUE(outcomes[0].metric);
  EXPECT_EQ(outcomes[0].metric->name, "x_total");
  EXPECT_EQ(outcomes[0].metric->value, 2);
  EXPECT_EQ(outcomes[1].requeue_after, std::chrono::seconds(20));
  EXPECT_TRUE(api.requests.empty());
}

TEST_F(ApplierTest, DroppedRunSaysNothingMore) {
  api.on("PATCH", pod_path("x"), ok());
  api.hold("PATCH", pod_path("x"));
  start({label("x"), label("x")});
  go();
  run_.reset();
  api.release();
  go();
  EXPECT_EQ(finished, 0);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(ApplierTest, ResolverMayAnswerAfterTheRunIsGone) {
  std::vector<std::function<void(Result<kube::ResourceType>)>> waiting;
  Applier late(api, [&](auto, auto, auto callback) { waiting.push_back(callback); }, scheduler, random);
  request.operations = {label("x")};
  auto run = late.apply(request, [&](auto) { ++finished; });
  go();
  ASSERT_EQ(waiting.size(), 1u);
  run.reset();
  waiting[0](fail(Errc::kNotFound, "late"));
  go();
  EXPECT_EQ(finished, 0);
}

TEST_F(ApplierTest, RunMayBeDestroyedInItsCallback) {
  api.on("PATCH", pod_path("x"), ok());
  request.operations = {label("x")};
  std::unique_ptr<hookd::apply::Run> run;
  run = applier.apply(request, [&](std::vector<Outcome> result) {
    outcomes = std::move(result);
    run.reset();
  });
  go();
  EXPECT_EQ(run, nullptr);
  EXPECT_EQ(outcomes.at(0).kind, Kind::kDone);
}

// ---- Events in an answer

constexpr std::string_view kEvents = "/api/v1/namespaces/a/events";
Operation event_op(std::string reason = "Killed") {
  Operation op;
  op.verb = Verb::kEvent;
  op.api_version = "apps/v1";
  op.kind = "StatefulSet";
  op.ns = "a";
  op.name = "web";
  op.reason = std::move(reason);
  op.message = "m";
  return op;
}

TEST_F(ApplierTest, EventGoesOutAfterWhatItSpeaksOf) {
  request.uid_of = [](auto, auto, auto, auto) { return std::optional<std::string>("u5"); };
  api.on("PATCH", pod_path("x"), ok()).on("POST", kEvents, ok("{}", 201));
  start({label("x"), event_op()});
  go();
  EXPECT_EQ(outcomes[1].text, "recorded Event Killed about StatefulSet a/web");
  ASSERT_EQ(api.requests.size(), 2u);
  EXPECT_EQ(json_string_at(api.last().body, {"involvedObject", "uid"}), "u5");
}

TEST_F(ApplierTest, EventNeverClaimsWhatDidNotHappen) {
  api.on("PATCH", pod_path("x"), refused(503, "ServiceUnavailable", "later"))
      .on("PATCH", pod_path("y"), refused(422, "Invalid", "no"));
  start({label("x"), event_op(), label("y"), event_op("Other")});
  go();
  EXPECT_EQ(outcomes[1].kind, Kind::kRetry);
  EXPECT_EQ(outcomes[3].kind, Kind::kNotNeeded);
  EXPECT_EQ(api.requests.size(), 2u);
}

TEST_F(ApplierTest, EventWithoutUidReadsIt) {
  api.on("GET", "/apis/apps/v1/namespaces/a/statefulsets/web", ok(object_json("StatefulSet", "web", "u6")))
      .on("POST", kEvents, ok("{}", 201));
  start({event_op()});
  go();
  EXPECT_EQ(json_string_at(api.last().body, {"involvedObject", "uid"}), "u6");
}

TEST_F(ApplierTest, EventGoesOutWithoutUidIfItCannotBeRead) {
  api.on("GET", "/apis/apps/v1/namespaces/a/statefulsets/web", refused(403, "Forbidden", "no"))
      .on("POST", kEvents, ok("{}", 201));
  start({event_op()});
  go();
  EXPECT_EQ(api.last().method, "POST");
  EXPECT_FALSE(json_string_at(api.last().body, {"involvedObject", "uid"}));
}

TEST_F(ApplierTest, EventOfAnUnknownKindFailsNothing) {
  Operation event = event_op();
  event.api_version = "gone.io/v1";
  event.uid = "";
  api.on("POST", kEvents, refused(403, "Forbidden", "no"));
  start({event});
  go();
  EXPECT_EQ(outcomes[0].kind, Kind::kDone);
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(ApplierTest, EventIsNotSentInADryRun) {
  request.dry_run = true;
  start({event_op()});
  go();
  EXPECT_EQ(outcomes[0].kind, Kind::kDone);
  EXPECT_TRUE(api.requests.empty());
}

}  // namespace
}  // namespace hookd::apply
