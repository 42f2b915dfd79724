// Kubernetes Events: k8s-client.md E1-E3, E5, T40.
#include "apply/event_recorder.h"

#include "applier_fixture.h"

namespace hookd::apply {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EventTest : public testing::Test {
 protected:
  static EventNote note(std::string message = "m") {
    return {.api_version = "v1",
            .kind = "Pod",
            .ns = "a",
            .name = "b",
            .uid = "u1",
            .uid_path = {},
            .reason = "Killed",
            .message = std::move(message),
            .type = "Warning",
            .hook = "h"};
  }

  struct AcceptAll final : kube::Api {
    explicit AcceptAll(EventTest& owner) : test(owner) {}
    std::unique_ptr<kube::ApiCall> request(kube::ApiRequest request, kube::ApiCallback callback) override {
      test.sent.push_back(request);
      test.scheduler.post([callback = std::move(callback), answer = test.answer(request)] { callback(answer); });
      return std::make_unique<kube::ApiCall>();
    }
    std::unique_ptr<kube::ApiCall> stream(kube::ApiRequest, kube::StreamHandlers) override { return nullptr; }
    EventTest& test;
  };

  int count(std::string_view method) const {
    return static_cast<int>(std::ranges::count(sent, method, &kube::ApiRequest::method));
  }
  void go(Duration time = seconds(1)) { scheduler.advance(time); }

  ManualScheduler scheduler;
  SeededRandom random;
  std::vector<kube::ApiRequest> sent;
  std::function<Result<kube::ApiResponse>(const kube::ApiRequest&)> answer = [](const auto&) { return ok("{}", 201); };
  AcceptAll api{*this};
  EventRecorder recorder{api, scheduler, random};
};

TEST_F(EventTest, HasTheFieldsOfTheCoreForm) {  // E1, E2
  recorder.record(note());
  EXPECT_TRUE(sent.empty());  // never from inside
  go();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].method, "POST");
  EXPECT_EQ(sent[0].path, "/api/v1/namespaces/a/events");
  const std::string& body = sent[0].body;
  EXPECT_TRUE(json_string_at(body, {"metadata", "name"})->starts_with("b."));
  EXPECT_EQ(json_string_at(body, {"involvedObject", "kind"}), "Pod");
  EXPECT_EQ(json_string_at(body, {"involvedObject", "uid"}), "u1");
  EXPECT_EQ(json_string_at(body, {"involvedObject", "namespace"}), "a");
  EXPECT_EQ(json_string_at(body, {"source", "component"}), "hookd");
  EXPECT_EQ(json_string_at(body, {"reportingComponent"}), "hookd");
  EXPECT_EQ(json_string_at(body, {"reportingInstance"}), "h");
  EXPECT_EQ(json_string_at(body, {"firstTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(json_string_at(body, {"type"}), "Warning");
  EXPECT_EQ(json_raw_at(body, {"count"}), "1");
}

TEST_F(EventTest, ClusterScopedObjectsHaveTheirsInDefault) {  // E2
  EventNote node = note();
  node.kind = "Node";
  node.ns = "";
  node.name = "system:odd/Name";
  recorder.record(node);
  go();
  EXPECT_EQ(sent[0].path, "/api/v1/namespaces/default/events");
  EXPECT_EQ(json_string_at(sent[0].body, {"metadata", "name"})->size(), 36u);  // no DNS name: a uuid
}

TEST_F(EventTest, TwentyIdenticalAreOneWithACount) {  // T40, E3
  for (int i = 0; i < 20; ++i) recorder.record(note());
  go();
  EXPECT_EQ(count("POST"), 1);
  EXPECT_EQ(count("PATCH"), 19);
  EXPECT_EQ(sent.back().path, "/api/v1/namespaces/a/events/" + *json_string_at(sent[0].body, {"metadata", "name"}));
  EXPECT_EQ(json_raw_at(sent.back().body, {"count"}), "20");
}

TEST_F(EventTest, DifferentMessagesAreCombined) {  // T40, E3
  for (int i = 0; i < 20; ++i) recorder.record(note(fmt::format("message {}", i)));
  go();
  EXPECT_EQ(count("POST"), 10);
  EXPECT_EQ(count("PATCH"), 10);
  EXPECT_THAT(*json_string_at(sent.back().body, {"message"}), HasSubstr("(combined from similar events): message 19"));
}

TEST_F(EventTest, AfterAQuietTimeMessagesStandAlone) {  // E3
  for (int i = 0; i < 12; ++i) recorder.record(note(fmt::format("message {}", i)));
  go(minutes(11));
  recorder.record(note("alone"));
  go();
  EXPECT_EQ(json_string_at(sent.back().body, {"message"}), "alone");
}

TEST_F(EventTest, SpamIsDropped) {  // T40, E3: 25, then one in 300 s
  for (int i = 0; i < 30; ++i) recorder.record(note());
  EXPECT_EQ(recorder.dropped(), 5u);
  go(seconds(301));
  recorder.record(note());
  EXPECT_EQ(recorder.dropped(), 5u);
  EventNote other = note();
  other.name = "c";
  recorder.record(other);
  EXPECT_EQ(recorder.dropped(), 5u);
}

TEST_F(EventTest, CountOfAnExpiredEventStartsAnew) {  // T40: 404 on the PATCH
  answer = [](const kube::ApiRequest& request) { return request.method == "PATCH" ? not_found() : ok("{}", 201); };
  recorder.record(note());
  go();
  recorder.record(note());
  go();
  EXPECT_EQ(count("POST"), 2);
  EXPECT_EQ(json_raw_at(sent.back().body, {"count"}), "1");
}

TEST_F(EventTest, UnreachableServerIsTriedTwelveTimes) {  // E5
  answer = [](const auto&) { return cut(); };
  recorder.record(note());
  go(seconds(60));
  EXPECT_GE(sent.size(), 6u);
  EXPECT_LT(sent.size(), 9u);
  EXPECT_EQ(recorder.dropped(), 0u);
  go(minutes(10));
  EXPECT_EQ(sent.size(), 12u);
  EXPECT_EQ(recorder.dropped(), 1u);
  EXPECT_EQ(recorder.waiting(), 0u);
}

TEST_F(EventTest, RefusedIsNotTriedAgain) {  // E5
  answer = [](const auto&) { return refused(403, "Forbidden", "no"); };
  recorder.record(note());
  go(minutes(10));
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(recorder.dropped(), 1u);
}

TEST_F(EventTest, QueueHasABound) {  // E5
  answer = [](const auto&) { return cut(); };
  for (int i = 0; i < 1100; ++i) {
    EventNote other = note();
    other.name = fmt::format("p{}", i);
    other.hook = fmt::format("h{}", i % 10);  // no hook above its own bound
    recorder.record(other);
  }
  EXPECT_EQ(recorder.waiting(), 1000u);
  EXPECT_EQ(recorder.dropped(), 100u);
}

TEST_F(EventTest, AHookInALoopOverManyObjectsIsBounded) {
  const auto about = [this](int i) {
    EventNote other = note();
    other.name = fmt::format("p{}", i);
    recorder.record(other);
  };
  for (int i = 0; i < 400; ++i) about(i);
  EXPECT_EQ(recorder.dropped(), 100u);
  EventNote other = note();
  other.hook = "other";
  recorder.record(other);
  EXPECT_EQ(recorder.dropped(), 100u) << "another hook has its own";
  go(std::chrono::seconds(10));
  for (int i = 0; i < 20; ++i) about(1000 + i);
  EXPECT_EQ(recorder.dropped(), 110u) << "one a second comes back";
}

TEST_F(EventTest, LongTextsAreCutBetweenCharacters) {  // E1
  recorder.record(note(std::string(1020, 'x') + "ééé"));
  go();
  EXPECT_EQ(json_string_at(sent[0].body, {"message"}), std::string(1020, 'x') + "…");
  recorder.record(note(std::string(1022, 'x') + "é"));
  go();
  EXPECT_EQ(json_string_at(sent[1].body, {"message"}), std::string(1022, 'x') + "é");
}

}  // namespace
}  // namespace hookd::apply
