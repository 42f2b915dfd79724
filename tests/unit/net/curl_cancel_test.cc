// Calls destroyed at every possible moment, and transports with calls under way.
#include <gtest/gtest.h>

#include <memory>

#include "client.h"

namespace hookd::net {
namespace {

using fake::FakeReply;
using fake::FakeRequest;
using fake::FakeServer;
using fake::Fault;

enum class At { kStart, kHead, kData, kDone };

// One call that destroys itself at `when`, beside another that must not notice.
void destroy_at(At when, Pool pool) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {.body = "x"}; };
  std::unique_ptr<HttpCall> call;
  std::string order;
  auto owned = std::make_shared<std::string>("kept as long as a handler runs");
  const std::weak_ptr<std::string> watched = owned;
  HttpHandlers handlers;
  handlers.on_head = [&, owned](const HttpHead&) {
    order += "h";
    if (when == At::kHead) call.reset();
    EXPECT_EQ(owned->size(), 30u);
  };
  handlers.on_data = [&, owned](std::string_view) {
    order += "d";
    if (when == At::kData) call.reset();
    EXPECT_EQ(owned->size(), 30u);
    return true;
  };
  handlers.on_done = [&, owned](Result<void>) {
    order += "e";
    call.reset();
    EXPECT_EQ(owned->size(), 30u);
  };
  owned.reset();
  call = client.transport->start({.url = server.url("/"), .pool = pool}, std::move(handlers));
  if (when == At::kStart) call.reset();
  const auto other = client.start({.url = server.url("/other"), .pool = pool});
  ASSERT_TRUE(client.loop.until([&] { return other->done == 1 && client.transport->calls_under_way() == 0; }));
  client.loop.settle();
  EXPECT_EQ(order, when == At::kStart ? "" : when == At::kHead ? "h" : when == At::kData ? "hd" : "hde");
  EXPECT_EQ(other->body, "x");
  EXPECT_TRUE(watched.expired()) << "the handlers are freed with the call";
}

TEST(CurlCancel, CallMayBeDestroyedInEachCallback) {
  for (const Pool pool : {Pool::kRest, Pool::kWatch})
    for (const At when : {At::kStart, At::kHead, At::kData, At::kDone}) destroy_at(when, pool);
}

TEST(CurlCancel, TransportMayBeDestroyedInEachCallback) {
  for (const At when : {At::kHead, At::kData, At::kDone}) {
    fake::TestLoop loop;
    auto transport = std::make_unique<CurlTransport>(loop.scheduler, CurlOptions{});
    FakeServer server(loop.context);
    server.on_request = [](const FakeRequest&) -> FakeReply { return {.body = "x"}; };
    std::string order;
    HttpHandlers handlers;
    handlers.on_head = [&](const HttpHead&) {
      order += "h";
      if (when == At::kHead) transport.reset();
    };
    handlers.on_data = [&](std::string_view) {
      order += "d";
      if (when == At::kData) transport.reset();
      return true;
    };
    handlers.on_done = [&](Result<void>) {
      order += "e";
      transport.reset();
    };
    auto first = transport->start({.url = server.url("/")}, handlers);
    auto second = transport->start(
        {.url = server.url("/2"), .pool = Pool::kWatch, .total_timeout = std::chrono::seconds(60)}, {});
    ASSERT_TRUE(loop.until([&] { return !transport; }));
    loop.settle();
    EXPECT_EQ(order, when == At::kHead ? "h" : when == At::kData ? "hd" : "hde");
  }  // the calls outlive the transport here
}

TEST(CurlCancel, TransportMayBeDestroyedWithCallsUnderWay) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {.fault = Fault::kHalfOpen}; };
  std::vector<std::shared_ptr<Seen>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(client.start({.url = server.url("/"),
                                .pool = i % 2 ? Pool::kWatch : Pool::kRest,
                                .total_timeout = std::chrono::seconds(60),
                                .idle_timeout = std::chrono::seconds(60)}));
  all.push_back(client.start({.url = "bad"}));  // its failure is posted, not yet told
  ASSERT_TRUE(client.loop.until([&] { return server.requests.size() >= 10; }));
  all.push_back(client.start({.url = "bad"}));
  client.transport.reset();
  client.loop.settle();
  for (const auto& seen : all) EXPECT_EQ(seen->done, seen == all[20] ? 1 : 0);
  ASSERT_TRUE(client.loop.until([&] { return server.open_connections() == 0; }));
}

TEST(CurlCancel, EndsTheConnectionOfAnUnfinishedAnswer) {
  Client client;
  FakeServer server(client.loop.context);
  const auto stream = server.stream();
  auto seen = client.start({.url = server.url("/")});
  ASSERT_TRUE(client.loop.until([&] { return seen->heads == 1; }));
  seen->call.reset();
  ASSERT_TRUE(client.loop.until([&] { return stream->client_gone(); }));
  EXPECT_EQ(seen->done, 0);
}

TEST(CurlCancel, CallsMayBeStartedAndDestroyedInAnyCallback) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {.body = "x"}; };
  std::vector<std::shared_ptr<Seen>> children;
  HttpHandlers handlers;
  std::unique_ptr<HttpCall> doomed;
  bool done = false;
  handlers.on_head = [&](const HttpHead&) { children.push_back(client.get(server.url("/h"))); };
  handlers.on_data = [&](std::string_view) {
    children.push_back(client.get(server.url("/d")));
    client.get(server.url("/never"));  // started and destroyed at once
    doomed.reset();
    return true;
  };
  handlers.on_done = [&](Result<void>) {
    children.push_back(client.get(server.url("/e")));
    done = true;
  };
  doomed = client.transport->start({.url = "http://127.0.0.1:1/"}, {});
  const auto call = client.transport->start({.url = server.url("/")}, handlers);
  ASSERT_TRUE(client.loop.until(
      [&] { return done && std::ranges::all_of(children, [](const auto& s) { return s->done == 1; }); }));
  EXPECT_EQ(children.size(), 3u);
  for (const auto& child : children) EXPECT_EQ(child->body, "x") << child->what();
  for (const auto& request : server.requests) EXPECT_NE(request.target, "/never");
}

TEST(CurlCancel, ReceiverMayStopTheAnswer) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.body = std::string(10u << 20, 'x')});
  size_t pieces = 0;
  Result<void> result;
  bool done = false;
  HttpHandlers handlers;
  handlers.on_data = [&](std::string_view) { return ++pieces < 3; };
  handlers.on_done = [&](Result<void> r) {
    result = std::move(r);
    done = true;
  };
  const auto call = client.transport->start({.url = server.url("/")}, handlers);
  ASSERT_TRUE(client.loop.until([&] { return done; }));
  EXPECT_EQ(pieces, 3u);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::kCancelled);
}

TEST(CurlCancel, HandlersMayAllBeAbsent) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.body = "x"});
  const auto call = client.transport->start({.url = server.url("/")}, {});
  ASSERT_TRUE(client.loop.until([&] { return client.transport->calls_under_way() == 0; }));
  EXPECT_EQ(server.requests.size(), 1u);
}

}  // namespace
}  // namespace hookd::net
