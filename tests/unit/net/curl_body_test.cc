// Request bodies that are made while they are sent, and requests that may be sent twice.
#include <gtest/gtest.h>

#include "client.h"
#include "net/curl_transport.h"

namespace hookd::net {
namespace {

using fake::FakeRequest;
using fake::FakeServer;
using fake::Fault;

// `pieces` of 50,000 bytes each; `opened` counts how often it was begun.
BodySource source_of(int pieces, int& opened) {
  return {50'000u * static_cast<uint64_t>(pieces), [pieces, &opened] {
            ++opened;
            return [left = pieces]() mutable {
              return left-- > 0 ? std::string(50'000, static_cast<char>('a' + left % 26)) : std::string();
            };
          }};
}

HttpRequest post(const FakeServer& server, BodySource source) {
  HttpRequest request;
  request.method = "POST";
  request.url = server.url("/x");
  request.pool = Pool::kHook;
  request.body_source = std::move(source);
  return request;
}

TEST(CurlBody, IsStreamedWithItsLength) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.body = "ok"});
  int opened = 0;
  const auto seen = client.run(post(server, source_of(40, opened)));
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  ASSERT_EQ(server.requests.size(), 1u);
  const FakeRequest& request = server.requests[0];
  EXPECT_EQ(request.header("content-length"), "2000000");
  EXPECT_EQ(request.header("expect"), "");
  EXPECT_EQ(request.header("transfer-encoding"), "");
  ASSERT_EQ(request.body.size(), 2'000'000u);
  EXPECT_EQ(request.body.substr(0, 50'000), std::string(50'000, 'n'));
  EXPECT_EQ(opened, 1);
}

TEST(CurlBody, OneThatEndsTooSoonIsAnErrorOfOurs) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  int opened = 0;
  auto source = source_of(2, opened);
  source.bytes += 7;
  const auto seen = client.run(post(server, std::move(source)));
  EXPECT_EQ(seen->code(), Errc::kInternal);
  EXPECT_NE(seen->what().find("ended 7 bytes before its length"), std::string::npos) << seen->what();
}

TEST(CurlBody, ARepeatableRequestIsSentAgainWhenItsPooledConnectionDies) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({});
  int opened = 0;
  ASSERT_TRUE(client.run(post(server, source_of(1, opened)))->result.has_value());
  opened = 0;
  server.reply({.fault = Fault::kCutBefore});
  server.reply({.body = "second"});
  auto request = post(server, source_of(3, opened));
  request.repeatable = true;
  const auto seen = client.run(std::move(request));
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "second");
  EXPECT_EQ(opened, 2);
  ASSERT_EQ(server.requests.size(), 3u);
  EXPECT_EQ(server.requests[1].connection, server.requests[0].connection);
  EXPECT_EQ(server.requests[2].body.size(), 150'000u);
}

}  // namespace
}  // namespace hookd::net
