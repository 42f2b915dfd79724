// The listener: accepts, makes room, hands each connection to a session.
#include "net/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/log.h"
#include "net/http_address.h"
#include "net/http_session.h"

namespace hookd::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // while descriptors are short

}  // namespace

class HttpServer::Core : public std::enable_shared_from_this<HttpServer::Core> {
 public:
  Core(AsioScheduler& scheduler, Handler handler, HttpServerLimits limits)
      : scheduler_(scheduler),
        acceptor_(scheduler.context()),
        host_(std::make_shared<SessionHost>(scheduler, std::move(handler),
                                            std::make_shared<const HttpServerLimits>(std::move(limits)))) {}

  Result<void> open(std::string_view address, const std::optional<ServerTls>& tls) {
    if (tls) {
      HOOKD_TRY(tls_, make_tls_context(*tls));
    }
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
  void admit(tcp::socket socket);
  bool make_room();
  void turn_away(tcp::socket socket) const;

  AsioScheduler& scheduler_;
  tcp::acceptor acceptor_;
  std::shared_ptr<SessionHost> host_;
  std::shared_ptr<asio::ssl::context> tls_;  // null: plain
  Timer pause_;
  uint16_t port_ = 0;
};

void HttpServer::Core::accept() {
  acceptor_.async_accept([weak = weak_from_this()](const error_code& error, tcp::socket socket) {
    const auto self = weak.lock();
    if (!self || self->host_->draining) return;
    if (!error) {
      self->admit(std::move(socket));
      self->accept();
      return;
    }
    log::warn("a connection cannot be accepted", {{"error", error.message()}, {"port", self->port_}});
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

void HttpServer::Core::turn_away(tcp::socket socket) const {
  error_code ignored;
  if (!tls_) {
    constexpr std::string_view kWhy = "too many connections";
    auto answer = host_->limits->refusal ? host_->limits->refusal(503, kWhy)
                                         : ServerResponse{.status = 503, .body = fmt::format("{}\n", kWhy)};
    answer.headers.emplace_back("Retry-After", "1");
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(head_of(answer, Framing::kLength, 11, false) + answer.body), ignored);
  }
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

void HttpServer::Core::admit(tcp::socket socket) {
  if (!make_room()) return turn_away(std::move(socket));
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  socket.set_option(tcp::no_delay(true), error);
  auto session = std::make_shared<HttpSession>(
      host_, tls_ ? tls_wire(std::move(socket), *tls_) : plain_wire(std::move(socket)), to_text(peer));
  host_->sessions.emplace(session.get(), session);
  session->start(tls_ != nullptr);
}

void HttpServer::Core::drain() {
  host_->draining = true;
  pause_.cancel();
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [key, session] : std::unordered_map(host_->sessions))
    if (session->idle()) session->close();
}

void HttpServer::Core::close() {
  drain();
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
