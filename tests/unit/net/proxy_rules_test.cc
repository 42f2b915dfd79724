// Which proxy is used (k8s-client.md A12), as a pure function and over sockets.
#include "net/proxy_rules.h"

#include <gtest/gtest.h>

#include <map>

#include "client.h"

namespace hookd::net {
namespace {

ProxyRules rules(std::string no_proxy = "") { return {"http://secure:3128", "http://plain:3128", std::move(no_proxy)}; }

bool bypassed(const std::string& no_proxy, const std::string& host, uint16_t port = 443) {
  return rules(no_proxy).proxy_for("https", host, port).empty();
}

TEST(ProxyRules, ChoosesByScheme) {
  EXPECT_EQ(rules().proxy_for("https", "example.com", 443), "http://secure:3128");
  EXPECT_EQ(rules().proxy_for("http", "example.com", 80), "http://plain:3128");
  EXPECT_EQ(ProxyRules{}.proxy_for("https", "example.com", 443), "");
}

TEST(ProxyRules, LoopbackNeverGoesThroughAProxy) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(bypassed("", host)) << host;
  for (const char* host : {"localhost.example.com", "128.0.0.1", "::2", "10.0.0.1"})
    EXPECT_FALSE(bypassed("", host)) << host;
}

TEST(ProxyRules, NoProxyMatchesNames) {
  EXPECT_TRUE(bypassed("example.com", "example.com"));
  EXPECT_TRUE(bypassed("example.com", "API.Example.com"));
  EXPECT_FALSE(bypassed("example.com", "badexample.com"));
  EXPECT_FALSE(bypassed("example.com", "example.com.evil.org"));
  EXPECT_FALSE(bypassed(".example.com", "example.com"));
  EXPECT_TRUE(bypassed(".example.com", "a.example.com"));
  EXPECT_FALSE(bypassed("*.example.com", "example.com"));
  EXPECT_TRUE(bypassed("*.example.com", "a.b.example.com"));
  EXPECT_TRUE(bypassed("a.org, example.com ,b.org", "example.com"));
  EXPECT_TRUE(bypassed("*", "anything"));
  EXPECT_FALSE(bypassed(" , ,", "anything"));
}

TEST(ProxyRules, NoProxyMatchesPorts) {
  EXPECT_TRUE(bypassed("example.com:6443", "example.com", 6443));
  EXPECT_FALSE(bypassed("example.com:6443", "example.com", 443));
  EXPECT_TRUE(bypassed("[fd00::1]:6443", "fd00::1", 6443));
  EXPECT_FALSE(bypassed("[fd00::1]:6443", "fd00::1", 443));
  EXPECT_TRUE(bypassed("10.0.0.1:6443", "10.0.0.1", 6443));
}

TEST(ProxyRules, NoProxyMatchesNetworksOfAddresses) {  // what saves in-cluster requests
  EXPECT_TRUE(bypassed("10.96.0.0/12", "10.96.0.1"));
  EXPECT_TRUE(bypassed("10.96.0.0/12", "10.111.255.255"));
  EXPECT_FALSE(bypassed("10.96.0.0/12", "10.112.0.0"));
  EXPECT_TRUE(bypassed("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(bypassed("0.0.0.0/0", "example.com"));
  EXPECT_FALSE(bypassed("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(bypassed("fd00::/8", "fd12::3"));
  EXPECT_FALSE(bypassed("fd00::/8", "fe00::1"));
  EXPECT_TRUE(bypassed("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(bypassed("10.0.0.7", "10.0.0.70"));
  EXPECT_FALSE(bypassed("10.0.0.0/33,10.0.0.0/x,10.0.0.0/,/8", "10.0.0.1"));
}

TEST(ProxyRules, ReadsTheEnvironmentUpperCaseFirst) {
  std::map<std::string, std::string> environment{
      {"HTTPS_PROXY", "a"}, {"https_proxy", "b"}, {"http_proxy", "c"}, {"no_proxy", "d"}, {"ALL_PROXY", "e"}};
  const auto read = ProxyRules::from_environment([&](const char* name) { return environment[name]; });
  EXPECT_EQ(read.https_proxy, "a");
  EXPECT_EQ(read.http_proxy, "c");
  EXPECT_EQ(read.no_proxy, "d");
}

TEST(ProxyRules, SpellsProxiesForLibcurl) {
  EXPECT_EQ(*proxy_url_for_curl("host:3128"), "http://host:3128");
  EXPECT_EQ(*proxy_url_for_curl("https://host"), "https://host");
  EXPECT_EQ(*proxy_url_for_curl("socks5://u:p@host:1080"), "socks5h://u:p@host:1080");
  const auto bad = proxy_url_for_curl("ftp://u:secret@host");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Errc::kConfig);
  EXPECT_EQ(bad.error().what.find("secret"), std::string::npos) << bad.error().what;
}

TEST(ProxyRules, HidesNameAndPassword) {
  EXPECT_EQ(without_userinfo("http://u:p@host:1/x@y"), "http://host:1/x@y");
  EXPECT_EQ(without_userinfo("http://u:p@ss@host/"), "http://host/");
  EXPECT_EQ(without_userinfo("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(without_userinfo("u:p@host:1"), "host:1");
}

TEST(ProxyTransport, PlainRequestsGoWholeToTheProxyOfTheEnvironment) {
  fake::TestLoop loop;
  fake::FakeServer proxy(loop.context);
  proxy.reply({.body = "from the proxy"});
  CurlOptions options;
  options.proxies.http_proxy = proxy.url();
  CurlTransport transport(loop.scheduler, options);
  std::string body;
  bool done = false;
  HttpHandlers handlers;
  handlers.on_data = [&](std::string_view piece) {
    body += piece;
    return true;
  };
  handlers.on_done = [&](Result<void>) { done = true; };
  const auto call = transport.start({.url = "http://api.invalid:8080/version"}, handlers);
  ASSERT_TRUE(loop.until([&] { return done; }));
  EXPECT_EQ(body, "from the proxy");
  EXPECT_EQ(proxy.requests.at(0).target, "http://api.invalid:8080/version");
}

TEST(ProxyTransport, ProxyOfTheEnvironmentIsNotUsedForLoopback) {
  Client client(CurlOptions{{"http://127.0.0.1:1", "http://127.0.0.1:1", ""}, "", ""});
  fake::FakeServer server(client.loop.context);
  server.reply({.body = "direct"});
  EXPECT_EQ(client.run({.url = server.url("/")})->body, "direct");
}

TEST(ProxyTransport, ExplicitProxyWinsOverNoProxyAndLoopback) {
  Client client(CurlOptions{{"", "", "*"}, "", ""});
  fake::FakeServer proxy(client.loop.context);
  proxy.reply({.body = "from the proxy"});
  EXPECT_EQ(client.run({.url = "http://127.0.0.1:1/", .proxy = proxy.url()})->body, "from the proxy");
}

TEST(ProxyTransport, TlsGoesThroughATunnelAndARefusalNamesTheProxy) {
  Client client;
  fake::FakeServer proxy(client.loop.context);
  proxy.reply({.status = 403, .body = "no"});
  const auto seen = client.run(
      {.url = "https://api.invalid:6443/", .proxy = "http://user:secret@127.0.0.1:" + std::to_string(proxy.port())});
  EXPECT_EQ(proxy.requests.at(0).method, "CONNECT");
  EXPECT_EQ(proxy.requests.at(0).target, "api.invalid:6443");
  EXPECT_EQ(seen->code(), Errc::kTransport);
  EXPECT_EQ(seen->heads, 0) << "the proxy's answer is not the server's";
  EXPECT_NE(seen->what().find("through the proxy http://127.0.0.1:"), std::string::npos) << seen->what();
  EXPECT_NE(seen->what().find("403"), std::string::npos) << seen->what();
  EXPECT_EQ(seen->what().find("secret"), std::string::npos) << seen->what();
}

TEST(ProxyTransport, EnvironmentOfLibcurlIsIgnored) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  Client client;
  fake::FakeServer server(client.loop.context);
  server.reply({.body = "direct"});
  const auto seen = client.run({.url = server.url("/")});
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  EXPECT_EQ(seen->body, "direct") << seen->what();
}

}  // namespace
}  // namespace hookd::net
