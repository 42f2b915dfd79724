#include "rehearsal/hook_faults.h"

#include <gtest/gtest.h>

namespace hookd::rehearsal {
namespace {

TEST(HookFaults, TheNextCallsOfThatHookFailSoManyTimes) {
  HookFaults faults;
  hook::Call call, other;
  call.hook = "h";
  other.hook = "other";
  EXPECT_EQ(faults.next(call), std::nullopt);
  faults.fail_next("h", 75, 2);
  EXPECT_EQ(faults.next(other), std::nullopt);
  EXPECT_EQ(faults.next(call), 75);
  EXPECT_EQ(faults.next(call), 75);
  EXPECT_EQ(faults.next(call), std::nullopt);
}

}  // namespace
}  // namespace hookd::rehearsal
