// The server over real sockets: requests taken apart, bounds, deadlines, keep-alive, stopping.
#include "net/http_server.h"

#include <gtest/gtest.h>

#include "http_server_fixture.h"

namespace hookd::net {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;

TEST(HttpServer, TakesRequestsApartAndAnswers) {
  Server s;
  const auto seen = s.client.run(
      {.method = "POST", .url = s.url("/hooks/a%20b?x=1&y=%2F"), .headers = {{"X-Token", "t"}}, .body = "{}"});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->head.status, 200);
  EXPECT_EQ(seen->head.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(seen->body, "answer to /hooks/a%20b\n");
  ASSERT_EQ(s.requests.size(), 1u);
  EXPECT_EQ(s.requests[0].method, "POST");
  EXPECT_EQ(s.requests[0].path, "/hooks/a%20b");
  EXPECT_EQ(s.requests[0].query, "x=1&y=%2F");
  EXPECT_EQ(s.requests[0].header("x-token"), "t");
  EXPECT_EQ(s.requests[0].header("absent"), "");
  EXPECT_EQ(s.requests[0].body, "{}");
  EXPECT_TRUE(s.requests[0].peer.starts_with("127.0.0.1:")) << s.requests[0].peer;
}

TEST(HttpServer, KeepsConnectionsAndAnswersPipelinedRequestsInOrder) {
  Server s;
  auto raw = s.raw();
  raw.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /3 "
      "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(raw.closed());
  EXPECT_LT(raw.got.find("answer to /1"), raw.got.find("answer to /2"));
  EXPECT_LT(raw.got.find("answer to /2"), raw.got.find("answer to /3"));
  ASSERT_EQ(s.requests.size(), 3u);
  EXPECT_EQ(s.requests[1].body, "ab");
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 0; }));
}

TEST(HttpServer, UnderstandsChunksAbsoluteTargetsAndOldClients) {
  Server s;
  auto raw = s.raw();
  raw.send(
      "PUT http://host:80/p?q HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  ASSERT_TRUE(raw.receives("answer to /p"));
  EXPECT_EQ(s.requests.at(0).body, "abcde");
  EXPECT_EQ(s.requests.at(0).query, "q");
  auto old = s.raw();
  old.send("GET /old HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(old.closed());
  EXPECT_TRUE(old.got.ends_with("answer to /old\n")) << old.got;
}

TEST(HttpServer, HeadGetsTheLengthWithoutTheBody) {
  Server s;
  auto raw = s.raw();
  raw.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(raw.receives("answer to /b"));
  EXPECT_EQ(raw.got.find("answer to /a"), std::string::npos);
  EXPECT_NE(raw.got.find("Content-Length: 13\r\n"), std::string::npos) << raw.got;
}

TEST(HttpServer, AsksForTheBodyOfAnExpectingClient) {
  Server s;
  auto raw = s.raw();
  raw.send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(raw.receives("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_TRUE(s.requests.empty());
  raw.send("abc");
  ASSERT_TRUE(raw.receives("answer to /e"));
  EXPECT_EQ(s.requests.at(0).body, "abc");
}

TEST(HttpServer, AnswersLaterAndOnlyOnce) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  EXPECT_EQ(seen->heads, 0);
  s.waiting[0]({.status = 202,
                .content_type = "application/json",
                .body = "{}",
                .headers = {{"X-A", "b"}, {"X-Bad", "c\r\nX-Evil: 1"}}});
  s.waiting[0]({.status = 500});
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->head.status, 202);
  EXPECT_EQ(seen->body, "{}");
  EXPECT_EQ(seen->head.header("content-type"), "application/json");
  EXPECT_EQ(seen->head.header("x-a"), "b");
  EXPECT_EQ(seen->head.header("x-evil"), "");
}

TEST(HttpServer, UnansweredRequestGetsA500) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  s.waiting.clear();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->head.status, 500);
}

TEST(HttpServer, ResponderOutlivesClientAndServer) {
  Server s;
  s.hold = true;
  auto seen = s.client.get(s.url("/"));
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  s.waiting.push_back(s.waiting[0]);
  seen->call.reset();
  s.loop.settle();
  s.waiting[0]({});
  const auto other = s.client.get(s.url("/"));
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 3; }));
  s.server.reset();
  s.waiting[2]({});
  ASSERT_TRUE(s.loop.until([&] { return other->done == 1; }));
  EXPECT_EQ(other->code(), Errc::kTransport);
}

TEST(HttpServer, RefusesBodiesOverTheLimit) {
  Server s({.body_bytes = 1000});
  const auto exact = s.client.run({.method = "POST", .url = s.url("/"), .body = std::string(1000, 'x')});
  EXPECT_EQ(exact->head.status, 200);
  const auto over = s.client.run({.method = "POST", .url = s.url("/"), .body = std::string(1001, 'x')});
  EXPECT_EQ(over->head.status, 413);
  EXPECT_NE(over->body.find("over 1000 bytes"), std::string::npos) << over->body;
  // The client may still be sending when it is refused; it must get to read why.
  const auto far_over = s.client.run({.method = "POST", .url = s.url("/"), .body = std::string(8u << 20, 'x')});
  EXPECT_EQ(far_over->head.status, 413) << far_over->what();
  auto chunked = s.raw();
  chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3ea\r\n" + std::string(1002, 'x') +
               "\r\n0\r\n\r\n");
  EXPECT_TRUE(chunked.receives(" 413 ")) << chunked.got;
  EXPECT_EQ(s.requests.size(), 1u);
}

TEST(HttpServer, TakesFourMegabytesByDefault) {
  Server s;
  const std::string body(4u << 20, 'x');
  EXPECT_EQ(s.client.run({.method = "POST", .url = s.url("/"), .body = body})->head.status, 200);
  EXPECT_TRUE(s.requests.at(0).body == body);
  EXPECT_EQ(s.client.run({.method = "POST", .url = s.url("/"), .body = body + "x"})->head.status, 413);
}

TEST(HttpServer, RefusesHeadersOverTheLimitAndNonsense) {
  Server s;
  const auto over = s.client.run({.url = s.url("/"), .headers = {{"X-Long", std::string(17'000, 'v')}}});
  EXPECT_EQ(over->head.status, 431);
  auto nonsense = s.raw();
  nonsense.send("\x16\x03\x01 this is not HTTP\r\n\r\n");
  EXPECT_TRUE(nonsense.receives(" 400 ")) << nonsense.got;
  nonsense.socket.shutdown(tcp::socket::shutdown_send);
  EXPECT_TRUE(nonsense.closed());
  EXPECT_TRUE(s.requests.empty());
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 1; }))
      << "only the kept one of the first client may stay";
}

TEST(HttpServer, LimitHoldsForHeadersThatComeInPieces) {
  Server s;
  auto raw = s.raw();
  raw.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 200 && raw.got.empty(); ++i) {
    raw.send("X-" + std::to_string(i) + ": " + std::string(100, 'v') + "\r\n");
    s.loop.settle();
  }
  EXPECT_TRUE(raw.receives(" 431 ")) << raw.got;
}

TEST(HttpServer, LimitHoldsForTheHeadersOfChunks) {
  Server s;
  auto raw = s.raw();
  raw.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;" + std::string(17'000, 'e'));
  EXPECT_TRUE(raw.receives(" 400 ")) << raw.got;
  EXPECT_TRUE(s.requests.empty());
}

TEST(HttpServer, OwnerShapesWhatTheServerRefuses) {
  HttpServerLimits limits{.body_bytes = 10, .connections = 3};
  limits.refusal = [](int status, std::string_view why) {
    return ServerResponse{.status = status,
                          .content_type = "application/json",
                          .body = fmt::format(R"({{"kind":"Status","code":{},"message":"{}"}})", status, why)};
  };
  Server s(limits);
  const auto large = s.client.run({.method = "POST", .url = s.url("/"), .body = std::string(11, 'x')});
  EXPECT_EQ(large->head.status, 413);
  EXPECT_EQ(large->head.header("content-type"), "application/json");
  EXPECT_EQ(large->body, R"({"kind":"Status","code":413,"message":"the body is over 10 bytes"})");
  const auto header = s.client.run({.url = s.url("/"), .headers = {{"X-Long", std::string(17'000, 'v')}}});
  EXPECT_EQ(header->body, R"({"kind":"Status","code":431,"message":"the header is over 16384 bytes"})");
  auto nonsense = s.raw();
  nonsense.send("nonsense\r\n\r\n");
  EXPECT_TRUE(nonsense.receives(R"({"kind":"Status","code":400,)")) << nonsense.got;
  nonsense.socket.close();
  s.hold = true;
  const auto dropped = s.client.get(s.url("/"));
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  s.waiting.clear();
  ASSERT_TRUE(s.loop.until([&] { return dropped->done == 1; }));
  EXPECT_EQ(dropped->body, R"({"kind":"Status","code":500,"message":"the request was not answered"})");

  std::vector<std::unique_ptr<RawClient>> busy;
  for (size_t i = 1; i <= limits.connections; ++i) {
    busy.push_back(std::make_unique<RawClient>(s.loop, s.server->port()));
    busy.back()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == i; }));
  }
  auto refused = s.raw();
  EXPECT_TRUE(refused.receives(R"({"kind":"Status","code":503,"message":"too many connections"})")) << refused.got;
}

TEST(HttpServer, AnswersKeepRepeatedHeadersAndHaveNoBodyWhereNoneMayBe) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send("DELETE /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  s.waiting[0]({.status = 204, .content_type = "", .body = "never seen", .headers = {{"Content-Length", "7"}}});
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 2; }));
  s.waiting[1]({.body = "end", .headers = {{"Warning", "299 - \"a\""}, {"Warning", "299 - \"b\""}}});
  ASSERT_TRUE(raw.receives("end"));
  EXPECT_EQ(raw.got,
            "HTTP/1.1 204 No Content\r\n\r\n"
            "HTTP/1.1 200 OK\r\nWarning: 299 - \"a\"\r\nWarning: 299 - \"b\"\r\n"
            "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nend");
}

TEST(HttpServer, SlowRequestsAreCutOff) {
  Server s({.read_deadline = milliseconds(150)});
  auto silent = s.raw();
  auto header = s.raw();
  header.send("GET / HT");
  auto body = s.raw();
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(header.closed());
  EXPECT_TRUE(body.closed());
  EXPECT_TRUE(s.requests.empty());
  EXPECT_EQ(s.server->connections(), 0u);
}

TEST(HttpServer, DeadlineDoesNotCoverTheHandlersTime) {
  Server s({.read_deadline = milliseconds(50)});
  s.hold = true;
  std::shared_ptr<Seen> seen;
  do {  // until one was read in time, however busy the machine is
    seen = s.client.get(s.url("/"));
    ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1 || seen->done == 1; }));
  } while (s.waiting.empty());
  bool later = false;
  const Timer timer = s.loop.scheduler.after(milliseconds(120), [&] { later = true; });
  ASSERT_TRUE(s.loop.until([&] { return later; }));
  s.waiting[0]({.body = "late"});
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->body, "late");
}

TEST(HttpServer, IdleKeptConnectionsAreClosed) {
  Server s({.idle_deadline = milliseconds(100)});
  auto raw = s.raw();
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(raw.receives("answer"));
  EXPECT_TRUE(raw.closed());
}

TEST(HttpServer, OneTooManyTakesTheIdleOnesPlaceOrGetsA503) {
  Server s({.connections = 2});
  auto kept = s.raw();
  kept.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(kept.receives("answer to /1"));
  s.hold = true;
  auto second = s.raw();
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  auto third = s.raw();
  third.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 2; }));
  EXPECT_TRUE(kept.closed());
  auto fourth = s.raw();
  EXPECT_TRUE(fourth.receives(" 503 ")) << fourth.got;
  EXPECT_TRUE(fourth.closed());
  EXPECT_EQ(s.server->connections(), 2u);
  for (const auto& respond : s.waiting) respond({.body = "served"});
  EXPECT_TRUE(second.receives("served"));
  EXPECT_TRUE(third.receives("served"));
}

TEST(HttpServer, ServesManyClientsAtOnce) {
  Server s;
  std::vector<std::shared_ptr<Seen>> all;
  for (int i = 0; i < 200; ++i) all.push_back(s.client.get(s.url("/" + std::to_string(i))));
  ASSERT_TRUE(s.loop.until([&] { return std::ranges::all_of(all, [](const auto& seen) { return seen->done == 1; }); }));
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i]->body, "answer to /" + std::to_string(i) + "\n") << all[i]->what();
}

TEST(HttpServer, DrainFinishesWhatIsUnderWay) {
  Server s;
  auto idle = s.raw();
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(idle.receives("answer"));
  s.hold = true;
  auto busy = s.raw();
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(s.loop.until([&] { return s.waiting.size() == 1; }));
  s.server->drain();
  EXPECT_TRUE(idle.closed());
  const auto late = s.client.run({.url = s.url("/")});
  EXPECT_EQ(late->code(), Errc::kTransport);
  s.waiting[0]({.body = "finished"});
  EXPECT_TRUE(busy.receives("finished"));
  EXPECT_NE(busy.got.find("Connection: close"), std::string::npos) << busy.got;
  EXPECT_TRUE(busy.closed());
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 0; }));
}

TEST(HttpServer, MayBeDestroyedInItsHandler) {
  fake::TestLoop loop;
  std::unique_ptr<HttpServer> server;
  bool called = false;
  server = std::move(*HttpServer::listen(loop.scheduler, "127.0.0.1:0", [&](const ServerRequest&, Responder respond) {
    called = true;
    server.reset();
    respond({});
  }));
  RawClient raw(loop, server->port());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(raw.closed());
  EXPECT_TRUE(called);
}

TEST(HttpServer, PortAloneListensOnBothFamilies) {
  Server s({}, ":0");
  RawClient v4(s.loop, s.server->port());
  v4.send("GET /4 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(v4.receives("answer to /4"));
  EXPECT_TRUE(s.requests.at(0).peer.starts_with("127.0.0.1:")) << "not as a mapped address: " << s.requests.at(0).peer;
  RawClient v6(s.loop, s.server->port(), "::1");
  v6.send("GET /6 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(v6.receives("answer to /6"));
  EXPECT_TRUE(s.requests.at(1).peer.starts_with("[::1]:")) << s.requests.at(1).peer;
}

TEST(HttpServer, ListensOnOneAddressOfEitherFamily) {
  Server v6({}, "[::1]:0");
  RawClient raw(v6.loop, v6.server->port(), "::1");
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(raw.receives("answer"));
  Server local({}, "localhost:0");
  EXPECT_EQ(local.client.run({.url = local.url("/")})->head.status, 200);
}

TEST(HttpServer, ExplainsAddressesThatCannotBe) {
  fake::TestLoop loop;
  for (const char* bad :
       {"", "9115", ":x", ":70000", ":-1", "host:1", "::1:80", "[127.0.0.1]:80", "127.0.0.1:", "[::1]"}) {
    const auto made = HttpServer::listen(loop.scheduler, bad, {});
    ASSERT_FALSE(made.has_value()) << bad;
    EXPECT_EQ(made.error().code, Errc::kConfig);
    EXPECT_NE(made.error().what.find(std::string("\"") + bad + "\""), std::string::npos) << made.error().what;
  }
  const auto first = HttpServer::listen(loop.scheduler, "127.0.0.1:0", {});
  ASSERT_TRUE(first.has_value());
  const std::string taken = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = HttpServer::listen(loop.scheduler, taken, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().what,
            "cannot listen on " + taken + ": the port is taken; stop what uses it, or choose another");
}

}  // namespace
}  // namespace hookd::net
