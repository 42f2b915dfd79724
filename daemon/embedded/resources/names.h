// The grammars of names, label keys and values, keys and ports. Each function gives what is wrong, in the real server's
// words; empty = valid. Thread: any. Source: API docs "Object names and IDs", "Labels"; RFC 1123, RFC 1035.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::embedded {

using Faulty = std::vector<std::string>;

Faulty dns_label(std::string_view text);           // RFC 1123 label, 63
Faulty dns_subdomain(std::string_view text);       // RFC 1123 subdomain, 253
Faulty dns_1035_label(std::string_view text);      // as a label, but begins with a letter
Faulty wildcard_subdomain(std::string_view text);  // *.example.com
Faulty path_segment(std::string_view text);        // names of RBAC objects
Faulty label_key(std::string_view text);           // [prefix/]name
Faulty label_value(std::string_view text);
Faulty config_key(std::string_view text);  // keys of ConfigMaps and Secrets
Faulty env_name(std::string_view text);
Faulty port_name(std::string_view text);  // of containers and targetPort
Faulty port_number(int64_t port);
Faulty http_header_name(std::string_view text);
Faulty percent(std::string_view text);  // "25%"
bool is_ip(std::string_view text);      // v4 without leading zeros, or v6
bool is_ip_v6(std::string_view text);
bool is_cidr(std::string_view text);

}  // namespace hookd::embedded
