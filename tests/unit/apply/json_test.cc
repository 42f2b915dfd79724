#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apply/json_diff.h"
#include "apply/json_text.h"

namespace hookd::apply {
namespace {

TEST(JsonText, MembersAreRawSpans) {
  const auto members = json_members(R"( {"a" : 1.50 ,"b":{"x":["}"]},"c\u0064":"\"]", "e":[] } )");
  ASSERT_TRUE(members) << members.error().what;
  ASSERT_EQ(members->size(), 4u);
  EXPECT_EQ(members->at(0).value, "1.50");
  EXPECT_EQ(members->at(1).value, R"({"x":["}"]})");
  EXPECT_EQ(members->at(2).key, "cd");
  EXPECT_EQ(members->at(2).value, R"("\"]")");
  EXPECT_EQ(find_member(*members, "e")->value, "[]");
  EXPECT_EQ(find_member(*members, "z"), nullptr);
}

TEST(JsonText, RefusesWhatIsNoObject) {
  EXPECT_FALSE(json_members("[1]"));
  EXPECT_FALSE(json_members("{\"a\":}"));
  EXPECT_FALSE(json_members("{} x"));
  EXPECT_FALSE(json_members(""));
  EXPECT_FALSE(json_elements("{}"));
}

TEST(JsonText, ElementsOfAList) {
  const auto elements = json_elements(R"([1, "a,b" ,{"x":[1,2]} ,[]])");
  ASSERT_TRUE(elements);
  EXPECT_THAT(*elements, testing::ElementsAre("1", "\"a,b\"", "{\"x\":[1,2]}", "[]"));
  EXPECT_TRUE(json_elements(" [ ] ")->empty());
}

TEST(JsonText, ChangesLeaveTheRestAsItWas) {
  EXPECT_EQ(with_members(R"({"n":1e400,"gone":1,"old":2})", {{"gone", std::nullopt}, {"old", "3"}, {"new", "[]"}}),
            R"({"n":1e400,"old":3,"new":[]})");
  EXPECT_EQ(with_metadata(R"({"a":1})", {{"uid", "\"u\""}}), R"({"a":1,"metadata":{"uid":"u"}})");
  EXPECT_EQ(with_metadata(R"({"a":1})", {{"uid", std::nullopt}}), R"({"a":1})");
}

TEST(JsonDiff, ShowsPaths) {
  EXPECT_EQ(
      json_diff(
          R"({"spec":{"replicas":1,"paused":true,"c":[{"i":"a"}]},"metadata":{"resourceVersion":"1"}})",
          R"({"spec":{"replicas":3,"c":[{"i":"b"},{"i":"c"}]},"metadata":{"resourceVersion":"2","labels":{"a/b":"x"}}})"),
      "~ .spec.replicas: 1 -> 3\n- .spec.paused: true\n~ .spec.c[0].i: \"a\" -> \"b\"\n+ .spec.c[1].i: \"c\"\n"
      "+ .metadata.labels[\"a/b\"]: \"x\"");
  EXPECT_EQ(json_diff(R"({"a":1})", R"({"a":1})"), "");
  EXPECT_EQ(json_diff("", R"({"a":{"b":1}})"), "+ .a.b: 1");
  EXPECT_EQ(json_diff(R"({"a":1})", "nonsense"), "");
}

TEST(JsonDiff, HidesTheDataOfSecrets) {
  const auto text =
      json_diff(R"({"kind":"Secret","data":{"k":"b2xk"}})", R"({"kind":"Secret","data":{"k":"bmV3","l":"eA=="}})");
  EXPECT_EQ(text, "~ .data.k: *** (6 bytes) -> *** (6 bytes)\n+ .data.l: *** (6 bytes)");
  for (const char* of : {"kubectl.kubernetes.io", "metacontroller.k8s.io"})
    EXPECT_EQ(json_diff("", fmt::format(
                                R"({{"metadata":{{"annotations":{{"{}/last-applied-configuration":"secret"}}}}}})", of)
                                .insert(1, R"("kind":"Secret",)"))
                  .find("secret"),
              std::string::npos)
        << of;
}

TEST(JsonDiff, HasABound) { EXPECT_EQ(json_diff("", R"({"a":1,"b":2,"c":3})", 1), "+ .a: 1\n… and 2 more"); }

}  // namespace
}  // namespace hookd::apply
