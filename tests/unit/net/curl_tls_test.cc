// Certificates: who is trusted, under which name, and what a person reads when it fails (k8s-client.md A10, A11, T35).
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "client.h"
#include "unit/support/scratch_folder.h"

namespace hookd::net {
namespace {

using fake::FakeCa;
using fake::FakeReply;
using fake::FakeRequest;
using fake::FakeServer;
using fake::FakeTls;

FakeTls serve(const FakeCa& ca, std::vector<std::string> names = {"127.0.0.1", "localhost"}) {
  return {ca.issue({.names = std::move(names)}), ""};
}

FakeReply ok(const FakeRequest&) { return {.body = "ok"}; }

TEST(CurlTls, TrustsTheCaThatItWasGiven) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca));
  server.on_request = ok;
  const auto seen = client.run({.url = server.url("/"), .tls = trust(ca.pem())});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->body, "ok");
  // A bundle with others before and after is as good.
  const auto bundle =
      client.run({.url = server.url("/"), .tls = trust(FakeCa("a").pem() + ca.pem() + FakeCa("b").pem())});
  EXPECT_TRUE(bundle->result.has_value()) << bundle->what();
}

TEST(CurlTls, ForeignCaFailsAndIsNamed) {
  Client client;
  FakeServer server(client.loop.context, serve(FakeCa("right")));
  server.on_request = ok;
  const auto seen = client.run({.url = server.url("/"), .tls = trust(FakeCa("wrong-ca").pem())});
  EXPECT_EQ(seen->code(), Errc::kTls);
  EXPECT_NE(seen->what().find("127.0.0.1:" + std::to_string(server.port())), std::string::npos) << seen->what();
  EXPECT_NE(seen->what().find("is not signed by the CA given for it (CN=wrong-ca)"), std::string::npos) << seen->what();
  EXPECT_TRUE(server.requests.empty()) << "nothing may be sent before the check";

  const auto two = client.run({.url = server.url("/"), .tls = trust(FakeCa("one").pem() + FakeCa("two").pem())});
  EXPECT_NE(two->what().find("the CAs given for it (2, first CN=one)"), std::string::npos) << two->what();
  const auto system = client.run({.url = server.url("/")});
  EXPECT_EQ(system->code(), Errc::kTls);
  EXPECT_NE(system->what().find("the system's CAs"), std::string::npos) << system->what();
}

TEST(CurlTls, GivenCaShutsOutTheSystemsRoots) {  // A10, T35
  const FakeCa ca("system-trusted");
  const test::ScratchFolder folder;
  ca.write_hashed(folder.path());
  Client client(CurlOptions{{}, "", folder.path()});
  FakeServer server(client.loop.context, serve(ca));
  server.on_request = ok;
  const auto trusted = client.run({.url = server.url("/"), .fresh_connection = true});
  ASSERT_TRUE(trusted->result.has_value()) << trusted->what();
  const auto foreign =
      client.run({.url = server.url("/"), .tls = trust(FakeCa("foreign").pem()), .fresh_connection = true});
  EXPECT_EQ(foreign->code(), Errc::kTls) << "the folder of system roots must not count beside a CA";
}

TEST(CurlTls, PooledConnectionIsNotSharedAcrossOptions) {
  Client client;
  const FakeCa ca;
  const FakeCa clients("clients");
  FakeServer server(client.loop.context, serve(ca));
  server.on_request = ok;
  const auto trusting = trust(ca.pem());
  client.run({.url = server.url("/"), .tls = trusting});
  client.run({.url = server.url("/"), .tls = trusting});
  EXPECT_EQ(server.accepted(), 1);
  // Equal content in another object is the same.
  client.run({.url = server.url("/"), .tls = trust(ca.pem())});
  EXPECT_EQ(server.accepted(), 1);
  // Another CA may neither use that connection nor resume its TLS session.
  EXPECT_EQ(client.run({.url = server.url("/"), .tls = trust(FakeCa("other").pem())})->code(), Errc::kTls);
  EXPECT_EQ(client.run({.url = server.url("/")})->code(), Errc::kTls);

  const int before = server.accepted();
  const auto with_certificate = [&](const std::string& name) {
    const auto identity = clients.issue({.common_name = name});
    return std::make_shared<const TlsOptions>(
        TlsOptions{ca.pem(), identity.certificate_pem, identity.key_pem, "", false});
  };
  EXPECT_TRUE(client.run({.url = server.url("/"), .tls = with_certificate("a")})->result.has_value());
  EXPECT_TRUE(client.run({.url = server.url("/"), .tls = with_certificate("b")})->result.has_value());
  EXPECT_EQ(server.accepted(), before + 2);

  auto insecure = std::make_shared<const TlsOptions>(TlsOptions{"", "", "", "", true});
  EXPECT_TRUE(client.run({.url = server.url("/"), .tls = insecure})->result.has_value());
  EXPECT_EQ(server.accepted(), before + 3);
  EXPECT_EQ(client.run({.url = server.url("/")})->code(), Errc::kTls) << "what was not checked serves nobody else";
}

TEST(CurlTls, ClientCertificateIsShown) {
  Client client;
  const FakeCa ca;
  const FakeCa clients("clients");
  auto tls = serve(ca);
  tls.client_ca_pem = clients.pem();
  FakeServer server(client.loop.context, tls);
  server.on_request = ok;
  const auto identity = clients.issue({.common_name = "hookd"});
  const auto seen = client.run({.url = server.url("/"),
                                .tls = std::make_shared<const TlsOptions>(
                                    TlsOptions{ca.pem(), identity.certificate_pem, identity.key_pem, "", false})});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(server.requests.at(0).client_certificate, "hookd");

  const auto none = client.run({.url = server.url("/"), .tls = trust(ca.pem())});
  EXPECT_EQ(none->code(), Errc::kTls) << none->what();
  EXPECT_NE(none->what().find("wants a client certificate and none is given"), std::string::npos) << none->what();
  const auto stranger = FakeCa("strangers").issue({.common_name = "x"});
  const auto refused = client.run({.url = server.url("/"),
                                   .tls = std::make_shared<const TlsOptions>(
                                       TlsOptions{ca.pem(), stranger.certificate_pem, stranger.key_pem, "", false})});
  EXPECT_EQ(refused->code(), Errc::kTls) << refused->what();
  EXPECT_NE(refused->what().find("refused the client certificate"), std::string::npos) << refused->what();
}

TEST(CurlTls, UnusablePemIsExplained) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca));
  const auto a = ca.issue({.common_name = "a"});
  const auto b = ca.issue({.common_name = "b"});
  const auto no_ca = client.run({.url = server.url("/"), .tls = trust("not a certificate")});
  EXPECT_EQ(no_ca->code(), Errc::kTls);
  EXPECT_NE(no_ca->what().find("PEM"), std::string::npos) << no_ca->what();
  const auto mixed = client.run(
      {.url = server.url("/"),
       .tls = std::make_shared<const TlsOptions>(TlsOptions{ca.pem(), a.certificate_pem, b.key_pem, "", false})});
  EXPECT_EQ(mixed->code(), Errc::kTls);
  EXPECT_NE(mixed->what().find("belong together"), std::string::npos) << mixed->what();
  EXPECT_EQ(mixed->what().find("PRIVATE"), std::string::npos);
}

TEST(CurlTls, WrongNameFailsAndSaysSo) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca, {"kubernetes.default.svc"}));
  const auto seen = client.run({.url = server.url("/"), .tls = trust(ca.pem())});
  EXPECT_EQ(seen->code(), Errc::kTls);
  EXPECT_NE(seen->what().find("is not valid for the name \"127.0.0.1\""), std::string::npos) << seen->what();
  EXPECT_NE(seen->what().find("tls-server-name"), std::string::npos) << seen->what();
}

TEST(CurlTls, ServerNameDrivesSniAndCheckButNotHost) {  // A11
  const FakeCa ca;
  for (const char* address : {"127.0.0.1", "::1"}) {
    Client client;
    FakeServer server(client.loop.context, serve(ca, {"kubernetes.default.svc"}), address);
    server.on_request = ok;
    const auto seen = client.run({.url = server.url("/x"), .tls = trust(ca.pem(), "kubernetes.default.svc")});
    ASSERT_TRUE(seen->result.has_value()) << seen->what();
    EXPECT_EQ(server.requests.at(0).server_name, "kubernetes.default.svc");
    EXPECT_EQ(server.requests.at(0).header("host"), server.url().substr(8));
    EXPECT_EQ(server.requests.at(0).target, "/x");
    const auto wrong = client.run({.url = server.url("/x"), .tls = trust(ca.pem(), "other.name")});
    EXPECT_EQ(wrong->code(), Errc::kTls);
    EXPECT_NE(wrong->what().find("\"other.name\""), std::string::npos) << wrong->what();
    EXPECT_NE(wrong->what().find(server.url().substr(8)), std::string::npos)
        << "names the real server: " << wrong->what();
  }
}

TEST(CurlTls, ServerNameMayBeAnAddress) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca, {"10.96.0.1", "fd00::1"}));
  server.on_request = ok;
  EXPECT_TRUE(client.run({.url = server.url("/"), .tls = trust(ca.pem(), "10.96.0.1")})->result.has_value());
  const auto v6 = client.run({.url = server.url("/"), .tls = trust(ca.pem(), "fd00::1")});
  EXPECT_TRUE(v6->result.has_value()) << v6->what();
  EXPECT_EQ(client.run({.url = server.url("/"), .tls = trust(ca.pem(), "10.96.0.2")})->code(), Errc::kTls);
}

TEST(CurlTls, SpeaksToIpv6Literals) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca, {"::1"}), "::1");
  server.on_request = ok;
  const auto seen = client.run({.url = server.url("/"), .tls = trust(ca.pem())});
  ASSERT_TRUE(seen->result.has_value()) << seen->what();
}

TEST(CurlTls, ExpiredAndFutureCertificatesAreExplained) {
  Client client;
  const FakeCa ca;
  FakeServer expired(client.loop.context,
                     FakeTls{ca.issue({.names = {"127.0.0.1"}, .days_from = -9, .days_to = -1}), ""});
  const auto old = client.run({.url = expired.url("/"), .tls = trust(ca.pem())});
  EXPECT_EQ(old->code(), Errc::kTls);
  EXPECT_NE(old->what().find("has expired"), std::string::npos) << old->what();
  FakeServer future(client.loop.context, FakeTls{ca.issue({.names = {"127.0.0.1"}, .days_from = 5, .days_to = 9}), ""});
  const auto early = client.run({.url = future.url("/"), .tls = trust(ca.pem())});
  EXPECT_EQ(early->code(), Errc::kTls);
  EXPECT_NE(early->what().find("not valid yet"), std::string::npos) << early->what();
}

TEST(CurlTls, InsecureChecksNothing) {
  Client client;
  FakeServer server(client.loop.context, serve(FakeCa("x"), {"elsewhere"}));
  server.on_request = ok;
  const auto seen =
      client.run({.url = server.url("/"), .tls = std::make_shared<const TlsOptions>(TlsOptions{"", "", "", "", true})});
  EXPECT_TRUE(seen->result.has_value()) << seen->what();
}

TEST(CurlTls, PlainServerBehindHttpsIsExplained) {
  Client client;
  FakeServer server(client.loop.context);
  server.reply({.fault = fake::Fault::kGarbage});
  const auto seen = client.start({.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/"});
  // The fake waits for the end of a header that never comes; the client hello is enough for a real one to answer.
  ASSERT_TRUE(client.loop.until([&] { return server.accepted() == 1 && server.open_connections() == 1; }));
  server.speak_first("HTTP/1.1 400 Bad Request\r\n\r\n");
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTls) << seen->what();
  EXPECT_NE(seen->what().find("does not speak TLS"), std::string::npos) << seen->what();
}

TEST(CurlTls, CutInTheHandshakeIsNoTlsError) {
  Client client;
  FakeServer server(client.loop.context);  // plain: it reads the client hello and waits
  const auto seen = client.start({.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/"});
  ASSERT_TRUE(client.loop.until([&] { return server.open_connections() == 1; }));
  server.close_all();
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
}

TEST(CurlTls, SilentHandshakeEndsInTheConnectTimeout) {
  Client client;
  FakeServer server(client.loop.context);
  const auto seen = client.run({.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/",
                                .connect_timeout = std::chrono::milliseconds(150)});
  EXPECT_EQ(seen->code(), Errc::kTransport);
  EXPECT_NE(seen->what().find("no connection within 150 ms"), std::string::npos) << seen->what();
}

TEST(CurlTls, StreamsAndBigBodiesWorkOverTls) {
  Client client;
  const FakeCa ca;
  FakeServer server(client.loop.context, serve(ca));
  const std::string body(5u << 20, 'y');
  server.reply({.body = body});
  const auto big = client.run({.method = "POST", .url = server.url("/"), .body = body, .tls = trust(ca.pem())});
  EXPECT_TRUE(big->body == body) << big->what();
  EXPECT_TRUE(server.requests.at(0).body == body);
  const auto stream = server.stream();
  const auto seen = client.start({.url = server.url("/"), .tls = trust(ca.pem()), .pool = Pool::kWatch});
  stream->send("one\n");
  ASSERT_TRUE(client.loop.until([&] { return seen->body == "one\n"; }));
  stream->cut();
  ASSERT_TRUE(client.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
}

}  // namespace
}  // namespace hookd::net
