#include "rehearsal/expectation.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "rehearsal/test_document.h"
#include "rehearsal/test_update.h"

namespace hookd::rehearsal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExpectationTest : public testing::Test {
 protected:
  ExpectationTest() {
    call("h", "stuck", "Added", "default/web-0");
    call("other", "tick", "Schedule", "");
    operation(
        "h",
        R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"default","name":"web-0","gracePeriodSeconds":0,"uid":"u1"})");
    operation(
        "h",
        R"({"operation":"Scale","apiVersion":"apps/v1","kind":"StatefulSet","namespace":"default","name":"web","replicas":3})");
    seen.objects[{"", "Pod"}] = std::vector{*parse_json(
        R"({"kind":"Pod","metadata":{"namespace":"default","name":"web-1","labels":{"app":"web"}},"status":{"phase":"Running"}})")};
    seen.objects[{"v1", "Event"}] = std::vector{*parse_json(
        R"({"kind":"Event","metadata":{"name":"e"},"type":"Warning","reason":"ForceDeleted","message":"Force-deleted pod web-0",
            "involvedObject":{"kind":"StatefulSet","namespace":"default","name":"web"}})")};
    seen.log = "deleting web-0\n";
  }

  void call(std::string hook, std::string binding, std::string type, std::string object) {
    CallRecord one;
    one.hook = std::move(hook);
    one.reason = "watch";
    one.ended = true;
    one.result = "ok";
    one.exit_code = 0;
    one.events.push_back({std::move(binding), std::move(type), object.empty() ? "" : "Pod", std::move(object)});
    seen.calls.push_back(std::move(one));
  }
  void operation(std::string hook, std::string_view json) {
    OperationRecord one;
    one.hook = std::move(hook);
    one.json = parse_json(json)->as_object();
    one.describe = boost::json::serialize(one.json);
    seen.operations.push_back(std::move(one));
  }
  Expectation read(std::string_view yaml) {
    config::Problems problems("t");
    const auto nodes = config::parse_yaml(yaml, problems);
    config::Reader reader(nodes.at(0), "", problems);
    Expectation expectation;
    read_expectation(reader, expectation, true);
    EXPECT_TRUE(problems.empty()) << problems.text();
    return expectation;
  }
  std::vector<std::string> check(std::string_view yaml) {
    std::vector<std::string> texts;
    for (const Unmet& one : unmet(read(yaml), seen))
      texts.push_back(fmt::format("{}:{}: {}", one.at.line, one.at.column, one.text));
    return texts;
  }
  std::string as_seen(std::string_view yaml) { return expectation_as_seen(read(yaml), seen); }

  Seen seen;
};

TEST_F(ExpectationTest, HoldsWhereEverythingListedWasSeenInItsOrder) {
  EXPECT_THAT(check("calls: 2"), IsEmpty());
  EXPECT_THAT(check("calls: [{hook: h, binding: stuck, type: Added, object: default/web-0}]"), IsEmpty());
  EXPECT_THAT(check("calls: [{hook: h}, {binding: tick}]"), IsEmpty());
  EXPECT_THAT(check("operations: [{operation: Delete, name: web-0, gracePeriodSeconds: 0}]"), IsEmpty());
  EXPECT_THAT(check("operations: [{operation: Delete}, {replicas: 3, outcome: done, hook: h}]\nonly: true"), IsEmpty());
  EXPECT_THAT(check("objects: [{kind: Pod, metadata: {labels: {app: web}}, status: {phase: Running}}]"), IsEmpty());
  EXPECT_THAT(check("absent: [{kind: Pod, name: web-0}]"), IsEmpty());
  EXPECT_THAT(check("events: [{reason: ForceDeleted, message: pod web-0, object: StatefulSet default/web}]"),
              IsEmpty());
  EXPECT_THAT(check("log: deleting web"), IsEmpty());
}

TEST_F(ExpectationTest, NamesThePlaceAndWhatDiffers) {
  EXPECT_THAT(check("calls: 1"), ElementsAre("1:8: calls: expected 1, seen 2"));
  EXPECT_THAT(check("calls: 0\noperations: []"),
              ElementsAre("1:8: calls: expected 0, seen 2", "2:13: expected no operations, seen 2"));
  EXPECT_THAT(check("operations:\n  - {operation: Delete, name: web-0, gracePeriodSeconds: 30}"),
              ElementsAre(testing::AllOf(HasSubstr("2:5: no such operation: {"),
                                         HasSubstr("~ .gracePeriodSeconds: expected 30, seen 0"))));
  EXPECT_THAT(check("objects: [{kind: Pod, name: web-1, status: {phase: Failed}}]"),
              ElementsAre(testing::AllOf(HasSubstr("the nearest is Pod default/web-1"),
                                         HasSubstr("~ .status.phase: expected \"Failed\", seen \"Running\""))));
  EXPECT_THAT(check("absent: [{kind: Pod, name: web-1}]"), ElementsAre("1:10: should not be there: Pod web-1"));
  EXPECT_THAT(check("events: [{reason: Other}]"),
              ElementsAre(HasSubstr("~ .reason: expected \"Other\", seen \"ForceDeleted\"")));
  EXPECT_THAT(check("log: [a word]"), ElementsAre("1:7: not in the log: \"a word\""));
}

TEST_F(ExpectationTest, KeepsTheOrderOfOperations) {
  EXPECT_THAT(check("operations: [{operation: Scale}, {operation: Delete}]"),
              ElementsAre(HasSubstr("1:34: no such operation after the one before it")));
}

TEST_F(ExpectationTest, OnlyMeansNothingElse) {
  EXPECT_THAT(check("operations: [{operation: Delete}]\nonly: true"),
              ElementsAre(HasSubstr("one operation too many, which is not listed (`only`)")));
  EXPECT_THAT(check("calls: [{hook: h}]\nonly: true"), ElementsAre(HasSubstr("\"hook\":\"other\"")));
}

TEST_F(ExpectationTest, AKindThatCannotBeLookedUpIsSaid) {
  seen.objects[{"", "Pot"}] = fail(Errc::kNotFound, "no kind Pot");
  EXPECT_THAT(check("objects: [{kind: Pot}]"), ElementsAre("1:11: Pot cannot be looked up: no kind Pot"));
}

TEST_F(ExpectationTest, NamesTheKindsThatItNeeds) {
  EXPECT_THAT(kinds_needed(read("objects: [{kind: Pod}, {kind: Pod, name: x}]\nabsent: [{apiVersion: v1, kind: "
                                "Pod}]\nevents: [{reason: x}]")),
              ElementsAre(KindName{"", "Pod"}, KindName{"v1", "Pod"}, KindName{"v1", "Event"}));
}

// Whatever is written anew must hold for what was seen.
TEST_F(ExpectationTest, WrittenAnewItHolds) {
  for (const std::string_view yaml :
       {"calls: 9", "calls: [{hook: nobody}]", "operations: []",
        "operations: [{operation: Create, uid: x}]\nonly: true",
        "objects: [{kind: Pod, namespace: default, name: web-1, status: {phase: Failed}}]",
        "absent: [{kind: Pod, name: web-1}]", "events: [{reason: None}]", "log: [deleting, shouting]", "{}"}) {
    const std::string anew = as_seen(yaml);
    EXPECT_THAT(check(anew), IsEmpty()) << yaml << " ->\n" << anew;
  }
  EXPECT_EQ(
      as_seen("operations: []"),
      "operations:\n"
      "  - {operation: Delete, apiVersion: v1, kind: Pod, namespace: default, name: web-0, gracePeriodSeconds: 0}\n"
      "  - {operation: Scale, apiVersion: apps/v1, kind: StatefulSet, namespace: default, name: web, replicas: 3}\n");
  EXPECT_EQ(as_seen("calls: [{hook: nobody}]"),
            "calls:\n  - {hook: h, binding: stuck, type: Added, object: default/web-0}\n"
            "  - {hook: other, binding: tick, type: Schedule}\n");
  EXPECT_EQ(as_seen("objects: [{kind: Pod, namespace: default, name: web-1, status: {phase: Failed}}]"),
            "objects:\n  - {kind: Pod, namespace: default, name: web-1, status: {phase: Running}}\n");
}

TEST(FlowYaml, QuotesOnlyWhatNeedsIt) {
  const auto shown = [](std::string_view json) { return flow_yaml(*parse_json(json)); };
  EXPECT_EQ(shown(R"({"a":"plain text","b":"1","c":"true","d":"x: y","e":["","-"],"f":null,"g":1.5,"a/b":"#"})"),
            R"({a: plain text, b: "1", c: "true", d: "x: y", e: ["", "-"], f: null, g: 1.5E0, a/b: "#"})");
  EXPECT_EQ(shown(R"("a, b")"), R"("a, b")");
  EXPECT_EQ(shown(R"("ends with blank ")"), R"("ends with blank ")");
}

TEST(WithUpdates, ReplacesTheBlockAndKeepsEverythingElse) {
  const std::string text =
      "steps:\n"
      "  # first\n"
      "  - expect: {calls: 0}   # was none\n"
      "  - say: x\n"
      "  - expect:\n"
      "      calls: 1\n"
      "      operations:\n"
      "        - {operation: Delete}\n"
      "\n"
      "  # the end\n"
      "  - advance: 1s\n";
  const auto updated = with_updates(text, {{{3, 5}, "calls: 2\n"}, {{5, 5}, "calls: 3\noperations: []\n"}});
  ASSERT_TRUE(updated) << updated.error().what;
  EXPECT_EQ(*updated,
            "steps:\n"
            "  # first\n"
            "  - expect:\n"
            "      calls: 2\n"
            "  - say: x\n"
            "  - expect:\n"
            "      calls: 3\n"
            "      operations: []\n"
            "\n"
            "  # the end\n"
            "  - advance: 1s\n");
}

TEST(WithUpdates, DoesNotGuessInsideOfOneLine) {
  const auto updated = with_updates("steps: [{expect: {calls: 0}}]\n", {{{1, 10}, "calls: 2\n"}});
  ASSERT_FALSE(updated);
  EXPECT_THAT(updated.error().what, HasSubstr("1:10: `expect` is not at the beginning of its line"));
}

}  // namespace
}  // namespace hookd::rehearsal
