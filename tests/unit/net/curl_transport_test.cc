// The client over plain HTTP: what goes out, what comes back, how transfers end.
#include "net/curl_transport.h"

#include <gtest/gtest.h>

#include "client.h"

namespace hookd::net {
namespace {

using fake::FakeReply;
using fake::FakeRequest;
using fake::FakeServer;
using fake::Fault;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CurlTransport, GivesHeadThenBodyThenDone) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.status = 201,
                .headers = {{"X-Some-Header", "  Value "}, {"Warning", "299 - \"a\""}, {"Warning", "299 - \"b\""}},
                .body = "hello"});
  std::string order;
  HttpHandlers handlers;
  int status = 0;
  handlers.on_head = [&](const HttpHead& head) {
    order += "h";
    status = head.status;
    EXPECT_EQ(head.header("x-some-header"), "Value");
    EXPECT_EQ(head.header("content-length"), "5");
    EXPECT_EQ(head.header("absent"), "");
    EXPECT_EQ(std::ranges::count_if(head.headers, [](const auto& h) { return h.first == "warning"; }), 2);
  };
  handlers.on_data = [&](std::string_view piece) {
    order += "d";
    EXPECT_EQ(piece, "hello");
    return true;
  };
  handlers.on_done = [&](Result<void> result) {
    order += "e";
    EXPECT_TRUE(result.has_value());
  };
  const auto call = client.transport->start({.url = server.url("/x?y=1")}, handlers);
  EXPECT_EQ(order, "");  // never from inside start()
  ASSERT_TRUE(client.loop.until([&] { return order.ends_with('e'); }));
  EXPECT_EQ(order, "hde");
  EXPECT_EQ(status, 201);
  EXPECT_EQ(client.transport->calls_under_way(), 0u);
}

TEST(CurlTransport, SendsWhatItWasToldAndNoMore) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  const auto seen = client.run({.method = "GET",
                                .url = server.url("/apis/a.b/v1/..x/%2E?limit=500&x=a%20b"),
                                .headers = {{"Accept", "application/json"}}});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  ASSERT_EQ(server.requests.size(), 1u);
  const FakeRequest& request = server.requests[0];
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/apis/a.b/v1/..x/%2E?limit=500&x=a%20b");
  EXPECT_EQ(request.header("accept"), "application/json");
  EXPECT_EQ(request.header("accept-encoding"), "identity");  // R56: some proxies hold back what they may compress
  EXPECT_EQ(request.header("user-agent"), "hookd");          // R57: not one that begins with "curl"
  EXPECT_EQ(request.headers.size(), 4u) << "with host";
}

TEST(CurlTransport, SendsEveryMethodWithAndWithoutBody) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {.body = "ok"}; };
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "GET"}) {
    for (const std::string body : {"", "{\"a\":1}"}) {
      const auto seen = client.run({.method = method,
                                    .url = server.url("/"),
                                    .headers = {{"Content-Type", "application/merge-patch+json"}},
                                    .body = body});
      ASSERT_TRUE(seen->result.has_value()) << method << " " << seen->what();
      EXPECT_EQ(server.requests.back().method, method);
      EXPECT_EQ(server.requests.back().body, body);
      EXPECT_EQ(server.requests.back().header("content-type"), "application/merge-patch+json");
      EXPECT_EQ(seen->body, "ok");
    }
  }
  const auto head = client.run({.method = "HEAD", .url = server.url("/")});
  EXPECT_EQ(server.requests.back().method, "HEAD");
  EXPECT_EQ(head->heads, 1);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(server.accepted(), 1) << "all on one connection";
}

TEST(CurlTransport, SendsNoTypeAndNoExpectOfItsOwn) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  const std::string body(3u << 20, 'x');
  const auto seen = client.run(
      {.method = "POST", .url = server.url("/"), .headers = {{"X-Empty", ""}, {"User-Agent", "test/1"}}, .body = body});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  const FakeRequest& request = server.requests.at(0);
  EXPECT_EQ(request.header("content-type"), "");
  EXPECT_EQ(request.header("expect"), "");
  EXPECT_EQ(request.header("user-agent"), "test/1");
  EXPECT_TRUE(std::ranges::any_of(request.headers, [](const auto& h) { return h.first == "x-empty"; }));
  EXPECT_TRUE(request.body == body);
}

TEST(CurlTransport, SkipsInterimAnswers) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.status = 200, .headers = {{"X-Real", "1"}}, .body = "ok", .interim = {100, 103}});
  const auto seen = client.run({.method = "POST", .url = server.url("/"), .body = "x"});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->heads, 1);
  EXPECT_EQ(seen->head.status, 200);
  EXPECT_EQ(seen->head.header("x-interim"), "");
  EXPECT_EQ(seen->head.header("x-real"), "1");
}

TEST(CurlTransport, DoesNotFollowRedirects) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.status = 307, .headers = {{"Location", server.url("/elsewhere")}}});
  const auto seen = client.run({.url = server.url("/")});
  EXPECT_EQ(seen->head.status, 307);
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST(CurlTransport, ReassemblesWhatComesByteByByte) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.headers = {{"X-A", "b"}}, .body = "slowly", .chunked = true, .fault = Fault::kByteByByte});
  const auto seen = client.run({.url = server.url("/")});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "slowly");
  EXPECT_EQ(seen->head.header("x-a"), "b");
}

TEST(CurlTransport, StreamsPiecesAsTheyCome) {
  Client client;
  FakeServer server(client.loop.context);
  const auto stream = server.stream();
  const auto seen = client.start({.url = server.url("/watch"), .pool = Pool::kWatch});
  ASSERT_TRUE(client.loop.until([&] { return seen->heads == 1; }));
  stream->send("one\n");
  ASSERT_TRUE(client.loop.until([&] { return seen->body == "one\n"; }));
  EXPECT_EQ(seen->done, 0);
  stream->send("two\n");
  ASSERT_TRUE(client.loop.until([&] { return seen->body == "one\ntwo\n"; }));
  stream->end();
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_TRUE(seen->result.has_value());
}

TEST(CurlTransport, KeepsWatchesAndTheRestApart) {  // R54
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {.body = "x"}; };
  client.run({.url = server.url("/")});
  client.run({.url = server.url("/"), .pool = Pool::kWatch});
  client.run({.url = server.url("/")});
  client.run({.url = server.url("/"), .pool = Pool::kWatch});
  EXPECT_EQ(server.accepted(), 2);
  EXPECT_EQ(server.requests[0].connection, server.requests[2].connection);
  EXPECT_NE(server.requests[0].connection, server.requests[1].connection);
}

TEST(CurlTransport, FreshConnectionLeavesThePooledOneAlone) {  // R52
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest&) -> FakeReply { return {}; };
  client.run({.url = server.url("/")});
  client.run({.url = server.url("/"), .fresh_connection = true});
  EXPECT_EQ(server.requests[1].connection, 2);
}

TEST(CurlTransport, RunsAHundredRequestsAtOnce) {
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [](const FakeRequest& request) -> FakeReply { return {.body = request.target}; };
  std::vector<std::shared_ptr<Seen>> all;
  for (int i = 0; i < 100; ++i) all.push_back(client.get(server.url("/" + std::to_string(i))));
  EXPECT_EQ(client.transport->calls_under_way(), 100u);
  ASSERT_TRUE(client.loop.until([&] { return std::ranges::all_of(all, [](const auto& s) { return s->done == 1; }); }));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(all[static_cast<size_t>(i)]->body, "/" + std::to_string(i)) << all[static_cast<size_t>(i)]->what();
}

TEST(CurlTransport, BringsFiftyMegabytes) {
  Client client;
  FakeServer server(client.loop.context);
  std::string body(50u << 20, '\0');
  for (size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>(i >> 8);
  server.reply({.body = body});
  const auto seen = client.run({.url = server.url("/")});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_TRUE(seen->body == body);
  EXPECT_LT(seen->pieces, 50u * 96) << "libcurl's pieces are of 16 KiB at most, and should mostly be full";
}

TEST(CurlTransport, UnpacksGzipOnlyWhenAsked) {
  Client client;
  FakeServer server(client.loop.context);
  // gzip of "hello" repeated, made once with `printf hello | gzip -9n`
  const unsigned char packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd,
                                  0xc9, 0xc9, 0x07, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00};
  server.reply({.headers = {{"Content-Encoding", "gzip"}},
                .body = std::string(reinterpret_cast<const char*>(packed), sizeof packed)});
  const auto seen = client.run({.url = server.url("/"), .accept_gzip = true});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "hello");
  EXPECT_EQ(server.requests.at(0).header("accept-encoding"), "gzip");
}

TEST(CurlTransport, RefusesHeadersWithoutBound) {
  Client client(CurlOptions{{}, "", "", 8192});
  FakeServer server(client.loop.context);
  fake::Headers many;
  for (int i = 0; i < 200; ++i) many.emplace_back("X-" + std::to_string(i), std::string(50, 'v'));
  server.reply({.headers = many});
  auto seen = client.run({.url = server.url("/")});
  EXPECT_EQ(seen->code(), Errc::kTooLarge) << seen->what();
  EXPECT_NE(seen->what().find("8192 bytes"), std::string::npos) << seen->what();
  EXPECT_EQ(seen->heads, 0);

  server.reply({.headers = {{"X-Long", std::string(200'000, 'v')}}});
  seen = client.run({.url = server.url("/")});
  EXPECT_EQ(seen->code(), Errc::kTooLarge) << seen->what();
}

TEST(CurlTransport, RefusesWhatCannotBeSent) {
  Client client;
  const auto smuggled = client.run({.url = "http://127.0.0.1:1/", .headers = {{"X-A", "b\r\nX-Evil: 1"}}});
  EXPECT_EQ(smuggled->code(), Errc::kInvalid);
  EXPECT_EQ(client.run({.url = "http://127.0.0.1:1/", .headers = {{"X A", "b"}}})->code(), Errc::kInvalid);
  EXPECT_EQ(client.run({.method = "GET / HTTP/1.1\r\nX:", .url = "http://127.0.0.1:1/"})->code(), Errc::kInvalid);
  const auto scheme = client.run({.url = "ftp://user:secret@example.com/"});
  EXPECT_EQ(scheme->code(), Errc::kConfig);
  EXPECT_NE(scheme->what().find("ftp://example.com/"), std::string::npos) << scheme->what();
  EXPECT_EQ(scheme->what().find("secret"), std::string::npos) << scheme->what();
  EXPECT_EQ(client.run({.url = "http://[::1/"})->code(), Errc::kConfig);
  EXPECT_EQ(client.run({.url = ""})->code(), Errc::kConfig);
}

TEST(CurlTransport, EndsEveryOneOfTenThousandRequests) {
  // Under AddressSanitizer this also shows that nothing is left behind.
  Client client;
  FakeServer server(client.loop.context);
  server.on_request = [&](const FakeRequest&) -> FakeReply {
    server.requests.clear();
    return {.body = "{}"};
  };
  int done = 0;
  int good = 0;
  constexpr int kAll = 10'000;
  constexpr int kAtOnce = 8;
  std::vector<std::unique_ptr<HttpCall>> calls(kAtOnce);
  int started = 0;
  std::function<void(size_t)> next = [&](size_t slot) {
    if (started == kAll) return;
    ++started;
    HttpHandlers handlers;
    handlers.on_done = [&, slot](Result<void> result) {
      ++done;
      if (result) ++good;
      next(slot);  // destroys the call that this comes from
    };
    calls[slot] = client.transport->start({.url = server.url("/")}, std::move(handlers));
  };
  for (size_t i = 0; i < kAtOnce; ++i) next(i);
  ASSERT_TRUE(client.loop.until([&] { return done == kAll; }, seconds(100)));
  EXPECT_EQ(good, kAll);
  EXPECT_LE(server.accepted(), kAtOnce);
  EXPECT_EQ(client.transport->calls_under_way(), 0u);
}

}  // namespace
}  // namespace hookd::net
