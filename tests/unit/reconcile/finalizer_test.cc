#include "reconcile/finalizer.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const kube::ResourceType kType = test::make_type("x.io", "Widget", "widgets");
std::string object(std::string_view meta) {
  return test::object_json(kType, "a", "w", "u1",
                           fmt::format("\"resourceVersion\":\"7\"{}{}", meta.empty() ? "" : ",", meta));
}

TEST(Finalizer, IsReadFromWhateverStandsThere) {
  EXPECT_THAT(finalizers_of(object(R"("finalizers":["a/b","c/d"])")), ElementsAre("a/b", "c/d"));
  for (const std::string_view other : {"", R"("finalizers":null)", R"("finalizers":{})", R"("finalizers":[])"})
    EXPECT_THAT(finalizers_of(object(other)), IsEmpty()) << other;
  EXPECT_FALSE(has_finalizer(object(R"("finalizers":["a/bc"])"), "a/b"));
  EXPECT_TRUE(is_ending(object(R"("deletionTimestamp":"2026-01-01T00:00:00Z")")));
  EXPECT_FALSE(is_ending(object(R"("deletionTimestamp":null)")));
  EXPECT_TRUE(children_are_left_to_the_collector(object(R"("finalizers":["foregroundDeletion"])")));
  EXPECT_TRUE(children_are_left_to_the_collector(object(R"("finalizers":["x/y","orphan"])")));
  EXPECT_FALSE(children_are_left_to_the_collector(object(R"("finalizers":["x/y"])")));
}

TEST(Finalizer, ThePatchKeepsThoseOfOthersAndIsBoundToWhatWasSeen) {
  const auto put = put_finalizer(kType, object(R"("finalizers":["c/d"])"), "a/b");
  EXPECT_EQ(put.verb, apply::Verb::kMergePatch);
  EXPECT_EQ(put.patch, R"({"metadata":{"finalizers":["c/d","a/b"]}})");
  EXPECT_EQ(put.uid, "u1");
  EXPECT_EQ(put.resource_version, "7");
  EXPECT_EQ(put.display(), "Widget a/w");
  EXPECT_EQ(put.describe(), "put finalizer a/b on Widget a/w");
  EXPECT_EQ(take_finalizer(kType, object(R"("finalizers":["c/d","a/b"])"), "a/b").patch,
            R"({"metadata":{"finalizers":["c/d"]}})");
  EXPECT_EQ(take_finalizer(kType, object(R"("finalizers":["a/b"])"), "a/b").patch,
            R"({"metadata":{"finalizers":null}})");
}

}  // namespace
}  // namespace hookd::reconcile
