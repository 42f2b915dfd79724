#include "rehearsal/subset.h"

#include <gmock/gmock.h>

#include "base/json_read.h"

namespace hookd::rehearsal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> differ(std::string_view expected, std::string_view seen) {
  const auto have = *parse_json(seen);
  std::vector<std::string> lines;
  for (const Difference& one : subset_differences(*parse_json(expected), &have))
    lines.push_back(one.path + ": " + one.expected + " / " + one.seen);
  return lines;
}

TEST(Subset, HoldsIfEveryNamedKeyDoes) {
  EXPECT_THAT(differ(R"({"a":{"b":1}})", R"({"a":{"b":1,"c":2},"d":3})"), IsEmpty());
  EXPECT_THAT(differ(R"({"a":1.0})", R"({"a":1})"), IsEmpty());
  EXPECT_THAT(differ(R"({})", R"({"a":1})"), IsEmpty());
}

TEST(Subset, NamesEachPathThatDiffers) {
  EXPECT_THAT(differ(R"({"a":{"b":1,"x/y":"z"},"c":true})", R"({"a":{"b":2},"c":"true"})"),
              ElementsAre(".a.b: 1 / 2", R"(.a["x/y"]: "z" / )", R"(.c: true / "true")"));
}

TEST(Subset, ListsAreFoundInTheirOrderWithOthersBetween) {
  EXPECT_THAT(differ(R"([{"n":1},{"n":3}])", R"([{"n":1,"m":0},{"n":2},{"n":3}])"), IsEmpty());
  EXPECT_THAT(differ(R"([3,1])", "[1,2,3]"), ElementsAre("[1]: 1 / "));
  EXPECT_THAT(differ(R"([{"n":1,"m":2}])", R"([{"n":5,"m":5},{"n":1,"m":3}])"), ElementsAre("[1].m: 2 / 3"));
  EXPECT_THAT(differ("[1,2]", "[1]"), ElementsAre("[1]: 2 / "));
}

TEST(Subset, AnEmptyListWantsNothing) {
  EXPECT_THAT(differ(R"({"a":[]})", R"({"a":[]})"), IsEmpty());
  EXPECT_THAT(differ(R"({"a":[]})", R"({})"), IsEmpty());
  EXPECT_THAT(differ(R"({"a":[]})", R"({"a":[1]})"), ElementsAre(".a: [] / [1]"));
}

TEST(Subset, NullWantsTheKeyToBeAbsent) {
  EXPECT_THAT(differ(R"({"a":null})", R"({"b":1})"), IsEmpty());
  EXPECT_THAT(differ(R"({"a":null})", R"({"a":null})"), IsEmpty());
  EXPECT_THAT(differ(R"({"a":null})", R"({"a":0})"), ElementsAre(".a: null (nothing) / 0"));
}

TEST(Subset, NothingAtAllDiffersAsAWhole) {
  EXPECT_EQ(subset_differences(*parse_json("{}"), nullptr).size(), 1u);
  EXPECT_EQ(difference_text(subset_differences(*parse_json(R"({"a":1})"), nullptr), "  "),
            "  - (the whole): expected {\"a\":1}, nothing is there\n");
}

TEST(Subset, WhatWasSeenIsTakenAtTheExpectedPlaces) {
  EXPECT_EQ(boost::json::serialize(
                seen_as_expected(*parse_json(R"({"a":{"b":1},"c":1})"), *parse_json(R"({"a":{"b":2,"x":3},"d":4})"))),
            R"({"a":{"b":2},"c":null})");
}

}  // namespace
}  // namespace hookd::rehearsal
