#include "reconcile/content.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hookd::reconcile {
namespace {

TEST(ContentOf, DoesNotDependOnOrderOfKeysOrWhiteSpace) {
  const auto one = content_of(R"({"a":{"x":1,"y":[1,{"p":null,"q":"é"}]},"b":true})");
  EXPECT_EQ(one, content_of("\n{ \"b\" : true , \"a\": {\"y\" :[ 1 ,{\"q\":\"\\u00e9\",\"p\":null} ], \"x\":1 } }\n"));
}

TEST(ContentOf, TellsApartWhatDiffers) {
  std::set<uint64_t> all;
  const std::string_view texts[] = {"{}",
                                    "[]",
                                    "\"\"",
                                    "null",
                                    "0",
                                    "0.0",
                                    "\"0\"",
                                    "false",
                                    "true",
                                    "{\"a\":1}",
                                    "{\"a\":2}",
                                    "{\"b\":1}",
                                    "{\"a\":\"1\"}",
                                    "{\"a\":[1]}",
                                    "{\"a\":{}}",
                                    "{\"a\":1,\"b\":2}",
                                    "{\"a\":2,\"b\":1}",
                                    "[1,2]",
                                    "[2,1]",
                                    "[[1],2]",
                                    "[1,[2]]",
                                    "[[1,2]]",
                                    "{\"a\":{\"b\":1},\"c\":1}",
                                    "{\"a\":{\"c\":1},\"b\":1}",
                                    "12345678901234567890123",
                                    "12345678901234567890124"};
  for (const auto text : texts) all.insert(content_of(text));
  EXPECT_EQ(all.size(), std::size(texts));
}

// It stands in annotations of children: another value would be a roll-out of all of them after an upgrade.
TEST(ContentOf, IsTheSameInEveryVersion) {
  EXPECT_EQ(content_of(R"({"kind":"Pod","metadata":{"name":"x","labels":{"a":"1"}},"spec":{"n":[1,-2.5,null,true]}})"),
            uint64_t{5021712989603210818});
}

TEST(ContentOf, TakesTextThatIsNoJsonByItsBytes) {
  EXPECT_NE(content_of("{\"a\":"), content_of("{\"b\":"));
  EXPECT_NE(content_of(""), content_of("{"));
  EXPECT_EQ(content_of("{\"a\":"), content_of("{\"a\":"));
  const std::string deep = std::string(3000, '[') + std::string(3000, ']');
  EXPECT_EQ(content_of(deep), content_of(deep));
  EXPECT_NE(content_of(deep), content_of(deep + " "));
}

TEST(ObjectContent, LeavesOutWhatTheServerCounts) {
  const auto object = [](std::string_view meta, std::string_view more) {
    return R"({"kind":"A","metadata":{"name":"x")" + std::string(meta) + R"(},"spec":1)" + std::string(more) + "}";
  };
  const auto one = object_content(object("", ""), false);
  EXPECT_EQ(one, object_content(object(R"(,"uid":"u","resourceVersion":"7","generation":3,"managedFields":[{}],)"
                                       R"("creationTimestamp":null,"selfLink":"/x")",
                                       R"(,"status":{"a":1})"),
                                false));
  EXPECT_NE(one, object_content(object(R"(,"labels":{"a":"b"})", ""), false));
  EXPECT_NE(one, object_content(object("", R"(,"uid":"u")"), false));
  EXPECT_NE(one, object_content(object("", R"(,"status":{"a":1})"), true));
  EXPECT_EQ(one, object_content(object("", ""), true));
}

TEST(ObjectContent, TakesWhatIsNoObjectByItsBytes) {
  EXPECT_NE(object_content("[1]", false), object_content("[2]", false));
  EXPECT_NE(object_content("", false), object_content("{", false));
  EXPECT_NE(object_content(R"({"metadata":1})", false), object_content(R"({"metadata":2})", false));
}

}  // namespace
}  // namespace hookd::reconcile
