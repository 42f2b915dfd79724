#include "embedded/merge/managed_fields.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {
namespace {

TEST(ManagedScale, EntriesHaveNoTimeAndConflictsSpeakOfScale) {
  Life life{deployment(), "apps/v1", "Deployment", {}};
  life.update("a", obj("{'metadata':{'name':'x'},'spec':{'replicas':1}}"));
  auto next = life.object;
  next["spec"].as_object()["replicas"] = 2;
  life.update("hpa", next, "scale");
  EXPECT_EQ(owners(life.object), "hpa Update/scale {'f:spec':{'f:replicas':{}}}\n");
  EXPECT_EQ(life.apply("b", "{'spec':{'replicas':3}}", false, "scale"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"hpa\" with subresource \"scale\" using "
            "autoscaling/v1: .spec.replicas");
  EXPECT_EQ(life.apply("b", "{'spec':{'replicas':3}}", true, "scale"), "");
  EXPECT_EQ(owners(life.object), "b Apply/scale {'f:spec':{'f:replicas':{}}}\n");
}

}  // namespace
}  // namespace hookd::embedded
