#include "base/scaled_scheduler.h"

#include <gmock/gmock.h>

namespace hookd {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(ScaledScheduler, RunsManyTimesAsFastFromTheRealTimeOn) {
  boost::asio::io_context context{1};
  const SteadyTime before = std::chrono::steady_clock::now();
  const ScaledScheduler time(context, 60);
  EXPECT_GE(time.now(), before);
  const SteadyTime real = time.real(time.now());
  EXPECT_LE(std::chrono::abs(time.scaled(real + 1s) - time.scaled(real) - 60s), 1us);
  EXPECT_LE(std::chrono::abs(time.real(time.scaled(real) + 1h) - real - 60s), 1us);
}

TEST(ScaledScheduler, TimersFallDueByItsOwnClockInOrder) {
  boost::asio::io_context context{1};
  ScaledScheduler time(context, 3600);
  std::vector<int> seen;
  const SteadyTime start = time.now();
  const auto real_start = std::chrono::steady_clock::now();
  const Timer late = time.at(start + 60s, [&] { seen.push_back(2); });
  const Timer early = time.at(start + 30s, [&] {
    EXPECT_GE(time.now() - start, 30s);
    seen.push_back(1);
  });
  Timer cancelled = time.at(start + 40s, [&] { seen.push_back(3); });
  cancelled.cancel();
  time.post([&] { seen.push_back(0); });
  context.run();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  EXPECT_LT(std::chrono::steady_clock::now() - real_start, 10s);
}

TEST(ScaledScheduler, FarTimersDoNotOverflow) {
  boost::asio::io_context context{1};
  ScaledScheduler time(context, 0.01);
  bool ran = false;
  const Timer far = time.after(std::chrono::hours(24 * 3650), [&] { ran = true; });
  context.poll();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(far.pending());
}

}  // namespace
}  // namespace hookd
