// An HTTP/1.1 server that misbehaves by script, for tests with real sockets on loopback: it runs on the test's own
// io_context, so that nothing happens between two steps of the test. Raw sockets and an own small parser: no library
// stands between the script and the bytes. Thread: the loop's.
//
//   TestLoop loop;
//   FakeServer server(loop.context);
//   server.reply({.body = R"({"kind":"PodList"})"});              // answers the next request
//   server.reply({.status = 429, .headers = {{"Retry-After", "1"}}});
//   auto watch = server.stream();                                 // the one after: chunked, sent when the test says so
//   watch->send("{...}\n");
//   ... loop.until([&] { return got_it; });
//   watch->end();                                                 // or cut(), reset()
//   server.on_request = [](const FakeRequest& r) -> FakeReply {…};   // instead of a queue; used once the queue is
//   empty EXPECT_EQ(server.requests[0].target, "/api/v1/pods?limit=500");
//
// With neither script nor handler the answer is 404 with the API server's plain text.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/fake_ca.h"

namespace hookd::fake {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct FakeRequest {
  std::string method;
  std::string target;  // path and query as sent
  std::string path;
  std::string query;
  Headers headers;  // names in lower case
  std::string body{};
  int connection = 0;              // 1 = the first accepted
  std::string server_name;         // SNI, "" if none or no TLS
  std::string client_certificate;  // CN of the client's certificate, "" if none
  std::string_view header(std::string_view lower_name) const;
  std::string parameter(std::string_view name) const;  // of the query, percent-decoded, "" if absent
};

// A chunked body under the test's control. What is sent before the request comes waits for it.
class FakeStream {
 public:
  void send(std::string_view piece) { act(kSend, piece); }
  void end() { act(kEnd, {}); }              // the last chunk: a clean end
  void cut() { act(kCut, {}); }              // FIN in the middle
  void reset() { act(kReset, {}); }          // RST in the middle
  bool started() const { return started_; }  // its request has come and the head was sent
  bool client_gone() const { return client_gone_; }

 private:
  friend class FakeConnection;
  enum Action { kSend, kEnd, kCut, kReset };
  void act(Action action, std::string_view piece);
  std::deque<std::pair<Action, std::string>> waiting_;
  std::function<void()> wake_;
  bool started_ = false;
  bool client_gone_ = false;
};

enum class Fault {
  kNone,
  kHalfOpen,     // accepts, reads the request, never answers
  kCutBefore,    // FIN without a byte of an answer
  kResetBefore,  // RST without a byte of an answer
  kCut,          // FIN after `keep_bytes` of the answer (head and body counted)
  kReset,        // RST after them
  kStall,        // silence after them, connection open
  kByteByByte,   // each byte of the answer in a segment of its own
  kGarbage,      // bytes that are not HTTP
};

struct FakeReply {
  int status = 200;
  Headers headers{};  // Content-Length or Transfer-Encoding is added
  std::string body{};
  bool chunked = false;
  bool close = false;          // Connection: close, and closes
  std::vector<int> interim{};  // sent before: 100, 103
  Fault fault = Fault::kNone;
  size_t keep_bytes = 0;
  std::shared_ptr<FakeStream> stream{};
};

struct FakeTls {
  FakeIdentity identity{};
  std::string client_ca_pem{};  // not "": a client certificate signed by it is required
};

class FakeServer {
 public:
  explicit FakeServer(boost::asio::io_context& context, std::optional<FakeTls> tls = std::nullopt,
                      const char* address = "127.0.0.1");
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  uint16_t port() const;
  std::string url(std::string_view path = "") const;  // "https://127.0.0.1:12345" + path

  void reply(FakeReply reply);
  void reply_json(std::string body, int status = 200);
  std::shared_ptr<FakeStream> stream();  // a 200 with application/json for the next request
  std::function<FakeReply(const FakeRequest&)> on_request;

  std::vector<FakeRequest> requests;  // in the order they came in whole
  int accepted() const;               // connections, ever
  int open_connections() const;
  int failed_handshakes() const;
  void stop_listening();                // new connections are refused
  void listen_again();                  // on the same port
  void close_all();                     // FIN to every connection
  void reset_all();                     // RST to every connection
  void speak_first(std::string bytes);  // to every connection, before its request

 private:
  friend class FakeConnection;
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace hookd::fake
