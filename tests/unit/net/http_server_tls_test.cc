// The server over TLS: certificates of both sides, protocols, clients that speak something else.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "http_server_fixture.h"

namespace hookd::net {
namespace {

using boost::asio::ip::tcp;
using fake::FakeCa;
using std::chrono::milliseconds;

ServerTls identity(const FakeCa& ca, const std::string& client_ca_pem = "") {
  auto made = ca.issue({.names = {"127.0.0.1"}});
  return {made.certificate_pem, made.key_pem, client_ca_pem};
}

struct TlsServer : Server {
  explicit TlsServer(const FakeCa& ca, HttpServerLimits limits = {}, const std::string& client_ca_pem = "")
      : Server(std::move(limits), "127.0.0.1:0", identity(ca, client_ca_pem)) {}
};

// A client that does no more than its test asks for.
struct TlsClient {
  fake::TestLoop& loop;
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_client};
  boost::asio::ssl::stream<tcp::socket> stream;
  std::string got;
  boost::system::error_code end;
  bool ended = false;
  char buffer[4096];

  TlsClient(fake::TestLoop& owner, uint16_t port, int highest_version, std::string_view protocols)
      : loop(owner), stream(owner.context, context) {
    SSL_set_security_level(stream.native_handle(), 0);
    SSL_set_min_proto_version(stream.native_handle(), TLS1_VERSION);
    SSL_set_max_proto_version(stream.native_handle(), highest_version);
    SSL_set_alpn_protos(stream.native_handle(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    stream.next_layer().connect({boost::asio::ip::make_address("127.0.0.1"), port});
  }
  bool handshake() {
    bool done = false;
    stream.async_handshake(boost::asio::ssl::stream_base::client, [&](const boost::system::error_code& error) {
      end = error;
      done = true;
    });
    return loop.until([&] { return done; }) && !end;
  }
  std::string protocol() {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(stream.native_handle(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  void send(std::string_view bytes) {
    bool done = false;
    boost::asio::async_write(stream, boost::asio::buffer(bytes), [&](auto, size_t) { done = true; });
    loop.until([&] { return done; });
  }
  void read() {
    stream.async_read_some(boost::asio::buffer(buffer), [this](const boost::system::error_code& error, size_t size) {
      got.append(buffer, size);
      end = error;
      ended = error.failed();
      if (!ended) read();
    });
  }
};

TEST(HttpServerTls, RoundTrip) {
  const FakeCa ca;
  TlsServer s(ca);
  const std::string body(3u << 20, 'b');
  const auto seen = s.client.run({.method = "POST", .url = s.url("/x?y"), .body = body, .tls = trust(ca.pem())});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "answer to /x\n");
  EXPECT_EQ(s.requests.at(0).query, "y");
  EXPECT_TRUE(s.requests.at(0).body == body);
  EXPECT_EQ(s.requests.at(0).client_common_name, "");
  const auto again = s.client.run({.url = s.url("/z"), .tls = trust(ca.pem())});
  EXPECT_EQ(again->body, "answer to /z\n");
  EXPECT_EQ(s.requests.at(1).peer, s.requests.at(0).peer) << "the connection is kept";
}

TEST(HttpServerTls, ClientThatKnowsAnotherCaRefusesTheServer) {
  const FakeCa ca;
  const FakeCa other("other");
  TlsServer s(ca);
  const auto seen = s.client.run({.url = s.url("/"), .tls = trust(other.pem())});
  EXPECT_EQ(seen->code(), Errc::kTls) << seen->what();
  EXPECT_TRUE(s.requests.empty());
  EXPECT_EQ(s.client.run({.url = s.url("/"), .tls = trust(ca.pem())})->head.status, 200);
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 1; })) << "only the good one is left";
}

TEST(HttpServerTls, NamesOfAVerifiedClientCertificateAreSeen) {
  const FakeCa ca;
  TlsServer s(ca, {}, ca.pem());
  const auto with = [&](const fake::FakeIdentity& client) {
    const auto tls =
        std::make_shared<const TlsOptions>(TlsOptions{ca.pem(), client.certificate_pem, client.key_pem, "", false});
    const auto seen = s.client.run({.url = s.url("/"), .tls = tls, .fresh_connection = true});
    EXPECT_EQ(seen->head.status, 200) << seen->what();
    return s.requests.back();
  };
  const auto admin = ca.issue({.common_name = "kubernetes-admin", .organizations = {"system:masters", "dev"}});
  for (int i = 0; i < 2; ++i) {  // the second may resume the session of the first
    const auto request = with(admin);
    EXPECT_EQ(request.client_common_name, "kubernetes-admin");
    EXPECT_EQ(request.client_organizations, (std::vector<std::string>{"system:masters", "dev"}));
    EXPECT_EQ(request.client_certificate_problem, "");
  }
  const auto none = with({});
  EXPECT_EQ(none.client_common_name, "");
  EXPECT_EQ(none.client_certificate_problem, "");
  const auto expired = with(ca.issue({.common_name = "late", .days_from = -3, .days_to = -1}));
  EXPECT_EQ(expired.client_common_name, "");
  EXPECT_EQ(expired.client_certificate_problem,
            "the client certificate of \"late\" is not taken: certificate has expired");
}

TEST(HttpServerTls, ClientCertificateOfAnotherCaIsAProblemNotAName) {
  const FakeCa ca;
  const FakeCa other("fake-ca");  // the same name with another key
  TlsServer s(ca, {}, ca.pem());
  const auto stranger = other.issue({.common_name = "kubernetes-admin", .organizations = {"system:masters"}});
  const auto tls =
      std::make_shared<const TlsOptions>(TlsOptions{ca.pem(), stranger.certificate_pem, stranger.key_pem, "", false});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(s.client.run({.url = s.url("/"), .tls = tls, .fresh_connection = true})->head.status, 200);
    EXPECT_EQ(s.requests.back().client_common_name, "");
    EXPECT_TRUE(s.requests.back().client_organizations.empty());
    EXPECT_NE(s.requests.back().client_certificate_problem.find("\"kubernetes-admin\" is not taken"), std::string::npos)
        << s.requests.back().client_certificate_problem;
  }
}

TEST(HttpServerTls, CertificatesForServersOnlyAreNoClients) {
  const WallTime now = std::chrono::system_clock::now();
  const Validity validity{now - std::chrono::hours(1), now + std::chrono::hours(1)};
  const auto authority = CertificateAuthority::create("ca", validity);
  const auto server =
      authority->issue({.common_name = "s", .names = {"127.0.0.1"}, .server = true, .validity = validity});
  ASSERT_TRUE(server.has_value());
  Server s({}, "127.0.0.1:0", ServerTls{server->certificate_pem, server->key_pem, authority->certificate_pem});
  const auto tls = std::make_shared<const TlsOptions>(
      TlsOptions{authority->certificate_pem, server->certificate_pem, server->key_pem, "", false});
  EXPECT_EQ(s.client.run({.url = s.url("/"), .tls = tls})->head.status, 200);
  EXPECT_EQ(s.requests.at(0).client_common_name, "");
  EXPECT_NE(s.requests.at(0).client_certificate_problem, "");
}

TEST(HttpServerTls, SpeaksHttp11AndTls12OrLater) {
  const FakeCa ca;
  TlsServer s(ca);
  TlsClient both(s.loop, s.server->port(), TLS1_3_VERSION, "\x02h2\x08http/1.1");
  EXPECT_TRUE(both.handshake()) << both.end.message();
  EXPECT_EQ(both.protocol(), "http/1.1");
  TlsClient twelve(s.loop, s.server->port(), TLS1_2_VERSION, "");
  EXPECT_TRUE(twelve.handshake()) << twelve.end.message();
  TlsClient h2(s.loop, s.server->port(), TLS1_3_VERSION, "\x02h2");
  EXPECT_FALSE(h2.handshake());
  TlsClient eleven(s.loop, s.server->port(), TLS1_1_VERSION, "");
  EXPECT_FALSE(eleven.handshake());
}

TEST(HttpServerTls, EndOfTheConnectionIsSaidUnderTls) {
  const FakeCa ca;
  TlsServer s(ca);
  s.hold = true;
  TlsClient client(s.loop, s.server->port(), TLS1_3_VERSION, "");
  ASSERT_TRUE(client.handshake()) << client.end.message();
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.read();
  const auto stream = s.next_request().stream({});
  stream.write("one");
  stream.end();
  ASSERT_TRUE(s.loop.until([&] { return client.ended; }));
  EXPECT_EQ(client.end, boost::asio::error::eof) << client.end.message() << ": not stream_truncated";
  EXPECT_TRUE(client.got.ends_with("\r\n\r\none")) << client.got;
}

TEST(HttpServerTls, StreamsArriveInOrderAndAreCut) {
  const FakeCa ca;
  TlsServer s(ca);
  s.hold = true;
  const auto seen = s.client.start({.url = s.url("/"), .tls = trust(ca.pem())});
  const auto stream = s.next_request().stream({});
  bool told = false;
  stream.on_closed([&] { told = true; });
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    expected += fmt::format("line {}\n", i);
    ASSERT_TRUE(stream.write(fmt::format("line {}\n", i)));
    if (i % 500 == 0) s.loop.settle();
  }
  expected += std::string(3u << 20, 'l');
  ASSERT_TRUE(stream.write(std::string(3u << 20, 'l')));
  ASSERT_TRUE(s.loop.until([&] { return seen->body.size() >= expected.size() || seen->done > 0; }));
  EXPECT_TRUE(seen->body == expected) << seen->what();
  stream.cut();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
  EXPECT_TRUE(told);
}

TEST(HttpServerTls, ClientThatLeavesIsTold) {
  const FakeCa ca;
  TlsServer s(ca);
  s.hold = true;
  auto seen = s.client.start({.url = s.url("/"), .tls = trust(ca.pem())});
  const auto stream = s.next_request().stream({});
  bool told = false;
  stream.on_closed([&] { told = true; });
  ASSERT_TRUE(s.loop.until([&] { return seen->heads == 1; }));
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return told; }));
  EXPECT_EQ(s.server->connections(), 0u);
}

TEST(HttpServerTls, HalfAHandshakeHitsTheDeadline) {
  const FakeCa ca;
  TlsServer s(ca, {.read_deadline = milliseconds(150)});
  auto silent = s.raw();
  auto half = s.raw();
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  EXPECT_EQ(s.server->connections(), 0u);
  std::optional<TlsClient> quiet;
  do quiet.emplace(s.loop, s.server->port(), TLS1_3_VERSION, "");
  while (!quiet->handshake());  // until one was in time, however busy the machine is
  quiet->read();
  ASSERT_TRUE(s.loop.until([&] { return quiet->ended; })) << "a handshake without a request too";
}

TEST(HttpServerTls, PlainHttpIsToldToUseHttps) {
  const FakeCa ca;
  TlsServer s(ca);
  auto plain = s.raw();
  plain.send("GET /secret HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(plain.closed());
  EXPECT_TRUE(plain.got.starts_with("HTTP/1.1 400 Bad Request\r\n")) << plain.got;
  EXPECT_NE(plain.got.find("use https://"), std::string::npos) << plain.got;
  auto garbage = s.raw();
  garbage.send("\x01\x02\x03 not TLS at all, and not HTTP either\r\n\r\n");
  ASSERT_TRUE(garbage.closed());
  EXPECT_TRUE(s.requests.empty());
  EXPECT_EQ(s.client.run({.url = s.url("/"), .tls = trust(ca.pem())})->head.status, 200);
}

TEST(HttpServerTls, TlsOnThePlainPortIsRefusedWithoutHarm) {
  const FakeCa ca;
  Server s;
  const auto seen =
      s.client.run({.url = "https://127.0.0.1:" + std::to_string(s.server->port()) + "/", .tls = trust(ca.pem())});
  EXPECT_EQ(seen->code(), Errc::kTls) << seen->what();
  EXPECT_TRUE(s.requests.empty());
  EXPECT_EQ(s.client.run({.url = s.url("/")})->head.status, 200);
}

TEST(HttpServerTls, ExplainsWhatItCannotUse) {
  const FakeCa ca;
  fake::TestLoop loop;
  const auto why = [&](const ServerTls& tls) {
    const auto made = HttpServer::listen(loop.scheduler, "127.0.0.1:0", {}, {}, tls);
    EXPECT_FALSE(made.has_value());
    if (made) return std::string();
    EXPECT_EQ(made.error().code, Errc::kConfig);
    return made.error().what;
  };
  auto broken = identity(ca);
  broken.certificate_pem = "nonsense";
  EXPECT_TRUE(why(broken).starts_with("the server's certificate cannot be used: ")) << why(broken);
  auto mismatched = identity(ca);
  mismatched.key_pem = identity(ca).key_pem;
  EXPECT_TRUE(why(mismatched).starts_with("the key of the server's certificate cannot be used: ")) << why(mismatched);
  EXPECT_TRUE(why(identity(ca, "nonsense")).starts_with("the CA of client certificates is no PEM certificate"))
      << why(identity(ca, "nonsense"));
}

}  // namespace
}  // namespace hookd::net
