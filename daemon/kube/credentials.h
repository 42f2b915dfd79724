// Who we are on each request: TLS material, Authorization and impersonation headers, read anew as files change.
// Reading is lazy: nothing happens between requests. A bad new file never replaces what worked; it is logged once.
// Thread: loop only. Owns: the current material. Source: k8s-client.md A6, A7, A9, A13, A14, A18, A21, A22.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/scheduler.h"
#include "kube/kubeconfig.h"
#include "net/http_transport.h"

namespace hookd::kube {

class Credentials {
 public:
  // `config` as load_connection gave it. Reads the token file; when it cannot be read, it is tried again at each
  // request.
  Credentials(ConnectionConfig config, Scheduler& scheduler);

  // Never null. Another object = something changed: connections made with the old one should not be used again;
  // what runs on them may end by itself.
  std::shared_ptr<const net::TlsOptions> tls();
  // "Bearer …", "Basic …", or nothing (anonymous, certificate only, or plain http: A7). Never log it.
  std::optional<std::string> authorization_header();
  // Impersonate-User, -Uid, -Group and -Extra-… in sending order; empty = no impersonation (A13).
  const std::vector<std::pair<std::string, std::string>>& impersonation_headers() const { return impersonation_; }

  // A 401 came: the token file is read again at the next request, the certificate files as after tls_failed() (A18,
  // A21).
  void unauthorized();
  // A handshake failed: certificate files are looked at again at the next request, at most once a second.
  void tls_failed();

  // The configuration with the PEM texts as they are now: for the kubeconfig of hooks when tls() gave a new object.
  const ConnectionConfig& config() const { return config_; }

  static constexpr Duration kTokenPeriod = std::chrono::seconds(60);
  static constexpr Duration kTokenLeeway = std::chrono::seconds(10);
  static constexpr Duration kFilePeriod = std::chrono::minutes(5);
  static constexpr Duration kBadFilePeriod = std::chrono::seconds(10);  // a half-done rotation is soon whole

 private:
  void read_token_file();
  void check_tls_files();
  void make_tls();
  // Logs `problem` unless it is the one that `last` already holds; "" = all is well again.
  static void report(std::string& last, std::string problem, std::string_view what);

  ConnectionConfig config_;
  Scheduler& scheduler_;
  std::vector<std::pair<std::string, std::string>> impersonation_;
  std::shared_ptr<const net::TlsOptions> tls_;
  SteadyTime tls_check_due_{};
  SteadyTime tls_checked_{};
  std::string file_token_;  // last good content of the token file
  SteadyTime token_due_{};
  std::string token_problem_;
  std::string ca_problem_;
  std::string pair_problem_;
};

}  // namespace hookd::kube
