#include "unit/kube/test_files.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <stdexcept>

namespace hookd::kube::test {
namespace {

template <class Write>
std::string pem_text(Write write) {
  BIO* out = BIO_new(BIO_s_mem());
  if (write(out) != 1) throw std::runtime_error("OpenSSL cannot write PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(out);
  return text;
}

}  // namespace

TestCertificate make_certificate(const std::string& common_name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  if (key == nullptr || certificate == nullptr) throw std::runtime_error("OpenSSL cannot make a certificate");
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                             -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  TestCertificate out;
  out.pem = pem_text([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
  out.key = pem_text(
      [&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return out;
}

std::string encrypt_key(const std::string& key_pem) {
  BIO* in = BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  char passphrase[] = "secret";
  std::string out = pem_text([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, EVP_aes_256_cbc(), passphrase, sizeof passphrase - 1, nullptr,
                                         nullptr);
  });
  EVP_PKEY_free(key);
  BIO_free(in);
  return out;
}

}  // namespace hookd::kube::test
