#include "embedded/resources/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hookd::embedded {
namespace {

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool alnum(char c) { return lower(c) || digit(c) || (c >= 'A' && c <= 'Z'); }

// Begins and ends with `edge`, in between `inner` too.
template <class Edge, class Inner>
bool shaped(std::string_view text, Edge edge, Inner inner) {
  return !text.empty() && edge(text.front()) && edge(text.back()) && std::ranges::all_of(text, inner);
}

bool label_shape(std::string_view text) {
  return shaped(
      text, [](char c) { return lower(c) || digit(c); }, [](char c) { return lower(c) || digit(c) || c == '-'; });
}

bool subdomain_shape(std::string_view text) {
  while (true) {
    const size_t dot = text.find('.');
    if (!label_shape(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool name_shape(std::string_view text) {
  return shaped(text, alnum, [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(size_t limit, std::string_view unit = "characters") {
  return fmt::format("must be no more than {} {}", limit, unit);
}

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kNamePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

std::string pattern_fault(std::string_view rule, std::string_view pattern,
                          std::initializer_list<std::string_view> examples) {
  std::string out = fmt::format("{} (e.g. ", rule);
  bool first = true;
  for (const std::string_view example : examples) {
    fmt::format_to(std::back_inserter(out), "{}'{}', ", first ? "" : " or ", example);
    first = false;
  }
  return fmt::format("{}regex used for validation is '{}')", out, pattern);
}

void dots(std::string_view text, Faulty& out) {
  if (text == ".") {
    out.emplace_back("must not be '.'");
  } else if (text == "..") {
    out.emplace_back("must not be '..'");
  } else if (text.starts_with("..")) {
    out.emplace_back("must not start with '..'");
  }
}

}  // namespace

Faulty dns_label(std::string_view text) {
  Faulty out;
  if (text.size() > 63) out.push_back(too_long(63));
  if (label_shape(text)) return out;
  if (subdomain_shape(text)) {
    out.emplace_back("must not contain dots");
  } else {
    out.push_back(pattern_fault(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character",
        kLabelPattern, {"my-name", "123-abc"}));
  }
  return out;
}

Faulty dns_subdomain(std::string_view text) {
  Faulty out;
  if (text.size() > 253) out.push_back(too_long(253));
  if (!subdomain_shape(text))
    out.push_back(pattern_fault(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character",
        fmt::format("{0}(\\.{0})*", kLabelPattern), {"example.com"}));
  return out;
}

Faulty dns_1035_label(std::string_view text) {
  Faulty out;
  if (text.size() > 63) out.push_back(too_long(63));
  if (!label_shape(text) || !lower(text.front()))
    out.push_back(pattern_fault(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  return out;
}

Faulty wildcard_subdomain(std::string_view text) {
  Faulty out;
  if (text.size() > 253) out.push_back(too_long(253));
  if (!text.starts_with("*.") || !subdomain_shape(text.substr(2)))
    out.push_back(pattern_fault(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        fmt::format("\\*\\.{0}(\\.{0})*", kLabelPattern), {"*.example.com"}));
  return out;
}

Faulty path_segment(std::string_view text) {
  if (text == "." || text == "..") return {fmt::format("may not be '{}'", text)};
  Faulty out;
  for (const char c : {'/', '%'})
    if (text.find(c) != std::string_view::npos) out.push_back(fmt::format("may not contain '{}'", c));
  return out;
}

Faulty label_key(std::string_view text) {
  Faulty out;
  std::string_view name = text;
  const std::string_view rule =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (text.find('/', slash + 1) != std::string_view::npos)
      return {
          fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
                      "'example.com/MyName')",
                      pattern_fault(rule, kNamePattern, {"MyName", "my.name", "123-abc"}))};
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& fault : dns_subdomain(prefix)) out.push_back("prefix part " + fault);
    }
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    out.push_back("name part " + too_long(63, "bytes"));
  }
  if (!name_shape(name))
    out.push_back("name part " + pattern_fault(rule, kNamePattern, {"MyName", "my.name", "123-abc"}));
  return out;
}

Faulty label_value(std::string_view text) {
  Faulty out;
  if (text.size() > 63) out.push_back(too_long(63, "bytes"));
  if (!text.empty() && !name_shape(text))
    out.push_back(pattern_fault(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character",
        "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", {"MyValue", "my_value", "12345"}));
  return out;
}

Faulty config_key(std::string_view text) {
  Faulty out;
  if (text.size() > 253) out.push_back(too_long(253));
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; }))
    out.push_back(pattern_fault("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                                "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  dots(text, out);
  return out;
}

Faulty env_name(std::string_view text) {
  Faulty out;
  if (text.empty()) out.emplace_back("environment variable name must be non-empty");
  if (!std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != '='; }))
    out.emplace_back(
        "a valid environment variable name must consist only of printable ASCII characters other than '='");
  return out;
}

Faulty port_name(std::string_view text) {
  Faulty out;
  if (text.size() > 15) out.push_back(too_long(15));
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return lower(c) || digit(c) || c == '-'; }))
    out.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::ranges::none_of(text, lower)) out.emplace_back("must contain at least one letter (a-z)");
  if (text.find("--") != std::string_view::npos) out.emplace_back("must not contain consecutive hyphens");
  if (!text.empty() && (text.front() == '-' || text.back() == '-'))
    out.emplace_back("must not begin or end with a hyphen");
  return out;
}

Faulty port_number(int64_t port) {
  if (port >= 1 && port <= 65535) return {};
  return {"must be between 1 and 65535, inclusive"};
}

Faulty http_header_name(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, [](char c) { return alnum(c) || c == '-'; })) return {};
  return {pattern_fault("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+",
                        {"X-Header-Name"})};
}

Faulty percent(std::string_view text) {
  if (text.size() > 1 && text.back() == '%' && std::ranges::all_of(text.substr(0, text.size() - 1), digit)) return {};
  return {pattern_fault("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%",
                        {"1%", "93%"})};
}

bool is_ip_v6(std::string_view text) {
  in6_addr address{};
  return text.find(':') != std::string_view::npos && inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

bool is_ip(std::string_view text) {
  in_addr address{};
  return is_ip_v6(text) || inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

bool is_cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_ip(text.substr(0, slash))) return false;
  int bits = -1;
  const std::string_view digits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return error == std::errc() && end == digits.data() + digits.size() && bits >= 0 &&
         bits <= (is_ip_v6(text.substr(0, slash)) ? 128 : 32);
}

}  // namespace hookd::embedded
