// The grammar of RFC 8259, in pieces of any size.
#include "base/json_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace hookd {
namespace {

// Is `text` one whole JSON value when it arrives in pieces split at `split`?
bool accepts(std::string_view text, size_t split) {
  JsonScanner scanner;
  size_t taken = 0;
  for (const auto piece : {text.substr(0, split), text.substr(split)}) {
    const auto used = scanner.feed(piece);
    if (!used) return false;
    taken += *used;
    if (*used < piece.size()) break;
  }
  if (!scanner.finish()) return false;
  return text.substr(taken).find_first_not_of(" \t\r\n") == std::string_view::npos;
}

const std::string kGood[] = {"{}",
                             "[]",
                             "null",
                             "true",
                             "false",
                             "0",
                             "-0",
                             "7",
                             "-7",
                             "10",
                             "1.5",
                             "-0.1",
                             "1e3",
                             "1E+3",
                             "1.0e-10",
                             "0e0",
                             "123456789012345678901234567890",
                             "\"\"",
                             "\"a\"",
                             R"("\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\uFFFF")",
                             "\"\x7f é 😀\"",
                             R"({"a":1})",
                             R"({"":0})",
                             R"({"a":{"b":[{}]},"c":[[],{}]})",
                             "[1,2,3]",
                             "[[[[]]]]",
                             " { \"a\" : [ 1 , 2 ] } ",
                             "\t\r\n[\n]\n",
                             R"({"a":1,"a":2})",
                             R"(["\\"])",
                             R"({"\\":"\""})",
                             "[-1,0.0,true,null]",
                             "[0,-0]"};

const std::string kBad[] = {"",
                            " ",
                            "{",
                            "}",
                            "[",
                            "]",
                            "{]",
                            "[}",
                            "[1,]",
                            "[,1]",
                            "[,]",
                            "[1 2]",
                            "[1,,2]",
                            "{,}",
                            "{\"a\"}",
                            "{\"a\":}",
                            "{\"a\":1,}",
                            "{\"a\" 1}",
                            "{\"a\":1 \"b\":2}",
                            "{a:1}",
                            "{1:2}",
                            "{'a':1}",
                            "{\"a\":1,,\"b\":2}",
                            "{:1}",
                            "nul",
                            "nulL",
                            "NULL",
                            "truE",
                            "fals",
                            "tru e",
                            "nulll",
                            "True",
                            "None",
                            "undefined",
                            "NaN",
                            "Infinity",
                            "-Infinity",
                            "01",
                            "-01",
                            "00",
                            "-",
                            "+1",
                            "1.",
                            ".5",
                            "-.5",
                            "1.e3",
                            "1e",
                            "1e+",
                            "1E-",
                            "0x10",
                            "1_000",
                            "--1",
                            "1-",
                            "1.2.3",
                            "\"",
                            "\"a",
                            "\"\\\"",
                            "\"\\x\"",
                            "\"\\u\"",
                            "\"\\u12\"",
                            "\"\\u12g4\"",
                            "\"\\U0041\"",
                            "\"\n\"",
                            "\"\t\"",
                            std::string("\"\0\"", 3),
                            "\"\x1f\"",
                            "'a'",
                            "// x",
                            "/* */ 1",
                            "[1]x",
                            "{}{}",
                            "1 2",
                            "\xEF\xBB\xBF{}",
                            "\v1",
                            "\f1",
                            "\xA0 1",
                            "[\"a\",\n4\n,1,",
                            "[\"\\",
                            "{\"a\":[}",
                            "[{\"a\":1]}"};

TEST(JsonScanner, TakesWhatIsJsonSplitAnywhere) {
  for (const auto& text : kGood)
    for (size_t split = 0; split <= text.size(); ++split) EXPECT_TRUE(accepts(text, split)) << text << " at " << split;
}

TEST(JsonScanner, RefusesWhatIsNotSplitAnywhere) {
  for (const auto& text : kBad)
    for (size_t split = 0; split <= text.size(); ++split) EXPECT_FALSE(accepts(text, split)) << text << " at " << split;
}

TEST(JsonScanner, FindsTheEndOfAValueByteByByte) {
  for (const auto& text : kGood) {
    const bool bracketed = text.find_first_of("{[\"") != std::string::npos;
    if (!bracketed) continue;  // a number or literal may go on
    JsonScanner scanner;
    const std::string stream = text + "[rest";
    size_t taken = 0;
    while (!scanner.done()) {
      ASSERT_LT(taken, stream.size()) << text;
      const auto used = scanner.feed(std::string_view(stream).substr(taken, 1));
      ASSERT_TRUE(used) << text;
      taken += *used;
    }
    EXPECT_EQ(stream.substr(taken).substr(stream.substr(taken).find('[')), "[rest") << text;
    EXPECT_EQ(*scanner.feed("more"), 0U);  // nothing is taken behind the end
  }
}

TEST(JsonScanner, ANumberEndsWhereSomethingElseBegins) {
  JsonScanner scanner;
  EXPECT_EQ(*scanner.feed("12"), 2U);
  EXPECT_FALSE(scanner.done());
  EXPECT_EQ(*scanner.feed("3 {"), 1U);
  EXPECT_TRUE(scanner.done());
}

TEST(JsonScanner, ErrorsSayWhere) {
  JsonScanner scanner;
  ASSERT_TRUE(scanner.feed("[1,2,"));
  const auto result = scanner.feed("3,x]");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kDecode);
  EXPECT_EQ(result.error().what, "unexpected byte 0x78 at byte 7");
}

TEST(JsonScanner, DepthIsBounded) {
  JsonScanner deep(100);
  EXPECT_TRUE(deep.feed(std::string(100, '[')));
  EXPECT_EQ(deep.depth(), 100U);
  EXPECT_FALSE(deep.feed("["));
  JsonScanner objects(2);
  EXPECT_FALSE(objects.feed(R"({"a":{"b":{)"));
}

TEST(JsonScanner, ResetBeginsAnew) {
  JsonScanner scanner;
  ASSERT_TRUE(scanner.feed(R"({"a":[1,"x\)"));
  scanner.reset();
  EXPECT_EQ(scanner.depth(), 0U);
  EXPECT_FALSE(scanner.started());
  ASSERT_TRUE(scanner.feed("[]"));
  EXPECT_TRUE(scanner.done());
}

}  // namespace
}  // namespace hookd
