#include "cache/label_selector.h"

#include <gtest/gtest.h>

namespace hookd::cache {
namespace {

using Labels = LabelSelector::Labels;

bool matches(std::string_view selector, const Labels& labels) {
  const auto parsed = LabelSelector::parse(selector);
  EXPECT_TRUE(parsed) << selector << ": " << (parsed ? "" : parsed.error().what);
  return parsed && parsed->matches(labels);
}

std::string canonical(std::string_view selector) {
  const auto parsed = LabelSelector::parse(selector);
  return parsed ? parsed->to_string() : "error: " + parsed.error().what;
}

std::string error_of(std::string_view selector) {
  const auto parsed = LabelSelector::parse(selector);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Errc::kConfig);
  return parsed.error().what;
}

std::string json_error(std::string_view json) {
  const auto parsed = LabelSelector::from_json(boost::json::parse(json).as_object());
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Errc::kConfig);
  return parsed.error().what;
}

const Labels kWeb{{"app", "web"}, {"tier", "front"}, {"weight", "10"}, {"example.com/part", ""}};

TEST(LabelSelector, EmptySelectsEverything) {
  EXPECT_TRUE(matches("", {}));
  EXPECT_TRUE(matches("  ", kWeb));
  EXPECT_TRUE(LabelSelector::parse("")->empty());
}

TEST(LabelSelector, EqualsInItsThreeForms) {
  EXPECT_TRUE(matches("app=web", kWeb));
  EXPECT_TRUE(matches(" app == web ", kWeb));
  EXPECT_FALSE(matches("app=api", kWeb));
  EXPECT_FALSE(matches("app=web", {}));
  EXPECT_FALSE(matches("app!=web", kWeb));
  EXPECT_TRUE(matches("app!=api", kWeb));
}

TEST(LabelSelector, NotEqualsAndNotInTakeObjectsWithoutTheKey) {
  EXPECT_TRUE(matches("app!=web", {}));
  EXPECT_TRUE(matches("app notin (web, api)", {}));
  EXPECT_FALSE(matches("app notin (web,api)", kWeb));
  EXPECT_TRUE(matches("app notin (api)", kWeb));
}

TEST(LabelSelector, InNeedsTheKey) {
  EXPECT_TRUE(matches("app in (api,web)", kWeb));
  EXPECT_FALSE(matches("app in (api)", kWeb));
  EXPECT_FALSE(matches("app in (web)", {}));
}

TEST(LabelSelector, ExistsAndDoesNotExist) {
  EXPECT_TRUE(matches("app", kWeb));
  EXPECT_FALSE(matches("old", kWeb));
  EXPECT_TRUE(matches("!old", kWeb));
  EXPECT_TRUE(matches("! old", kWeb));
  EXPECT_FALSE(matches("!app", kWeb));
}

TEST(LabelSelector, AllRequirementsMustHold) {
  EXPECT_TRUE(matches("app=web,tier in (front,back),!old,weight>9", kWeb));
  EXPECT_FALSE(matches("app=web,tier in (back),!old", kWeb));
}

TEST(LabelSelector, GreaterAndLessCompareWholeNumbers) {
  EXPECT_TRUE(matches("weight>9", kWeb));
  EXPECT_FALSE(matches("weight>10", kWeb));
  EXPECT_TRUE(matches("weight < 11", kWeb));
  EXPECT_FALSE(matches("app>1", kWeb));      // no number there
  EXPECT_FALSE(matches("missing<1", kWeb));  // no label there
}

TEST(LabelSelector, EmptyValues) {
  EXPECT_TRUE(matches("example.com/part=", kWeb));
  EXPECT_TRUE(matches("example.com/part=,app", kWeb));
  EXPECT_TRUE(matches("example.com/part in ()", kWeb));
  EXPECT_TRUE(matches("example.com/part in (,a)", kWeb));
  EXPECT_FALSE(matches("app in ()", kWeb));
}

TEST(LabelSelector, WordsOfTheGrammarAreKeysAndValuesToo) {
  EXPECT_TRUE(matches("in=notin", {{"in", "notin"}}));
  EXPECT_TRUE(matches("in in (in)", {{"in", "in"}}));
  EXPECT_TRUE(matches("notin", {{"notin", ""}}));
}

TEST(LabelSelector, EqualSelectorsAreEqualText) {
  EXPECT_EQ(canonical("b==2 , a in (y, x,y),!c,d"), "a in (x,y),b=2,!c,d");
  EXPECT_EQ(canonical("a in (x)"), "a=x");
  EXPECT_EQ(canonical("a notin (x)"), "a!=x");
  EXPECT_EQ(canonical("a=x,a=x"), "a=x");
  EXPECT_EQ(canonical("n>5,n<9"), "n>5,n<9");
  EXPECT_EQ(canonical("a in (,x)"), "a in (,x)");
  EXPECT_EQ(*LabelSelector::parse("a=x,b"), *LabelSelector::parse("b,a in (x)"));
}

TEST(LabelSelector, CanonicalTextParsesToTheSame) {
  for (const auto* text : {"a", "!a", "a=", "a in (,b)", "a notin (b,c)", "x.io/a>3", "a!=b,b<1"}) {
    const auto first = LabelSelector::parse(text);
    ASSERT_TRUE(first) << text;
    EXPECT_EQ(*first, *LabelSelector::parse(first->to_string())) << text;
  }
}

TEST(LabelSelector, ErrorsNameTheColumnAndWhatWasExpected) {
  EXPECT_EQ(error_of("app=web tier=x"),
            "label selector \"app=web tier=x\", column 9: \"tier\" stands here, expected ',' or the end");
  EXPECT_EQ(
      error_of("app in web"),
      "label selector \"app in web\", column 8: \"web\" stands here, expected '(' and a list of values such as (a, b)");
  EXPECT_EQ(error_of("app in (a"), "label selector \"app in (a\", column 10: it ends here, expected ',' or ')'");
  EXPECT_NE(error_of("a,").find("column 3: it ends here, expected a label key"), std::string::npos);
  EXPECT_NE(error_of(",a").find("column 1"), std::string::npos);
  EXPECT_NE(error_of("a=(b)").find("column 3"), std::string::npos);
  EXPECT_NE(error_of("!a=b").find("column 3"), std::string::npos);
  EXPECT_NE(error_of("a b").find("column 3"), std::string::npos);
  EXPECT_NE(error_of("!").find("a label key after '!'"), std::string::npos);
  EXPECT_NE(error_of("a>x").find("column 2: '>' compares with a whole number, \"x\" is none"), std::string::npos);
  EXPECT_NE(error_of("a>").find("whole number"), std::string::npos);
  EXPECT_NE(error_of("a=!b").find("column 3"), std::string::npos);
}

TEST(LabelSelector, KeySyntax) {
  const std::string s63(63, 'a'), s64(64, 'a');
  EXPECT_EQ(error_of(s63), "");
  EXPECT_NE(error_of(s64).find("64 characters, at most 63"), std::string::npos);
  EXPECT_EQ(error_of("a.b-c.io/A_b.c-D"), "");
  EXPECT_NE(error_of("-a").find("begin and end"), std::string::npos);
  EXPECT_NE(error_of("a_").find("begin and end"), std::string::npos);
  EXPECT_NE(error_of("a/").find("the name is empty"), std::string::npos);
  EXPECT_NE(error_of("/a").find("prefix before '/' is empty"), std::string::npos);
  EXPECT_NE(error_of("a/b/c").find("more than one '/'"), std::string::npos);
  EXPECT_NE(error_of("A.io/x").find("lower case"), std::string::npos);
  for (const auto* key : {"a..b/x", ".a/x", "a./x", "-a/x", "a-/x", "a.-b/x", "a-.b/x"})
    EXPECT_NE(error_of(key).find("no DNS name"), std::string::npos) << key;
  std::string prefix;
  while (prefix.size() < 252) prefix += "a.";
  EXPECT_EQ(error_of(prefix + "a/x"), "");  // 253
  EXPECT_NE(error_of(prefix + "aa/x").find("254 characters, at most 253"), std::string::npos);
}

TEST(LabelSelector, ValueSyntax) {
  EXPECT_NE(error_of("a=" + std::string(64, 'b')).find("column 3: \"bbb"), std::string::npos);
  EXPECT_EQ(error_of("a=" + std::string(63, 'b')), "");
  EXPECT_NE(error_of("a in (x,b/c)").find("column 9: \"b/c\" is no label value"), std::string::npos);
  EXPECT_NE(error_of("a=\xC3\xA9").find("only letters"), std::string::npos);
}

TEST(LabelSelector, FromJsonMeansTheSameAsText) {
  const auto parsed = LabelSelector::from_json(boost::json::parse(R"({"matchLabels":{"app":"web"},"matchExpressions":[
        {"key":"tier","operator":"In","values":["b","a"]},{"key":"x","operator":"NotIn","values":["y"]},
        {"key":"here","operator":"Exists"},{"key":"gone","operator":"DoesNotExist","values":[]}]})")
                                                   .as_object());
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(*parsed, *LabelSelector::parse("app=web,tier in (a,b),x!=y,here,!gone"));
  EXPECT_TRUE(LabelSelector::from_json({})->empty());
  EXPECT_TRUE(LabelSelector::from_json(boost::json::parse(R"({"matchLabels":{}})").as_object())->empty());
}

TEST(LabelSelector, FromJsonErrorsNameTheKey) {
  EXPECT_EQ(json_error(R"({"matchlabels":{}})"),
            "label selector: unknown key \"matchlabels\"; expected matchLabels or matchExpressions");
  EXPECT_EQ(json_error(R"({"matchLabels":{"v":1}})"),
            "label selector, matchLabels[\"v\"]: expected a string; put 1 in quotes: \"1\"");
  EXPECT_EQ(json_error(R"({"matchLabels":[]})"),
            "label selector, matchLabels: expected a mapping of label keys to values");
  EXPECT_NE(json_error(R"({"matchLabels":{"a b":"c"}})").find("no label key"), std::string::npos);
  EXPECT_NE(json_error(R"({"matchLabels":{"a":"c d"}})").find("no label value"), std::string::npos);
  EXPECT_NE(json_error(R"({"matchLabels":{"a":null}})").find("expected a string"), std::string::npos);
  const auto expression = [](std::string_view inner) {
    return json_error(fmt::format(R"({{"matchExpressions":[{}]}})", inner));
  };
  EXPECT_NE(expression("1").find("matchExpressions[0]: expected a mapping"), std::string::npos);
  EXPECT_NE(expression(R"({"operator":"In","values":["a"]})").find("\"key\" is missing"), std::string::npos);
  EXPECT_NE(expression(R"({"key":"a"})").find("\"operator\" is missing"), std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"in","values":["a"]})").find("\"in\" is no operator; expected In"),
            std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"In"})").find("values: In needs at least one value"),
            std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"In","values":[]})").find("In needs at least one value"),
            std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"Exists","values":["x"]})").find("Exists takes no values"),
            std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"In","values":"x"})").find("expected a list"), std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"In","values":[true]})")
                .find("values[0]: expected a string; put true in quotes"),
            std::string::npos);
  EXPECT_NE(expression(R"({"key":"a","operator":"Exists","value":"x"})").find("unknown key \"value\""),
            std::string::npos);
}

}  // namespace
}  // namespace hookd::cache
