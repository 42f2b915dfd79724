// Fresh certificates for the tests of this room.
#pragma once

#include <string>

namespace hookd::kube::test {

struct TestCertificate {
  std::string pem;
  std::string key;
};

// Self-signed, P-256, a new key each time.
TestCertificate make_certificate(const std::string& common_name);
// The key under a passphrase.
std::string encrypt_key(const std::string& key_pem);

}  // namespace hookd::kube::test
