// What the tests of the HTTP client share: a loop, a transport, and calls whose callbacks are written down.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/curl_transport.h"
#include "server/fake_server.h"
#include "server/test_loop.h"

namespace hookd::net {

struct Seen {
  std::unique_ptr<HttpCall> call;
  HttpHead head;
  int heads = 0;
  std::string body;
  size_t pieces = 0;
  int done = 0;
  Result<void> result;
  Errc code() const { return result ? Errc::kInternal : result.error().code; }
  std::string what() const { return result ? "" : result.error().what; }
};

struct Client {
  fake::TestLoop loop;
  std::unique_ptr<CurlTransport> transport;

  // Whatever the environment of the machine says, tests go nowhere but to loopback.
  explicit Client(CurlOptions options = {})
      : transport(std::make_unique<CurlTransport>(loop.scheduler, std::move(options))) {}

  std::shared_ptr<Seen> start(HttpRequest request) {
    auto seen = std::make_shared<Seen>();
    Seen* raw = seen.get();
    HttpHandlers handlers;
    handlers.on_head = [raw](const HttpHead& head) {
      raw->head = head;
      ++raw->heads;
    };
    handlers.on_data = [raw](std::string_view piece) {
      raw->body += piece;
      ++raw->pieces;
      return true;
    };
    handlers.on_done = [raw](Result<void> result) {
      raw->result = std::move(result);
      ++raw->done;
    };
    seen->call = transport->start(std::move(request), std::move(handlers));
    return seen;
  }

  std::shared_ptr<Seen> get(const std::string& url) { return start({.url = url}); }

  // Starts and waits for the end.
  std::shared_ptr<Seen> run(HttpRequest request) {
    auto seen = start(std::move(request));
    loop.until([&] { return seen->done > 0; });
    return seen;
  }
};

inline std::shared_ptr<const TlsOptions> trust(const std::string& ca_pem, std::string server_name = "") {
  return std::make_shared<const TlsOptions>(TlsOptions{ca_pem, "", "", std::move(server_name), false});
}

}  // namespace hookd::net
