#include "kube/server_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/ascii.h"

namespace hookd::kube {
namespace {

bool has_bad_byte(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>';
  });
}

bool is_ipv6(std::string_view host) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &address) == 1;
}

bool is_loopback(std::string_view host) {
  if (lower(host) == "localhost") return true;
  in_addr v4;
  in6_addr v6;
  const std::string text(host);
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

Result<void> check_port(std::string_view port) {
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (problem != std::errc{} || end != port.data() + port.size() || number == 0 || number > 65535)
    return fail(Errc::kConfig, "expected a port from 1 to 65535");
  return {};
}

struct Authority {
  std::string_view host;  // without brackets
  std::string_view port;  // "" = none
  bool bracketed = false;
};

Result<Authority> split_authority(std::string_view text) {
  Authority out;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return fail(Errc::kConfig, "no ] after the IPv6 address");
    out.host = text.substr(1, end - 1);
    out.bracketed = true;
    text.remove_prefix(end + 1);
    if (!is_ipv6(out.host)) return fail(Errc::kConfig, "expected an IPv6 address in [ ]");
    if (!text.empty() && !text.starts_with(':')) return fail(Errc::kConfig, "expected a port after ]");
  } else {
    const size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    text = colon == text.npos ? std::string_view() : text.substr(colon);
    if (text.find(':', 1) != text.npos) return fail(Errc::kConfig, "an IPv6 address must be in [ ]");
  }
  if (out.host.empty()) return fail(Errc::kConfig, "no host");
  if (!out.bracketed && out.host.find_first_of("[]%") != out.host.npos)
    return fail(Errc::kConfig, "a host name with [, ] or %");
  if (text.size() > 1) {  // "host:" is the same as "host"
    out.port = text.substr(1);
    HOOKD_CHECK(check_port(out.port));
  }
  return out;
}

struct Parts {
  std::string scheme;  // "" = none
  std::string_view authority;
  std::string_view path;
};

Parts split_url(std::string_view text) {
  Parts out;
  text = text.substr(0, text.find_first_of("?#"));
  if (const size_t mark = text.find("://"); mark != text.npos) {
    out.scheme = lower(text.substr(0, mark));
    text.remove_prefix(mark + 3);
  }
  const size_t slash = text.find('/');
  out.authority = text.substr(0, slash);
  if (slash != text.npos) out.path = text.substr(slash);
  return out;
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text, bool tls_by_default) {
  if (has_bad_byte(text)) return fail(Errc::kConfig, "a space or a character that no URL may have");
  Parts parts = split_url(text);
  if (parts.scheme.empty() && parts.path.find_first_not_of('/') != parts.path.npos)
    return fail(Errc::kConfig, "expected https://host:port/path, or host:port without a path");
  if (parts.scheme.empty()) parts.scheme = tls_by_default ? "https" : "http";
  if (parts.scheme != "https" && parts.scheme != "http")
    return fail(Errc::kConfig, "expected a URL with https or http");
  if (parts.authority.find('@') != parts.authority.npos)
    return fail(Errc::kConfig, "a user in the URL is not taken: use username and password of the user entry");
  HOOKD_TRY(const Authority authority, split_authority(parts.authority));
  ServerUrl out;
  out.origin = parts.scheme + "://";
  out.origin += authority.bracketed ? fmt::format("[{}]", authority.host) : std::string(authority.host);
  if (!authority.port.empty()) out.origin += fmt::format(":{}", authority.port);
  out.base_path = parts.path;
  while (out.base_path.ends_with('/')) out.base_path.pop_back();
  out.loopback = is_loopback(authority.host);
  return out;
}

Result<std::string> join_host_port(std::string_view host, std::string_view port) {
  HOOKD_CHECK(check_port(port));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.find(':') == host.npos) return fmt::format("{}:{}", host, port);
  if (!is_ipv6(host)) return fail(Errc::kConfig, "expected a host name or address");
  return fmt::format("[{}]:{}", host, port);
}

Result<void> check_proxy_url(std::string_view text) {
  if (has_bad_byte(text)) return fail(Errc::kConfig, "a space or a character that no URL may have");
  Parts parts = split_url(text);
  if (parts.scheme != "http" && parts.scheme != "https" && parts.scheme != "socks5")
    return fail(Errc::kConfig, "expected a URL with http, https or socks5");
  if (const size_t at = parts.authority.rfind('@'); at != parts.authority.npos) parts.authority.remove_prefix(at + 1);
  HOOKD_TRY([[maybe_unused]] const Authority authority, split_authority(parts.authority));
  return {};
}

}  // namespace hookd::kube
