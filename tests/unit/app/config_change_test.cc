#include "app/config_change.h"

#include <gmock/gmock.h>

namespace hookd::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ConfigChange, TellsWhatCountsAtOnceFromWhatNeedsARestart) {
  config::DaemonConfig now, next;
  EXPECT_FALSE(compare(now, next).any());
  next.log_level = log::Level::kDebug;
  next.concurrency = 3;
  next.hooks = {"/h"};
  next.listen = ":1";
  next.kube.qps = 1;
  const auto change = compare(now, next);
  EXPECT_THAT(change.at_once, ElementsAre("hooks", "log.level", "concurrency"));
  EXPECT_THAT(change.restart, ElementsAre("listen", "kube.qps"));
}

TEST(ConfigChange, KeepsWhatNeedsARestart) {
  config::DaemonConfig now, next;
  now.listen = ":1";
  next.listen = ":2";
  next.state_dir = "/s";
  next.concurrency = 3;
  const auto result = applied(now, next);
  EXPECT_EQ(result.listen, ":1");
  EXPECT_EQ(result.state_dir, "");
  EXPECT_EQ(result.concurrency, 3);
  EXPECT_THAT(compare(now, result).restart, IsEmpty());
  EXPECT_THAT(compare(result, next).restart, ElementsAre("listen", "stateDir"));  // still waits
}

}  // namespace
}  // namespace hookd::app
