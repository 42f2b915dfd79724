// Rules: k8s-client.md R31-R34; T13, T14.
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;

class ReflectorBackoff : public ReflectorTest {};

TEST_F(ReflectorBackoff, FortyRefusalsGrowToHalfAMinuteAndNeverList) {  // T13, R31
  start_watching({pod("a", "1")}, "10");
  double base = 0.8;
  for (int i = 0; i < 40; ++i) {
    last().refuse();
    const double waited = until_next().count();
    EXPECT_GE(waited, base - 0.002) << i;
    EXPECT_LE(waited, 2 * base + 0.002) << i;
    ASSERT_TRUE(last().is_watch());
    base = std::min(base * 2, 30.0);
  }
  EXPECT_EQ(health().lists, 1U);
  EXPECT_EQ(store_.size(), 1U);
  EXPECT_TRUE(told().empty());
}

TEST_F(ReflectorBackoff, DelaysAreSpread) {
  std::set<int64_t> delays;
  for (int i = 0; i < 20; ++i) {
    start_watching({}, "10");
    last().refuse();
    delays.insert(static_cast<int64_t>(until_next().count() * 1000));
  }
  EXPECT_GT(delays.size(), 10U);
}

TEST_F(ReflectorBackoff, ALongOutageNeverGetsShortDelaysAgain) {  // T14, R32
  start_watching({}, "10");
  const SteadyTime from = scheduler_.now();
  double before = 0;
  while (scheduler_.now() - from < 20min) {
    last().refuse();
    const double waited = until_next().count();
    EXPECT_GE(waited, std::min(before / 2, 30.0) - 0.002);
    before = waited;
  }
  EXPECT_GE(before, 30.0);
}

TEST_F(ReflectorBackoff, ALongRetryAfterIsNoQuietTime) {  // R32: nothing worked meanwhile
  start_watching({}, "10");
  for (int i = 0; i < 8; ++i) {
    last().refuse();
    until_next();
  }
  last().reply_error(429, "", "280");
  until_next();
  last().refuse();
  EXPECT_GE(until_next(), 30s);
}

TEST_F(ReflectorBackoff, TwoQuietMinutesForgetTheOutage) {  // T14, R32
  start_watching({}, "10");
  for (int i = 0; i < 8; ++i) {
    last().refuse();
    until_next();
  }
  last().head();
  scheduler_.advance(60s);
  last().data("oops");  // too early
  EXPECT_GE(until_next(), 30s);
  last().reply(list_of({}, "20"));
  last().head();
  scheduler_.advance(121s);
  last().data("oops");
  EXPECT_LE(until_next(), 1601ms);
}

TEST_F(ReflectorBackoff, ListsFailWithTheSameDelays) {
  start();
  double base = 0.8;
  for (int i = 0; i < 12; ++i) {
    last().reply_error(403, status_of(403, "Forbidden"));
    const double waited = until_next().count();
    EXPECT_GE(waited, base - 0.002);
    EXPECT_LE(waited, 2 * base + 0.002);
    base = std::min(base * 2, 30.0);
    EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");
  }
}

}  // namespace
}  // namespace hookd::kube
