// An HTTP/1.1 server on the loop, plain or over TLS: metrics, health, webhooks, pushed events, the embedded API server.
// Thread: loop only. Source: RFC 9112 (HTTP/1.1), RFC 7301 (ALPN), RFC 9325 (TLS 1.2 and later).
//
//   http_address  where to listen                      http_session  one connection
//   http_wire     plain or TLS bytes                   http_answer   what a handler holds of it
//   http_message  bytes to requests, answers to bytes  http_server   the listener
//
// Bounds: see HttpServerLimits. What is too large or malformed is answered (413, 431, 400), a connection too many with
// 503 (under TLS it is only closed), and the connection is closed; a deadline just closes it.
// One request at a time per connection; pipelined ones wait. `Expect: 100-continue` is honoured.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::net {

struct ServerRequest {
  std::string method;
  std::string path;                                          // as sent, still percent-encoded: "/hooks/a%20b"
  std::string query;                                         // after the "?", "" if none
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer;                               // "10.0.0.7:41022"; on a unix socket "uid 0, pid 17"
  std::string client_common_name;                 // of a verified client certificate, else ""
  std::vector<std::string> client_organizations;  // of the same certificate, in its order
  std::string client_certificate_problem;         // why one that was sent is not taken; "" = none sent, or good
  std::string_view header(std::string_view lower_name) const;  // first of that name, "" if none
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  // "" = none
  std::string body{};
  // Sent in this order, names may repeat. Those of the framing (content-length, transfer-encoding, connection) are the
  // server's and left out, as is a content-type where content_type is set and a value with a line break.
  std::vector<std::pair<std::string, std::string>> headers{};
};

// An answer that is sent piece by piece, chunked (to a client of HTTP/1.0: until the connection closes). Copies are the
// same stream; if every copy is dropped before end(), it is cut. May outlive the server. Nothing is called back from
// inside a call. What is written within one turn of the loop goes out in one socket write.
class ResponseStream {
 public:
  struct State;
  ResponseStream() = default;  // of no client: write() gives false
  explicit ResponseStream(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Queues; false when the client is gone or the stream has ended. Never blocks: look at queued(). A queue over
  // HttpServerLimits::stream_queue_bytes cuts the stream.
  bool write(std::string bytes) const;
  void end() const;  // the last chunk, after what is queued
  void cut() const;  // closes the connection at once: without the last chunk, without what is still queued
  // Bytes that the client's socket has not taken yet, with what frames them.
  size_t queued() const;
  // Told once, on the loop, when the connection is gone before the answer was sent whole: the client left (noticed
  // also while nothing is written), was too slow, or cut() was called; soon, if that has happened already.
  // Not when the server is destroyed, nor once every copy of the stream is dropped. A further call replaces the first.
  void on_closed(std::function<void()> told) const;

 private:
  std::shared_ptr<State> state_;
};

// Answers one request, now or later, once; further answers are ignored, and so is one for a client that is gone.
// If every copy is dropped without an answer, the client gets a 500. May outlive the server.
class Responder {
 public:
  struct State;
  explicit Responder(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void operator()(ServerResponse response) const;
  // Answers with a stream; `head.body` is its first piece. After another answer: a stream of no client.
  [[nodiscard]] ResponseStream stream(ServerResponse head) const;
  // As ResponseStream::on_closed(), while there is no answer yet: nobody waits for it any more. A stream takes it over.
  // A client that has only shut its sending side is taken for gone, and yet gets the answer if one comes.
  void on_closed(std::function<void()> told) const;

 private:
  std::shared_ptr<State> state_;
};

struct HttpServerLimits {
  size_t body_bytes = size_t{4} << 20;
  size_t header_bytes = size_t{16} << 10;
  size_t connections = 256;  // one more takes the place of an idle one, or is refused with a 503
  Duration read_deadline = std::chrono::seconds(10);   // for one whole request, from its first byte (or the connection)
  Duration write_deadline = std::chrono::seconds(30);  // without the client taking a byte of what waits for it
  Duration idle_deadline = std::chrono::seconds(75);   // between requests of a kept connection
  size_t stream_queue_bytes = size_t{64} << 20;        // of one stream; a client that is further behind is cut
  // Shapes what the server itself refuses: 400, 413, 431, 500 (nobody answered) and 503, `why` without a line break.
  // None: plain text.
  std::function<ServerResponse(int status, std::string_view why)> refusal{};
};

// TLS 1.2 and later, ALPN http/1.1. A client that speaks plain HTTP gets a 400 in plain text.
struct ServerTls {
  std::string certificate_pem;  // the server's own first, then those between it and the root
  std::string key_pem;
  // CAs of client certificates, "" = none is asked for. A client may come without one, or with a bad one: see
  // ServerRequest::client_common_name and client_certificate_problem.
  std::string client_ca_pem{};
};

class HttpServer {
 public:
  class Core;
  using Handler = std::function<void(ServerRequest, Responder)>;

  // `address`: ":9115" (every address, IPv4 and IPv6), "127.0.0.1:0" (a free port), "[::1]:80", "localhost:9115",
  // "unix:/run/x.sock": root and the user of this process only (net/unix_listener.h).
  // Errors: kConfig with the address and what to do, or with what is wrong with the certificate or key; kExists:
  // somebody listens on that unix socket.
  static Result<std::unique_ptr<HttpServer>> listen(AsioScheduler& scheduler, std::string_view address, Handler handler,
                                                    HttpServerLimits limits = {},
                                                    std::optional<ServerTls> tls = std::nullopt);
  // Closes every connection at once; the handler is not called any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  size_t connections() const;
  // Takes no more connections or requests, lets answers under way go out (streams: until their end), closes what is
  // idle.
  void drain();

 private:
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace hookd::net
