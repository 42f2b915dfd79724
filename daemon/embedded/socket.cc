#include "embedded/socket.h"

#include <fmt/format.h>

#include <map>

#include "embedded/schema/base64.h"
#include "embedded/server_state.h"
#include "embedded/wire/body.h"
#include "embedded/wire/json_text.h"
#include "net/certificate.h"

namespace hookd::embedded {
namespace {

std::string reason_of(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 413:
      return "RequestEntityTooLarge";
    case 503:
      return "ServiceUnavailable";
    default:
      return status >= 500 ? "InternalError" : "BadRequest";
  }
}

net::ServerResponse refusal(int status, std::string_view why) {
  // Too much for the real server too, in its words.
  const auto error = status == 413 && why.find("header") == std::string_view::npos
                         ? too_large(fmt::format("limit is {}", kMaxBody))
                         : StatusError{status, reason_of(status), std::string(why)};
  return {status, "application/json", to_text(to_status(error)), {}};
}

}  // namespace

struct Socket::Core : std::enable_shared_from_this<Socket::Core> {
  Core(ApiServer& the_server, AsioScheduler& the_scheduler) : server(the_server), scheduler(the_scheduler) {}

  ApiServer& server;
  AsioScheduler& scheduler;
  std::unique_ptr<net::HttpServer> http;
  std::string url, ca_pem;
  std::map<uint64_t, std::unique_ptr<Exchange>> exchanges;
  uint64_t last = 0;
  bool closed = false;

  class Sink;
  void serve(net::ServerRequest from, const net::Responder& responder);
  // Never inside of the exchange's own calls.
  void drop(uint64_t id) {
    scheduler.post([weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->exchanges.erase(id);
    });
  }
};

class Socket::Core::Sink final : public ReplySink {
 public:
  Sink(std::weak_ptr<Core> core, uint64_t id, net::Responder responder)
      : core_(std::move(core)), id_(id), responder_(std::move(responder)) {}

  void whole(ReplyHead head, std::string body) override {
    auto response = shape(std::move(head));
    response.body = std::move(body);
    responder_(std::move(response));
    over();
  }
  void begin(ReplyHead head) override {
    stream_ = responder_.stream(shape(std::move(head)));
    const auto drop = [core = core_, id = id_] {
      if (const auto self = core.lock()) self->drop(id);
    };
    stream_->on_closed(drop);
  }
  void write(std::string bytes) override {
    if (stream_) stream_->write(std::move(bytes));
  }
  void end() override {
    if (stream_) stream_->end();
    over();
  }
  void cut() override {
    if (!stream_) stream_ = responder_.stream({200, "application/json", "", {}});
    stream_->cut();
    over();
  }

 private:
  static net::ServerResponse shape(ReplyHead head) {
    return {head.status, std::move(head.content_type), "", std::move(head.headers)};
  }
  void over() {
    if (const auto core = core_.lock()) core->drop(id_);
  }
  std::weak_ptr<Core> core_;
  uint64_t id_;
  net::Responder responder_;
  std::optional<net::ResponseStream> stream_;
};

void Socket::Core::serve(net::ServerRequest from, const net::Responder& responder) {
  Request request;
  request.method = std::move(from.method);
  request.path = std::move(from.path);
  request.query = parse_query(from.query);
  request.headers = std::move(from.headers);
  request.body = std::move(from.body);
  request.user = {from.client_common_name, from.client_organizations};
  if (!request.user.name.empty()) request.user.groups.emplace_back("system:authenticated");
  const auto id = ++last;
  auto exchange = server.handle(std::move(request), std::make_shared<Sink>(weak_from_this(), id, responder));
  if (!exchange) return;
  exchanges.emplace(id, std::move(exchange));
  // Before it has begun to stream (an answer with latency) the client may go as well.
  responder.on_closed([weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->drop(id);
  });
}

Socket::Socket(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Socket::~Socket() {
  core_->http.reset();
  core_->exchanges.clear();
}

Result<std::unique_ptr<Socket>> Socket::listen(ApiServer& server, AsioScheduler& scheduler, SocketOptions options) {
  auto core = std::make_shared<Core>(server, scheduler);
  std::optional<net::ServerTls> tls;
  if (options.tls) {
    // The clock of the server may be virtual; certificates live in real time.
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    const net::Validity validity{now - std::chrono::hours(1), now + std::chrono::hours(24 * 365)};
    HOOKD_TRY(auto authority, net::CertificateAuthority::create("hookd-embedded-ca", validity));
    net::Leaf leaf;
    leaf.common_name = "kube-apiserver";
    leaf.names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1"};
    leaf.server = true;
    leaf.validity = validity;
    HOOKD_TRY(auto identity, authority.issue(leaf));
    core->ca_pem = authority.certificate_pem;
    server.state().set_ca(core->ca_pem);
    tls = net::ServerTls{identity.certificate_pem, identity.key_pem, authority.certificate_pem};
  }
  net::HttpServerLimits limits;
  limits.body_bytes = kMaxBody + (size_t{64} << 10);
  limits.header_bytes = size_t{64} << 10;
  limits.connections = 2000;
  // The initial events of a watch are queued at once, however many: all that is stored must fit.
  limits.stream_queue_bytes = size_t{256} << 20;
  limits.refusal = refusal;
  HOOKD_TRY(core->http, net::HttpServer::listen(
                            scheduler, options.address,
                            [weak = std::weak_ptr(core)](net::ServerRequest request, net::Responder responder) {
                              if (const auto self = weak.lock()) self->serve(std::move(request), responder);
                            },
                            limits, std::move(tls)));
  auto host = options.address.substr(0, options.address.rfind(':'));
  if (host.empty() || host == "0.0.0.0" || host == "[::]") host = "127.0.0.1";
  core->url = fmt::format("{}://{}:{}", options.tls ? "https" : "http", host, core->http->port());
  return std::unique_ptr<Socket>(new Socket(std::move(core)));
}

std::string Socket::url() const { return core_->url; }
const std::string& Socket::ca_pem() const { return core_->ca_pem; }

std::string Socket::kubeconfig(std::string_view token, std::string_view user) const {
  const auto authority = core_->ca_pem.empty()
                             ? std::string{}
                             : fmt::format("\n    certificate-authority-data: {}", encode_base64(core_->ca_pem));
  return fmt::format(
      "apiVersion: v1\nkind: Config\nclusters:\n- name: hookd\n  cluster:\n    server: {}{}\ncontexts:\n- name: hookd\n"
      "  context:\n    cluster: hookd\n    user: {}\n    namespace: default\ncurrent-context: hookd\nusers:\n- name: "
      "{}\n"
      "  user:\n    token: {}\n",
      core_->url, authority, user, user, token);
}

}  // namespace hookd::embedded
