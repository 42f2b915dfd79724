// Certificates made while a test runs: a CA, and what it signs. Keys are P-256, quick to make. Thread: any.
//   FakeCa ca("CN of the CA");
//   FakeIdentity server = ca.issue({.names = {"localhost", "127.0.0.1"}});
#pragma once

#include <memory>
#include <string>
#include <vector>

typedef struct evp_pkey_st EVP_PKEY;
typedef struct x509_st X509;

namespace hookd::fake {

struct FakeIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

struct FakeLeaf {
  std::string common_name = "fake";
  std::vector<std::string> names{};  // DNS names and IP addresses of subjectAltName
  int days_from = -1;                // validity, in days from now
  int days_to = 1;
};

class FakeCa {
 public:
  explicit FakeCa(const std::string& common_name = "fake-ca");
  ~FakeCa();
  FakeCa(FakeCa&&) noexcept;
  FakeIdentity issue(const FakeLeaf& leaf) const;
  const std::string& pem() const { return pem_; }
  // Writes the certificate into `dir` under the name that OpenSSL looks for ("9d66eef0.0").
  void write_hashed(const std::string& dir) const;

 private:
  struct FreeKey {
    void operator()(EVP_PKEY* key) const;
  };
  struct FreeX509 {
    void operator()(X509* certificate) const;
  };
  std::unique_ptr<EVP_PKEY, FreeKey> key_;
  std::unique_ptr<X509, FreeX509> certificate_;
  std::string pem_;
};

}  // namespace hookd::fake
