#include "compat/metacontroller/response.h"

#include <gmock/gmock.h>

namespace hookd::metacontroller {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SyncAnswer good(std::string_view text, Unmarshal mode = Unmarshal::kLoose,
                ControllerKind kind = ControllerKind::kComposite) {
  auto answer = decode_sync(kind, mode, text);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().what);
  return answer ? *std::move(answer) : SyncAnswer();
}
std::string error_of(std::string_view text, Unmarshal mode = Unmarshal::kLoose,
                     ControllerKind kind = ControllerKind::kComposite) {
  const auto answer = decode_sync(kind, mode, text);
  return answer ? "" : answer.error().what;
}
const std::string kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"n":12345678901234567}})";

TEST(DecodeSync, ACompositeControllersAnswer) {
  const auto answer = good(R"( {"status":{"ready":9007199254740993},"children":[)" + kPod +
                           R"(,{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}}],
                           "resyncAfterSeconds":2.5,"finalized":true} )");
  EXPECT_EQ(answer.status, R"({"ready":9007199254740993})") << "digits stay";
  ASSERT_EQ(answer.children.size(), 2u);
  EXPECT_EQ(answer.children[0].text, kPod);
  EXPECT_EQ(answer.children[0].ns, "a");
  EXPECT_EQ(answer.children[1].api_version, "apps/v1");
  EXPECT_EQ(answer.children[1].kind, "Deployment");
  EXPECT_EQ(answer.children[1].name, "d");
  EXPECT_EQ(answer.children[1].ns, "");
  EXPECT_EQ(answer.resync_after, 2500ms);
  EXPECT_TRUE(answer.finalized);
  EXPECT_THAT(answer.warnings, IsEmpty());
}

TEST(DecodeSync, ADecoratorControllersAnswer) {
  const auto answer =
      good(R"({"labels":{"a":"b","old":null},"annotations":{"x":""},"status":null,"attachments":[)" + kPod + "]}",
           Unmarshal::kStrict, ControllerKind::kDecorator);
  EXPECT_EQ(answer.labels.at("a"), "b");
  EXPECT_FALSE(answer.labels.at("old"));
  EXPECT_EQ(answer.annotations.at("x"), "");
  EXPECT_FALSE(answer.status);
  EXPECT_EQ(answer.children.size(), 1u);
}

TEST(DecodeSync, MissingAndNullMembersAreNone) {
  for (const char* text : {"{}", R"({"children":null,"status":null,"resyncAfterSeconds":null,"finalized":null})"}) {
    const auto answer = good(text, Unmarshal::kStrict);
    EXPECT_THAT(answer.children, IsEmpty());
    EXPECT_FALSE(answer.status);
    EXPECT_FALSE(answer.resync_after);
    EXPECT_FALSE(answer.finalized);
  }
}

TEST(DecodeSync, AMisspeltListIsNotTakenForNone) {
  for (const char* name : {"Children", "childs", "child", "chidlren", "childrens", "attachments", "CHILDREN"})
    EXPECT_THAT(error_of(fmt::format(R"({{"{}":[]}})", name)),
                AllOf(HasSubstr(fmt::format("but `{}`: did you mean `children`?", name)), HasSubstr("deleted")));
  EXPECT_THAT(error_of(R"({"children":[]})", Unmarshal::kLoose, ControllerKind::kDecorator),
              HasSubstr("did you mean `attachments`?"));
  EXPECT_THAT(error_of(R"({"attachment":[]})", Unmarshal::kLoose, ControllerKind::kDecorator),
              HasSubstr("did you mean `attachments`?"));
  EXPECT_EQ(error_of(R"({"children":[],"childs":[]})"), "") << "both: the right one is there";
}

TEST(DecodeSync, WhatHasNoFieldOfAnAnswerIsNone) {
  EXPECT_THAT(error_of(R"({"error":"the database is down"})"),
              AllOf(HasSubstr("`error`"), HasSubstr("nothing was changed"), Not(HasSubstr("database"))));
  EXPECT_THAT(error_of(R"({"message":"x"})", Unmarshal::kLoose, ControllerKind::kDecorator),
              HasSubstr("`attachments`"));
  EXPECT_EQ(error_of("{}"), "") << "as upstream";
  EXPECT_EQ(error_of(R"({"status":{},"error":"x"})"), "") << "as upstream";
}

TEST(DecodeCustomize, AMisspeltListIsNotTakenForNone) {
  const auto answer =
      decode_customize(Unmarshal::kLoose, R"({"relatedResource":[{"apiVersion":"v1","resource":"pods"}]})");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("no `relatedResources`, but `relatedResource`"));
  EXPECT_TRUE(decode_customize(Unmarshal::kLoose, "{}"));
  EXPECT_TRUE(decode_customize(Unmarshal::kLoose, R"({"relatedResources":null,"x":1})"));
}

TEST(DecodeSync, UnknownAndDoubleMembersAreToldOrRefused) {
  const char* text = R"({"status":{},"Status":1,"children":[],"finalized":false,"finalized":true})";
  const auto answer = good(text);
  EXPECT_TRUE(answer.finalized) << "the last counts";
  EXPECT_THAT(answer.warnings,
              ElementsAre("`finalized` stands twice", HasSubstr("unknown field `Status`; did you mean \"status\"?")));
  EXPECT_THAT(error_of(text, Unmarshal::kStrict), HasSubstr("strict"));
  EXPECT_THAT(error_of(R"({"nonsense":1})", Unmarshal::kStrict), HasSubstr("unknown field `nonsense`"));
}

TEST(DecodeSync, WrongTypesFailAndShowNoContent) {
  EXPECT_THAT(error_of(""), HasSubstr("empty body"));
  EXPECT_THAT(error_of(" \n"), HasSubstr("empty body"));
  EXPECT_THAT(error_of("null"), HasSubstr("expected an object, found null"));
  EXPECT_THAT(error_of("[]"), HasSubstr("expected an object, found a list"));
  EXPECT_THAT(error_of("{\"children\":["), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("no JSON"));
  EXPECT_EQ(error_of(R"({"children":{"secret":1}})"), "children: expected a list, found an object");
  EXPECT_EQ(error_of(R"({"status":"secret"})"), "status: expected an object or null, found a string");
  EXPECT_EQ(error_of(R"({"finalized":"true"})"), "finalized: expected true or false, found a string");
  EXPECT_EQ(error_of(R"({"resyncAfterSeconds":"1"})"), "resyncAfterSeconds: expected a number, found a string");
  EXPECT_EQ(error_of(R"({"labels":{"a":1}})", Unmarshal::kLoose, ControllerKind::kDecorator),
            "labels[\"a\"]: expected a string or null, found a number");
}

TEST(DecodeSync, EveryChildHasToBeAnObjectWithItsNames) {
  const auto child = [](std::string_view text) {
    return error_of(fmt::format(R"({{"children":[{},{}]}})", kPod, text));
  };
  EXPECT_THAT(child("null"), HasSubstr("children[1] is null"));
  EXPECT_THAT(child("1"), HasSubstr("children[1]: expected an object, found a number"));
  EXPECT_THAT(child("{}"), HasSubstr("children[1]: kind is missing"));
  EXPECT_THAT(child(R"({"kind":"Pod"})"), HasSubstr("children[1] (Pod): apiVersion is missing"));
  EXPECT_THAT(child(R"({"kind":"Pod","apiVersion":"v1"})"), HasSubstr("metadata.name is missing"));
  EXPECT_THAT(child(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":""}})"),
              HasSubstr("metadata.name is missing"));
  EXPECT_THAT(child(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":7}})"),
              HasSubstr("children[1].metadata.name: expected a string, found a number"));
}

TEST(DecodeSync, AnAnswerThatWasCutNeverCounts) {
  const std::string whole = R"({"status":{"a":[1,{"b":null}]},"children":[)" + kPod + R"(],"finalized":false})";
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NE(error_of(whole.substr(0, i)), "") << i;
  EXPECT_NE(error_of(std::string(20'000, '[')), "");
  EXPECT_NE(error_of(R"({"children":)" + std::string(20'000, '[')), "");
}

TEST(DecodeSync, ResyncIsExactAndBounded) {
  EXPECT_EQ(good(R"({"resyncAfterSeconds":0.1})").resync_after, 100ms);
  EXPECT_FALSE(good(R"({"resyncAfterSeconds":0})").resync_after);
  EXPECT_FALSE(good(R"({"resyncAfterSeconds":-3})").resync_after);
  EXPECT_EQ(good(R"({"resyncAfterSeconds":1e-30})").resync_after, 1ns) << "above 0 is to come again";
  const auto far = good(R"({"resyncAfterSeconds":1e300})");
  EXPECT_EQ(far.resync_after, std::chrono::hours(24 * 3650));
  EXPECT_THAT(far.warnings, ElementsAre(HasSubstr("10 years")));
}

TEST(DecodeCustomize, Rules) {
  const auto answer = decode_customize(Unmarshal::kStrict, R"({"relatedResources":[
    {"apiVersion":"v1","resource":"configmaps","namespace":"x","names":["y","z"]},
    {"apiVersion":"v1","resource":"namespaces","labelSelector":{}},
    {"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":"b"}},"namespaceSelector":{"matchLabels":{"c":"d"}}}]})");
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_EQ(answer->related.size(), 3u);
  EXPECT_EQ(answer->related[0].ns, "x");
  EXPECT_THAT(answer->related[0].names, ElementsAre("y", "z"));
  EXPECT_FALSE(answer->related[0].label_selector);
  ASSERT_TRUE(answer->related[1].label_selector);
  EXPECT_TRUE(answer->related[1].label_selector->empty()) << "{} is all, and not none";
  EXPECT_EQ(answer->related[2].namespace_selector->to_string(), "c=d");
  EXPECT_TRUE(decode_customize(Unmarshal::kStrict, R"({"relatedResources":null})")->related.empty());
  EXPECT_TRUE(decode_customize(Unmarshal::kStrict, "{}")->related.empty());
}

TEST(DecodeCustomize, ContradictionsAndWrongTypesFail) {
  const auto error = [](std::string_view rule) {
    const auto answer = decode_customize(Unmarshal::kLoose, fmt::format(R"({{"relatedResources":[{}]}})", rule));
    return answer ? "" : answer.error().what;
  };
  EXPECT_THAT(error(R"({"apiVersion":"v1","resource":"pods","names":["a"],"labelSelector":{}})"),
              HasSubstr("names cannot stand beside"));
  EXPECT_THAT(error(R"({"apiVersion":"v1","resource":"pods","namespace":"a","namespaceSelector":{}})"),
              HasSubstr("cannot stand together"));
  EXPECT_THAT(error(R"({"apiVersion":"v1"})"), HasSubstr("resource is missing"));
  EXPECT_THAT(error(R"({"resource":"pods"})"), HasSubstr("apiVersion is missing"));
  EXPECT_THAT(error("null"), HasSubstr("expected an object, found null"));
  EXPECT_THAT(error(R"({"apiVersion":"v1","resource":"pods","names":"a"})"), HasSubstr("names: expected a list"));
  EXPECT_THAT(error(R"({"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":1}}})"),
              HasSubstr("relatedResources[0].labelSelector"));
  EXPECT_THAT(decode_customize(Unmarshal::kLoose, "[]").error().what, HasSubstr("relatedResources"));
  EXPECT_FALSE(decode_customize(Unmarshal::kLoose, ""));
}

}  // namespace
}  // namespace hookd::metacontroller
