#include "embedded/wire/selector.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

bool matches(std::string_view selector, const json::object& labels) {
  const auto query = LabelQuery::parse(selector);
  EXPECT_TRUE(query) << selector << ": " << (query ? "" : query.error().message);
  return query && query->matches(&labels);
}

TEST(LabelQuery, EveryOperator) {
  const json::object labels{{"app", "web"}, {"n", "5"}, {"a.b/c", "d"}};
  for (const auto* yes : {"", "app", "app=web", "app==web", "app!=db", "app in (web,db)", "app notin (db)", "!old",
                          "n>4", "n<6", "a.b/c=d", "app=web,n", "gone!=x", "gone notin (a)"})
    EXPECT_TRUE(matches(yes, labels)) << yes;
  for (const auto* no : {"old", "app=db", "app!=web", "app in (db)", "!app", "n>5", "n<5", "app>1", "app=web,old"})
    EXPECT_FALSE(matches(no, labels)) << no;
}

TEST(LabelQuery, ReadsLabelsOutOfText) {
  const auto query = *LabelQuery::parse("app=web");
  EXPECT_TRUE(query.matches_text(R"({"metadata":{"name":"x","labels":{"app":"web"}}})"));
  EXPECT_FALSE(query.matches_text(R"({"metadata":{"name":"x"}})"));
}

struct Broken {
  const char *text, *told;
};
class LabelErrors : public ::testing::TestWithParam<Broken> {};
TEST_P(LabelErrors, AreThoseOfTheRealServer) {
  const auto query = LabelQuery::parse(GetParam().text);
  ASSERT_FALSE(query);
  EXPECT_EQ(query.error().code, 400);
  EXPECT_EQ(query.error().message, GetParam().told);
}
INSTANTIATE_TEST_SUITE_P(
    All, LabelErrors,
    ::testing::Values(Broken{"a in b", "unable to parse requirement: found 'b' expected: '('"},
                      Broken{"==", "found '==', expected: !, identifier, or 'end of string'"},
                      Broken{"a,", "found '', expected: identifier after ','"},
                      Broken{"a foo",
                             "unable to parse requirement: found 'foo', expected: in, notin, =, ==, !=, gt, lt"},
                      Broken{"!a=b", "found '=', expected: ',' or 'end of string'"}));

TEST(FieldSelector, TermsWithEscapes) {
  const auto fields = FieldSelector::parse("metadata.name=a\\,b,spec.x!=c,d==e");
  ASSERT_TRUE(fields);
  ASSERT_EQ(fields->terms().size(), 3u);
  EXPECT_EQ(fields->terms()[0].value, "a,b");
  EXPECT_FALSE(fields->terms()[1].equal);
  EXPECT_EQ(*fields->exact("d"), "e");
  EXPECT_EQ(fields->exact("spec.x"), nullptr);
}

TEST(FieldSelector, ErrorsAreThoseOfTheRealServer) {
  EXPECT_EQ(FieldSelector::parse("foo").error().message, "invalid selector: 'foo'; can't understand 'foo'");
}

}  // namespace
}  // namespace hookd::embedded
