// HTTP over libcurl's multi interface on the Asio loop: HTTP/2 over TLS where the server offers it, HTTP/1.1 on plain
// http, and connections of their own for each Pool. Thread: loop only.
// Source: k8s-client.md R51-R57 (liveness, pools, libcurl's traps), A10-A12 (CA, server name, proxy).
//
// What a caller may do in any callback: destroy the call, start others, destroy the transport. None of them recurses
// into libcurl. Destroying the transport ends every call silently; the HttpCall objects may outlive it.
//
// What is never done: following redirects; sending a request a second time, unless it is a GET, a HEAD or `repeatable`
// and a pooled connection lost it before the first byte of an answer (another write cut like that ends with kTransport,
// outcome unknown).
//
// Errors beside those of HttpHandlers: kConfig (URL or proxy unusable), kInvalid (line break or NUL in a header),
// kTooLarge (header over max_header_bytes).
#pragma once

#include <memory>
#include <string>

#include "net/http_transport.h"
#include "net/proxy_rules.h"

namespace hookd::net {

class CurlPool;

struct CurlOptions {
  ProxyRules proxies;
  // Roots for requests without a CA of their own; "" = those of the distribution.
  std::string system_ca_file;
  std::string system_ca_dir;                    // of OpenSSL's hashed names
  size_t max_header_bytes = size_t{128} << 10;  // of one answer, all lines together

  // HTTPS_PROXY and friends (proxy_rules.h), SSL_CERT_FILE, SSL_CERT_DIR.
  static CurlOptions from_environment();
};

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(AsioScheduler& scheduler, CurlOptions options = CurlOptions::from_environment());
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  [[nodiscard]] std::unique_ptr<HttpCall> start(HttpRequest request, HttpHandlers handlers) override;

  // Calls neither done nor destroyed.
  size_t calls_under_way() const;

 private:
  AsioScheduler& scheduler_;
  std::shared_ptr<const CurlOptions> options_;
  std::shared_ptr<CurlPool> watch_pool_;
  std::shared_ptr<CurlPool> rest_pool_;
  std::shared_ptr<CurlPool> hook_pool_;
};

}  // namespace hookd::net
