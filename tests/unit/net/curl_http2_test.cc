// Streams of shared HTTP/2 connections: ended one by one, refused, sent away (k8s-client.md R50-R55, T18).
#include <gtest/gtest.h>

#include <memory>

#include "client.h"
#include "server/fake_http2.h"

namespace hookd::net {
namespace {

using fake::FakeHttp2;
using fake::Http2Stream;

struct Rig {
  Client client;
  fake::TestLoop& loop = client.loop;
  fake::FakeCa ca;
  FakeHttp2 server{loop.context, ca.issue({.names = {"127.0.0.1"}})};
  std::shared_ptr<const TlsOptions> tls = trust(ca.pem());

  HttpRequest request(std::string method = "GET", Pool pool = Pool::kWatch) const {
    return {.method = std::move(method), .url = server.url("/"), .tls = tls, .pool = pool};
  }
  // Starts a watch and waits until its head has come.
  std::shared_ptr<Seen> watch() {
    auto seen = client.start(request());
    EXPECT_TRUE(loop.until([&] { return seen->heads == 1; })) << seen->what();
    return seen;
  }
};

TEST(CurlHttp2, WatchesShareOneConnection) {
  Rig s;
  std::vector<std::shared_ptr<Seen>> all;
  for (int i = 0; i < 20; ++i) all.push_back(s.client.start(s.request()));
  ASSERT_TRUE(
      s.loop.until([&] { return std::ranges::all_of(all, [](const auto& seen) { return seen->heads == 1; }); }));
  EXPECT_EQ(s.server.accepted(), 1) << "PIPEWAIT: the others wait to see whether the first connection can be shared";
  for (const auto& stream : s.server.opened) s.server.data(stream, "x", true);
  ASSERT_TRUE(s.loop.until([&] { return std::ranges::all_of(all, [](const auto& seen) { return seen->done == 1; }); }));
  for (const auto& seen : all) EXPECT_TRUE(seen->result.has_value() && seen->body == "x") << seen->what();
}

TEST(CurlHttp2, CancelledStreamIsResetAtOnceAndTheOthersGoOn) {  // curl#17611
  Rig s;
  const auto first = s.watch();
  const auto second = s.watch();
  const auto third = s.watch();
  first->call.reset();
  third->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return s.server.reset_by_client.size() == 2; }));
  EXPECT_EQ(s.server.reset_by_client[0], s.server.opened[0]);
  EXPECT_EQ(s.server.reset_by_client[1], s.server.opened[2]);
  s.server.data(s.server.opened[1], "still there");
  ASSERT_TRUE(s.loop.until([&] { return second->body == "still there"; }));
  s.server.data(s.server.opened[1], "", true);
  ASSERT_TRUE(s.loop.until([&] { return second->done == 1; }));
  EXPECT_TRUE(second->result.has_value()) << second->what();
  EXPECT_EQ(first->done + third->done, 0);
}

TEST(CurlHttp2, StreamCancelledBeforeItsHeadIsResetToo) {
  Rig s;
  const auto other = s.watch();
  auto seen = s.client.start(s.request());
  ASSERT_TRUE(s.loop.until([&] { return s.server.opened.size() == 2; }));
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return s.server.reset_by_client.size() == 1; }));
  EXPECT_EQ(other->done, 0);
}

TEST(CurlHttp2, LastCancelledStreamTakesItsConnectionAlong) {
  Rig s;
  const auto seen = s.watch();
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return s.server.open_connections() == 0; }));
}

TEST(CurlHttp2, StreamStoppedByItsReceiverIsResetToo) {
  Rig s;
  const auto other = s.watch();
  bool done = false;
  HttpHandlers handlers;
  handlers.on_data = [](std::string_view) { return false; };
  handlers.on_done = [&](Result<void> result) {
    done = true;
    EXPECT_EQ(result.error().code, Errc::kCancelled);
  };
  const auto call = s.client.transport->start(s.request(), handlers);
  ASSERT_TRUE(s.loop.until([&] { return s.server.opened.size() == 2; }));
  s.server.data(s.server.opened[1], "enough");
  ASSERT_TRUE(s.loop.until([&] { return done && s.server.reset_by_client.size() == 1; }));
  EXPECT_EQ(other->done, 0);
  s.server.data(s.server.opened[0], "on");
  ASSERT_TRUE(s.loop.until([&] { return other->body == "on"; }));
}

TEST(CurlHttp2, IdleTimeoutOfOneStreamSparesTheOthers) {
  Rig s;
  const auto other = s.watch();
  auto request = s.request();
  request.idle_timeout = std::chrono::milliseconds(100);
  const auto silent = s.client.run(request);
  EXPECT_EQ(silent->code(), Errc::kTimeout);
  ASSERT_TRUE(s.loop.until([&] { return s.server.reset_by_client.size() == 1; }));
  EXPECT_EQ(other->done, 0);
}

TEST(CurlHttp2, FreshConnectionIsNotShared) {  // R52
  Rig s;
  const auto old = s.watch();
  auto request = s.request();
  request.fresh_connection = true;
  const auto fresh = s.client.start(request);
  ASSERT_TRUE(s.loop.until([&] { return fresh->heads == 1; }));
  EXPECT_EQ(s.server.opened[1].connection, 2);
}

TEST(CurlHttp2, AfterGoAwayStreamsGoOnAndNewOnesConnectAnew) {  // T18
  Rig s;
  const auto old = s.watch();
  s.server.go_away(1);
  s.server.data(s.server.opened[0], "after");
  ASSERT_TRUE(s.loop.until([&] { return old->body == "after"; }));
  const auto next = s.watch();
  EXPECT_EQ(s.server.opened.back().connection, 2);
  s.server.data(s.server.opened[0], "end", true);
  ASSERT_TRUE(s.loop.until([&] { return old->done == 1; }));
  EXPECT_TRUE(old->result.has_value()) << old->what();
  EXPECT_EQ(old->body, "afterend");
  EXPECT_EQ(next->done, 0);
}

TEST(CurlHttp2, LostConnectionEndsItsStreamsAsDisconnected) {
  Rig s;
  const auto one = s.watch();
  const auto two = s.watch();
  s.server.close(1);
  ASSERT_TRUE(s.loop.until([&] { return one->done == 1 && two->done == 1; }));
  EXPECT_EQ(one->code(), Errc::kTransport);
  EXPECT_NE(one->what().find("disconnected"), std::string::npos) << one->what();
  EXPECT_EQ(two->code(), Errc::kTransport);
  const auto next = s.watch();
  EXPECT_EQ(s.server.opened.back().connection, 2);
}

TEST(CurlHttp2, ResetStreamIsADisconnection) {
  Rig s;
  const auto seen = s.watch();
  s.server.reset(s.server.opened[0]);
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport);
  EXPECT_NE(seen->what().find("disconnected"), std::string::npos) << seen->what();
}

TEST(CurlHttp2, TransportMayBeDestroyedWithStreamsOpen) {
  Rig s;
  const auto one = s.watch();
  const auto two = s.watch();
  s.client.transport.reset();
  ASSERT_TRUE(s.loop.until([&] { return s.server.open_connections() == 0; }));
  EXPECT_EQ(one->done + two->done, 0);
}

}  // namespace
}  // namespace hookd::net
