#include "server/fake_http2.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "server/fake_wire.h"

namespace hookd::fake {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

enum Type : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7
};  // RFC 9113, section 6
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kPreface = 24;
constexpr size_t kHead = 9;

std::string number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string bytes = number(static_cast<uint32_t>(payload.size())).substr(1);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  bytes += number(stream);
  return bytes.append(payload);
}

int choose_h2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
  static const unsigned char kH2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kH2, sizeof kH2, in, in_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

class Http2Connection;

struct FakeHttp2::Core {
  Core(FakeHttp2& owner, boost::asio::io_context& context) : server(&owner), acceptor(context) {}
  FakeHttp2* server;  // null once it is destroyed
  tcp::acceptor acceptor;
  boost::asio::ssl::context tls{boost::asio::ssl::context::tls_server};
  std::map<int, std::weak_ptr<Http2Connection>> connections;
  uint32_t max_streams = 100;
  int accepted = 0;
};

class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(std::shared_ptr<FakeHttp2::Core> core, tcp::socket socket, int number)
      : core_(std::move(core)), wire_(std::move(socket), core_->tls), number_(number) {}

  void start() {
    wire_.handshake([self = shared_from_this()](const error_code& error) {
      if (error) return self->close();
      self->send(frame(kSettings, 0, 0, std::string("\0\x3", 2) + number(self->core_->max_streams)));
      self->read();
    });
  }
  void send(std::string bytes) {
    waiting_ += bytes;
    if (!sending_.empty() || closed_) return;
    sending_.swap(waiting_);
    wire_.write(boost::asio::buffer(sending_), [self = shared_from_this()](const error_code& error, size_t) {
      self->sending_.clear();
      if (error) return self->close();
      if (!self->waiting_.empty()) self->send({});
    });
  }
  void close() {
    if (std::exchange(closed_, true)) return;
    core_->connections.erase(number_);
    wire_.finish();
  }
  uint32_t last_stream() const { return last_stream_; }

  static void accept(const std::shared_ptr<FakeHttp2::Core>& core) {
    core->acceptor.async_accept([core](const error_code& error, tcp::socket socket) {
      if (error) return;
      const int number = ++core->accepted;
      auto connection = std::make_shared<Http2Connection>(core, std::move(socket), number);
      core->connections[number] = connection;
      connection->start();
      accept(core);
    });
  }

 private:
  void read() {
    wire_.read(boost::asio::buffer(input_), [self = shared_from_this()](const error_code& error, size_t size) {
      if (self->closed_) return;
      if (error) return self->close();
      self->received_.append(self->input_, size);
      self->take_frames();
      self->read();
    });
  }

  void take_frames() {
    if (!std::exchange(preface_seen_, preface_seen_ || received_.size() >= kPreface) && received_.size() >= kPreface)
      received_.erase(0, kPreface);
    while (preface_seen_ && received_.size() >= kHead) {
      const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(received_[i])); };
      const size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
      if (received_.size() < kHead + size) return;
      const uint32_t stream = (byte(5) & 0x7f) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
      take_frame(byte(3), byte(4), stream, received_.substr(kHead, size));
      received_.erase(0, kHead + size);
    }
  }

  void take_frame(uint32_t type, uint32_t flags, uint32_t stream, const std::string& payload) {
    if (!core_->server) return;
    if (type == kSettings && (flags & kAck) == 0) send(frame(kSettings, kAck, 0, {}));
    if (type == kPing && (flags & kAck) == 0) send(frame(kPing, kAck, 0, payload));
    if (type == kReset) core_->server->reset_by_client.push_back({number_, stream});
    if (type == kHeaders) {
      last_stream_ = stream;
      core_->server->opened.push_back({number_, stream});
      send(frame(kHeaders, kEndHeaders, stream, "\x88"));  // HPACK's static table: ":status: 200"
    }
  }

  std::shared_ptr<FakeHttp2::Core> core_;
  TlsWire wire_;
  const int number_;
  char input_[65536];
  std::string received_;
  std::string waiting_;
  std::string sending_;
  uint32_t last_stream_ = 0;
  bool preface_seen_ = false;
  bool closed_ = false;
};

FakeHttp2::FakeHttp2(boost::asio::io_context& context, const FakeIdentity& identity, uint32_t max_streams)
    : core_(std::make_shared<Core>(*this, context)) {
  core_->max_streams = max_streams;
  core_->tls.use_certificate_chain(boost::asio::buffer(identity.certificate_pem));
  core_->tls.use_private_key(boost::asio::buffer(identity.key_pem), boost::asio::ssl::context::pem);
  SSL_CTX_set_alpn_select_cb(core_->tls.native_handle(), &choose_h2, nullptr);
  const tcp::endpoint endpoint(boost::asio::ip::make_address("127.0.0.1"), 0);
  core_->acceptor.open(endpoint.protocol());
  core_->acceptor.bind(endpoint);
  core_->acceptor.listen();
  Http2Connection::accept(core_);
}

FakeHttp2::~FakeHttp2() {
  core_->server = nullptr;
  error_code ignored;
  core_->acceptor.close(ignored);
  for (const auto& [number, connection] : std::map(core_->connections)) close(number);
}

std::string FakeHttp2::url(std::string_view path) const {
  return fmt::format("https://127.0.0.1:{}{}", core_->acceptor.local_endpoint().port(), path);
}

void FakeHttp2::data(Http2Stream stream, std::string_view bytes, bool end) {
  if (const auto c = core_->connections[stream.connection].lock())
    c->send(frame(kData, end ? kEndStream : 0, stream.id, bytes));
}

void FakeHttp2::reset(Http2Stream stream) {
  if (const auto c = core_->connections[stream.connection].lock()) c->send(frame(kReset, 0, stream.id, number(7)));
}

void FakeHttp2::go_away(int connection) {
  if (const auto c = core_->connections[connection].lock())
    c->send(frame(kGoAway, 0, 0, number(c->last_stream()) + number(0)));
}

void FakeHttp2::close(int connection) {
  if (const auto c = core_->connections[connection].lock()) c->close();
}

int FakeHttp2::accepted() const { return core_->accepted; }
int FakeHttp2::open_connections() const { return static_cast<int>(core_->connections.size()); }

}  // namespace hookd::fake
