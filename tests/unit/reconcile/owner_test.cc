#include "reconcile/owner.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

constexpr char kOther[] = R"({"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"u9","blockOwnerDeletion":1.50})";

std::string owned(std::string_view references) {
  return test::object_json(test::pods(), "a", "x", "u1", fmt::format(R"("ownerReferences":{})", references));
}

TEST(ControllerOf, IsTheOneThatSaysSo) {
  const Owner owner{"ex.com/v1", "Memcached", "m", "u2"};
  const std::string ours = R"({"apiVersion":"ex.com/v1","kind":"Memcached","name":"m","uid":"u2","controller":true})";
  EXPECT_EQ(controller_of(owned(fmt::format("[{},{}]", kOther, ours))), owner);
  EXPECT_EQ(controller_of(owned(fmt::format("[{}]", kOther))), std::nullopt);
  EXPECT_EQ(controller_of(owned(R"([{"kind":"A","uid":"u","controller":false}])")), std::nullopt);
}

TEST(ControllerOf, IsNoneWhereNothingCanBeRead) {
  for (const char* references : {"[]", "null", "{}", "\"x\"", "[1,null]", "[{}]"})
    EXPECT_EQ(controller_of(owned(references)), std::nullopt) << references;
  EXPECT_EQ(controller_of(test::object_json(test::pods(), "a", "x", "u1")), std::nullopt);
  EXPECT_EQ(controller_of("no JSON with \"ownerReferences\""), std::nullopt);
  EXPECT_EQ(controller_of(""), std::nullopt);
}

TEST(OwnerReference, HoldsWhatTheGarbageCollectorAndPeopleNeed) {
  const auto parent = test::make_object("a", "my\"parent", "u2", "1");
  EXPECT_EQ(owner_reference(test::deployments(), *parent),
            R"({"apiVersion":"apps/v1","kind":"Deployment","name":"my\"parent","uid":"u2","controller":true,)"
            R"("blockOwnerDeletion":true})");
}

TEST(WithOwner, KeepsEveryByteOfOthers) {
  EXPECT_EQ(with_owner(owned(fmt::format("[ {} ]", kOther)), "{\"new\":1}", "u2"),
            fmt::format("[{},{{\"new\":1}}]", kOther));
  EXPECT_EQ(with_owner(owned("null"), "{\"new\":1}", "u2"), "[{\"new\":1}]");
  EXPECT_EQ(with_owner("{}", "{\"new\":1}", "u2"), "[{\"new\":1}]");
}

TEST(WithOwner, ReplacesTheOneOfTheSameUidInItsPlace) {
  const std::string old = R"({"uid":"u2","controller":false})";
  EXPECT_EQ(with_owner(owned(fmt::format("[{},{},{}]", old, kOther, old)), "{\"new\":1}", "u2"),
            fmt::format("[{{\"new\":1}},{}]", kOther));
}

TEST(WithoutOwner, TakesOneOutAndKeepsEveryByteOfOthers) {
  EXPECT_EQ(without_owner(owned(fmt::format(R"([{{"uid":"u2"}}, {}])", kOther)), "u2"), fmt::format("[{}]", kOther));
  EXPECT_EQ(without_owner(owned(R"([{"uid":"u2"}])"), "u2"), "[]");
  EXPECT_EQ(without_owner("{}", "u2"), "[]");
}

}  // namespace
}  // namespace hookd::reconcile
