// The only file with Boost.Beast, beside beast_impl.cc.
//
// A connection goes round:  idle -> reading (header, 100-continue, body) -> handling -> writing -> idle | lingering ->
// closed.
#include "net/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/log.h"

namespace hookd::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // while descriptors are short
constexpr Duration kLinger = std::chrono::seconds(2);  // for a client to read the answer that refuses its request
constexpr size_t kLingerBytes = size_t{64} << 20;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 21\r\n\r\n"
    "too many connections\n";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string to_text(const tcp::endpoint& endpoint) {
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

struct ListenAddress {
  std::optional<asio::ip::address> address;  // none = every one
  uint16_t port = 0;
};

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::kConfig,
                "\"{}\" is not an address to listen on; write \":9115\", \"127.0.0.1:9115\" or \"[::1]:9115\"", text);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  ListenAddress result;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return result;
  if (host == "localhost") host = "127.0.0.1";
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  error_code parse_error;
  result.address = asio::ip::make_address(host, parse_error);
  if (parse_error || result.address->is_v6() != brackets) return wrong();
  return result;
}

error_code open_and_listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool dual_stack) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(!dual_stack), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

}  // namespace

class HttpSession;

struct Responder::State {
  std::weak_ptr<HttpSession> session;
  bool answered = false;
  ~State();
};

class HttpServer::Core : public std::enable_shared_from_this<HttpServer::Core> {
 public:
  Core(AsioScheduler& scheduler, Handler handler, HttpServerLimits limits)
      : scheduler_(scheduler), acceptor_(scheduler.context()), handler_(std::move(handler)), limits_(limits) {}

  Result<void> open(std::string_view text);
  void accept();
  void admit(tcp::socket socket);
  void drain();
  void close();
  void forget(const HttpSession* session) { sessions_.erase(session); }

  AsioScheduler& scheduler() { return scheduler_; }
  const HttpServerLimits& limits() const { return limits_; }
  const Handler& handler() const { return handler_; }
  bool draining() const { return draining_; }
  uint16_t port() const { return port_; }
  size_t connections() const { return sessions_.size(); }

 private:
  AsioScheduler& scheduler_;
  tcp::acceptor acceptor_;
  Handler handler_;
  HttpServerLimits limits_;
  Timer pause_;
  std::unordered_map<const HttpSession*, std::shared_ptr<HttpSession>> sessions_;
  uint16_t port_ = 0;
  bool draining_ = false;
};

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::weak_ptr<HttpServer::Core> core, tcp::socket socket, std::string peer, AsioScheduler& scheduler,
              const HttpServerLimits& limits)
      : core_(std::move(core)),
        scheduler_(scheduler),
        limits_(limits),
        socket_(std::move(socket)),
        peer_(std::move(peer)) {}

  void start() { read_request(false); }
  bool idle() const { return idle_; }
  SteadyTime idle_since() const { return idle_since_; }
  void close();
  void respond(ServerResponse response);

 private:
  void deadline(Duration delay);
  void read_request(bool kept);
  void read_header();
  void read_body();
  void on_request();
  void refuse(const error_code& error);
  void write(http::response<http::string_body> response);
  void linger(size_t read_so_far);

  const std::weak_ptr<HttpServer::Core> core_;
  AsioScheduler& scheduler_;
  const HttpServerLimits limits_;
  tcp::socket socket_;
  const std::string peer_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  Timer deadline_;
  SteadyTime idle_since_;
  bool idle_ = true;  // nothing of a request has come yet
  bool closed_ = false;
  bool head_only_ = false;
  bool keep_alive_ = false;
  unsigned version_ = 11;
  char discard_[4096];
};

// ---- Responder ----

void Responder::operator()(ServerResponse response) const {
  if (std::exchange(state_->answered, true)) return;
  if (const auto session = state_->session.lock()) session->respond(std::move(response));
}

Responder::State::~State() {
  if (answered) return;
  if (const auto open = session.lock())
    open->respond({500, "text/plain; charset=utf-8", "the request was not answered\n", {}});
}

std::string_view ServerRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_name) return value;
  return {};
}

// ---- one connection ----

void HttpSession::deadline(Duration delay) {
  deadline_ = scheduler_.after(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
}

void HttpSession::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  deadline_.cancel();
  error_code ignored;
  socket_.close(ignored);
  if (const auto core = core_.lock()) core->forget(this);
}

void HttpSession::read_request(bool kept) {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(limits_.header_bytes));
  parser_->body_limit(limits_.body_bytes);
  if (buffer_.size() > 0) {  // the next of several sent at once
    read_header();
    return;
  }
  idle_ = true;
  idle_since_ = scheduler_.now();
  deadline(kept ? limits_.idle_deadline : limits_.read_deadline);
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (self->closed_) return;
    if (error)
      self->close();
    else
      self->read_header();
  });
}

void HttpSession::read_header() {
  idle_ = false;
  deadline(limits_.read_deadline);
  http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, size_t) {
    if (self->closed_) return;
    if (error) {
      self->refuse(error);
      return;
    }
    const auto& message = self->parser_->get();
    self->version_ = message.version();
    if (self->parser_->is_done() || lower(message[http::field::expect]) != "100-continue") {
      self->read_body();
      return;
    }
    asio::async_write(self->socket_, asio::buffer(kContinue), [self](const error_code& write_error, size_t) {
      if (self->closed_) return;
      if (write_error)
        self->close();
      else
        self->read_body();
    });
  });
}

void HttpSession::read_body() {
  http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, size_t) {
    if (self->closed_) return;
    if (error)
      self->refuse(error);
    else
      self->on_request();
  });
}

void HttpSession::on_request() {
  const auto core = core_.lock();
  if (!core) return;
  deadline_.cancel();
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  head_only_ = message.method() == http::verb::head;

  ServerRequest request;
  request.method = message.method_string();
  std::string_view target(message.target().data(), message.target().size());
  if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
    const auto path = target.find('/', scheme + 3);  // absolute form, as sent to proxies
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  const auto question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  for (const auto& field : message) request.headers.emplace_back(lower(field.name_string()), field.value());
  request.body = std::move(message.body());
  request.peer = peer_;

  auto state = std::make_shared<Responder::State>();
  state->session = weak_from_this();
  core->handler()(request, Responder(std::move(state)));
}

void HttpSession::respond(ServerResponse answer) {
  if (closed_) return;
  const auto core = core_.lock();
  http::response<http::string_body> response(http::int_to_status(static_cast<unsigned>(answer.status)), version_);
  if (response.result() == http::status::unknown) response.result(static_cast<unsigned>(answer.status));
  for (const auto& [name, value] : answer.headers) {
    if (value.find_first_of("\r\n") == std::string::npos)
      response.set(name, value);
    else
      log::warn("a header of an answer has a line break and was left out", {{"header", name}});
  }
  if (!answer.content_type.empty()) response.set(http::field::content_type, answer.content_type);
  response.body() = std::move(answer.body);
  response.keep_alive(keep_alive_ && core && !core->draining());
  response.prepare_payload();
  if (head_only_) response.body().clear();
  write(std::move(response));
}

// The client's fault, or a connection that ended.
void HttpSession::refuse(const error_code& error) {
  if (error.category() != http::make_error_code(http::error::bad_method).category() ||
      error == http::error::end_of_stream || error == http::error::partial_message) {
    close();
    return;
  }
  http::response<http::string_body> response(http::status::bad_request, 11);
  response.body() = "not a request that can be understood: " + error.message() + "\n";
  if (error == http::error::body_limit) {
    response.result(http::status::payload_too_large);
    response.body() = fmt::format("the body is over {} bytes\n", limits_.body_bytes);
  } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    response.result(http::status::request_header_fields_too_large);
    response.body() = fmt::format("the header is over {} bytes\n", limits_.header_bytes);
  }
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.keep_alive(false);
  response.prepare_payload();
  head_only_ = false;
  write(std::move(response));
}

void HttpSession::write(http::response<http::string_body> response) {
  response_ = std::move(response);
  deadline(limits_.write_deadline);
  const auto on_written = [self = shared_from_this()](const error_code& error, size_t) {
    if (self->closed_) return;
    const bool keep = self->response_->keep_alive();
    self->response_.reset();
    if (error)
      self->close();
    else if (keep)
      self->read_request(true);
    else
      self->linger(0);
  };
  if (head_only_) {
    // Beast would write the body that content-length promises; a HEAD's answer has none.
    auto serializer = std::make_shared<http::response_serializer<http::string_body>>(*response_);
    serializer->split(true);
    http::async_write_header(socket_, *serializer, [serializer, on_written](const error_code& error, size_t size) {
      on_written(error, size);
    });
    return;
  }
  http::async_write(socket_, *response_, on_written);
}

// Closing a socket with unread bytes resets the connection, and the client may never see the answer: read them away.
void HttpSession::linger(size_t read_so_far) {
  error_code error;
  if (read_so_far == 0) {
    socket_.shutdown(tcp::socket::shutdown_send, error);
    deadline(kLinger);
  }
  if (error || read_so_far > kLingerBytes) {
    close();
    return;
  }
  socket_.async_read_some(asio::buffer(discard_),
                          [self = shared_from_this(), read_so_far](const error_code& read_error, size_t size) {
                            if (self->closed_) return;
                            if (read_error)
                              self->close();
                            else
                              self->linger(read_so_far + size);
                          });
}

// ---- the listener ----

Result<void> HttpServer::Core::open(std::string_view text) {
  HOOKD_TRY(const ListenAddress wanted, parse_listen_address(text));
  error_code error;
  if (wanted.address) {
    error = open_and_listen(acceptor_, {*wanted.address, wanted.port}, false);
  } else {
    error = open_and_listen(acceptor_, {tcp::v6(), wanted.port}, true);
    if (error == asio::error::address_family_not_supported || error == asio::error::no_protocol_option)
      error = open_and_listen(acceptor_, {tcp::v4(), wanted.port}, false);  // a kernel without IPv6
  }
  if (error == asio::error::address_in_use)
    return fail(Errc::kConfig, "cannot listen on {}: the port is taken; stop what uses it, or choose another", text);
  if (error) return fail(Errc::kConfig, "cannot listen on {}: {}", text, error.message());
  port_ = acceptor_.local_endpoint(error).port();
  return {};
}

void HttpServer::Core::accept() {
  acceptor_.async_accept([weak = weak_from_this()](const error_code& error, tcp::socket socket) {
    const auto self = weak.lock();
    if (!self || self->draining_) return;
    if (!error) {
      self->admit(std::move(socket));
      self->accept();
      return;
    }
    log::warn("a connection cannot be accepted", {{"error", error.message()}, {"port", self->port_}});
    self->pause_ = self->scheduler_.after(kAcceptPause, [weak] {
      if (const auto again = weak.lock(); again && !again->draining_) again->accept();
    });
  });
}

void HttpServer::Core::admit(tcp::socket socket) {
  error_code error;
  if (sessions_.size() >= limits_.connections) {
    std::shared_ptr<HttpSession> longest;
    for (const auto& [key, session] : sessions_)
      if (session->idle() && (!longest || session->idle_since() < longest->idle_since())) longest = session;
    if (!longest) {
      socket.non_blocking(true, error);
      socket.write_some(asio::buffer(kFull), error);
      socket.shutdown(tcp::socket::shutdown_both, error);
      return;
    }
    longest->close();
  }
  const auto peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  socket.set_option(tcp::no_delay(true), error);
  auto session = std::make_shared<HttpSession>(weak_from_this(), std::move(socket), to_text(peer), scheduler_, limits_);
  sessions_.emplace(session.get(), session);
  session->start();
}

void HttpServer::Core::drain() {
  draining_ = true;
  pause_.cancel();
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [key, session] : std::unordered_map(sessions_))
    if (session->idle()) session->close();
}

void HttpServer::Core::close() {
  drain();
  for (const auto& [key, session] : std::unordered_map(sessions_)) session->close();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioScheduler& scheduler, std::string_view address,
                                                       Handler handler, HttpServerLimits limits) {
  auto core = std::make_shared<Core>(scheduler, std::move(handler), limits);
  HOOKD_CHECK(core->open(address));
  core->accept();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::~HttpServer() { core_->close(); }
uint16_t HttpServer::port() const { return core_->port(); }
size_t HttpServer::connections() const { return core_->connections(); }
void HttpServer::drain() { core_->drain(); }

}  // namespace hookd::net
