#include "server/fake_server.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <stdexcept>

#include "server/fake_wire.h"

namespace hookd::fake {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

FakeReply not_found() {
  return {.status = 404, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = "404 page not found\n"};
}

// One whole request off the front of `bytes`; nullopt while some of it is missing.
std::optional<FakeRequest> take_request(std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  FakeRequest request;
  size_t length = 0;
  size_t at = 0;
  bool first = true;
  while (at < end) {
    const auto eol = std::min(bytes.find("\r\n", at), end);
    const std::string_view line(bytes.data() + at, eol - at);
    at = eol + 2;
    if (std::exchange(first, false)) {
      const auto space = line.find(' ');
      const auto last = line.rfind(' ');
      request.method = line.substr(0, space);
      request.target = line.substr(space + 1, last - space - 1);
      continue;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    auto value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    request.headers.emplace_back(lower(line.substr(0, colon)), value);
    if (request.headers.back().first == "content-length")
      std::from_chars(value.data(), value.data() + value.size(), length);
  }
  if (bytes.size() - (end + 4) < length) return std::nullopt;
  request.body = bytes.substr(end + 4, length);
  bytes.erase(0, end + 4 + length);
  const auto question = request.target.find('?');
  request.path = request.target.substr(0, question);
  if (question != std::string::npos) request.query = request.target.substr(question + 1);
  return request;
}

std::string head_of(const FakeReply& reply) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reply.status < 400 ? "Fine" : "Trouble");
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (reply.chunked || reply.stream)
    head += "Transfer-Encoding: chunked\r\n";
  else if (reply.status != 204 && reply.status != 304)
    head += fmt::format("Content-Length: {}\r\n", reply.body.size());
  if (reply.close) head += "Connection: close\r\n";
  return head + "\r\n";
}

std::string chunk(std::string_view piece) { return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece); }

}  // namespace

std::string_view FakeRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_name) return value;
  return {};
}

std::string FakeRequest::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const auto ampersand = rest.find('&');
    const auto one = rest.substr(0, ampersand);
    rest = ampersand == std::string_view::npos ? std::string_view() : rest.substr(ampersand + 1);
    const auto equals = one.find('=');
    if (one.substr(0, equals) == name)
      return equals == std::string_view::npos ? "" : percent_decoded(one.substr(equals + 1));
  }
  return {};
}

void FakeStream::act(Action action, std::string_view piece) {
  waiting_.emplace_back(action, piece);
  if (const auto wake = wake_) wake();
}

class FakeConnection;

struct FakeServer::Core {
  explicit Core(FakeServer& owner, boost::asio::io_context& context) : server(&owner), acceptor(context) {}
  FakeReply next_reply(const FakeRequest& request) {
    if (!script.empty()) {
      FakeReply reply = std::move(script.front());
      script.pop_front();
      return reply;
    }
    return server->on_request ? server->on_request(request) : not_found();
  }

  FakeServer* server;  // null once it is destroyed
  tcp::acceptor acceptor;
  std::optional<boost::asio::ssl::context> tls;
  std::deque<FakeReply> script;
  std::set<FakeConnection*> connections;
  tcp::endpoint endpoint;
  int accepted = 0;
  int failed_handshakes = 0;
};

class FakeConnection : public std::enable_shared_from_this<FakeConnection> {
 public:
  FakeConnection(std::shared_ptr<FakeServer::Core> core, std::unique_ptr<FakeWire> wire, int number)
      : core_(std::move(core)), wire_(std::move(wire)), number_(number) {
    core_->connections.insert(this);
  }
  ~FakeConnection() { forget(); }

  void start() {
    wire_->handshake([self = shared_from_this()](const error_code& error) {
      if (!error) return self->read();
      ++self->core_->failed_handshakes;
      self->close(false);
    });
  }
  void close(bool rst) {
    if (std::exchange(closed_, true)) return;
    if (stream_) stream_->client_gone_ = true;
    if (rst)
      wire_->reset();
    else
      wire_->finish();
    forget();
  }

  void speak_first(std::string bytes) {
    write(std::move(bytes), [] {});
  }

  static void accept(const std::shared_ptr<FakeServer::Core>& core) {
    core->acceptor.async_accept([core](const error_code& error, tcp::socket socket) {
      if (error) return;
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::unique_ptr<FakeWire> wire;
      if (core->tls)
        wire = std::make_unique<TlsWire>(std::move(socket), *core->tls);
      else
        wire = std::make_unique<PlainWire>(std::move(socket));
      std::make_shared<FakeConnection>(core, std::move(wire), ++core->accepted)->start();
      accept(core);
    });
  }

 private:
  void forget() { core_->connections.erase(this); }

  void read() {
    wire_->read(boost::asio::buffer(input_), [self = shared_from_this()](const error_code& error, size_t size) {
      if (self->closed_) return;
      if (error) return self->close(false);
      self->received_.append(self->input_, size);
      self->next_request();
      self->read();
    });
  }

  void next_request() {
    if (busy_ || closed_ || !core_->server) return;
    auto request = take_request(received_);
    if (!request) return;
    busy_ = true;
    request->connection = number_;
    request->server_name = wire_->server_name();
    request->client_certificate = wire_->peer_name();
    const bool head_only = request->method == "HEAD";
    core_->server->requests.push_back(*request);
    answer(core_->next_reply(*request), head_only);
  }

  void answer(FakeReply reply, bool head_only) {
    if (reply.fault == Fault::kHalfOpen) return;
    if (reply.fault == Fault::kCutBefore || reply.fault == Fault::kResetBefore)
      return close(reply.fault == Fault::kResetBefore);
    std::string bytes;
    for (const int status : reply.interim)
      bytes += fmt::format("HTTP/1.1 {} Interim\r\nX-Interim: yes\r\n\r\n", status);
    bytes += head_of(reply);
    if (reply.stream) {
      stream_ = reply.stream;
      return write(std::move(bytes), [this] {
        stream_->started_ = true;
        stream_->wake_ = [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->pump_stream();
        };
        pump_stream();
      });
    }
    if (!head_only) {
      if (reply.chunked)
        bytes += (reply.body.empty() ? "" : chunk(reply.body)) + "0\r\n\r\n";
      else
        bytes += reply.body;
    }
    switch (reply.fault) {
      case Fault::kGarbage:
        return write("SSH-2.0-not-http\r\n\r\n", [this] { close(false); });
      case Fault::kByteByByte:
        return drip(std::move(bytes), 0, reply.close);
      case Fault::kCut:
        return write(bytes.substr(0, reply.keep_bytes), [this] { close(false); });
      case Fault::kReset:
        return write(bytes.substr(0, reply.keep_bytes), [this] { close(true); });
      case Fault::kStall:
        return write(bytes.substr(0, reply.keep_bytes), [] {});
      default:
        break;
    }
    write(std::move(bytes), [this, closing = reply.close] { answered(closing); });
  }

  void answered(bool closing) {
    busy_ = false;
    if (closing)
      close(false);
    else
      next_request();
  }

  void drip(std::string bytes, size_t at, bool closing) {
    if (at == bytes.size()) return answered(closing);
    std::string one(1, bytes[at]);
    write(std::move(one),
          [this, bytes = std::move(bytes), at, closing]() mutable { drip(std::move(bytes), at + 1, closing); });
  }

  void pump_stream() {
    if (writing_ || closed_ || !stream_ || stream_->waiting_.empty()) return;
    auto [action, piece] = std::move(stream_->waiting_.front());
    stream_->waiting_.pop_front();
    if (action == FakeStream::kSend) return write(chunk(piece), [this] { pump_stream(); });
    if (action == FakeStream::kCut || action == FakeStream::kReset) return close(action == FakeStream::kReset);
    const auto ended = std::exchange(stream_, nullptr);
    ended->wake_ = nullptr;
    write("0\r\n\r\n", [this] { answered(false); });
  }

  void write(std::string bytes, std::function<void()> then) {
    output_ = std::move(bytes);
    writing_ = true;
    wire_->write(boost::asio::buffer(output_),
                 [self = shared_from_this(), then = std::move(then)](const error_code& error, size_t) {
                   self->writing_ = false;
                   if (self->closed_) return;
                   if (error) return self->close(false);
                   then();
                 });
  }

  std::shared_ptr<FakeServer::Core> core_;
  std::unique_ptr<FakeWire> wire_;
  const int number_;
  char input_[65536];
  std::string received_;
  std::string output_;
  std::shared_ptr<FakeStream> stream_;
  bool writing_ = false;
  bool busy_ = false;
  bool closed_ = false;
};

FakeServer::FakeServer(boost::asio::io_context& context, std::optional<FakeTls> tls, const char* address)
    : core_(std::make_shared<Core>(*this, context)) {
  if (tls) {
    auto& c = core_->tls.emplace(boost::asio::ssl::context::tls_server);
    c.use_certificate_chain(boost::asio::buffer(tls->identity.certificate_pem));
    c.use_private_key(boost::asio::buffer(tls->identity.key_pem), boost::asio::ssl::context::pem);
    SSL_CTX_set_session_id_context(c.native_handle(), reinterpret_cast<const unsigned char*>("fake"), 4);
    if (!tls->client_ca_pem.empty()) {
      c.add_certificate_authority(boost::asio::buffer(tls->client_ca_pem));
      c.set_verify_mode(boost::asio::ssl::verify_peer | boost::asio::ssl::verify_fail_if_no_peer_cert);
    }
  }
  core_->endpoint = {boost::asio::ip::make_address(address), 0};
  listen_again();
  core_->endpoint = core_->acceptor.local_endpoint();
}

FakeServer::~FakeServer() {
  core_->server = nullptr;
  stop_listening();
  close_all();
}

uint16_t FakeServer::port() const { return core_->endpoint.port(); }

std::string FakeServer::url(std::string_view path) const {
  const auto address = core_->endpoint.address();
  return fmt::format("{}://{}:{}{}", core_->tls ? "https" : "http",
                     address.is_v6() ? "[" + address.to_string() + "]" : address.to_string(), port(), path);
}

void FakeServer::reply(FakeReply reply) { core_->script.push_back(std::move(reply)); }

void FakeServer::reply_json(std::string body, int status) {
  reply({.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)});
}

std::shared_ptr<FakeStream> FakeServer::stream() {
  auto stream = std::make_shared<FakeStream>();
  reply({.headers = {{"Content-Type", "application/json"}}, .stream = stream});
  return stream;
}

int FakeServer::accepted() const { return core_->accepted; }
int FakeServer::open_connections() const { return static_cast<int>(core_->connections.size()); }
int FakeServer::failed_handshakes() const { return core_->failed_handshakes; }

void FakeServer::stop_listening() {
  error_code ignored;
  core_->acceptor.close(ignored);
}

void FakeServer::listen_again() {
  core_->acceptor.open(core_->endpoint.protocol());
  core_->acceptor.set_option(tcp::acceptor::reuse_address(true));
  core_->acceptor.bind(core_->endpoint);
  core_->acceptor.listen();
  FakeConnection::accept(core_);
}

void FakeServer::close_all() {
  for (auto* connection : std::set(core_->connections)) connection->close(false);
}

void FakeServer::speak_first(std::string bytes) {
  for (auto* connection : std::set(core_->connections)) connection->speak_first(bytes);
}

void FakeServer::reset_all() {
  for (auto* connection : std::set(core_->connections)) connection->close(true);
}

}  // namespace hookd::fake
