// The client's own rate limit. Rules: k8s-client.md R58.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/rest_client.h"
#include "unit/kube/scripted_transport.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;

class RestClientLimit : public testing::Test {
 protected:
  RestClientLimit() { config_.server = "https://h:6443"; }

  void make(RateLimit limit) { client_.emplace(transport_, credentials_, config_, scheduler_, limit); }
  std::unique_ptr<ApiCall> send(const std::string& path, net::Pool pool = net::Pool::kRest) {
    ApiRequest request;
    request.path = path;
    request.pool = pool;
    request.total_timeout = 5s;
    return client_->request(
        request, [this](Result<ApiResponse> result) { done_.push_back(result ? "ok" : result.error().what); });
  }
  std::string path(size_t i) const {
    return transport_.at(i)->request.url.substr(std::string("https://h:6443").size());
  }

  ManualScheduler scheduler_;
  ScriptedTransport transport_;
  ConnectionConfig config_;
  Credentials credentials_{config_, scheduler_};
  std::optional<RestClient> client_;
  std::vector<std::string> done_;
};

TEST_F(RestClientLimit, WhatIsOverTheBurstWaitsInOrder) {
  make({.qps = 10, .burst = 3});
  std::vector<std::unique_ptr<ApiCall>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(send("/" + std::to_string(i)));
  EXPECT_EQ(transport_.count(), 3U);
  EXPECT_EQ(client_->waiting(), 7U);
  scheduler_.advance(99ms);
  EXPECT_EQ(transport_.count(), 3U);
  scheduler_.advance(1ms);
  EXPECT_EQ(transport_.count(), 4U);
  scheduler_.advance(600ms);
  ASSERT_EQ(transport_.count(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(path(i), "/" + std::to_string(i));
  EXPECT_EQ(client_->waiting(), 0U);
  EXPECT_TRUE(scheduler_.idle());
}

TEST_F(RestClientLimit, ALateComerDoesNotOvertake) {
  make({.qps = 1, .burst = 1});
  const auto first = send("/a"), second = send("/b");
  scheduler_.advance(999ms);
  const auto third = send("/c");
  scheduler_.advance(1001ms);
  ASSERT_EQ(transport_.count(), 3U);
  EXPECT_EQ(path(1), "/b");
  EXPECT_EQ(path(2), "/c");
}

TEST_F(RestClientLimit, TheTimeoutBeginsWhenItIsSent) {
  make({.qps = 0.1, .burst = 1});
  const auto first = send("/a"), second = send("/b");
  scheduler_.advance(10s);
  ASSERT_EQ(transport_.count(), 2U);
  EXPECT_EQ(transport_.at(1)->request.total_timeout, 5s);
  EXPECT_TRUE(done_.empty());
}

TEST_F(RestClientLimit, AWaitingRequestMayBeDropped) {
  make({.qps = 1, .burst = 1});
  const auto first = send("/a");
  auto second = send("/b");
  const auto third = send("/c");
  second.reset();
  EXPECT_EQ(client_->waiting(), 1U);
  scheduler_.advance(1s);
  ASSERT_EQ(transport_.count(), 2U);
  EXPECT_EQ(path(1), "/c");
}

TEST_F(RestClientLimit, StreamsAndTheWatchPoolAreFree) {
  make({.qps = 1, .burst = 1});
  const auto first = send("/a"), waiting = send("/b");
  const auto watch = send("/w", net::Pool::kWatch);
  ApiRequest request;
  request.path = "/s";
  const auto stream = client_->stream(
      request, {[](const net::HttpHead&) {}, [](std::string_view) { return true; }, [](const Result<void>&) {}});
  ASSERT_EQ(transport_.count(), 3U);
  EXPECT_EQ(path(1), "/w");
  EXPECT_EQ(path(2), "/s");
}

TEST_F(RestClientLimit, RetriesCountToo) {
  make({.qps = 0.5, .burst = 1});
  const auto first = send("/a");
  transport_.last()->reply(503, "", {{"retry-after", "1"}});
  scheduler_.advance(1s);
  EXPECT_EQ(transport_.count(), 1U);
  scheduler_.advance(1s);
  EXPECT_EQ(transport_.count(), 2U);
}

TEST_F(RestClientLimit, ARetryThatWaitedTooLongIsNotSent) {
  make({.qps = 0.1, .burst = 1});
  const auto first = send("/a");
  transport_.last()->reply(503, "busy", {{"retry-after", "1"}});
  scheduler_.advance(10s);
  EXPECT_EQ(transport_.count(), 1U);
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_THAT(done_[0], testing::HasSubstr("no time is left"));
  EXPECT_THAT(done_[0], testing::HasSubstr("busy"));
}

TEST_F(RestClientLimit, ZeroIsNoLimit) {
  make({.qps = 0, .burst = 1});
  std::vector<std::unique_ptr<ApiCall>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(send("/a"));
  EXPECT_EQ(transport_.count(), 1000U);
}

TEST_F(RestClientLimit, TheDefaultIsAHundredAtOnceAndFiftyASecond) {
  client_.emplace(transport_, credentials_, config_, scheduler_);
  std::vector<std::unique_ptr<ApiCall>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(send("/a"));
  EXPECT_EQ(transport_.count(), 100U);
  scheduler_.advance(1s);
  EXPECT_EQ(transport_.count(), 150U);
  scheduler_.advance(1s);
  EXPECT_EQ(transport_.count(), 200U);
}

}  // namespace
}  // namespace hookd::kube
