// What is sent when a status loses the last member of a map (reconcile/status_write.h).
#include <gtest/gtest.h>

#include "base/json_read.h"
#include "reconcile/status_write.h"

namespace hookd::reconcile {
namespace {

struct Case {
  const char* observed;
  const char* answered;
  const char* sent;  // null: no member `status`
};

class StatusEmptied : public testing::TestWithParam<Case> {};

TEST_P(StatusEmptied, IsLeftOutOfTheApply) {
  kube::ResourceType type;
  type.group = "example.com";
  type.version = "v1";
  type.kind = "Thing";
  cache::Identity parent;
  parent.name = "a";
  parent.uid = "u";
  StatusWrites writes;
  const auto op = writes.plan(type, parent, GetParam().observed, GetParam().answered);
  ASSERT_TRUE(op);
  const auto sent = json_raw_at(op->object, {"status"});
  ASSERT_EQ(sent.has_value(), GetParam().sent != nullptr) << op->object;
  if (sent) {
    EXPECT_EQ(*sent, GetParam().sent);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, StatusEmptied,
    testing::Values(Case{R"({"status":{"account":"x"}})", "{}", nullptr},
                    Case{R"({"status":{"n":{"a":1},"m":2.50}})", R"({"n":{},"m":3.50})", R"({"m":3.50})"},
                    Case{R"({"status":{"n":{"a":{"b":1},"c":1}}})", R"({"n":{"a":{},"c":1}})", R"({"n":{"c":1}})"},
                    // Nothing was there: {} is what it says.
                    Case{R"({"status":{"m":1}})", R"({"n":{},"m":1})", R"({"n":{},"m":1})"},
                    Case{R"({"status":{"n":{}}})", R"({"n":{},"m":1})", R"({"n":{},"m":1})"},
                    Case{"{}", R"({"n":{}})", R"({"n":{}})"}));

}  // namespace
}  // namespace hookd::reconcile
