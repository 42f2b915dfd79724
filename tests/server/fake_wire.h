// Plain or TLS bytes of one accepted connection. Private to fake_server.cc.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <string>

namespace hookd::fake {

class FakeWire {
 public:
  using tcp = boost::asio::ip::tcp;
  using Error = boost::system::error_code;
  using Done = std::function<void(Error)>;
  using Moved = std::function<void(Error, size_t)>;

  virtual ~FakeWire() = default;
  virtual tcp::socket& socket() = 0;
  virtual void handshake(Done done) = 0;
  virtual void read(boost::asio::mutable_buffer into, Moved done) = 0;
  virtual void write(boost::asio::const_buffer from, Moved done) = 0;
  virtual std::string server_name() { return {}; }
  virtual std::string peer_name() { return {}; }

  void finish() {  // FIN; under TLS without a close_notify
    Error ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
  }
  void reset() {  // RST
    Error ignored;
    socket().set_option(boost::asio::socket_base::linger(true, 0), ignored);
    socket().close(ignored);
  }
};

class PlainWire final : public FakeWire {
 public:
  explicit PlainWire(tcp::socket socket) : socket_(std::move(socket)) {}
  tcp::socket& socket() override { return socket_; }
  void handshake(Done done) override { done({}); }
  void read(boost::asio::mutable_buffer into, Moved done) override { socket_.async_read_some(into, std::move(done)); }
  void write(boost::asio::const_buffer from, Moved done) override {
    boost::asio::async_write(socket_, from, std::move(done));
  }

 private:
  tcp::socket socket_;
};

class TlsWire final : public FakeWire {
 public:
  TlsWire(tcp::socket socket, boost::asio::ssl::context& context) : stream_(std::move(socket), context) {}
  tcp::socket& socket() override { return stream_.next_layer(); }
  void handshake(Done done) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
  }
  void read(boost::asio::mutable_buffer into, Moved done) override { stream_.async_read_some(into, std::move(done)); }
  void write(boost::asio::const_buffer from, Moved done) override {
    boost::asio::async_write(stream_, from, std::move(done));
  }
  std::string server_name() override {
    const char* name = SSL_get_servername(stream_.native_handle(), TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
  }
  std::string peer_name() override {
    X509* certificate = SSL_get1_peer_certificate(stream_.native_handle());
    if (!certificate) return {};
    char text[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    X509_free(certificate);
    return text;
  }

 private:
  boost::asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace hookd::fake
