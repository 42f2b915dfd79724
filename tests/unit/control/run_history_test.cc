#include "control/run_history.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "control/documents.h"
#include "unit/support/objects.h"

namespace hookd::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RunHistoryTest : public testing::Test {
 protected:
  std::shared_ptr<hook::Call> call(std::string id, std::string hook = "h") {
    auto made = std::make_shared<hook::Call>();
    made->hook = std::move(hook);
    made->id = std::move(id);
    made->reason = "watch";
    made->time = scheduler.wall_now();
    auto& event = made->events.emplace_back();
    event.type = hook::Event::Type::kModified;
    event.binding = "pods";
    event.resource = std::make_shared<kube::ResourceType>(test::pods());
    event.object = test::make_object("a", "x", "u1", "1", R"({"kind":"Pod","metadata":{"name":"x","namespace":"a"}})");
    return made;
  }
  static hook::CallResult result(const hook::Call& of, std::string_view text = "ok", std::string_view error = "") {
    return {of, nullptr, text, error, hook::CallResult::Then::kDone, std::nullopt};
  }
  void ran(std::string id, std::string hook = "h", std::string_view text = "ok", std::string_view error = "") {
    const auto one = call(std::move(id), std::move(hook));
    history.call_started(*one);
    history.call_ended(result(*one, text, error));
  }
  std::string ids(const RunHistory::Wanted& wanted = {}) const {
    std::string text;
    for (const auto* run : history.list(wanted)) text += run->id + " ";
    return text;
  }

  ManualScheduler scheduler;
  RunHistory history{scheduler, {.keep = 3, .bytes = 1u << 20}};
};

TEST_F(RunHistoryTest, KeepsACallWholeWithoutCopyingIt) {
  const auto one = call("c1");
  history.call_started(*one);
  EXPECT_EQ(history.find("c1")->input.call.get(), one.get());
  EXPECT_FALSE(history.find("c1")->ended);
  scheduler.advance(3s);
  history.call_said(*one, "looking");
  apply::Operation op;
  op.verb = apply::Verb::kDelete;
  op.api_version = "v1";
  op.kind = "Pod";
  op.ns = "a";
  op.name = "x";
  process::ChildExit exit;
  exit.wall = 2s;
  exit.cpu = 1s;
  exit.max_rss_bytes = 5 << 20;
  history.call_answered(*one, &exit, {op}, {"away with it"});
  history.operation_done(*one, op,
                         {.kind = apply::Outcome::Kind::kDone, .text = "deleted Pod a/x", .http_status = 200});
  history.call_ended({*one, &exit, "ok", "", hook::CallResult::Then::kDone, 20s});
  const std::string text = run_document(*history.find("c1"), {});
  ASSERT_TRUE(validate_json(text)) << text;
  for (const char* part :
       {R"("result":"ok")", R"("wallSeconds":2)", R"("cpuSeconds":1)", R"("memoryBytes":5242880)",
        R"("stderr":"looking\n")", R"("messages":["away with it"])", R"("text":"deleted Pod a/x")",
        R"("about":"Modified pods a/x")", R"("requeueAfter":"20s")", R"("inputWhole":true)",
        R"("operations":[{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"x"}])"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_EQ(
      json_raw_at(text, {"input", "events"}),
      R"([{"binding":"pods","type":"Modified","object":{"kind":"Pod","metadata":{"name":"x","namespace":"a"}}}])");
}

TEST_F(RunHistoryTest, KeepsTheLastOfEachHook) {
  for (const char* id : {"1", "2", "3", "4"}) ran(id);
  ran("5", "other");
  EXPECT_EQ(ids(), "5 4 3 2 ");
  EXPECT_EQ(ids({.hook = "h", .limit = 2}), "4 3 ");
  history.set_limits({.keep = 1, .bytes = 1u << 20});
  EXPECT_EQ(ids(), "5 4 ");
  history.set_limits({.keep = 0, .bytes = 1u << 20});
  ran("6");
  EXPECT_EQ(ids(), "");
  EXPECT_EQ(history.totals("h")->ok, 5u);  // counted all the same
  EXPECT_EQ(history.bytes(), 0u);
}

TEST_F(RunHistoryTest, IsBoundedInBytesOverAllHooks) {
  history.set_limits({.keep = 1000, .bytes = 100'000});
  for (int i = 0; i < 100; ++i) ran(std::to_string(i), i % 2 ? "odd" : "even", "failed", std::string(3000, 'x'));
  EXPECT_LE(history.bytes(), 100'000u);
  const auto left = history.list({.limit = 1000});
  EXPECT_GT(left.size(), 5u);
  EXPECT_LT(left.size(), 35u);
  EXPECT_EQ(left.front()->id, "99");  // the oldest went, of whichever hook
  EXPECT_EQ(left.back()->id, std::to_string(100 - left.size()));
}

TEST_F(RunHistoryTest, CountsAndFindsFailures) {
  ran("good1");
  ran("bad1", "h", "failed", "exit code 1");
  ran("late", "h", "later");
  EXPECT_EQ(ids({.failed = true}), "bad1 ");
  const auto* totals = history.totals("h");
  EXPECT_EQ(totals->ok, 1u);
  EXPECT_EQ(totals->failed, 1u);
  EXPECT_EQ(totals->last_error, "exit code 1");
  EXPECT_EQ(totals->last_result, "later");
  EXPECT_EQ(history.totals("none"), nullptr);
  EXPECT_EQ(history.find("ba")->id, "bad1");
  ran("bad2");
  EXPECT_EQ(history.find("ba"), nullptr);
  EXPECT_EQ(history.find(""), nullptr);
}

TEST_F(RunHistoryTest, CutsALargeCallAndSaysSo) {
  const auto one = call("c1");
  one->events.push_back(one->events[0]);
  one->events[1].object = test::make_object("a", "big", "u2", "1", R"({"x":")" + std::string(100'000, 'y') + "\"}");
  auto& snapshot = one->objects["nodes"];
  for (int i = 0; i < 1000; ++i)
    snapshot.entries.push_back(
        {test::make_object("", fmt::format("n{}", i), "u", "1", R"({"x":")" + std::string(1000, 'z') + "\"}"),
         nullptr});
  history.call_started(*one);
  history.call_ended(result(*one));
  const auto& run = *history.find("c1");
  EXPECT_NE(run.input.call.get(), one.get());
  EXPECT_EQ(run.input.texts_left_out, 1u);
  EXPECT_GT(run.input.entries_left_out, 900u);
  EXPECT_LT(run.bytes, 80'000u);
  EXPECT_LE(history.bytes(), 80'000u);
  const std::string text = run_document(run, {});
  ASSERT_TRUE(validate_json(text));
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_THAT(text, HasSubstr(R"("inputWhole":false)"));
  EXPECT_THAT(text, HasSubstr("big"));  // who it was about
}

TEST_F(RunHistoryTest, CutsALargeState) {
  const auto one = call("c1");
  one->state = std::make_shared<const std::string>('"' + std::string(RunHistory::kInputBytes, 's') + '"');
  history.call_started(*one);
  history.call_ended(result(*one));
  const auto& run = *history.find("c1");
  EXPECT_FALSE(run.input.whole());
  EXPECT_EQ(run.input.texts_left_out, 1u);
  EXPECT_LT(run_document(run, {}).size(), 10'000u);

  const auto small = call("c2");
  small->state = std::make_shared<const std::string>('"' + std::string(10'000, 's') + '"');
  history.call_started(*small);
  history.call_ended(result(*small));
  EXPECT_TRUE(history.find("c2")->input.whole());
  EXPECT_GT(history.find("c2")->bytes, 10'000u);
}

TEST_F(RunHistoryTest, MasksTheErrorOfAHookThatIsGoneToo) {
  const std::map<std::string, std::string> env{{"API_TOKEN", "tok-4711"}};
  history.set_env_of([&](const std::string&) { return &env; });
  ran("c1", "h", "failed", "tok-4711 was refused");
  const Mask of_those_that_are_there;
  const auto& run = *history.find("c1");
  EXPECT_THAT(run_document(run, of_those_that_are_there), Not(HasSubstr("tok-4711")));
  EXPECT_THAT(runs_document({&run}, of_those_that_are_there), Not(HasSubstr("tok-4711")));
  EXPECT_THAT(history.totals("h")->last_error, Not(HasSubstr("tok-4711")));
}

TEST_F(RunHistoryTest, DoesNotHoldBackASource) {
  const auto one = call("c1");
  auto ticket = std::make_shared<int>(1);
  one->events[0].ticket = ticket;
  one->events[0].data = std::make_shared<const std::string>(R"("line")");
  history.call_started(*one);
  EXPECT_EQ(ticket.use_count(), 2);
  EXPECT_TRUE(history.find("c1")->input.whole());
}

TEST_F(RunHistoryTest, CutsAnswersAndStderr) {
  const auto one = call("c1");
  history.call_started(*one);
  std::vector<apply::Operation> operations(3);
  for (auto& op : operations) {
    op.kind = "ConfigMap";
    op.object = R"({"d":")" + std::string(40'000, 'x') + "\"}";
  }
  history.call_answered(*one, nullptr, operations, {});
  for (int i = 0; i < 10'000; ++i) history.call_said(*one, fmt::format("line {}", i));
  for (int i = 0; i < 500; ++i) history.operation_done(*one, operations[0], {.text = std::string(10'000, 't')});
  history.call_ended(result(*one));
  const auto& run = *history.find("c1");
  EXPECT_EQ(run.operations.size(), 1u);
  EXPECT_EQ(run.operations_left_out, 2u);
  EXPECT_LE(run.said.size(), 2 * RunHistory::kStderrBytes);
  EXPECT_TRUE(run.said.starts_with("line "));
  EXPECT_TRUE(run.said.ends_with("line 9999\n"));
  EXPECT_EQ(run.outcomes.size(), RunHistory::kOutcomes);
  EXPECT_EQ(run.outcomes_left_out, 300u);
  EXPECT_LT(run.outcomes[0].text.size(), RunHistory::kTextBytes + 100);
}

TEST_F(RunHistoryTest, NotesOperationsWithoutACall) {
  const auto one = call("c2");
  history.operation_done(*one, {}, {.kind = apply::Outcome::Kind::kRetry, .text = "no"});
  history.call_ended(result(*one, "failed", "no"));
  EXPECT_TRUE(history.find("c2")->only_operations);
}

// ---- calls with a body: to reconcile

struct Body final : hook::CallBody {
  explicit Body(std::string object, bool is_whole = false) : text(std::move(object)), whole(is_whole) {}
  bool whole_document() const override { return whole; }
  bool write(size_t part, JsonWriter& out) const override {
    if (part == 0) out.key("object").raw(text);
    return part == 0;
  }
  std::string text;
  bool whole;
};

TEST_F(RunHistoryTest, KeepsTheDocumentOfABody) {
  const auto one = call("c1");
  one->body = std::make_shared<Body>(R"({"kind":"Pair","n":12345678901234567890})");
  history.call_started(*one);
  const auto& run = *history.find("c1");
  EXPECT_TRUE(run.input.whole());
  EXPECT_EQ(about(run), "Modified pods a/x");
  const std::string text = input_document(run, {});
  EXPECT_THAT(text, HasSubstr(R"("id":"c1")"));
  EXPECT_THAT(text, HasSubstr(R"("object":{"kind":"Pair","n":12345678901234567890}})"));
  EXPECT_THAT(text, Not(HasSubstr("events")));
  EXPECT_NE(run.input.call->body, one->body) << "objects are not held for it";
}

TEST_F(RunHistoryTest, ShowsNoSecretOfABody) {
  for (const bool whole : {false, true}) {
    const auto one = call(whole ? "c1" : "c2");
    one->body = std::make_shared<Body>(
        R"({"children":{"Secret.v1":{"s":{"apiVersion":"v1","kind":"Secret","data":{"p":"aHVudGVyMg=="}}}}})", whole);
    history.call_started(*one);
    const auto& run = *history.find(one->id);
    EXPECT_TRUE(run.input.masked);
    EXPECT_THAT(input_document(run, {}), HasSubstr(R"j("data":{"p":"(masked)"})j"));
    EXPECT_THAT(input_document(run, {}), Not(HasSubstr("aHVudGVyMg")));
  }
}

TEST_F(RunHistoryTest, ALargeBodyIsLeftOut) {
  const auto one = call("c1");
  one->body = std::make_shared<Body>("\"" + std::string(2 * RunHistory::kInputBytes, 'x') + "\"");
  history.call_started(*one);
  const auto& run = *history.find("c1");
  EXPECT_FALSE(run.input.whole());
  EXPECT_LT(run.bytes, RunHistory::kInputBytes);
  EXPECT_LT(input_document(run, {}).size(), RunHistory::kInputBytes);
  EXPECT_EQ(about(run), "Modified pods a/x");
}

// A pass puts its finalizer on before it asks, and writes its answer in steps.
TEST_F(RunHistoryTest, APassIsOneRun) {
  const auto bare = call("c1");
  apply::Operation op;
  op.verb = apply::Verb::kMergePatch;
  op.kind = "Pair";
  op.name = "x";
  history.operation_done(*bare, op, {.kind = apply::Outcome::Kind::kDone, .text = "patched"});
  EXPECT_TRUE(history.find("c1")->only_operations);
  const auto asked = call("c1");
  asked->body = std::make_shared<Body>("{}");
  history.call_started(*asked);
  history.call_answered(*asked, nullptr, {op}, {"said once"});
  history.call_answered(*asked, nullptr, {op, op}, {"said once"});
  history.call_ended(result(*asked));
  const auto& run = *history.find("c1");
  EXPECT_FALSE(run.only_operations);
  EXPECT_THAT(input_document(run, {}), HasSubstr(R"("object":{})"));
  EXPECT_EQ(run.operations.size(), 3u);
  EXPECT_EQ(run.messages, std::vector<std::string>{"said once"});
  EXPECT_EQ(ids(), "c1 ");
}

TEST_F(RunHistoryTest, KeepsTheAnswerOfAPassWithoutSecrets) {
  const auto one = call("c1");
  history.call_started(*one);
  history.call_replied(*one, R"({"children":[{"apiVersion":"v1","kind":"ConfigMap"},
    {"apiVersion":"v1","kind":"Secret","data":{"p":"aHVudGVyMg=="}}],
    "operations":[{"operation":"MergePatch","kind":"secrets","name":"s","patch":{"data":{"p":"aHVudGVyMg=="}}}]})"
                             "\n");
  history.call_ended(result(*one));
  const std::string shown = run_document(*history.find("c1"), {});
  EXPECT_THAT(shown, HasSubstr("ConfigMap"));
  EXPECT_THAT(shown, Not(HasSubstr("aHVudGVyMg")));
  const auto large = call("c2");
  history.call_started(*large);
  history.call_replied(*large, std::string(RunHistory::kAnswerBytes + 10, 'x'));
  EXPECT_THAT(history.find("c2")->answer, HasSubstr("10 bytes more"));
}

TEST_F(RunHistoryTest, ShowsNoSecret) {
  const std::map<std::string, std::string> env{{"API_TOKEN", "tok-4711"}};
  history.set_env_of([&](const std::string&) { return &env; });
  const auto one = call("c1");
  auto& event = one->events[0];
  event.resource = std::make_shared<kube::ResourceType>(test::make_type("", "Secret", "secrets"));
  event.object = test::make_object("a", "s", "u1", "2",
                                   R"({"kind":"Secret","data":{"p":"aHVudGVyMg=="},"stringData":{"n":"hunter2"}})");
  event.old = test::make_object("a", "s", "u1", "1", R"({"kind":"Secret","data":{"p":"aHVudGVyMg=="}})");
  event.value = std::make_shared<const std::string>(R"({"p":"hunter2"})");
  one->objects["all"].type = event.resource;
  one->objects["all"].entries.push_back({event.object, event.value});
  history.call_started(*one);
  history.call_said(*one, "curl -H 'Authorization: Bearer abc123def456' with tok-4711");
  apply::Operation op;
  op.verb = apply::Verb::kMergePatch;
  op.kind = "Secret";
  op.patch = R"({"data":{"p":"aHVudGVyMg=="}})";
  history.call_answered(*one, nullptr, {op}, {"tok-4711"});
  history.operation_done(*one, op, {.text = "patched", .diff = "data.p: \"\" -> \"aHVudGVyMg==\""});
  history.call_ended(result(*one, "failed", "tok-4711 was refused"));
  const auto& run = *history.find("c1");
  const std::string all =
      run_document(run, Mask(env)) + input_document(run, Mask(env)) + runs_document({&run}, Mask(env));
  for (const char* secret : {"aHVudGVyMg", "hunter2", "tok-4711", "abc123def456"})
    EXPECT_THAT(all, Not(HasSubstr(secret)));
  EXPECT_FALSE(run.input.whole());
  // Those of the hook as it was count even when it is gone.
  EXPECT_THAT(run_document(run, {}), Not(HasSubstr("\"stderr\":\"tok-4711")));
}

}  // namespace
}  // namespace hookd::control
