// Which proxy a URL is fetched through, decided here and never by libcurl: its own reading of the environment
// differs from the Go clients' (k8s-client.md A12). Thread: any.
//
// Environment, upper case first: HTTPS_PROXY, HTTP_PROXY, NO_PROXY (and in lower case). NO_PROXY is a comma list of
//   *                    no proxy at all
//   10.0.0.0/8, fd00::/8 networks, for URLs that name an address
//   10.1.2.3, [::1]:443  one address, with a port only that port
//   example.com[:port]   this name and everything below it
//   .example.com, *.example.com   only what is below it
// localhost and loopback addresses never go through a proxy of the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::net {

struct ProxyRules {
  std::string https_proxy;  // for https:// URLs; "" = none
  std::string http_proxy;   // for http:// URLs
  std::string no_proxy;

  // `get` looks up a variable, "" if it is not set; by default in the process's environment.
  static ProxyRules from_environment(const std::function<std::string(const char*)>& get = {});

  // The proxy's URL for `scheme` ("http", "https"), `host` (no brackets) and `port`; "" = connect directly.
  std::string proxy_for(std::string_view scheme, std::string_view host, uint16_t port) const;
};

// The form that libcurl takes: "host:3128" is http://, socks5 resolves names at the proxy as Go does.
// Errors: kConfig for another scheme than http, https, socks5, socks5h (A5).
Result<std::string> proxy_url_for_curl(std::string_view url);

// The URL without user name and password, for messages.
std::string without_userinfo(std::string_view url);

}  // namespace hookd::net
