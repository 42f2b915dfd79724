// Just enough of an HTTP/2 server to see what a client does with its streams: every request is answered at once with a
// bare 200, and the test decides about the rest. Requests are not decoded. TLS with ALPN, on the test's io_context.
//   FakeHttp2 server(loop.context, ca.issue({.names = {"127.0.0.1"}}));
//   loop.until([&] { return server.opened.size() == 1; });
//   server.data(server.opened[0], "{}\n");
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/fake_ca.h"

namespace hookd::fake {

struct Http2Stream {
  int connection = 0;  // 1 = the first accepted
  uint32_t id = 0;
  bool operator==(const Http2Stream&) const = default;
};

class FakeHttp2 {
 public:
  FakeHttp2(boost::asio::io_context& context, const FakeIdentity& identity, uint32_t max_streams = 100);
  ~FakeHttp2();
  FakeHttp2(const FakeHttp2&) = delete;
  FakeHttp2& operator=(const FakeHttp2&) = delete;

  std::string url(std::string_view path = "") const;
  void data(Http2Stream stream, std::string_view bytes, bool end = false);
  void reset(Http2Stream stream);  // RST_STREAM, REFUSED_STREAM
  void go_away(int connection);    // no new streams; those open go on
  void close(int connection);      // FIN

  std::vector<Http2Stream> opened;           // a request came
  std::vector<Http2Stream> reset_by_client;  // RST_STREAM came
  int accepted() const;
  int open_connections() const;

 private:
  friend class Http2Connection;
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace hookd::fake
