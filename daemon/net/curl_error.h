// What libcurl says, as an Error that tells a person which server, what is wrong and what to do. Thread: any.
// Source: k8s-client.md R55 (codes that mean "disconnected"), A10, A11.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/scheduler.h"
#include "net/http_transport.h"

namespace hookd::net {

// Ends the message of a write that went out and was not answered.
inline constexpr std::string_view kOutcomeUnknown = "; whether the server carried the request out is unknown";

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail;        // libcurl's error buffer, "" if it left none
  std::string target;        // "host:port" of the server
  std::string checked_name;  // the name that its certificate must carry
  std::string proxy;         // without user name and password, "" = none
  std::string ca;            // describe_ca() of the CA in use
  long verify_result = 0;    // OpenSSL's X509_V_*, 0 = nothing wrong or not reached
  bool client_certificate = false;
  bool head_seen = false;
  bool outcome_unknown = false;  // a write that went out, in part at least
  Duration connect_timeout{0};
};

Error describe(const CurlFailure& failure);

// "the CA given for it (CN=kubernetes)", "the CAs given for it (3, first CN=a)", "the system's CAs".
std::string describe_ca(const TlsOptions* tls);

}  // namespace hookd::net
