#include "embedded/wire/json_text.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

TEST(JsonText, KeepsNumbersExactly) {
  for (const std::string text : {"0.7", "0.1", "1.5", "-3", "18446744073709551615", "9223372036854775807", "100000",
                                 "1e-7", "1e+21", "0.30000000000000004", "123456.789"}) {
    const auto value = parse_text(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(to_text(*value), text);
  }
}

TEST(JsonText, TheLastOfDuplicateKeysWins) {
  EXPECT_EQ(to_text(*parse_text(R"({"a":1,"b":2,"a":3})")).find("\"a\":3") != std::string::npos, true);
}

struct Broken {
  const char *text, *told;
};
class JsonSyntax : public ::testing::TestWithParam<Broken> {};
TEST_P(JsonSyntax, IsToldInGosWords) {
  const auto value = parse_text(GetParam().text);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error(), GetParam().told);
}
INSTANTIATE_TEST_SUITE_P(
    All, JsonSyntax,
    ::testing::Values(Broken{"", "unexpected end of JSON input"},
                      Broken{"abc", "invalid character 'a' looking for beginning of value"},
                      Broken{R"({"a":)", "unexpected end of JSON input"},
                      Broken{R"({"a" 1})", "invalid character '1' after object key"},
                      Broken{R"({"a":1 "b"})", "invalid character '\"' after object key:value pair"},
                      Broken{R"({a:1})", "invalid character 'a' looking for beginning of object key string"},
                      Broken{R"({"a":1,})", "invalid character '}' looking for beginning of object key string"},
                      Broken{"[1 2]", "invalid character '2' after array element"},
                      Broken{"[1,]", "invalid character ']' looking for beginning of value"},
                      Broken{"{} x", "invalid character 'x' after top-level value"},
                      Broken{"trux", "invalid character 'x' in literal true (expecting 'e')"},
                      Broken{"nul", "invalid character ' ' in literal null (expecting 'l')"},
                      Broken{"-", "invalid character ' ' in numeric literal"},
                      Broken{"1.x", "invalid character 'x' after decimal point in numeric literal"},
                      Broken{"1ex", "invalid character 'x' in exponent of numeric literal"},
                      Broken{"\"a\nb\"", "invalid character '\\n' in string literal"},
                      Broken{R"("\x")", "invalid character 'x' in string escape code"},
                      Broken{R"("\u12x4")", "invalid character 'x' in \\u hexadecimal character escape"}));

TEST(JsonText, WhatIsNoUnicodeBecomesTheReplacementCharacter) {
  const auto read = [](std::string_view text) { return to_text(parse_text(text).value_or("refused")); };
  EXPECT_EQ(read(R"("\ud800")"), "\"\uFFFD\"");
  EXPECT_EQ(read(R"("x\udc00y")"), "\"x\uFFFDy\"");
  EXPECT_EQ(read(R"("\ud800\u0041")"), "\"\uFFFDA\"");
  EXPECT_EQ(read(R"("\ud800\ud83d\ude00")"), "\"\uFFFD\U0001F600\"");
  EXPECT_EQ(read(R"(["\\ud800","\ud800"])"), "[\"\\\\ud800\",\"\uFFFD\"]") << "an escaped backslash begins nothing";
  EXPECT_EQ(read("{\"a\":\"\xff\xc3\xa4\xc3\"}"), "{\"a\":\"\uFFFD\u00E4\uFFFD\"}");
  EXPECT_EQ(read("\"\xed\xa0\x80\""), "\"\uFFFD\uFFFD\uFFFD\"");
}

TEST(JsonText, RefusesNumbersBeyondADouble) {
  for (const std::string number : {"1e999", "-1e999"}) {
    const auto value = parse_text("{\"a\":[1," + number + "]}");
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error(), "json: cannot unmarshal number " + number + " into Go value of type float64");
  }
  EXPECT_EQ(to_text(*parse_text("1e-999")), "0");
}

TEST(JsonText, RefusesWhatIsNestedTooDeep) {
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  const auto value = parse_text(deep);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error(), "exceeded max depth");
}

TEST(JsonText, WhatIsNoUtf8BecomesAReplacement) {
  EXPECT_EQ(to_utf8("a \xC3\xBC \xF0\x9F\x98\x80"), "a \xC3\xBC \xF0\x9F\x98\x80");
  EXPECT_EQ(to_utf8("a\xFF"
                    "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(to_utf8("\xC0\xAF\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_utf8(""), "");
}

TEST(Yaml, IsSortedAndQuotesWhatWouldNotStayText) {
  EXPECT_EQ(to_yaml(*parse_text(R"({"b":{"x":"true","w":[1,{"k":"v","j":null}]},"a":"plain text","c":[],"d":"1.5"})")),
            "a: plain text\nb:\n  w:\n  - 1\n  - j: null\n    k: v\n  x: \"true\"\nc: []\nd: \"1.5\"\n");
}

TEST(Pretty, IndentsByTwo) {
  EXPECT_EQ(to_pretty(R"({"a":[1,{}],"b":"x:{"})"), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x:{\"\n}");
}

}  // namespace
}  // namespace hookd::embedded
