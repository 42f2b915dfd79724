#include "embedded/socket.h"

#include "embedded/server_state.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "net/curl_transport.h"
#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

struct SocketTest : ::testing::Test {
  struct Told {
    int status = 0;
    std::string body;
    std::optional<Result<void>> done;
    std::unique_ptr<net::HttpCall> call;
  };
  void SetUp() override {
    auto made = Socket::listen(server, scheduler, {});
    ASSERT_TRUE(made) << made.error().what;
    socket = *std::move(made);
    auto trust = std::make_shared<net::TlsOptions>();
    trust->ca_pem = socket->ca_pem();
    tls = trust;
  }
  std::unique_ptr<Told> start(std::string method, std::string path, std::string token, std::string body = "") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.url = socket->url() + path;
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    request.tls = tls;
    auto told = std::make_unique<Told>();
    auto* out = told.get();
    told->call = client.start(std::move(request), {[out](const net::HttpHead& head) { out->status = head.status; },
                                                   [out](std::string_view bytes) {
                                                     out->body += bytes;
                                                     return true;
                                                   },
                                                   [out](Result<void> result) { out->done = std::move(result); }});
    return told;
  }
  // Until it holds; the test's own deadline ends a wait that does not end.
  void until(const std::function<bool()>& holds) {
    while (!holds() && context.run_one_for(std::chrono::seconds(20)) > 0) {
    }
    ASSERT_TRUE(holds());
  }
  std::unique_ptr<Told> send(std::string method, std::string path, std::string token, std::string body = "") {
    auto told = start(std::move(method), std::move(path), std::move(token), std::move(body));
    until([&] { return told->done.has_value(); });
    return told;
  }

  boost::asio::io_context context;
  AsioScheduler scheduler{context};
  SeededRandom random;
  ApiServer server{scheduler, random, {}};
  std::unique_ptr<Socket> socket;
  net::CurlTransport client{scheduler};
  std::shared_ptr<const net::TlsOptions> tls;
};

TEST_F(SocketTest, SpeaksTlsWithACertificateOfItsOwn) {
  const auto told = send("GET", "/api/v1/namespaces?limit=1", server.admin_token());
  EXPECT_EQ(told->status, 200);
  EXPECT_EQ(testing::text_at_path(*parse_text(told->body), "items[0].metadata.name"), "default");
}

TEST_F(SocketTest, RefusesWhoIsNobody) {
  EXPECT_EQ(send("GET", "/api/v1/namespaces", "")->status, 401);
  EXPECT_EQ(send("GET", "/api/v1/namespaces", "nonsense")->status, 401);
  EXPECT_EQ(send("GET", "/readyz", "")->status, 200);
}

TEST_F(SocketTest, StreamsWatches) {
  const auto watch = start("GET", "/api/v1/namespaces?watch=1", server.admin_token());
  until([&] { return std::count(watch->body.begin(), watch->body.end(), '\n') == 4; });
  EXPECT_EQ(send("POST", "/api/v1/namespaces", server.admin_token(), R"({"metadata":{"name":"n"}})")->status, 201);
  until([&] { return watch->body.find("\"name\":\"n\"") != std::string::npos; });
  EXPECT_FALSE(watch->done);
  server.state().cut_watches();
  until([&] { return watch->done.has_value(); });
  EXPECT_FALSE(*watch->done);
}

TEST_F(SocketTest, AClientThatLeavesEndsItsWatch) {
  auto watch = start("GET", "/api/v1/namespaces?watch=1", server.admin_token());
  until([&] { return !watch->body.empty(); });
  EXPECT_EQ(server.state().watches.size(), 1u);
  watch.reset();
  until([&] { return server.state().watches.empty(); });
}

TEST_F(SocketTest, TooLargeABodyIsAStatus) {
  const auto told = send("POST", "/api/v1/namespaces", server.admin_token(), std::string(4 << 20, 'x'));
  EXPECT_EQ(told->status, 413);
  EXPECT_EQ(testing::text_at_path(*parse_text(told->body), "reason"), "RequestEntityTooLarge");
}

TEST_F(SocketTest, TheKubeconfigNamesServerAuthorityAndToken) {
  const auto text = socket->kubeconfig("secret", "me");
  EXPECT_NE(text.find("server: " + socket->url()), std::string::npos);
  EXPECT_NE(text.find("certificate-authority-data: "), std::string::npos);
  EXPECT_NE(text.find("token: secret"), std::string::npos);
}

}  // namespace
}  // namespace hookd::embedded
