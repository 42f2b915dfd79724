// Rules: k8s-client.md R11-R14, R20, R22; T9, T26, T27 (its reading half).
#include "kube/list_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/scripted_api.h"

namespace hookd::kube {
namespace {

using test::list_of;
using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Reading {
  std::vector<std::string> items;
  Result<void> result;
  std::string kind, version, next;
};

Reading read_in_pieces(std::string_view body, size_t piece, size_t max_item_bytes = 1u << 20) {
  Reading out;
  ListReader reader(
      [&](std::string item) -> Result<void> {
        out.items.push_back(std::move(item));
        return {};
      },
      max_item_bytes);
  for (size_t i = 0; i < body.size() && out.result; i += piece) out.result = reader.feed(body.substr(i, piece));
  if (out.result) out.result = reader.finish();
  out.kind = reader.kind();
  out.version = reader.resource_version();
  out.next = reader.continue_token();
  return out;
}

Reading read(std::string_view body) { return read_in_pieces(body, body.size() + 1); }

TEST(ListReader, HandsOverItemsAsTheyAre) {
  const auto list = read(list_of({pod("a", "1"), pod("b", "2")}, "10", "token"));
  ASSERT_TRUE(list.result) << list.result.error().what;
  EXPECT_THAT(list.items, ElementsAre(pod("a", "1"), pod("b", "2")));
  EXPECT_EQ(list.kind, "PodList");
  EXPECT_EQ(list.version, "10");
  EXPECT_EQ(list.next, "token");
}

TEST(ListReader, ReadsPiecesOfAnySizeAlike) {
  const std::string body = R"({ "kind" : "PodList" , "metadata":{"continue":"","resourceVersion":"7"},
    "items" : [ {"a":"]}\"\\"} , {"b":[1,2.5e3,null,{"c":true}]},{} ] , "extra":[{"x":1}] })";
  for (size_t piece = 1; piece <= body.size(); ++piece) {
    const auto list = read_in_pieces(body, piece);
    ASSERT_TRUE(list.result) << piece << ": " << list.result.error().what;
    EXPECT_THAT(list.items, ElementsAre(R"({"a":"]}\"\\"})", R"({"b":[1,2.5e3,null,{"c":true}]})", "{}")) << piece;
    EXPECT_EQ(list.version, "7");
  }
}

TEST(ListReader, TakesPrettyPrintedTextAndMembersInAnyOrder) {
  const auto list = read(
      "{\n  \"items\": [\n    {\n      \"metadata\": {\n        \"name\": \"a\"\n      }\n    }\n  ],\n"
      "  \"metadata\": {\n    \"resourceVersion\": \"3\"\n  },\n  \"kind\": \"List\"\n}\n");
  ASSERT_TRUE(list.result) << list.result.error().what;
  EXPECT_EQ(list.items.size(), 1U);
  EXPECT_EQ(list.kind, "List");
}

TEST(ListReader, EmptyNullOrAbsentItemsAreNone) {  // R11, R13
  for (const auto* items : {R"(,"items":[])", R"(,"items":[ ])", R"(,"items":null)", ""}) {
    const auto list = read(fmt::format(R"({{"kind":"PodList","metadata":{{"resourceVersion":"9"}}{}}})", items));
    ASSERT_TRUE(list.result) << items << ": " << list.result.error().what;
    EXPECT_THAT(list.items, IsEmpty());
    EXPECT_EQ(list.version, "9");
  }
}

TEST(ListReader, KeysWithEscapesAreTheSameKeys) {
  const auto list = read(R"({"k\u0069nd":"PodList","metadata":{"resourceVersion":"9"},"it\u0065ms":[{"a":1}]})");
  ASSERT_TRUE(list.result) << list.result.error().what;
  EXPECT_EQ(list.items.size(), 1U);
}

struct BadBody {
  const char* name;
  std::string body;
  const char* says;
};
class ListReaderBadBody : public testing::TestWithParam<BadBody> {};

// R13: none of these may pass for "no objects": that would delete everything in the store.
TEST_P(ListReaderBadBody, IsAnError) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}}) {
    const auto list = read_in_pieces(GetParam().body, piece);
    ASSERT_FALSE(list.result) << "in pieces of " << piece;
    EXPECT_EQ(list.result.error().code, Errc::kDecode);
    EXPECT_THAT(list.result.error().what, HasSubstr(GetParam().says));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ListReaderBadBody,
    testing::Values(
        BadBody{"Empty", "", "empty"}, BadBody{"Blank", " \n ", "empty"},
        BadBody{"Html", "<html><body>Sign in</body></html>", "an object was expected"},
        BadBody{"Text", "404 page not found", "an object was expected"},
        BadBody{"Array", "[]", "an object was expected"},
        BadBody{"Status", test::status_of(403, "Forbidden", "pods is forbidden"), "not a Status: pods is forbidden"},
        BadBody{"Table", R"({"kind":"Table","metadata":{"resourceVersion":"1"},"rows":[]})", "not a Table"},
        BadBody{"NoKind", R"({"metadata":{"resourceVersion":"1"},"items":[]})", "without kind"},
        BadBody{"KindIsNoText", R"({"kind":["List"],"metadata":{"resourceVersion":"1"},"items":[]})", "without kind"},
        BadBody{"NoMetadata", R"({"kind":"PodList","items":[]})", "resourceVersion"},
        BadBody{"NoVersion", R"({"kind":"PodList","metadata":{},"items":[]})", "resourceVersion"},
        BadBody{"VersionZero", R"({"kind":"PodList","metadata":{"resourceVersion":"0"},"items":[]})",
                "resourceVersion"},  // R20
        BadBody{"ItemsObject", R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":{}})",
                "items is no array"},
        BadBody{"ItemsText", R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":""})",
                "items is no array"},
        BadBody{"ItemNoObject", R"({"kind":"PodList","items":[1],"metadata":{"resourceVersion":"1"}})",
                "an object in the items"},
        BadBody{"CommaBeforeEnd", R"({"kind":"PodList","items":[{},],"metadata":{"resourceVersion":"1"}})",
                "an object in the items"},
        BadBody{"NoComma", R"({"kind":"PodList","items":[{}{}],"metadata":{"resourceVersion":"1"}})",
                "a comma between"},
        BadBody{"NoCommaBetweenMembers", R"({"kind":"PodList" "items":[]})", "a comma"},
        BadBody{"CommaFirst", R"({,"kind":"PodList"})", "a key"},
        BadBody{"NoColon", R"({"kind" "PodList"})", "a colon"},
        BadBody{"CommaLast", R"({"kind":"PodList","metadata":{"resourceVersion":"1"},})", "a key"},
        BadBody{"BrokenItem", R"({"kind":"PodList","items":[{"a":1},{"b":tru}],"metadata":{}})",
                "broken JSON after 1 items"},
        BadBody{"Cut", list_of({pod("a", "1"), pod("b", "1")}, "5").substr(0, 200), "cut off"},
        BadBody{"TextBehind", list_of({}, "5") + "x", "the end was expected"},
        BadBody{"TwoDocuments", list_of({}, "5") + list_of({}, "6"), "the end was expected"}),
    [](const auto& test) { return test.param.name; });

TEST(ListReader, EveryCutIsAnError) {  // T26
  const std::string body = list_of({pod("a", "1"), pod("b", "2")}, "10");
  for (size_t length = 0; length < body.size(); ++length) EXPECT_FALSE(read(body.substr(0, length)).result) << length;
}

TEST(ListReader, AnItemOverTheBoundIsAnErrorWithTheNumber) {  // R22
  const std::string big = fmt::format(R"({{"a":"{}"}})", std::string(5000, 'x'));
  for (const size_t piece : {size_t{1}, size_t{1000}, size_t{100000}}) {
    const auto list = read_in_pieces(list_of({"{}", big}, "1"), piece, 4096);
    ASSERT_FALSE(list.result);
    EXPECT_EQ(list.result.error().code, Errc::kTooLarge);
    EXPECT_THAT(list.result.error().what, HasSubstr("item 2 of the list is over 4096 bytes"));
    EXPECT_EQ(list.items.size(), 1U);
  }
}

TEST(ListReader, AnErrorOfTheConsumerEndsTheReading) {
  int calls = 0;
  ListReader reader(
      [&](std::string) -> Result<void> {
        return ++calls == 2 ? Result<void>(fail(Errc::kDecode, "mine")) : Result<void>{};
      },
      1000);
  const auto result = reader.feed(list_of({"{}", "{}", "{}"}, "1"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "mine");
  EXPECT_EQ(calls, 2);
}

TEST(ListReader, DeepItemsAreTaken) {  // section 11: the server takes thousands of levels
  std::string deep = R"({"a":)" + std::string(5000, '[') + std::string(5000, ']') + "}";
  const auto list = read(list_of({deep}, "1"));
  ASSERT_TRUE(list.result) << list.result.error().what;
  EXPECT_THAT(list.items, ElementsAre(deep));
}

}  // namespace
}  // namespace hookd::kube
