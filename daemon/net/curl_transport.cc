#include "net/curl_transport.h"

#include <curl/curl.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "net/curl_pool.h"
#include "net/curl_transfer.h"

namespace hookd::net {
namespace {

// Idle connections kept. HTTP/2 needs one or two a server; the rest is for servers and proxies that speak HTTP/1.1
// only.
constexpr long kIdleWatchConnections = 100;
constexpr long kIdleRestConnections = 32;
constexpr long kIdleHookConnections = 32;

class CurlCall final : public HttpCall {
 public:
  CurlCall(std::weak_ptr<CurlPool> pool, std::shared_ptr<CurlTransfer> transfer)
      : pool_(std::move(pool)), transfer_(std::move(transfer)) {}
  ~CurlCall() override {
    if (const auto pool = pool_.lock())
      pool->cancel(transfer_);
    else
      transfer_->silence();
  }

 private:
  std::weak_ptr<CurlPool> pool_;
  std::shared_ptr<CurlTransfer> transfer_;
};

void init_libcurl_once() {
  static const CURLcode code = [] {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to closed sockets without MSG_NOSIGNAL
    return curl_global_init(CURL_GLOBAL_DEFAULT);
  }();
  if (code != CURLE_OK) throw std::runtime_error(std::string("libcurl cannot start: ") + curl_easy_strerror(code));
}

std::shared_ptr<CurlPool> make_pool(AsioScheduler& scheduler, long idle_connections) {
  auto pool = std::make_shared<CurlPool>(scheduler, idle_connections);
  pool->begin();
  return pool;
}

}  // namespace

CurlOptions CurlOptions::from_environment() {
  const auto get = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  CurlOptions options;
  options.proxies = ProxyRules::from_environment();
  options.system_ca_file = get("SSL_CERT_FILE");
  options.system_ca_dir = get("SSL_CERT_DIR");
  return options;
}

CurlTransport::CurlTransport(AsioScheduler& scheduler, CurlOptions options)
    : scheduler_(scheduler), options_(std::make_shared<const CurlOptions>(std::move(options))) {
  init_libcurl_once();
  watch_pool_ = make_pool(scheduler, kIdleWatchConnections);
  rest_pool_ = make_pool(scheduler, kIdleRestConnections);
  hook_pool_ = make_pool(scheduler, kIdleHookConnections);
}

CurlTransport::~CurlTransport() {
  watch_pool_->close();
  rest_pool_->close();
  hook_pool_->close();
}

std::unique_ptr<HttpCall> CurlTransport::start(HttpRequest request, HttpHandlers handlers) {
  const auto& pool = request.pool == Pool::kWatch ? watch_pool_ : request.pool == Pool::kHook ? hook_pool_ : rest_pool_;
  auto transfer = std::make_shared<CurlTransfer>(std::move(request), std::move(handlers), options_, scheduler_);
  auto call = std::make_unique<CurlCall>(pool, transfer);
  pool->start(std::move(transfer));
  return call;
}

size_t CurlTransport::calls_under_way() const { return watch_pool_->size() + rest_pool_->size() + hook_pool_->size(); }

}  // namespace hookd::net
