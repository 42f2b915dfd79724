#include "server/fake_ca.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace hookd::fake {
namespace {

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error("fake certificate: " + result.error().what);
  return *std::move(result);
}

net::Validity days(int from, int to) {
  const WallTime now = std::chrono::system_clock::now();
  return {now + std::chrono::days(from), now + std::chrono::days(to)};
}

}  // namespace

FakeCa::FakeCa(const std::string& common_name)
    : authority_(need(net::CertificateAuthority::create(common_name, days(-30, 30)))) {}

FakeIdentity FakeCa::issue(const FakeLeaf& leaf) const {
  return need(authority_.issue({.common_name = leaf.common_name,
                                .organizations = leaf.organizations,
                                .names = leaf.names,
                                .server = true,
                                .client = true,
                                .validity = days(leaf.days_from, leaf.days_to)}));
}

void FakeCa::write_hashed(const std::string& dir) const {
  const std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(pem().data(), static_cast<int>(pem().size())), BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr),
                                                           X509_free);
  const auto hash = X509_NAME_hash_ex(X509_get_subject_name(certificate.get()), nullptr, nullptr, nullptr);
  std::ofstream(fmt::format("{}/{:08x}.0", dir, hash)) << pem();
}

}  // namespace hookd::fake
