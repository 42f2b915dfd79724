// Checks certificates and keys before anything connects with them, so that a bad file is named and not only a failed
// handshake. Thread: any. Source: k8s-client.md A9, section 11 (byte order mark).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::kube {

struct Certificates {
  std::string pem;  // the readable certificates alone, written anew
  int count = 0;
  int skipped = 0;  // CERTIFICATE blocks that are none
};

// Errors: kConfig (no certificate, byte order mark); the text is for "FILE: key: …" before it.
Result<Certificates> read_certificates(std::string_view pem);

// The first certificate and the key belong together. Errors: kConfig (no certificate, no key, encrypted key, another's
// key).
Result<void> check_key_pair(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace hookd::kube
