#include "server/fake_ca.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <stdexcept>

namespace hookd::fake {
namespace {

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("fake certificate: ") + what);
}

template <class Write>
std::string to_pem(Write write) {
  const Bio out(BIO_new(BIO_s_mem()), BIO_free);
  check(write(out.get()) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<size_t>(size)};
}

EVP_PKEY* new_key() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  check(key != nullptr, "key");
  return key;
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  check(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* new_certificate(const std::string& common_name, EVP_PKEY* key, int days_from, int days_to) {
  X509* certificate = X509_new();
  check(certificate != nullptr, "X509_new");
  X509_set_version(certificate, 2);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), days_from * 86400L);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days_to * 86400L);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

bool is_address(const std::string& name) {
  return name.find(':') != std::string::npos || name.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

void FakeCa::FreeKey::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
void FakeCa::FreeX509::operator()(X509* certificate) const { X509_free(certificate); }

FakeCa::FakeCa(const std::string& common_name) : key_(new_key()) {
  certificate_.reset(new_certificate(common_name, key_.get(), -30, 30));
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  add_extension(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate_.get(), certificate_.get(), NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  add_extension(certificate_.get(), certificate_.get(), NID_subject_key_identifier, "hash");
  check(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0, "sign");
  pem_ = to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate_.get()); });
}

FakeCa::~FakeCa() = default;
FakeCa::FakeCa(FakeCa&&) noexcept = default;

FakeIdentity FakeCa::issue(const FakeLeaf& leaf) const {
  const std::unique_ptr<EVP_PKEY, FreeKey> key(new_key());
  const std::unique_ptr<X509, FreeX509> certificate(
      new_certificate(leaf.common_name, key.get(), leaf.days_from, leaf.days_to));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  std::string alternatives;
  for (const auto& name : leaf.names)
    alternatives += fmt::format("{}{}:{}", alternatives.empty() ? "" : ",", is_address(name) ? "IP" : "DNS", name);
  if (!alternatives.empty()) add_extension(certificate.get(), certificate_.get(), NID_subject_alt_name, alternatives);
  add_extension(certificate.get(), certificate_.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  check(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0, "sign");
  return {to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); }), to_pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

void FakeCa::write_hashed(const std::string& dir) const {
  const auto hash = X509_NAME_hash_ex(X509_get_subject_name(certificate_.get()), nullptr, nullptr, nullptr);
  std::ofstream(fmt::format("{}/{:08x}.0", dir, hash)) << pem_;
}

}  // namespace hookd::fake
