// app/loop_watchdog.h in real time, with short times.
#include "app/loop_watchdog.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "base/log_ring.h"
#include "filter/running.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

class LoopWatchdogTest : public testing::Test {
 protected:
  LoopWatchdogTest() { log::set_ring(&ring); }
  ~LoopWatchdogTest() override { log::set_ring(nullptr); }
  // The line with that number, waited for.
  std::string line(uint64_t number) {
    const auto most = std::chrono::steady_clock::now() + 20s;
    while (ring.newest() < number && std::chrono::steady_clock::now() < most) std::this_thread::yield();
    const auto lines = ring.after(number - 1, 1);
    return lines.empty() ? "none" : lines.front().json;
  }
  log::Ring ring;
};

TEST_F(LoopWatchdogTest, NamesTheExpressionThatTheLoopIsIn) {
  LoopWatchdog watchdog({.still = 20ms, .again = 20ms, .look = 5ms});
  const filter::RunsFor names("my-hook", "pods");
  {
    const filter::Inside inside("def f: f; f");
    watchdog.start();
    EXPECT_THAT(line(1), AllOf(HasSubstr("a jq expression does not come to an end"), HasSubstr("my-hook"),
                               HasSubstr("pods"), HasSubstr("def f: f; f")));
    EXPECT_THAT(line(2), HasSubstr("a jq expression does not come to an end"));  // it goes on telling
  }
  const uint64_t so_far = ring.newest();
  EXPECT_THAT(line(so_far + 2), HasSubstr("the event loop stands still"));
  const uint64_t before = ring.newest();
  watchdog.beat();
  EXPECT_THAT(line(before + 1) + line(before + 2), HasSubstr("the event loop goes on"));
}

}  // namespace
}  // namespace hookd::app
