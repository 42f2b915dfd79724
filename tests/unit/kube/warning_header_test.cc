// Rules: k8s-client.md W14.
#include "kube/warning_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hookd::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> parse(std::string_view value) {
  std::vector<std::string> texts;
  parse_warning_header(value, texts);
  return texts;
}

TEST(WarningHeader, OneText) {
  EXPECT_THAT(parse(R"(299 - "policy/v1beta1 is deprecated")"), ElementsAre("policy/v1beta1 is deprecated"));
}

TEST(WarningHeader, SeveralAndDates) {
  EXPECT_THAT(parse(R"(299 - "one, two" "Sat, 25 Aug 2026 23:34:45 GMT", 299 agent:80 "three",299  a  "four")"),
              ElementsAre("one, two", "three", "four"));
}

TEST(WarningHeader, QuotedPairs) { EXPECT_THAT(parse(R"(299 - "say \"a\\b\"")"), ElementsAre(R"(say "a\b")")); }

TEST(WarningHeader, OtherCodesAreLeftOut) {
  EXPECT_THAT(parse(R"(199 - "see 299 - here", 299 - "mine")"), ElementsAre("mine"));
}

TEST(WarningHeader, BrokenOnesEndTheReading) {
  for (const auto* value :
       {"", "299", "299 -", "299 - ", "299 - text", R"(299 - "open)", R"(299 - "open\)", R"(299 - "open\")", ",,,"})
    EXPECT_THAT(parse(value), IsEmpty()) << value;
  EXPECT_THAT(parse(R"(299 - "good", 299 - bad, 299 - "lost")"), ElementsAre("good"));
}

}  // namespace
}  // namespace hookd::kube
