#include "embedded/transport.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

struct TransportTest : ::testing::Test {
  struct Told {
    int status = 0;
    std::string body;
    std::optional<Result<void>> done;
  };
  std::unique_ptr<net::HttpCall> start(net::HttpRequest request, Told& told) {
    return transport.start(std::move(request), {[&told](const net::HttpHead& head) { told.status = head.status; },
                                                [&told](std::string_view bytes) {
                                                  told.body += bytes;
                                                  return true;
                                                },
                                                [&told](Result<void> result) { told.done = std::move(result); }});
  }
  net::HttpRequest get(std::string path) {
    net::HttpRequest request;
    request.url = "https://hookd.invalid" + std::move(path);
    request.headers = {{"Authorization", "Bearer " + server.admin_token()}};
    return request;
  }
  ManualScheduler scheduler;
  SeededRandom random;
  ApiServer server{scheduler, random, {}};
  Transport transport{server, scheduler};
};

TEST_F(TransportTest, AnswersLaterNeverInline) {
  Told told;
  const auto call = start(get("/api/v1/namespaces?limit=1"), told);
  EXPECT_EQ(told.status, 0);
  EXPECT_EQ(transport.open_calls(), 1u);
  scheduler.run_posted();
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(testing::text_at_path(*parse_text(told.body), "items[0].metadata.name"), "default");
  ASSERT_TRUE(told.done);
  EXPECT_TRUE(*told.done);
  EXPECT_EQ(transport.open_calls(), 0u);
}

TEST_F(TransportTest, ADestroyedCallIsToldNothing) {
  Told told;
  auto call = start(get("/api/v1/namespaces"), told);
  call.reset();
  scheduler.run_posted();
  EXPECT_EQ(told.status, 0);
  EXPECT_EQ(transport.open_calls(), 0u);
}

TEST_F(TransportTest, StreamsAWatch) {
  Told told;
  auto call = start(get("/api/v1/namespaces?watch=1"), told);
  scheduler.run_posted();
  EXPECT_EQ(told.status, 200);
  EXPECT_FALSE(told.done);
  EXPECT_EQ(std::count(told.body.begin(), told.body.end(), '\n'), 4);
  transport.break_connections();
  scheduler.run_posted();
  ASSERT_TRUE(told.done);
  EXPECT_EQ(told.done->error().code, Errc::kTransport);
}

TEST_F(TransportTest, ASilentAnswerTimesOut) {
  Fault fault;
  fault.verb = "watch";
  fault.silent = true;
  server.faults().add(fault);
  Told told;
  auto request = get("/api/v1/namespaces?watch=1");
  request.idle_timeout = std::chrono::seconds(30);
  const auto call = start(std::move(request), told);
  scheduler.advance(std::chrono::seconds(29));
  EXPECT_FALSE(told.done);
  scheduler.advance(std::chrono::seconds(2));
  ASSERT_TRUE(told.done);
  EXPECT_EQ(told.done->error().code, Errc::kTimeout);
}

TEST_F(TransportTest, ATotalTimeoutEndsAWatchThatTells) {
  Told told;
  auto request = get("/api/v1/namespaces?watch=1");
  request.total_timeout = std::chrono::seconds(10);
  const auto call = start(std::move(request), told);
  scheduler.advance(std::chrono::seconds(11));
  ASSERT_TRUE(told.done);
  EXPECT_EQ(told.done->error().code, Errc::kTimeout);
}

TEST_F(TransportTest, AHandlerMayDropTheCall) {
  std::unique_ptr<net::HttpCall> call;
  int pieces = 0;
  call = transport.start(get("/api/v1/namespaces?watch=1"), {{},
                                                             [&](std::string_view) {
                                                               ++pieces;
                                                               call.reset();
                                                               return true;
                                                             },
                                                             {}});
  scheduler.run_posted();
  EXPECT_EQ(pieces, 1);
  EXPECT_EQ(transport.open_calls(), 0u);
}

TEST_F(TransportTest, AReceiverMayHaveEnough) {
  std::optional<Errc> told;
  const auto call = transport.start(
      get("/api/v1/namespaces"),
      {{}, [](std::string_view) { return false; }, [&](Result<void> result) { told = result.error().code; }});
  scheduler.run_posted();
  EXPECT_EQ(told, Errc::kCancelled);
}

TEST_F(TransportTest, ACutAnswerIsATransportError) {
  Fault fault;
  fault.verb = "list";
  fault.cut = true;
  server.faults().add(fault);
  Told told;
  const auto call = start(get("/api/v1/namespaces"), told);
  scheduler.run_posted();
  ASSERT_TRUE(told.done);
  EXPECT_EQ(told.done->error().code, Errc::kTransport);
}

}  // namespace
}  // namespace hookd::embedded
