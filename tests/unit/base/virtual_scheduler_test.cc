#include "base/virtual_scheduler.h"

#include <gmock/gmock.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace hookd {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class VirtualSchedulerTest : public testing::Test {
 protected:
  boost::asio::io_context context{1};
  bool working = false;
  VirtualScheduler time{context, [this] { return working; }};
  std::vector<std::string> seen;
};

TEST_F(VirtualSchedulerTest, TimeStandsStillWhileTasksAndTheContextWork) {
  time.post([&] {
    seen.push_back("posted");
    boost::asio::post(context, [&] {
      seen.push_back("context");
      time.post([&] { seen.push_back("posted by the context"); });
    });
  });
  time.settle();
  EXPECT_THAT(seen, ElementsAre("posted", "context", "posted by the context"));
  EXPECT_EQ(time.now(), SteadyTime{});
}

TEST_F(VirtualSchedulerTest, WaitsInRealTimeForWhatWorksOutside) {
  working = true;
  boost::asio::steady_timer outside(context, 20ms);
  outside.async_wait([&](const boost::system::error_code&) {
    working = false;
    time.post([&] { seen.push_back("ended"); });
  });
  time.settle();
  EXPECT_THAT(seen, ElementsAre("ended"));
  EXPECT_EQ(time.now(), SteadyTime{});
}

TEST_F(VirtualSchedulerTest, DoesNotWaitForSocketsThatNobodyUses) {
  boost::asio::steady_timer far(context, 1h);
  far.async_wait([&](const boost::system::error_code&) { seen.push_back("far"); });
  time.settle();
  EXPECT_TRUE(seen.empty());
}

// What one timer brought is done before the next one: a process that it started included.
TEST_F(VirtualSchedulerTest, AdvanceFinishesWhatATimerBroughtBeforeTheNext) {
  boost::asio::steady_timer outside(context);
  const Timer first = time.after(1s, [&] {
    working = true;
    outside.expires_after(10ms);
    outside.async_wait([&](const boost::system::error_code&) {
      working = false;
      seen.push_back(std::to_string((time.now() - SteadyTime{}) / 1s));
    });
  });
  const Timer second = time.after(2s, [&] { seen.push_back("second"); });
  time.advance(5s);
  EXPECT_THAT(seen, ElementsAre("1", "second"));
  EXPECT_EQ(time.now() - SteadyTime{}, 5s);
  EXPECT_EQ(time.wall_now(), ManualScheduler::kStart + 5s);
}

TEST_F(VirtualSchedulerTest, WhatIsDueNowBelongsToNow) {
  const Timer now = time.after(0s, [&] { seen.push_back("due"); });
  time.settle();
  EXPECT_THAT(seen, ElementsAre("due"));
}

TEST_F(VirtualSchedulerTest, GivingUpEndsTheWait) {
  working = true;
  boost::asio::steady_timer limit(context, 10ms);
  limit.async_wait([&](const boost::system::error_code&) { time.give_up(); });
  time.settle();
  EXPECT_TRUE(time.given_up());
  EXPECT_FALSE(time.loops());
}

TEST_F(VirtualSchedulerTest, TasksThatPostThemselvesForEverAreAnEndToo) {
  std::function<void()> again = [&] { time.post([&] { again(); }); };
  again();
  time.settle();
  EXPECT_TRUE(time.loops());
}

}  // namespace
}  // namespace hookd
