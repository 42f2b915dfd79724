#include "reconcile/status_write.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

class StatusWritesTest : public testing::Test {
 protected:
  StatusWritesTest() {
    parent.ns = "a";
    parent.name = "w";
    parent.uid = "u1";
  }
  static std::string object(std::string_view status) { return fmt::format(R"({{"spec":{{}},"status":{}}})", status); }
  bool writes(std::string_view observed, std::string_view status) {
    return statuses.plan(type, parent, object(observed), status).has_value();
  }
  void wrote(std::string_view status, std::string_view after) { statuses.wrote(parent, status, object(after)); }

  StatusWrites statuses;
  kube::ResourceType type = test::make_type("x.io", "Widget", "widgets");
  cache::Identity parent;
};

TEST_F(StatusWritesTest, IsAnApplyOfTheSubresourceBoundToTheUid) {
  const auto op = statuses.plan(type, parent, "{}", R"({"a":1.50})");
  ASSERT_TRUE(op);
  EXPECT_EQ(op->verb, apply::Verb::kApply);
  EXPECT_EQ(op->subresource, "status");
  EXPECT_TRUE(op->force);
  EXPECT_EQ(op->uid, "u1");
  EXPECT_EQ(op->object, R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w","namespace":"a","uid":"u1"},)"
                        R"("status":{"a":1.50}})");
}

TEST_F(StatusWritesTest, WhatIsThereIsNotWritten) {
  EXPECT_FALSE(writes(R"({"b":[1,{"c":null}],"a":1})", R"({"a":1.0,"b":[1,{"c":null}]})"));
  EXPECT_FALSE(statuses.plan(type, parent, "{}", "{}")) << "no status is an empty one";
  EXPECT_TRUE(writes(R"({"a":1})", R"({"a":2})"));
  EXPECT_TRUE(writes(R"({"a":"1"})", R"({"a":1})"));
}

TEST_F(StatusWritesTest, WhatTheServerMadeOfItIsNoDifference) {
  ASSERT_TRUE(writes("{}", R"({"cpu":"1000m"})"));
  wrote(R"({"cpu":"1000m"})", R"({"cpu":"1","phase":"default"})");
  EXPECT_FALSE(writes(R"({"cpu":"1","phase":"default"})", R"({"cpu":"1000m"})"));
  EXPECT_TRUE(writes(R"({"cpu":"2","phase":"default"})", R"({"cpu":"1000m"})")) << "somebody changed it";
}

TEST_F(StatusWritesTest, KeysOfOthersStayWithoutAWrite) {
  wrote(R"({"a":1})", R"({"a":1})");
  EXPECT_FALSE(writes(R"({"a":1,"theirs":{"x":1}})", R"({"a":1})"));
}

TEST_F(StatusWritesTest, AKeyThatIsNoLongerSetIsWrittenAway) {
  wrote(R"({"a":1,"b":2})", R"({"a":1,"b":2})");
  EXPECT_TRUE(writes(R"({"a":1,"b":2})", R"({"a":1})"));
  EXPECT_TRUE(writes(R"({"a":1,"b":2})", R"({})"));
}

TEST_F(StatusWritesTest, AfterARestartMoreThanIsWantedIsWrittenOnce) {
  EXPECT_TRUE(writes(R"({"a":1,"b":2})", R"({"a":1})")) << "b may have been ours";
  wrote(R"({"a":1})", R"({"a":1,"b":2})");
  EXPECT_FALSE(writes(R"({"a":1,"b":2})", R"({"a":1})"));
}

TEST_F(StatusWritesTest, AListThatLostAnEntryIsWritten) {
  wrote(R"({"l":[1,2]})", R"({"l":[1,2]})");
  EXPECT_TRUE(writes(R"({"l":[1]})", R"({"l":[1,2]})"));
}

TEST_F(StatusWritesTest, ANamesakeIsAnother) {
  wrote(R"({"a":1})", R"({"a":1})");
  parent.uid = "u2";
  EXPECT_TRUE(writes("{}", R"({"a":1})"));
}

TEST(SameJson, ComparesValues) {
  EXPECT_TRUE(same_json(R"({"a":1,"b":[true]})", R"({ "b":[true], "a":1e0})"));
  EXPECT_FALSE(same_json("9007199254740993", "9007199254740992"));
  EXPECT_TRUE(same_json("18446744073709551615", "18446744073709551615"));
  EXPECT_FALSE(same_json("{", "{"));
  EXPECT_TRUE(holds_json(R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1}})"));
  EXPECT_FALSE(holds_json(R"({"a":{"b":1}})", R"({"a":{"b":1,"c":2}})"));
  EXPECT_FALSE(holds_json("[1,2]", "[1]"));
}

}  // namespace
}  // namespace hookd::reconcile
