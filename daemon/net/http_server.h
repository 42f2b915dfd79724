// An HTTP/1.1 server on the loop for metrics, health, webhooks and pushed events. Thread: loop only.
// Boost.Beast stays in http_server.cc: it costs seconds in every file that includes it.
//
// Bounds: see HttpServerLimits. What is too large or malformed is answered (413, 431, 400), a connection too many with
// 503, and the connection is closed; a deadline just closes it.
// One request at a time per connection; pipelined ones wait. `Expect: 100-continue` is honoured.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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
  std::string peer;                                            // "10.0.0.7:41022"
  std::string_view header(std::string_view lower_name) const;  // first of that name, "" if none
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Answers one request, now or later, once; further answers are ignored, and so is one for a client that is gone.
// If every copy is dropped without an answer, the client gets a 500. May outlive the server.
class Responder {
 public:
  struct State;
  explicit Responder(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void operator()(ServerResponse response) const;

 private:
  std::shared_ptr<State> state_;
};

struct HttpServerLimits {
  size_t body_bytes = size_t{4} << 20;
  size_t header_bytes = size_t{16} << 10;
  size_t connections = 256;  // one more takes the place of an idle one, or is refused with a 503
  Duration read_deadline = std::chrono::seconds(10);   // for one whole request, from its first byte (or the connection)
  Duration write_deadline = std::chrono::seconds(30);  // for one whole answer
  Duration idle_deadline = std::chrono::seconds(75);   // between requests of a kept connection
};

class HttpServer {
 public:
  class Core;
  using Handler = std::function<void(const ServerRequest&, Responder)>;

  // `address`: ":9115" (every address, IPv4 and IPv6), "127.0.0.1:0" (a free port), "[::1]:80", "localhost:9115".
  // Errors: kConfig with the address and what to do.
  static Result<std::unique_ptr<HttpServer>> listen(AsioScheduler& scheduler, std::string_view address, Handler handler,
                                                    HttpServerLimits limits = {});
  // Closes every connection at once; the handler is not called any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  size_t connections() const;
  // Takes no more connections or requests, lets answers under way go out, closes what is idle.
  void drain();

 private:
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace hookd::net
