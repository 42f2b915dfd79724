#include "hook/breaker.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using Outcome = Breaker::Outcome;

class BreakerTest : public testing::Test {
 protected:
  void fail(int times, std::string_view why = "connection refused") {
    for (int i = 0; i < times; ++i) {
      auto pass = breaker->enter();
      ASSERT_TRUE(pass) << i;
      pass->left(Outcome::kFailed, why);
    }
  }
  void answer() {
    auto pass = breaker->enter();
    ASSERT_TRUE(pass);
    pass->left(Outcome::kAnswered);
  }
  std::string gauge() {
    const std::string text = metrics.text();
    const size_t at = text.find("hookd_breaker_open{endpoint=\"https://x:443\"} ");
    return at == std::string::npos ? "none" : text.substr(text.find("} ", at) + 2, 1);
  }

  ManualScheduler scheduler;
  SeededRandom random;
  metrics::Registry metrics;
  Breakers all{scheduler, random, metrics};
  std::shared_ptr<Breaker> breaker = all.of("https://x:443", "");
};

TEST_F(BreakerTest, OpensAfterFiveFailuresInARow) {
  EXPECT_EQ(gauge(), "0");
  fail(4);
  answer();
  fail(4);
  EXPECT_TRUE(breaker->ready());
  EXPECT_EQ(breaker->trouble(), std::nullopt);
  fail(1);
  EXPECT_FALSE(breaker->ready());
  EXPECT_FALSE(breaker->enter());
  EXPECT_EQ(gauge(), "1");
  EXPECT_EQ(breaker->trouble().value(), "https://x:443: 5 failures in a row (connection refused), next probe in 6s");
}

TEST_F(BreakerTest, LetsOneProbeThroughAndBacksOff) {
  fail(5);
  EXPECT_GE(breaker->wait(), Breaker::kFirstProbe);
  scheduler.advance(breaker->wait());
  ASSERT_TRUE(breaker->ready());
  auto probe = breaker->enter();
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->probe());
  EXPECT_FALSE(breaker->enter()) << "one probe at a time";
  EXPECT_THAT(breaker->trouble().value(), HasSubstr("probing it now"));
  probe->left(Outcome::kFailed, "again");
  EXPECT_GE(breaker->wait(), 2 * Breaker::kFirstProbe);
  EXPECT_THAT(breaker->trouble().value(), HasSubstr("6 failures in a row (again)"));
  for (int i = 0; i < 10; ++i) {
    scheduler.advance(breaker->wait());
    breaker->enter()->left(Outcome::kFailed, "again");
  }
  EXPECT_LE(breaker->wait(), Breaker::kSlowestProbe * 12 / 10);
  EXPECT_GE(breaker->wait(), Breaker::kSlowestProbe);
}

TEST_F(BreakerTest, WaitsAsLongAsTheEndpointAsks) {
  fail(4);
  breaker->enter()->left(Outcome::kFailed, "status 503", 10min);
  EXPECT_EQ(breaker->wait(), 10min);
}

TEST_F(BreakerTest, AProbeThatNeverGotThereLeavesRoomForTheNext) {
  fail(5);
  int looks = 0;
  const auto waiting = breaker->listen([&] { ++looks; });
  scheduler.advance(breaker->wait());
  EXPECT_EQ(looks, 1);
  {
    auto dropped = breaker->enter();
  }
  EXPECT_TRUE(breaker->ready());
  scheduler.advance(1s);
  EXPECT_EQ(looks, 2);
}

TEST_F(BreakerTest, ReleasesWhatWaitedOneAfterAnotherWithRandomGaps) {
  fail(5);
  std::vector<SteadyTime> started;
  std::vector<Breaker::Pass> open;
  const auto waiting = breaker->listen([&] {
    while (breaker->ready() && started.size() < 1000) {  // as a queue does
      open.push_back(*breaker->enter());
      started.push_back(scheduler.now());
    }
  });
  scheduler.advance(breaker->wait());
  ASSERT_EQ(started.size(), 1u) << "the probe alone";
  open.front().left(Outcome::kAnswered);
  EXPECT_EQ(gauge(), "0");
  EXPECT_EQ(breaker->trouble(), std::nullopt);
  scheduler.advance(5s);
  EXPECT_GT(started.size(), 50u);
  EXPECT_LT(started.size(), 200u);
  std::set<Duration> gaps;
  for (size_t i = 2; i < started.size(); ++i) gaps.insert(started[i] - started[i - 1]);
  EXPECT_GT(gaps.size(), 20u);
  EXPECT_LE(*gaps.rbegin(), 2 * Breaker::kMeanGap);
  scheduler.advance(10s);
  EXPECT_EQ(started.size(), 1000u) << "everything may go when it is over";
}

TEST_F(BreakerTest, OneFailureWhileRecoveringOpensItAgain) {
  fail(5);
  scheduler.advance(breaker->wait());
  answer();
  scheduler.advance(1s);
  fail(1);
  EXPECT_FALSE(breaker->ready());
  EXPECT_EQ(gauge(), "1");
}

TEST_F(BreakerTest, AnAnswerToAnOlderCallIsNewsToo) {
  auto slow = breaker->enter();
  auto slower = breaker->enter();
  fail(5);
  slower->left(Outcome::kFailed, "reset");  // of before: says nothing about now
  EXPECT_THAT(breaker->trouble().value(), Not(HasSubstr("probing")));
  slow->left(Outcome::kAnswered);
  EXPECT_TRUE(breaker->ready());
  EXPECT_EQ(breaker->trouble(), std::nullopt);
}

TEST_F(BreakerTest, AsksWhoeverWaitsInTurn) {
  fail(5);
  std::vector<int> order;
  const auto take = [&](int who) {
    order.push_back(who);
    auto pass = breaker->enter();
    pass->left(Outcome::kFailed, "no");
  };
  auto first = breaker->listen([&] { take(1); });
  auto second = breaker->listen([&] { take(2); });
  scheduler.advance(60s);
  ASSERT_GE(order.size(), 2u);
  EXPECT_NE(order[0], order[1]);
  order.clear();
  first = {};
  scheduler.advance(10min);
  EXPECT_THAT(order, testing::Each(2));
  EXPECT_GT(order.size(), 2u);
}

TEST_F(BreakerTest, IsSharedByEndpointAndForgottenWhenNobodyUsesIt) {
  EXPECT_EQ(all.of("https://x:443", ""), breaker);
  EXPECT_NE(all.of("https://y:443", ""), breaker);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("https://y:443")));
  fail(5);
  auto next = all.of("https://x:443", "");
  breaker.reset();
  EXPECT_FALSE(next->ready()) << "a changed hook begins with what is known";
  // The hook got another URL, or is gone: nobody would ever probe this one.
  next.reset();
  EXPECT_EQ(gauge(), "none");
  EXPECT_TRUE(all.of("https://x:443", "")->ready());
}

TEST_F(BreakerTest, TheGaugeIsOfAllWaysToTheEndpoint) {
  const auto other = all.of("https://x:443", "other certificates");
  fail(5);
  auto third = all.of("https://x:443", "and others");
  EXPECT_EQ(gauge(), "1") << "one is open, whoever comes";
  third.reset();
  EXPECT_EQ(gauge(), "1") << "or goes";
  breaker.reset();
  EXPECT_EQ(gauge(), "0");
}

}  // namespace
}  // namespace hookd::hook
