// An ApiServer on loopback: HTTPS with its own certificate, plain HTTP too if wanted, and a kubeconfig for kubectl.
#pragma once

#include <memory>
#include <string>

#include "base/scheduler.h"
#include "embedded/server.h"
#include "net/http_server.h"

namespace hookd::embedded {

struct SocketOptions {
  std::string address = "127.0.0.1:0";
  bool tls = true;
};

class Socket {
 public:
  // Errors: kConfig: the port is taken.
  static Result<std::unique_ptr<Socket>> listen(ApiServer& server, AsioScheduler& scheduler, SocketOptions options);
  ~Socket();
  std::string url() const;                                                                // "https://127.0.0.1:40123"
  const std::string& ca_pem() const;                                                      // "" without TLS
  std::string kubeconfig(std::string_view token, std::string_view user = "admin") const;  // YAML text
 private:
  struct Core;
  explicit Socket(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace hookd::embedded
