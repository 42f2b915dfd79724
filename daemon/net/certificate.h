// Certificates that hookd makes for itself: a CA of its own and what it signs, keys on P-256, all as PEM text.
// Thread: any. Takes well under 5 ms each. Source: RFC 5280 (the extensions), RFC 5480 (the curve).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::net {

struct Identity {
  std::string certificate_pem;
  std::string key_pem;  // PKCS #8, not encrypted
};

struct Validity {
  WallTime not_before;  // both to the second
  WallTime not_after;
};

struct Leaf {
  std::string common_name{};
  std::vector<std::string> organizations{};  // to Kubernetes a client certificate's groups
  std::vector<std::string> names{};          // DNS names and IP addresses of subjectAltName
  bool server = false;                       // what it may be used for
  bool client = false;
  Validity validity{};
};

struct CertificateAuthority {
  std::string certificate_pem;
  std::string key_pem;

  // Signed by itself. Errors: kInvalid (the name is empty or over 64 bytes; the validity ends before it begins).
  static Result<CertificateAuthority> create(std::string_view common_name, const Validity& validity);
  // Errors: kDecode (this CA's PEM cannot be read, or the key is not the certificate's), kInvalid (as above; a name of
  // subjectAltName is neither a DNS name nor an address).
  Result<Identity> issue(const Leaf& leaf) const;
};

}  // namespace hookd::net
