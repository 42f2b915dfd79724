// The `server` field of a kubeconfig taken apart. Thread: any. Source: k8s-client.md A7, A20.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::kube {

struct ServerUrl {
  std::string origin;     // "https://host[:port]", scheme in lower case, IPv6 in brackets
  std::string base_path;  // "" or "/prefix", no slash at its end
  bool loopback = false;
};

// Query and fragment are dropped. No scheme: https if `tls_by_default`, else http, and then no path may be given.
// Errors: kConfig; the text is not in the message, since a user and password may be in it.
Result<ServerUrl> parse_server_url(std::string_view text, bool tls_by_default);

// "10.0.0.1:443", "[fd00::1]:443". Errors: kConfig.
Result<std::string> join_host_port(std::string_view host, std::string_view port);

// Checks a proxy-url: http, https or socks5 and a host. Errors: kConfig, without the text.
Result<void> check_proxy_url(std::string_view text);

}  // namespace hookd::kube
