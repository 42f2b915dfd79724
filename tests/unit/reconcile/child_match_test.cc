#include "reconcile/child_match.h"

#include <gtest/gtest.h>

#include <string>

namespace hookd::reconcile {
namespace {

constexpr Doubt kBoth[] = {Doubt::kDiffers, Doubt::kSame};

std::string of(std::string_view spec) { return R"({"kind":"A","spec":)" + std::string(spec) + "}"; }
bool strict(std::string_view wanted, std::string_view found) {
  return is_as_wanted(of(wanted), of(found), Doubt::kDiffers);
}
bool lenient(std::string_view wanted, std::string_view found) {
  return is_as_wanted(of(wanted), of(found), Doubt::kSame);
}

TEST(IsAsWanted, WhatTheManifestDoesNotSayIsOtherPeoples) {
  for (const Doubt doubt : kBoth) {
    EXPECT_TRUE(is_as_wanted(of(R"({"a":1,"b":{"c":"x"}})"), of(R"({"a":1,"b":{"c":"x","d":2},"e":[1]})"), doubt));
    EXPECT_TRUE(is_as_wanted(of(R"({"a":null})"), of("{}"), doubt));
    EXPECT_TRUE(is_as_wanted(of(R"({"a":1.0})"), of(R"({"a":1})"), doubt));
    EXPECT_FALSE(is_as_wanted(of(R"({"a":1})"), of(R"({"a":2})"), doubt));
    EXPECT_FALSE(is_as_wanted(of(R"({"a":"1"})"), of(R"({"a":1})"), doubt));
    EXPECT_FALSE(is_as_wanted(of(R"({"b":{"c":"x"}})"), of(R"({"b":{"d":"x"}})"), doubt));
    EXPECT_FALSE(is_as_wanted(of(R"({"b":{"c":"x"}})"), of(R"({"b":["c"]})"), doubt));
  }
}

TEST(IsAsWanted, ListsHaveToBeEqualElementByElement) {
  for (const Doubt doubt : kBoth) {
    EXPECT_TRUE(is_as_wanted(of("[1,2]"), of("[1,2]"), doubt));
    EXPECT_FALSE(is_as_wanted(of("[1,2]"), of("[2,1]"), doubt));
    EXPECT_FALSE(is_as_wanted(of("[1]"), of("[1,2]"), doubt));
    EXPECT_FALSE(is_as_wanted(of("[1,2]"), of("[1]"), doubt));
    EXPECT_TRUE(is_as_wanted(of(R"([{"name":"a"}])"), of(R"([{"name":"a","image":"x"}])"), doubt));
  }
}

TEST(IsAsWanted, OthersMayAddToListsOfNamedMapsWhenADeletionWouldFollow) {
  EXPECT_FALSE(strict(R"([{"name":"a"}])", R"([{"name":"proxy"},{"name":"a","image":"x"}])"));
  EXPECT_TRUE(lenient(R"([{"name":"a"}])", R"([{"name":"proxy"},{"name":"a","image":"x"}])"));
  EXPECT_FALSE(lenient(R"([{"name":"a","image":"y"}])", R"([{"name":"proxy"},{"name":"a","image":"x"}])"));
  EXPECT_FALSE(lenient(R"([{"name":"a"},{"name":"b"}])", R"([{"name":"a"}])"));
  // The port stands twice (TCP and UDP): the list is no map by it, but it is one by the names.
  EXPECT_TRUE(lenient(R"([{"port":53,"name":"u"},{"port":53,"name":"t"}])",
                      R"([{"port":53,"name":"t"},{"port":53,"name":"u"}])"));
  EXPECT_FALSE(lenient(R"([{"port":53},{"port":53}])", R"([{"port":53}])"));
}

TEST(IsAsWanted, ZeroValuesMayBeLeftOutByTheServerWhenADeletionWouldFollow) {
  for (const char* zero : {"false", "0", "\"\"", "[]", "{}"}) {
    EXPECT_TRUE(lenient(fmt::format(R"({{"a":{}}})", zero), "{}")) << zero;
    EXPECT_FALSE(strict(fmt::format(R"({{"a":{}}})", zero), "{}")) << zero;
  }
  EXPECT_FALSE(lenient(R"({"a":true})", "{}"));
}

TEST(IsAsWanted, EmptyValuesAreNoReasonForADeletion) {
  for (const char* empty : {"null", "\"\"", "[]", "{}"}) {
    const std::string wanted = fmt::format(R"({{"volumeName":{}}})", empty);
    for (const char* found :
         {R"({"volumeName":"pv"})", R"({"volumeName":["pv"]})", R"({"volumeName":{"pv":1}})", "{}"}) {
      EXPECT_TRUE(lenient(wanted, found)) << wanted << found;
      EXPECT_EQ(what_is_set(of(wanted), of(found)), what_is_set(of(wanted), of("{}")));
    }
  }
  EXPECT_FALSE(strict(R"({"volumeName":""})", R"({"volumeName":"pv"})"));
  EXPECT_NE(what_is_set(of(R"({"replicas":0})"), of(R"({"replicas":0})")),
            what_is_set(of(R"({"replicas":0})"), of(R"({"replicas":3})")));
}

TEST(IsAsWanted, DoubtGoesToTheHarmlessSide) {
  const std::string old = R"({"apiVersion":"x/v1beta1","spec":1})", now = R"({"apiVersion":"x/v1","spec":2})";
  for (const auto& [manifest, object] : {std::pair{old, now}, {std::string("no"), now}, {now, std::string("no")}}) {
    EXPECT_FALSE(is_as_wanted(manifest, object, Doubt::kDiffers));
    EXPECT_TRUE(is_as_wanted(manifest, object, Doubt::kSame));
  }
}

TEST(IsAsWanted, FinalizersAreASetAndOwnersAndOurMarkAreNotLookedAt) {
  const std::string manifest = R"({"metadata":{"name":"x","finalizers":["a"],"ownerReferences":[{"uid":"1"}],)"
                               R"("annotations":{"hookd.dev/manifest-hash":"1-aa","k":"v"}}})";
  for (const Doubt doubt : kBoth) {
    EXPECT_TRUE(
        is_as_wanted(manifest, R"({"metadata":{"name":"x","finalizers":["b","a"],"annotations":{"k":"v"}}})", doubt));
    EXPECT_FALSE(
        is_as_wanted(manifest, R"({"metadata":{"name":"x","finalizers":["b"],"annotations":{"k":"v"}}})", doubt));
  }
}

TEST(WhatIsSet, FollowsTheManifestsFieldsAlone) {
  const std::string manifest = of(R"({"a":"1000m","list":[{"name":"a","v":1}],"gone":5})");
  const auto base = what_is_set(manifest, of(R"({"a":"1","list":[{"name":"a","v":1}]})"));
  ASSERT_TRUE(base);
  EXPECT_EQ(base, what_is_set(manifest, of(R"({"b":7,"list":[{"name":"p"},{"name":"a","v":1,"w":2}],"a":"1"})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"a":"2","list":[{"name":"a","v":1}]})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"a":"1","list":[{"name":"a","v":2}]})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"a":"1","list":[{"name":"b","v":1}]})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"a":"1","list":[{"name":"a","v":1}],"gone":5})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"list":[{"name":"a","v":1}]})")));
}

TEST(WhatIsSet, PlainListsCountAsAWhole) {
  const std::string manifest = of(R"({"args":["a","b"]})");
  const auto base = what_is_set(manifest, of(R"({"args":["a","b"]})"));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"args":["a","b","c"]})")));
  EXPECT_NE(base, what_is_set(manifest, of(R"({"args":["a"]})")));
  EXPECT_EQ(base, what_is_set(of(R"({"args":["x","y"]})"), of(R"({"args":["a","b"]})")));
}

TEST(WhatIsSet, IsUnknownWhereNothingCanBeCompared) {
  EXPECT_FALSE(what_is_set("no", "{}"));
  EXPECT_FALSE(what_is_set("{}", "no"));
  EXPECT_FALSE(what_is_set(R"({"apiVersion":"v1"})", R"({"apiVersion":"v2"})"));
}

}  // namespace
}  // namespace hookd::reconcile
