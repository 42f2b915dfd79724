#include "net/proxy_rules.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/ascii.h"

namespace hookd::net {
namespace {

// 16 bytes, IPv4 as ::ffff:a.b.c.d, so that one comparison serves both.
using Address = std::array<unsigned char, 16>;

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address address{};
  in_addr v4{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) == 1) {
    address[10] = address[11] = 0xff;
    std::memcpy(&address[12], &v4, 4);
    return address;
  }
  if (inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

bool is_v4(const Address& address) {
  static constexpr Address kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(address.data(), kPrefix.data(), 12) == 0;
}

bool is_loopback(const Address& address) {
  if (is_v4(address)) return address[12] == 127;
  Address one{};
  one[15] = 1;
  return address == one;
}

bool in_network(const Address& address, std::string_view network) {
  const auto slash = network.find('/');
  const auto base = parse_address(network.substr(0, slash));
  const auto digits = network.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (!base || error != std::errc() || end != digits.data() + digits.size()) return false;
  if (is_v4(*base) != is_v4(address)) return false;
  if (is_v4(*base)) bits += 96;
  if (bits > 128) return false;
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80u >> (i % 8);
    if (((address[i / 8] ^ (*base)[i / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "name:80" -> name and 80, "[::1]:80" -> ::1 and 80, "::1" -> ::1; no port = nullopt.
std::pair<std::string_view, std::optional<std::string_view>> split_port(std::string_view entry) {
  if (entry.starts_with('[')) {
    const auto close = entry.find(']');
    if (close == std::string_view::npos) return {entry, std::nullopt};
    const auto rest = entry.substr(close + 1);
    const auto host = entry.substr(1, close - 1);
    if (rest.starts_with(':')) return {host, rest.substr(1)};
    return {host, std::nullopt};
  }
  const auto colon = entry.find(':');
  if (colon == std::string_view::npos || entry.find(':', colon + 1) != std::string_view::npos)
    return {entry, std::nullopt};
  return {entry.substr(0, colon), entry.substr(colon + 1)};
}

bool entry_matches(std::string_view entry, std::string_view host, const std::optional<Address>& address,
                   uint16_t port) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return address && in_network(*address, entry);
  const auto [name, wanted_port] = split_port(entry);
  if (wanted_port && *wanted_port != std::to_string(port)) return false;
  if (name.empty()) return false;
  if (const auto wanted = parse_address(name)) return address && *address == *wanted;
  std::string_view suffix = name;
  if (suffix.starts_with("*.")) suffix.remove_prefix(1);
  if (suffix.starts_with('.')) return host.size() > suffix.size() && host.ends_with(suffix);
  if (host == suffix) return true;
  return host.size() > suffix.size() + 1 && host.ends_with(suffix) && host[host.size() - suffix.size() - 1] == '.';
}

}  // namespace

ProxyRules ProxyRules::from_environment(const std::function<std::string(const char*)>& get) {
  const auto one = [&](const char* name) -> std::string {
    if (get) return get(name);
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  const auto either = [&](const char* upper, const char* lower_name) {
    std::string value = one(upper);
    return value.empty() ? one(lower_name) : value;
  };
  return {either("HTTPS_PROXY", "https_proxy"), either("HTTP_PROXY", "http_proxy"), either("NO_PROXY", "no_proxy")};
}

std::string ProxyRules::proxy_for(std::string_view scheme, std::string_view host_as_written, uint16_t port) const {
  const std::string& proxy = scheme == "https" ? https_proxy : http_proxy;
  if (proxy.empty()) return {};
  std::string host = lower(host_as_written);
  while (host.ends_with('.')) host.pop_back();  // "localhost." is localhost too
  if (host == "localhost") return {};
  const auto address = parse_address(host);
  if (address && is_loopback(*address)) return {};

  const std::string list = lower(no_proxy);
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto entry = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (!entry.empty() && entry_matches(entry, host, address, port)) return {};
  }
  return proxy;
}

Result<std::string> proxy_url_for_curl(std::string_view url) {
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return "http://" + std::string(url);
  const std::string scheme = lower(url.substr(0, colon));
  if (scheme == "socks5") return "socks5h" + std::string(url.substr(colon));
  if (scheme == "http" || scheme == "https" || scheme == "socks5h") return std::string(url);
  return fail(Errc::kConfig, "proxy {}: scheme \"{}\" is not supported; use http, https or socks5",
              without_userinfo(url), scheme);
}

std::string without_userinfo(std::string_view url) {
  const auto colon = url.find("://");
  const size_t start = colon == std::string_view::npos ? 0 : colon + 3;
  const auto end = url.find_first_of("/?#", start);
  const auto at = url.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < start) return std::string(url);
  return std::string(url.substr(0, start)) + std::string(url.substr(at + 1));
}

}  // namespace hookd::net
