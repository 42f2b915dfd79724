// The bytes of one accepted connection, plain or TLS. Private to the HTTP server. Thread: loop only.
// One read and one write at a time; both may be under way at once. Callbacks never come from inside a call; whoever
// starts an operation keeps the wire alive until its callback.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"

namespace boost::asio::ssl {
class context;
}

namespace hookd::net {

struct ClientCertificate {  // see ServerRequest
  std::string common_name;
  std::vector<std::string> organizations;
  std::string problem;
};

// TCP or a unix socket.
using WireSocket = boost::asio::generic::stream_protocol::socket;

class HttpWire {
 public:
  using Error = boost::system::error_code;
  using Gather = std::array<boost::asio::const_buffer, 16>;  // unused ones are empty
  using Done = std::function<void(const Error&)>;
  using Moved = std::function<void(const Error&, size_t)>;

  virtual ~HttpWire() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Moved done) = 0;
  virtual void write_some(const Gather& from, Moved done) = 0;
  // No more bytes will come from us; the other side may still send. `done` at some time after.
  virtual void finish_sending(Done done) = 0;
  virtual ClientCertificate client_certificate() const { return {}; }

  // Closes at once; what is under way ends with an error. `reset`: the client is to see that this is no regular end,
  // where the protocol does not tell it.
  void close(bool reset);
  // Past the protocol and without waiting: as much as the socket takes at once.
  void write_raw(std::string_view bytes);

 protected:
  virtual WireSocket& socket() = 0;
};

// Errors: kConfig with what is wrong in the certificate, the key or the CA.
Result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const ServerTls& tls);

std::unique_ptr<HttpWire> plain_wire(WireSocket socket);
std::unique_ptr<HttpWire> tls_wire(WireSocket socket, boost::asio::ssl::context& context);

// Did a handshake fail because the client speaks plain HTTP?
bool is_plain_http(const boost::system::error_code& handshake_error);

}  // namespace hookd::net
