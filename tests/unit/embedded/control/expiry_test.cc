#include "embedded/control/expiry.h"

#include <gmock/gmock.h>

#include "unit/embedded/control/world.h"

namespace hookd::embedded::control {
namespace {

constexpr std::string_view kEvent = R"({"metadata": {"name": "e", "namespace": "a"}, "reason": "Once"})";

TEST(Expiry, TakesAnEventAnHourAfterItsLastWrite) {
  World world;
  const Expiry expiry(world.context());
  world.put("events", kEvent);
  world.scheduler.advance(std::chrono::minutes(40));
  world.put("events", kEvent);
  world.scheduler.advance(std::chrono::minutes(59));
  EXPECT_TRUE(world.exists("events", "a", "e"));
  world.scheduler.advance(std::chrono::minutes(2));
  EXPECT_FALSE(world.exists("events", "a", "e"));
}

TEST(Expiry, LeavesOtherKindsAndNamesakesAlone) {
  World world;
  const Expiry expiry(world.context());
  world.put("configmaps", R"({"metadata": {"name": "e", "namespace": "a"}})");
  world.put("events", kEvent);
  world.take("events", "a", "e");
  world.scheduler.advance(std::chrono::minutes(30));
  world.put("events", R"({"metadata": {"name": "e", "namespace": "a", "uid": "new"}})");
  world.scheduler.advance(std::chrono::minutes(31));
  EXPECT_TRUE(world.exists("events", "a", "e"));
  EXPECT_TRUE(world.exists("configmaps", "a", "e"));
}

}  // namespace
}  // namespace hookd::embedded::control
