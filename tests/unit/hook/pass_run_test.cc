// A pass of a reconciler, carried through by the runner of a hook.
#include "hook/pass_run.h"

#include <gmock/gmock.h>

#include <deque>
#include "base/json_read.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = queue::Verdict;

class OneMember final : public CallBody {
 public:
  explicit OneMember(bool whole) : whole_(whole) {}
  bool whole_document() const override { return whole_; }
  bool write(size_t part, JsonWriter& out) const override {
    if (part == 0)
      out.key("list").begin_array();
    else if (part < 4)
      out.number(static_cast<int64_t>(part));
    else if (part == 4)
      out.end_array();
    else
      return false;
    return true;
  }

 private:
  bool whole_;
};

// Steps are told beforehand; what came back is noted.
struct Script {
  std::deque<Pass::Step> steps;
  std::vector<std::string> heard;
  std::function<void()> resume;
  bool resume_at_once = false;
};

class ScriptedPass final : public Pass {
 public:
  explicit ScriptedPass(Script& script) : script_(script) {}
  Step next() override {
    script_.resume = resume;
    if (script_.resume_at_once) resume();
    Step step = std::move(script_.steps.front());
    script_.steps.pop_front();
    return step;
  }
  void replied(Reply reply) override { script_.heard.push_back("reply " + reply.result + " " + reply.text); }
  void written(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes) override {
    for (const auto& outcome : outcomes)
      script_.heard.push_back(fmt::format("{} {}", operations[outcome.index].describe(), to_string(outcome.kind)));
  }
  std::vector<std::string> messages() const override { return {}; }

 private:
  Script& script_;
};

class ScriptedReconciler final : public Reconciler {
 public:
  void start() override {}
  void stop() override {}
  bool ready() const override { return true; }
  std::unique_ptr<Pass> begin(const std::string& key, const Event& event, PassContext context) override {
    begun.push_back(fmt::format("{} {} attempt {}", key, event.causes.size(), context.attempt));
    return std::make_unique<ScriptedPass>(script);
  }
  std::vector<std::shared_ptr<kube::Informer>> informers() const override { return {}; }
  std::vector<Look> looks() const override { return {}; }

  Script script;
  std::vector<std::string> begun;
};

class PassRunTest : public testing::Test, protected test::HookWorld {
 protected:
  PassRunTest() {
    options.default_namespace = "a";
    for (const auto& type : {test::pods(), test::deployments()}) cluster.serve(type);
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    hook->reconcile.emplace();
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      inputs.push_back(child->read_input());
      child->print(output);
      child->exit(exit_code);
    };
  }

  Pass::Ask ask(bool whole = false) {
    auto call = std::make_shared<Call>();
    call->hook = "h";
    call->id = "c1";
    call->reason = "reconcile";
    call->body = std::make_shared<OneMember>(whole);
    return {call, nullptr};
  }
  static apply::Operation deletion(const std::string& name) {
    apply::Operation op;
    op.verb = apply::Verb::kDelete;
    op.api_version = "v1";
    op.kind = "Pod";
    op.ns = "a";
    op.name = name;
    op.uid = "u-" + name;
    return op;
  }
  void run() {
    runner = std::make_unique<Runner>(hook, RunnerServices{scheduler, random, launcher, applier, metrics, options},
                                      [](const std::string&) { return Snapshot{}; });
    runner->set_reconciler(reconciler);
    Queue::Item item;
    item.key = "a/x";
    item.attempt = 2;
    auto& event = item.events.emplace_back();
    event.type = Event::Type::kReconcile;
    event.binding = "reconcile";
    event.causes = {{"for", "Added", "", "a", "x"}};
    Queue::Batch batch;
    batch.push_back(std::move(item));
    runner->run(std::move(batch),
                [this](Queue::Batch done, Verdict verdict, Duration at_least, std::optional<Duration> requeue) {
                  ++ended;
                  last_verdict = verdict;
                  last_at_least = at_least;
                  last_requeue = requeue;
                  last_error = done.front().carry.last_error;
                });
    scheduler.advance(0s);
  }

  std::shared_ptr<Hook> hook = std::make_shared<Hook>();
  ScriptedReconciler reconciler;
  Script& script = reconciler.script;
  std::unique_ptr<Runner> runner;
  std::string output;
  int exit_code = 0;
  std::vector<std::string> inputs;
  int ended = 0;
  Verdict last_verdict = Verdict::kDone;
  Duration last_at_least{};
  std::optional<Duration> last_requeue;
  std::string last_error;
};

TEST_F(PassRunTest, GoesThroughItsStepsAndTellsWhatBecameOfEach) {
  cluster.put(test::pods(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","uid":"u-p"}})");
  output = R"({"children":[]})";
  script.steps.push_back(ask());
  script.steps.push_back(Pass::Write{{deletion("p")}, true, ""});
  Pass::Over over;
  over.requeue_after = 20s;
  script.steps.push_back(over);
  run();
  scheduler.advance(1s);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(last_verdict, Verdict::kDone);
  EXPECT_EQ(last_requeue, Duration(20s));
  EXPECT_THAT(reconciler.begun, ElementsAre("a/x 1 attempt 2"));
  ASSERT_EQ(script.heard.size(), 2u);
  EXPECT_THAT(script.heard[0], HasSubstr(R"({"children":[]})"));
  EXPECT_EQ(script.heard[1], "Delete Pod a/p done");
  EXPECT_FALSE(cluster.has(test::pods(), "a", "p"));
  EXPECT_EQ(runner->running(), 0u);
}

TEST_F(PassRunTest, WritesTheBodyIntoTheDocumentOfTheCall) {
  script.steps.push_back(ask());
  script.steps.push_back(Pass::Over{});
  run();
  ASSERT_EQ(inputs.size(), 1u);
  const auto call = *parse_json(inputs[0]);
  EXPECT_EQ(call.at("reason").as_string(), "reconcile");
  EXPECT_EQ(call.at("list").as_array().size(), 3u);
  EXPECT_FALSE(call.as_object().contains("events"));
  EXPECT_FALSE(call.as_object().contains("objects"));
}

TEST_F(PassRunTest, AWholeDocumentHasNothingOfOurs) {
  script.steps.push_back(ask(true));
  script.steps.push_back(Pass::Over{});
  run();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0], "{\"list\":[1,2,3]}\n");
}

TEST_F(PassRunTest, WaitsUntilItIsResumed) {
  script.steps.push_back(Pass::Wait{});
  script.steps.push_back(Pass::Over{});
  run();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(runner->running(), 1u);
  script.resume();
  script.resume();  // a second one is nothing
  scheduler.advance(0s);
  EXPECT_EQ(ended, 1);
}

TEST_F(PassRunTest, AResumeFromInsideNextIsNotLost) {
  script.resume_at_once = true;
  script.steps.push_back(Pass::Wait{});
  script.steps.push_back(Pass::Over{});
  run();
  EXPECT_EQ(ended, 1);
}

TEST_F(PassRunTest, AFailureCarriesItsReasonToTheQueue) {
  Pass::Over over;
  over.verdict = Verdict::kRetry;
  over.result = "failed";
  over.why = "no good";
  over.at_least = 3s;
  over.requeue_after = 1s;  // the back-off says when
  script.steps.push_back(over);
  run();
  EXPECT_EQ(last_verdict, Verdict::kRetry);
  EXPECT_EQ(last_at_least, Duration(3s));
  EXPECT_EQ(last_requeue, std::nullopt);
  EXPECT_EQ(last_error, "no good");
}

TEST_F(PassRunTest, WhatTheGuardStopsIsNotSentAndEndsThePass) {
  hook->guard.deletes = Guard::Rate{1, 1min};
  script.steps.push_back(Pass::Write{{deletion("p"), deletion("q")}, true, ""});
  test::LogTap log;
  run();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(last_verdict, Verdict::kNotTried);
  EXPECT_THAT(last_error, HasSubstr("guard"));
  EXPECT_THAT(script.heard, IsEmpty());
  for (const std::string& write : cluster.writes()) EXPECT_EQ(write, "POST /api/v1/namespaces/a/events");
}

TEST_F(PassRunTest, AllowHoldsForItsWrites) {
  hook->allow.emplace();  // nothing
  script.steps.push_back(Pass::Write{{deletion("p")}, true, ""});
  script.steps.push_back(Pass::Over{});
  run();
  EXPECT_THAT(script.heard, ElementsAre("Delete Pod a/p refused"));
}

TEST_F(PassRunTest, APassThatHadNothingToDoSaysNothing) {
  test::LogTap log;
  Pass::Over over;
  over.quiet = true;
  script.steps.push_back(over);
  run();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(log.count("reconcile"), 0u);
}

TEST(OverOf, TellsTheQueueWhatAReplyMeans) {
  Reply reply;
  reply.kind = Reply::Kind::kLater;
  EXPECT_EQ(over_of(reply).verdict, Verdict::kLater);
  reply.kind = Reply::Kind::kRefused;
  EXPECT_EQ(over_of(reply).verdict, Verdict::kGiveUp);
  reply.kind = Reply::Kind::kFailed;
  EXPECT_EQ(over_of(reply).verdict, Verdict::kRetry);
  reply.counted = false;
  EXPECT_EQ(over_of(reply).verdict, Verdict::kNotTried);
}

}  // namespace
}  // namespace hookd::hook
