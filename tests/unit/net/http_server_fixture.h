// What the tests of the HTTP server share: a server whose requests are written down, and a client of raw bytes.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "net/http_server.h"

namespace hookd::net {

// Raw bytes to the server and back.
struct RawClient {
  fake::TestLoop& loop;
  boost::asio::ip::tcp::socket socket;
  std::string got;
  int pieces = 0;  // reads that gave something
  boost::system::error_code end;
  bool ended = false;
  bool paused = false;
  bool reading = false;
  std::string buffer = std::string(size_t{64} << 10, '\0');

  // `receive_buffer`: of the socket, 0 = as the system has it; `pause`: reads nothing until resume().
  RawClient(fake::TestLoop& owner, uint16_t port, const char* address = "127.0.0.1", int receive_buffer = 0,
            bool pause = false)
      : loop(owner), socket(owner.context), paused(pause) {
    const boost::asio::ip::tcp::endpoint server(boost::asio::ip::make_address(address), port);
    socket.open(server.protocol());
    if (receive_buffer > 0) socket.set_option(boost::asio::socket_base::receive_buffer_size(receive_buffer));
    socket.connect(server);
    read();
  }
  void read() {
    if (paused || reading || ended) return;
    reading = true;
    socket.async_read_some(boost::asio::buffer(buffer), [this](const boost::system::error_code& error, size_t size) {
      reading = false;
      got.append(buffer, 0, size);
      if (size > 0) ++pieces;
      end = error;
      ended = error.failed();
      read();
    });
  }
  void resume() {
    paused = false;
    read();
  }
  void send(std::string_view bytes) {
    boost::system::error_code ignored;  // the server may have hung up already
    boost::asio::write(socket, boost::asio::buffer(bytes), ignored);
  }
  bool receives(std::string_view text) {
    return loop.until([&] { return got.find(text) != std::string::npos || ended; }) &&
           got.find(text) != std::string::npos;
  }
  bool closed() {
    return loop.until([&] { return ended; });
  }
};

struct Server {
  Client client;
  fake::TestLoop& loop = client.loop;
  std::vector<ServerRequest> requests;
  std::vector<Responder> waiting;  // if `hold`
  bool hold = false;
  bool tls = false;
  std::unique_ptr<HttpServer> server;

  explicit Server(HttpServerLimits limits = {}, std::string_view address = "127.0.0.1:0",
                  std::optional<ServerTls> tls_options = std::nullopt)
      : tls(tls_options.has_value()) {
    auto made = HttpServer::listen(
        loop.scheduler, address,
        [this](ServerRequest request, Responder respond) {
          requests.push_back(std::move(request));
          if (hold)
            waiting.push_back(std::move(respond));
          else
            respond({.body = "answer to " + requests.back().path + "\n"});
        },
        std::move(limits), std::move(tls_options));
    EXPECT_TRUE(made.has_value()) << made.error().what;
    server = std::move(*made);
  }
  std::string url(const std::string& path) const {
    return fmt::format("{}://127.0.0.1:{}{}", tls ? "https" : "http", server->port(), path);
  }
  RawClient raw() { return {loop, server->port()}; }

  // The next request's answer, once it has come.
  Responder next_request() {
    hold = true;
    EXPECT_TRUE(loop.until([&] { return !waiting.empty(); }));
    auto result = std::move(waiting.front());
    waiting.erase(waiting.begin());
    return result;
  }
};

}  // namespace hookd::net
