// The listener: accepts, makes room, hands each connection to a session.
#include "net/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/log.h"
#include "net/http_address.h"
#include "net/http_session.h"
#include "net/unix_listener.h"

namespace hookd::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::string_view kUnixPrefix = "unix:";
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // while descriptors are short

}  // namespace

class HttpServer::Core : public std::enable_shared_from_this<HttpServer::Core> {
 public:
  Core(AsioScheduler& scheduler, Handler handler, HttpServerLimits limits)
      : scheduler_(scheduler),
        acceptor_(scheduler.context()),
        unix_(scheduler),
        host_(std::make_shared<SessionHost>(scheduler, std::move(handler),
                                            std::make_shared<const HttpServerLimits>(std::move(limits)))) {}

  Result<void> open(std::string_view address, const std::optional<ServerTls>& tls) {
    if (tls) {
      HOOKD_TRY(tls_, make_tls_context(*tls));
    }
    if (address.starts_with(kUnixPrefix)) return unix_.open(std::string(address.substr(kUnixPrefix.size())));
    HOOKD_CHECK(listen_on(acceptor_, address));
    error_code ignored;
    port_ = acceptor_.local_endpoint(ignored).port();
    return {};
  }
  void accept();
  void drain();
  void close();
  uint16_t port() const { return port_; }
  size_t connections() const { return host_->sessions.size(); }

 private:
  template <class Acceptor>
  void accept_from(Acceptor& acceptor);
  void admit(tcp::socket socket);
  void admit(asio::local::stream_protocol::socket socket);
  void serve(WireSocket socket, std::string peer);
  bool make_room();
  void turn_away(WireSocket socket, int status, std::string_view why) const;

  AsioScheduler& scheduler_;
  tcp::acceptor acceptor_;
  UnixListener unix_;
  std::shared_ptr<SessionHost> host_;
  std::shared_ptr<SessionHost> strangers_;   // of a unix socket: at most one is answered at a time
  std::shared_ptr<asio::ssl::context> tls_;  // null: plain
  Timer pause_;
  uint16_t port_ = 0;
};

void HttpServer::Core::accept() {
  if (unix_.path().empty())
    accept_from(acceptor_);
  else
    accept_from(unix_.acceptor());
}

template <class Acceptor>
void HttpServer::Core::accept_from(Acceptor& acceptor) {
  using Socket = typename Acceptor::protocol_type::socket;
  acceptor.async_accept([weak = weak_from_this()](const error_code& error, Socket socket) {
    const auto self = weak.lock();
    if (!self || self->host_->draining) return;
    if (!error) {
      self->admit(std::move(socket));
      self->accept();
      return;
    }
    log::warn("a connection cannot be accepted",
              {{"error", error.message()}, {"port", self->port_}, {"path", self->unix_.path()}});
    self->pause_ = self->scheduler_.after(kAcceptPause, [weak] {
      if (const auto again = weak.lock(); again && !again->host_->draining) again->accept();
    });
  });
}

bool HttpServer::Core::make_room() {
  if (host_->sessions.size() < host_->limits->connections) return true;
  std::shared_ptr<HttpSession> longest;
  for (const auto& [key, session] : host_->sessions)
    if (session->idle() && (!longest || session->idle_since() < longest->idle_since())) longest = session;
  if (longest) longest->close();
  return longest != nullptr;
}

void HttpServer::Core::turn_away(WireSocket socket, int status, std::string_view why) const {
  error_code ignored;
  if (!tls_) {
    auto answer = host_->limits->refusal ? host_->limits->refusal(status, why)
                                         : ServerResponse{.status = status, .body = fmt::format("{}\n", why)};
    if (status == 503) answer.headers.emplace_back("Retry-After", "1");
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(head_of(answer, Framing::kLength, 11, false) + answer.body), ignored);
  }
  socket.shutdown(WireSocket::shutdown_both, ignored);
}

void HttpServer::Core::admit(tcp::socket socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  socket.set_option(tcp::no_delay(true), error);
  serve(std::move(socket), to_text(peer));
}

// One who may not ask gets a whole answer to the first request, and not a connection that breaks.
void HttpServer::Core::admit(asio::local::stream_protocol::socket socket) {
  auto peer = check_peer(socket.native_handle());
  if (peer) return serve(std::move(socket), *std::move(peer));
  const std::string why = peer.error().what;
  log::warn("somebody was turned away", {{"path", unix_.path()}, {"why", why}});
  if (strangers_ && !strangers_->sessions.empty()) return turn_away(std::move(socket), 403, why);
  strangers_ = std::make_shared<SessionHost>(
      scheduler_,
      [why, limits = host_->limits](ServerRequest, const Responder& respond) {
        respond(limits->refusal ? limits->refusal(403, why) : ServerResponse{.status = 403, .body = why + "\n"});
      },
      host_->limits);
  strangers_->draining = true;  // one answer, no further request
  auto session = std::make_shared<HttpSession>(strangers_, plain_wire(std::move(socket)), "a stranger");
  strangers_->sessions.emplace(session.get(), session);
  session->start(false);
}

void HttpServer::Core::serve(WireSocket socket, std::string peer) {
  if (!make_room()) return turn_away(std::move(socket), 503, "too many connections");
  auto session = std::make_shared<HttpSession>(
      host_, tls_ ? tls_wire(std::move(socket), *tls_) : plain_wire(std::move(socket)), std::move(peer));
  host_->sessions.emplace(session.get(), session);
  session->start(tls_ != nullptr);
}

void HttpServer::Core::drain() {
  host_->draining = true;
  pause_.cancel();
  error_code ignored;
  acceptor_.close(ignored);
  unix_.close();
  for (const auto& [key, session] : std::unordered_map(host_->sessions))
    if (session->idle()) session->close();
}

void HttpServer::Core::close() {
  drain();
  if (strangers_)
    for (const auto& [key, session] : std::unordered_map(strangers_->sessions)) session->close();
  for (const auto& [key, session] : std::unordered_map(host_->sessions)) session->close();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioScheduler& scheduler, std::string_view address,
                                                       Handler handler, HttpServerLimits limits,
                                                       std::optional<ServerTls> tls) {
  auto core = std::make_shared<Core>(scheduler, std::move(handler), std::move(limits));
  HOOKD_CHECK(core->open(address, tls));
  core->accept();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::~HttpServer() { core_->close(); }
uint16_t HttpServer::port() const { return core_->port(); }
size_t HttpServer::connections() const { return core_->connections(); }
void HttpServer::drain() { core_->drain(); }

}  // namespace hookd::net
