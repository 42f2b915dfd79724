// How transfers fail: cut, reset, silent, refused; and which may be repeated.
#include <gtest/gtest.h>

#include <memory>

#include "client.h"

namespace hookd::net {
namespace {

using fake::FakeReply;
using fake::FakeRequest;
using fake::FakeServer;
using fake::Fault;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CurlFailure, CutsAndResetsAreDisconnections) {  // R55
  Client client;
  FakeServer server(client.loop.context);
  for (const Fault fault : {Fault::kCut, Fault::kReset}) {
    for (const bool chunked : {false, true}) {
      server.reply({.body = std::string(1000, 'x'), .chunked = chunked, .fault = fault, .keep_bytes = 200});
      const auto seen = client.run({.url = server.url("/")});
      EXPECT_EQ(seen->code(), Errc::kTransport);
      EXPECT_NE(seen->what().find("disconnected"), std::string::npos) << seen->what();
      EXPECT_NE(seen->what().find("127.0.0.1:" + std::to_string(server.port())), std::string::npos) << seen->what();
      EXPECT_EQ(seen->heads, 1);
      EXPECT_EQ(seen->done, 1);
    }
  }
  server.reply({.fault = Fault::kCutBefore});
  EXPECT_EQ(client.run({.url = server.url("/"), .fresh_connection = true})->code(), Errc::kTransport);
  server.reply({.fault = Fault::kGarbage});
  EXPECT_EQ(client.run({.url = server.url("/"), .fresh_connection = true})->code(), Errc::kTransport);
}

TEST(CurlFailure, CutInTheMiddleOfTheHeadGivesNoHead) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.headers = {{"X-A", "b"}}, .fault = Fault::kCut, .keep_bytes = 20});
  const auto seen = client.run({.url = server.url("/")});
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
  EXPECT_EQ(seen->heads, 0);
}

TEST(CurlFailure, StreamCutOrResetEndsTheWatch) {
  Client client;
  FakeServer server(client.loop.context);
  for (const bool reset : {false, true}) {
    const auto stream = server.stream();
    stream->send("{}\n");
    const auto seen = client.start({.url = server.url("/"), .pool = Pool::kWatch});
    ASSERT_TRUE(client.loop.until([&] { return seen->body == "{}\n"; }));
    if (reset)
      stream->reset();
    else
      stream->cut();
    ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
    EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
  }
}

TEST(CurlFailure, RefusedNamesHostAndPort) {
  Client client;
  FakeServer server(client.loop.context);
  server.stop_listening();
  const auto seen = client.run({.url = server.url("/api")});
  EXPECT_EQ(seen->code(), Errc::kTransport);
  EXPECT_NE(seen->what().find("127.0.0.1:" + std::to_string(server.port()) + ": cannot connect"), std::string::npos)
      << seen->what();
  server.listen_again();
  server.reply({});
  EXPECT_TRUE(client.run({.url = server.url("/api")})->result.has_value());
}

TEST(CurlFailure, UnknownNameIsATransportError) {
  Client client;
  const auto seen = client.run({.url = "http://does-not-exist.invalid:6443/"});  // RFC 6761: never resolves
  EXPECT_EQ(seen->code(), Errc::kTransport);
  EXPECT_NE(seen->what().find("does-not-exist.invalid:6443: the name cannot be resolved"), std::string::npos)
      << seen->what();
}

TEST(CurlFailure, IdleTimeoutEndsASilentAnswer) {  // R52, T16: never closes nor sends after the head
  Client client;
  FakeServer server(client.loop.context);
  const auto stream = server.stream();
  const auto seen = client.start({.url = server.url("/"), .pool = Pool::kWatch, .idle_timeout = milliseconds(200)});
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->heads, 1);
  EXPECT_EQ(seen->code(), Errc::kTimeout);
  EXPECT_NE(seen->what().find("no byte for 200 ms"), std::string::npos) << seen->what();
  ASSERT_TRUE(client.loop.until([&] { return stream->client_gone(); })) << "the connection must be closed too";

  server.reply({});
  EXPECT_TRUE(client.run({.url = server.url("/"), .pool = Pool::kWatch})->result.has_value());
  EXPECT_EQ(server.requests.back().connection, 2);
}

TEST(CurlFailure, EveryByteStartsTheIdlePeriodAnew) {
  Client client;
  FakeServer server(client.loop.context);
  const auto stream = server.stream();
  const auto seen = client.start({.url = server.url("/"), .idle_timeout = milliseconds(400)});
  ASSERT_TRUE(client.loop.until([&] { return seen->heads == 1; }));
  const SteadyTime begin = client.loop.scheduler.now();
  // Fifty bytes 20 ms apart take longer than two idle periods.
  Timer timer;
  int sent = 0;
  std::function<void()> tick = [&] {
    stream->send("x");
    if (++sent < 50) timer = client.loop.scheduler.after(milliseconds(20), tick);
  };
  tick();
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->body, std::string(50, 'x'));
  EXPECT_EQ(seen->code(), Errc::kTimeout);
  EXPECT_GE(client.loop.scheduler.now() - begin, milliseconds(49 * 20 + 400));
}

TEST(CurlFailure, HalfOpenServerEndsInTheIdleTimeout) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.fault = Fault::kHalfOpen});
  const auto seen =
      client.run({.method = "PATCH", .url = server.url("/"), .body = "{}", .idle_timeout = milliseconds(150)});
  EXPECT_EQ(seen->code(), Errc::kTimeout);
  EXPECT_NE(seen->what().find("whether the server carried the request out is unknown"), std::string::npos)
      << seen->what();
}

TEST(CurlFailure, TotalTimeoutEndsAnAnswerThatDripsForEver) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.body = std::string(100, 'x'), .fault = Fault::kStall, .keep_bytes = 90});
  const auto seen =
      client.run({.url = server.url("/"), .total_timeout = milliseconds(150), .idle_timeout = seconds(100)});
  EXPECT_EQ(seen->code(), Errc::kTimeout);
  EXPECT_NE(seen->what().find("no complete answer within 150 ms"), std::string::npos) << seen->what();
}

TEST(CurlFailure, FinishedRequestsOutliveNoTimer) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {}; };
  std::shared_ptr<Seen> seen;
  do  // until one was in time, however busy the machine is
    seen = client.run({.url = server.url("/"), .total_timeout = milliseconds(50), .idle_timeout = milliseconds(50)});
  while (seen->code() == Errc::kTimeout);
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  bool later = false;
  const Timer timer = client.loop.scheduler.after(milliseconds(150), [&] { later = true; });
  ASSERT_TRUE(client.loop.until([&] { return later; }));
  EXPECT_EQ(seen->done, 1);
}

// libcurl would send any method again after a pooled connection died; only reads may be (R55, A25, T36).
TEST(CurlFailure, WriteOnADyingPooledConnectionIsSentOnce) {
  Client client;
  FakeServer server(client.loop.context);
  for (const std::string method : {"POST", "DELETE", "PATCH", "PUT"}) {
    for (const Fault fault : {Fault::kCutBefore, Fault::kResetBefore}) {
      server.requests.clear();
      server.reply({});
      client.run({.url = server.url("/")});
      server.reply({.fault = fault});
      server.reply({});  // what a second try would get
      const auto seen = client.run({.method = method, .url = server.url("/"), .body = method == "DELETE" ? "" : "{}"});
      ASSERT_EQ(server.requests.size(), 2u) << method;
      EXPECT_EQ(server.requests[0].connection, server.requests[1].connection)
          << "the case under test is a pooled connection";
      EXPECT_EQ(seen->code(), Errc::kTransport);
      EXPECT_NE(seen->what().find("whether the server carried the request out is unknown"), std::string::npos)
          << seen->what();
      server.requests.clear();
      client.run({.url = server.url("/"), .fresh_connection = true});  // uses up the second script
    }
  }
}

TEST(CurlFailure, ReadOnADyingPooledConnectionIsSentAgain) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  client.run({.url = server.url("/")});
  server.reply({.fault = Fault::kCutBefore});
  server.reply({.body = "second"});
  const auto seen = client.run({.url = server.url("/")});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "second");
  EXPECT_EQ(server.requests.size(), 3u);
}

TEST(CurlFailure, PooledConnectionClosedMeanwhileIsReplaced) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  client.run({.url = server.url("/")});
  server.close_all();
  client.loop.settle();
  server.reply({.status = 201});
  const auto seen = client.run({.method = "POST", .url = server.url("/"), .body = "{}"});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->head.status, 201);
}

}  // namespace
}  // namespace hookd::net
