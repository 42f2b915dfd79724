#include "compat/metacontroller/value.h"

#include "unit/compat/metacontroller/values.h"

namespace hookd::metacontroller {
namespace {

using test::json;

TEST(Value, KeepsEveryDigit) {
  const std::string text = R"({"a":12345678901234567890123,"b":0.10,"c":1e400,"d":-0,"e":[9007199254740993]})";
  EXPECT_EQ(json(text).to_json(), text);
}

TEST(Value, NumbersAreEqualByValue) {
  EXPECT_EQ(json("1"), json("1.0"));
  EXPECT_EQ(json("1e3"), json("1000"));
  EXPECT_EQ(json("0"), json("-0"));
  EXPECT_NE(json("9007199254740993"), json("9007199254740992"));
  EXPECT_NE(json("1"), json("\"1\""));
}

TEST(Value, OrderOfMembersDoesNotCountButThatOfItemsDoes) {
  EXPECT_EQ(json(R"({"a":1,"b":{"c":2,"d":3}})"), json(R"({"b":{"d":3,"c":2},"a":1})"));
  EXPECT_NE(json("[1,2]"), json("[2,1]"));
  EXPECT_NE(json(R"({"a":1})"), json(R"({"a":1,"b":null})"));
}

TEST(Value, SortedTextIsTheSameForEqualObjects) {
  EXPECT_EQ(json(R"({"b":{"d":3,"c":"x\u0041\n"},"a":1})").to_json(true), R"({"a":1,"b":{"c":"xA\n","d":3}})");
}

TEST(Value, RefusesWhatIsNoJsonTwiceAKeyAndTooDeep) {
  EXPECT_FALSE(Value::parse(""));
  EXPECT_FALSE(Value::parse("   "));
  EXPECT_FALSE(Value::parse("{"));
  EXPECT_FALSE(Value::parse(R"({"a":1,"a":2})"));
  EXPECT_FALSE(Value::parse(R"({"x":{"a":1,"a":2}})"));
  EXPECT_TRUE(Value::parse(std::string(200, '[') + std::string(200, ']')));
  EXPECT_FALSE(Value::parse(std::string(300, '[') + std::string(300, ']')));
}

TEST(Value, MembersAreSetAndTaken) {
  Value value = json(R"({"a":{"b":"x"}})");
  EXPECT_EQ(value.text_at({"a", "b"}), "x");
  EXPECT_EQ(value.text_at({"a", "c"}), "");
  EXPECT_EQ(value.at_path({"a", "b", "c"}), nullptr);
  value.at("a").set("c", Value::string("y\"z"));
  value.find("a")->erase("b");
  EXPECT_EQ(value.to_json(), R"({"a":{"c":"y\"z"}})");
}

}  // namespace
}  // namespace hookd::metacontroller
