#include <gmock/gmock.h>

#include <limits>

#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd {
namespace {

using testing::HasSubstr;

TEST(JsonString, EscapesWhatJsonAsksFor) {
  EXPECT_EQ(json_string("a\"b\\c\nd\re\tf"), R"("a\"b\\c\nd\re\tf")");
  EXPECT_EQ(json_string(std::string_view("\0\x01\x1f", 3)), R"("\u0000\u0001\u001f")");
  EXPECT_EQ(json_string("grüße 😀"), "\"grüße 😀\"");
  EXPECT_EQ(json_string(""), "\"\"");
}

TEST(JsonString, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  constexpr std::string_view kMark = "\xEF\xBF\xBD";
  const auto marks = [&](size_t count) {
    std::string text = "\"";
    for (size_t i = 0; i < count; ++i) text += kMark;
    return text + "\"";
  };
  EXPECT_EQ(json_string("\xff"), marks(1));
  EXPECT_EQ(json_string("\xc3"), marks(1));              // cut
  EXPECT_EQ(json_string("\xc0\x80"), marks(2));          // overlong
  EXPECT_EQ(json_string("\xed\xa0\x80"), marks(3));      // a surrogate
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), marks(4));  // above U+10FFFF
  EXPECT_EQ(json_string("\xf0\x8f\xbf\xbf"), marks(4));  // overlong
  EXPECT_EQ(json_string("\xe2\x82"), marks(2));
  for (const std::string_view text : {"\xff", "\xe2\x82", "\xc0\x80"}) EXPECT_TRUE(is_utf8(json_string(text)));
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  JsonWriter out;
  out.begin_object()
      .key("a")
      .number(int64_t{-5})
      .key("b")
      .begin_array()
      .string("x")
      .null()
      .boolean(true)
      .raw("{\"r\":1}")
      .end_array();
  out.key("c").begin_object().end_object().key("d").begin_array().end_array().key("e").number(0.5).end_object();
  EXPECT_EQ(std::move(out).take(), R"({"a":-5,"b":["x",null,true,{"r":1}],"c":{},"d":[],"e":0.5})");
}

TEST(JsonWriter, NumbersThatJsonDoesNotHaveBecomeNull) {
  JsonWriter out;
  out.begin_array()
      .number(std::numeric_limits<double>::infinity())
      .number(std::numeric_limits<double>::quiet_NaN())
      .number(1e300);
  out.number(std::numeric_limits<int64_t>::min()).end_array();
  EXPECT_EQ(out.text(), "[null,null,1e+300,-9223372036854775808]");
  EXPECT_TRUE(validate_json(out.text()));
}

TEST(JsonWriter, MayBeDrainedInPieces) {
  JsonWriter out;
  std::string all;
  out.begin_array();
  for (int i = 0; i < 3; ++i) {
    out.number(int64_t{i});
    all += out.text();
    out.text().clear();
  }
  out.end_array();
  EXPECT_EQ(all + out.text(), "[0,1,2]");
}

constexpr std::string_view kPod =
    R"({ "metadata" : {"name":"a\u0062c", "labels": { "x" : "1" } , "n": 12345678901234567890123 , "list":[1, 2]}, "z": null })";

TEST(JsonRawAt, GivesTheTextAsItStands) {
  EXPECT_EQ(json_raw_at(kPod, {"metadata", "labels"}), R"({ "x" : "1" })");
  EXPECT_EQ(json_raw_at(kPod, {"metadata", "n"}), "12345678901234567890123");  // every digit
  EXPECT_EQ(json_raw_at(kPod, {"metadata", "list"}), "[1, 2]");
  EXPECT_EQ(json_raw_at(kPod, {"metadata", "name"}), R"("a\u0062c")");
  EXPECT_EQ(json_raw_at(kPod, {"z"}), "null");
  const auto raw = json_raw_at(kPod, {"metadata", "list"});
  EXPECT_TRUE(raw->data() > kPod.data() && raw->data() < kPod.data() + kPod.size());  // a view into it
}

TEST(JsonRawAt, IsEmptyWhereThePathDoesNotLead) {
  EXPECT_FALSE(json_raw_at(kPod, {"metadata", "missing"}));
  EXPECT_FALSE(json_raw_at(kPod, {"metadata", "name", "deeper"}));
  EXPECT_FALSE(json_raw_at("", {"a"}));
  EXPECT_FALSE(json_raw_at("[1]", {"a"}));
  EXPECT_FALSE(json_raw_at("{\"a\":", {"a"}));
}

TEST(JsonStringAt, DecodesStringsOnly) {
  EXPECT_EQ(json_string_at(kPod, {"metadata", "name"}), "abc");
  EXPECT_FALSE(json_string_at(kPod, {"metadata", "n"}));
  EXPECT_FALSE(json_string_at(R"({"a":"\ud800"})", {"a"}));  // half a surrogate pair
}

TEST(ParseJson, SaysWhereItIsBroken) {
  const auto parsed = parse_json("{\n \"a\": 1,\n \"b\" 2}");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Errc::kDecode);
  EXPECT_THAT(parsed.error().what, HasSubstr("line 3, column"));
}

TEST(ParseJson, TakesOneWholeValueWithSpaceAroundIt) {
  EXPECT_TRUE(parse_json(" {\"a\":[1,2]} \n"));
  EXPECT_TRUE(parse_json("12"));
  EXPECT_FALSE(parse_json("12 13"));
  EXPECT_FALSE(parse_json("{} x"));
  EXPECT_FALSE(parse_json(""));
  EXPECT_FALSE(parse_json("  "));
  EXPECT_FALSE(parse_json("{\"a\":"));
}

TEST(ParseJson, HasBoundsOfDepthAndSize) {
  const std::string deep(300, '['), bottom(300, ']');
  EXPECT_FALSE(parse_json(deep + bottom));
  EXPECT_TRUE(parse_json(deep.substr(100) + bottom.substr(100)));
  const auto large = parse_json("[1,2,3,4]", 4);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_THAT(large.error().what, HasSubstr("9 bytes, at most 4"));
}

TEST(ValidateJson, AsksForOneWholeValue) {
  EXPECT_TRUE(validate_json(" {\"a\":[1,2,{}]} "));
  EXPECT_TRUE(validate_json("12"));
  for (const std::string_view text : {"", "{", "{}{}", "[1,]", "nul", "{\"a\":1} x", "'a'"})
    EXPECT_FALSE(validate_json(text)) << text;
  EXPECT_FALSE(validate_json("[[[]]]", 2));
}

}  // namespace
}  // namespace hookd
