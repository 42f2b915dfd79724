#include "reconcile/native_answer.h"

#include <gmock/gmock.h>

#include "hook/answer.h"
#include "unit/reconcile/child_kinds.h"

namespace hookd::reconcile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NativeAnswerTest : public testing::Test {
 protected:
  NativeAnswerTest() {
    kinds.add(test::config_maps());
    parent.ns = "a";
    parent.name = "m";
    parent.uid = "u1";
  }
  Result<NativeAnswer> read(std::string_view text, bool gone = false) {
    return read_native_answer(text, {kinds.kinds, type, parent, gone});
  }
  std::string error(std::string_view text) {
    const auto answer = read(text);
    return answer ? "it was taken" : answer.error().what;
  }
  test::ChildKinds kinds;
  kube::ResourceType type = test::memcacheds();
  cache::Identity parent;
};

constexpr std::string_view kMap = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1"}})";

TEST_F(NativeAnswerTest, AResultHasAllThatAHookCanSay) {
  const auto answer = read(fmt::format(
      R"({{"children":[{}],"status":{{"a":1.50,"gone":null}},"requeueAfter":"20s","finalized":true,"message":"hello",
           "operations":[{{"operation":"Requeue","after":"1s"}}]}})",
      kMap));
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(answer->children);
  ASSERT_THAT(*answer->children, SizeIs(1));
  EXPECT_EQ((*answer->children)[0].key(), "a/c");
  EXPECT_EQ(answer->status, R"({"a":1.50})") << "digits stay, nulls go";
  EXPECT_EQ(answer->requeue_after, std::chrono::seconds(20));
  EXPECT_TRUE(answer->finalized);
  EXPECT_THAT(answer->messages, ElementsAre("hello"));
  EXPECT_THAT(answer->operations, SizeIs(1));
}

TEST_F(NativeAnswerTest, NothingIsAnAnswerThatTouchesNothing) {
  for (const std::string_view text : {"", "\n", "{}", "a word", R"({"status":null,"requeueAfter":null})"}) {
    const auto answer = read(text);
    ASSERT_TRUE(answer) << text << ": " << answer.error().what;
    EXPECT_FALSE(answer->children) << text;
    EXPECT_FALSE(answer->status) << text;
    EXPECT_THAT(answer->operations, IsEmpty()) << text;
    EXPECT_FALSE(answer->finalized) << text;
  }
}

TEST_F(NativeAnswerTest, AnEmptyListIsToldFromNone) {
  const auto answer = read(R"({"children":[]})");
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->children);
  EXPECT_THAT(*answer->children, IsEmpty());
}

TEST_F(NativeAnswerTest, ManifestsOutsideOfChildrenAreOperations) {
  const auto answer = read(fmt::format("{0}\n{{\"children\":[{0}]}}\n{{\"message\":\"m\"}}\n", kMap));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->operations, SizeIs(1));
  EXPECT_THAT(*answer->children, SizeIs(1));
}

// A script that prints one child a line and breaks off must not take the others away.
TEST_F(NativeAnswerTest, ChildrenStandInOneList) {
  EXPECT_THAT(error(fmt::format("{{\"children\":[{}]}}\n{{\"children\":[]}}\n", kMap)),
              HasSubstr("line 2: a second \"children\"; give all of them in one list"));
}

TEST_F(NativeAnswerTest, YamlIsTakenToo) {
  const auto answer =
      read("children:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\nstatus:\n  ok: true\n");
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(answer->children);
  EXPECT_THAT(*answer->children, SizeIs(1));
  EXPECT_EQ(answer->status, R"({"ok":true})");
}

TEST_F(NativeAnswerTest, AListThatIsNoneNeverPassesForAnEmptyOne) {
  EXPECT_THAT(error(R"({"children":null})"), HasSubstr("\"children\" must be a list of manifests, not null"));
  EXPECT_THAT(error(R"({"children":{}})"), HasSubstr("must be a list"));
  EXPECT_THAT(error(R"({"children":"[]"})"), HasSubstr("must be a list"));
  EXPECT_THAT(error(R"({"children":[null]})"), HasSubstr("\"children[0]\" must be a manifest"));
  // Errors come into Events: no data of a Secret in them.
  EXPECT_THAT(error(R"({"children":{"stringData":{"a":"hidden"}}})"),
              AllOf(HasSubstr("must be a list of manifests, not an object"), Not(HasSubstr("hidden"))));
  EXPECT_THAT(error(R"({"children":["hidden"]})"), AllOf(HasSubstr("not a text"), Not(HasSubstr("hidden"))));
  EXPECT_THAT(error(fmt::format(R"({{"children":[{},[]]}})", kMap)), HasSubstr("\"children[1]\""));
}

TEST_F(NativeAnswerTest, AMisspeltKeyIsNamedWithTheNearestOne) {
  EXPECT_THAT(error(R"({"childen":[]})"), HasSubstr("unknown key \"childen\" (did you mean \"children\"?)"));
  EXPECT_THAT(error(R"({"Children":[]})"), HasSubstr("(did you mean \"children\"?)"));
  EXPECT_THAT(error(R"({"requeueafter":"1s"})"), HasSubstr("(did you mean \"requeueAfter\"?)"));
  EXPECT_THAT(error(R"({"attachments":[]})"), HasSubstr("a result has children, status, operations"));
  EXPECT_THAT(error(R"({"state":{}})"), HasSubstr("unknown key \"state\"")) << "it has none beside reconcile";
}

TEST_F(NativeAnswerTest, OneBadPartIsAnErrorForTheWhole) {
  EXPECT_THAT(error(R"({"children":[],"status":[]})"), HasSubstr("\"status\" must be an object"));
  EXPECT_THAT(error(R"({"children":[],"finalized":1})"), HasSubstr("\"finalized\" must be true or false"));
  EXPECT_THAT(error(R"({"children":[],"finalized":null})"), HasSubstr("\"finalized\" must be true or false"));
  EXPECT_THAT(error(R"({"children":[],"requeueAfter":5})"), HasSubstr("requeueAfter"));
  EXPECT_THAT(error(R"({"children":[],"children":[]})"), HasSubstr("children"));
  EXPECT_THAT(error(R"({"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]})"), HasSubstr("Pod"));
  EXPECT_NE(error(R"({"children":[)"), "it was taken");
}

TEST_F(NativeAnswerTest, ToAHookThatMayNotHaveChildrenTheKeyIsUnknown) {
  const auto answer = hook::parse_answer(R"({"children":[]})");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("unknown key \"children\""));
}

TEST_F(NativeAnswerTest, OfAGoneParentOnlyOperationsCount) {
  const auto answer = read(R"({"children":[{"kind":"Nonsense"}],"status":{"a":1},"requeueAfter":"1s"})", true);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->children);
  EXPECT_FALSE(answer->status);
  EXPECT_TRUE(answer->requeue_after);
}

TEST_F(NativeAnswerTest, AConditionWithoutKindIsTheParents) {
  constexpr std::string_view kText = R"({"operation":"Condition","type":"Ready","status":"True","reason":"Ok"})";
  const auto answer = read(kText);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->operations.at(0).display(), "Memcached a/m");
  EXPECT_EQ(answer->operations.at(0).uid, "u1");
  EXPECT_TRUE(is_about(answer->operations.at(0), type, parent));
  EXPECT_FALSE(read(kText, true));
}

TEST(WithoutNulls, OnlyMembersOfObjectsGo) {
  EXPECT_EQ(without_nulls(R"({"a":null,"b":[null,{"c":null,"d":1e400}],"e":{"f":null}})"),
            R"({"b":[null,{"d":1e400}],"e":{}})");
  EXPECT_EQ(without_nulls("null"), "null");
}

}  // namespace
}  // namespace hookd::reconcile
