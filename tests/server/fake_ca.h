// Certificates made while a test runs (net/certificate.h), valid around now. Thread: any.
//   FakeCa ca("CN of the CA");
//   FakeIdentity server = ca.issue({.names = {"localhost", "127.0.0.1"}});
#pragma once

#include <string>
#include <vector>

#include "net/certificate.h"

namespace hookd::fake {

using FakeIdentity = net::Identity;

struct FakeLeaf {
  std::string common_name = "fake";
  std::vector<std::string> names{};  // DNS names and IP addresses of subjectAltName
  int days_from = -1;                // validity, in days from now
  int days_to = 1;
  std::vector<std::string> organizations{};
};

class FakeCa {
 public:
  explicit FakeCa(const std::string& common_name = "fake-ca");
  FakeIdentity issue(const FakeLeaf& leaf) const;
  const std::string& pem() const { return authority_.certificate_pem; }
  // Writes the certificate into `dir` under the name that OpenSSL looks for ("9d66eef0.0").
  void write_hashed(const std::string& dir) const;

 private:
  net::CertificateAuthority authority_;
};

}  // namespace hookd::fake
