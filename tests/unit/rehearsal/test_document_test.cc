#include "rehearsal/test_document.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/time.h"
#include "unit/support/scratch_folder.h"

namespace hookd::rehearsal {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TestDocumentTest : public testing::Test {
 protected:
  TestDocumentTest() {
    file = folder + "/a.test.yaml";
    std::ofstream(folder + "/cluster.yaml")
        << "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: List\nitems:\n"
           "- {apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: default}, status: {phase: Running}}\n";
  }

  std::vector<TestDocument> read(std::string_view text, bool update = false) {
    config::Problems found("a.test.yaml");
    auto tests = read_tests(text, file, update, found);
    problems = found.text();
    return tests;
  }
  // One step in a test that has an expectation.
  Step step(std::string_view yaml) {
    auto tests = read(fmt::format("{}steps:\n  - {}\n  - expect: {{calls: 0}}\n", kHead, yaml));
    return tests.size() == 1 && !tests[0].steps.empty() ? tests[0].steps[0] : Step{};
  }

  static constexpr std::string_view kHead = "apiVersion: hookd/v1\nkind: HookTest\nmetadata: {name: t}\n";
  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  std::string file, problems;
};

TEST_F(TestDocumentTest, ReadsTheTestOfTheReference) {
  const auto tests = read(R"(apiVersion: hookd/v1
kind: HookTest
metadata: {name: a pod stuck on a lost node is replaced}
given: [cluster.yaml, {apiVersion: v1, kind: Node, metadata: {name: n2}}]
steps:
  - delete: {kind: Pod, namespace: default, name: web-0}
  - advance: 29s
  - expect: {calls: 0}
  - expect:
      operations: [{operation: Delete, kind: Pod, name: web-0, gracePeriodSeconds: 0}]
      absent: [{kind: Pod, namespace: default, name: web-0}]
      objects: [{kind: Event, reason: ForceDeleted}]
  - fail: {hook: statefulset-force-delete, exit: 1, times: 2}
---
apiVersion: hookd/v1
kind: HookTest
metadata: {name: another}
hooks: [.]
now: 2026-03-01T12:00:00Z
timeout: 5s
steps:
- expect: {calls: [{hook: h, binding: b, type: Added, object: default/x}], only: true}
)");
  ASSERT_THAT(problems, IsEmpty());
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].name, "a pod stuck on a lost node is replaced");
  EXPECT_EQ(tests[0].at, (config::Position{3, 18}));
  EXPECT_THAT(tests[0].hooks, ElementsAre(folder));
  std::vector<std::string> given;
  for (const auto& op : tests[0].given) given.push_back(op.describe());
  EXPECT_THAT(given, ElementsAre("Apply Node n1", "Apply Pod default/web-0", "Apply Node n2"));
  ASSERT_EQ(tests[0].steps.size(), 5u);
  EXPECT_EQ(tests[0].steps[0].describe(), "delete Pod default/web-0");
  EXPECT_EQ(tests[0].steps[0].operations[0].verb, apply::Verb::kDelete);
  EXPECT_EQ(tests[0].steps[1].time, 29s);
  EXPECT_EQ(tests[0].steps[2].expect.calls, 0);
  const Expectation& expect = tests[0].steps[3].expect;
  EXPECT_EQ(expect.at, (config::Position{9, 5}));
  ASSERT_EQ(expect.operations->size(), 1u);
  EXPECT_EQ(expect.operations->front().at, (config::Position{10, 20}));
  EXPECT_EQ(expect.absent[0].display(), "Pod default/web-0");
  EXPECT_EQ(expect.objects[0].display(), R"(Event {"reason":"ForceDeleted"})");
  EXPECT_EQ(tests[0].steps[4].fail.times, 2);
  EXPECT_EQ(tests[1].index, 1u);
  EXPECT_EQ(format_rfc3339(tests[1].now), "2026-03-01T12:00:00Z");
  EXPECT_EQ(tests[1].timeout, 5s);
  EXPECT_TRUE(tests[1].steps[0].expect.only);
}

TEST_F(TestDocumentTest, ReadsEveryKindOfStep) {
  Step patch = step("patch: {kind: Node, name: n1, merge: {spec: {unschedulable: true}}, subresource: status}");
  ASSERT_THAT(problems, IsEmpty());
  EXPECT_EQ(patch.operations[0].verb, apply::Verb::kMergePatch);
  EXPECT_EQ(patch.operations[0].patch, R"({"spec":{"unschedulable":true}})");
  EXPECT_EQ(patch.operations[0].subresource, "status");
  EXPECT_EQ(step("patch: {kind: Pod, namespace: a, name: b, json: [{op: remove, path: /spec}]}").operations[0].verb,
            apply::Verb::kJsonPatch);
  EXPECT_EQ(step("create: {apiVersion: v1, kind: Node, metadata: {name: x}}").operations[0].verb, apply::Verb::kCreate);
  EXPECT_EQ(step("delete: [{kind: Pod, name: a}, {kind: Pod, name: b}]").operations.size(), 2u);
  EXPECT_THAT(step("run: [kubectl, get, pods]").command, ElementsAre("kubectl", "get", "pods"));
  EXPECT_THAT(step("run: echo hi | cat").command, ElementsAre("sh", "-c", "echo hi | cat"));
  EXPECT_EQ(step("wait: 90s").wait.time, 90s);
  EXPECT_EQ(step("wait: {called: h, timeout: 1m}").wait.timeout, 1min);
  EXPECT_EQ(step("wait: {called: {hook: h, times: 3}}").wait.times, 3);
  EXPECT_EQ(step("wait: {absent: {kind: Pod, name: x}}").wait.what, WaitFor::What::kAbsent);
  EXPECT_EQ(step("wait: {idle: true}").wait.what, WaitFor::What::kIdle);
  EXPECT_EQ(step("fail: {api: {code: 429, retryAfter: 2, verb: delete, resource: pods, times: 3}}").fail.code, 429);
  EXPECT_TRUE(step("fail: {api: {lostAnswer: true}}").fail.lost_answer);
  EXPECT_EQ(step("fail: {watch: cut}").fail.what, Failing::What::kWatch);
  EXPECT_EQ(step("restart: true").kind, Step::Kind::kRestart);
  EXPECT_EQ(step("say: hello").text, "hello");
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(TestDocumentTest, NameAndNamespaceStandForThoseInMetadata) {
  const auto found =
      step("expect: {objects: [{kind: Pod, namespace: a, name: b, metadata: {labels: {x: y}}, spec: {n: 1}}]}")
          .expect.objects;
  ASSERT_THAT(problems, IsEmpty());
  EXPECT_EQ(boost::json::serialize(found[0].subset),
            R"({"metadata":{"labels":{"x":"y"},"namespace":"a","name":"b"},"spec":{"n":1}})");
}

struct Bad {
  std::string_view step;
  std::string_view problem;
};

TEST_F(TestDocumentTest, SaysWhereAndWhatIsWrong) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"advance: soon",
            "a.test.yaml:5:14: steps[0].advance: expected a duration like 29s or 1h30m, found text \"soon\""},
           {"expekt: {calls: 0}", "a.test.yaml:5:5: steps[0].expekt: no such step; expected one of advance, apply,"},
           {"{say: a, wait: 1s}", "steps[0]: expected a step: one key of"},
           {"expect: {}", "steps[0].expect: expects nothing"},
           {"expect: {call: 1}", "unknown key \"call\"; did you mean \"calls\"?"},
           {"expect: {calls: -1}", "calls: "},
           {"expect: {calls: [{hok: x}]}", "5:23: steps[0].expect.calls[0]: unknown key \"hok\""},
           {"expect: {operations: [{operation: Remove}]}", "no such operation: \"Remove\""},
           {"expect: {objects: [{name: x}]}", "the key \"kind\" is missing"},
           {"delete: {kind: Pod}", "the key \"name\" is missing"},
           {"delete: {kind: Pod, name: x, grace: 1}", "unknown key \"grace\""},
           {"patch: {kind: Pod, name: x}", "needs exactly one of merge, strategic and json"},
           {"patch: {kind: Pod, name: x, json: {a: 1}}", "expected a list of patch operations"},
           {"apply: nowhere.yaml", "5:12: steps[0].apply: "},
           {"apply: {kind: Pod}", "steps[0].apply: "},
           {"wait: {object: {kind: Pod}, idle: true}", "needs exactly one of for, object, absent, called and idle"},
           {"fail: {hook: h, exit: 0}", "exit: "},
           {"fail: {api: {times: 2}}", "needs either code"},
           {"fail: {watch: tear}", "expected cut or silent"},
           {"restart: no", "can only be true"},
       }) {
    step(bad.step);
    EXPECT_THAT(problems, HasSubstr(bad.problem)) << bad.step;
  }
}

TEST_F(TestDocumentTest, ATestThatCannotFailIsAProblem) {
  read(fmt::format("{}steps:\n  - say: x\n", kHead));
  EXPECT_THAT(problems, HasSubstr("no step is an `expect`"));
  read("# nothing\n");
  EXPECT_THAT(problems, HasSubstr("holds no test"));
  read("apiVersion: hookd/v1\nkind: Hook\nmetadata: {}\nhooks: [gone]\nsteps: []\n");
  EXPECT_THAT(problems,
              testing::AllOf(HasSubstr("kind: expected HookTest"), HasSubstr("metadata: the key \"name\" is missing"),
                             HasSubstr("hooks[0]: no such file or folder")));
}

TEST_F(TestDocumentTest, AnEmptyExpectationIsForUpdateToFill) {
  read(fmt::format("{}steps:\n  - expect: {{}}\n", kHead), true);
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(TestDocumentTest, AScenarioHasNoExpectations) {
  config::Problems found("scenario.yaml");
  const auto scenario =
      read_scenario("apiVersion: hookd/v1\nkind: Scenario\nsteps:\n  - say: hi\n  - apply: cluster.yaml\n",
                    folder + "/scenario.yaml", found);
  EXPECT_TRUE(found.empty()) << found.text();
  EXPECT_EQ(scenario.steps.size(), 2u);
  EXPECT_TRUE(scenario.sources);
  read_scenario("apiVersion: hookd/v1\nkind: Scenario\nsteps:\n  - advance: 1s\n", folder + "/scenario.yaml", found);
  EXPECT_THAT(found.text(), HasSubstr("scenario.yaml:4:5: steps[0].advance: is a step of tests only"));
}

TEST_F(TestDocumentTest, AScenarioMayTellTheEventsOfSourcesItself) {
  config::Problems found("scenario.yaml");
  const auto scenario = read_scenario(
      "apiVersion: hookd/v1\nkind: Scenario\nsources: false\nsteps:\n"
      "  - source: {hook: h, binding: bus, data: {n: 1}, old: text}\n  - source: {hook: h, binding: bus, data: null}\n",
      folder + "/scenario.yaml", found);
  ASSERT_TRUE(found.empty()) << found.text();
  EXPECT_FALSE(scenario.sources);
  ASSERT_EQ(scenario.steps.size(), 2u);
  EXPECT_EQ(scenario.steps[0].source.data, "{\"n\":1}");
  EXPECT_EQ(scenario.steps[0].source.old, "\"text\"");
  EXPECT_EQ(scenario.steps[0].describe(), "source bus of h tells {\"n\":1}");
  EXPECT_EQ(scenario.steps[1].source.data, "null");
  EXPECT_FALSE(scenario.steps[1].source.old);
  read_scenario("apiVersion: hookd/v1\nkind: Scenario\nsteps:\n  - source: {hook: h}\n", folder + "/scenario.yaml",
                found);
  EXPECT_THAT(found.text(),
              testing::AllOf(HasSubstr("\"binding\" is missing"), HasSubstr("exactly one of data, content")));
}

TEST_F(TestDocumentTest, OfAFileTheContentIsEnough) {
  const auto now = step("source: {hook: h, binding: conf, content: 'a: 1'}");
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(now.source.content, "a: 1");
  EXPECT_THAT(now.source.data, IsEmpty());
  const auto gone = step("source: {hook: h, binding: conf, exists: false}");
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(gone.source.content);
  step("source: {hook: h, binding: conf, content: {a: 1}}");
  EXPECT_THAT(problems, HasSubstr("expected text"));
}

// Those that config/test.schema.json is checked against (tests/lint/schema_test.py): loader and schema agree.
TEST_F(TestDocumentTest, TheSamplesAreTakenAndRefused) {
  namespace fs = std::filesystem;
  size_t seen = 0;
  for (const bool valid : {true, false})
    for (const auto& entry :
         fs::directory_iterator(fs::path(HOOKD_SOURCE_DIR "/tests/golden/tests") / (valid ? "valid" : "invalid"))) {
      const std::string path = entry.path().string();
      const auto text = read_file(path);
      ASSERT_TRUE(text);
      config::Problems found(path);
      if (path.ends_with(".scenario.yaml"))
        read_scenario(*text, path, found);
      else
        read_tests(*text, path, false, found);
      EXPECT_EQ(found.empty(), valid) << path << "\n" << found.text();
      ++seen;
    }
  EXPECT_GT(seen, 20u);
}

}  // namespace
}  // namespace hookd::rehearsal
