#include "kube/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace hookd::kube {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// OpenSSL's queue of errors is shared with curl, which would report ours as its own.
struct ClearErrors {
  ~ClearErrors() { ERR_clear_error(); }
};

Owned<BIO> memory_bio(std::string_view text) {
  const size_t limit = std::numeric_limits<int>::max();
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(std::min(text.size(), limit))));
}

// Without it OpenSSL asks for a passphrase on the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

struct Block {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
};

Result<void> check_text(std::string_view pem) {
  if (pem.starts_with("\xef\xbb\xbf"))
    return fail(Errc::kConfig, "begins with a byte order mark; save it as plain ASCII");
  if (pem.find_first_not_of(" \t\r\n") == pem.npos) return fail(Errc::kConfig, "is empty");
  return {};
}

std::string to_pem(X509* certificate) {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Owned<X509> first_certificate(std::string_view pem) {
  const Owned<BIO> in = memory_bio(pem);
  bool asked = false;
  return Owned<X509>(in ? PEM_read_bio_X509(in.get(), nullptr, no_passphrase, &asked) : nullptr);
}

}  // namespace

Result<Certificates> read_certificates(std::string_view pem) {
  const ClearErrors clear;
  HOOKD_CHECK(check_text(pem));
  Certificates out;
  const Owned<BIO> in = memory_bio(pem);
  while (in) {
    Block block;
    const int before = static_cast<int>(BIO_pending(in.get()));
    if (PEM_read_bio(in.get(), &block.name, &block.header, &block.data, &block.size) != 1) {
      // A block with broken base64 is passed over; at the end nothing more is taken.
      if (BIO_pending(in.get()) == 0 || BIO_pending(in.get()) == before) break;
      ++out.skipped;
      continue;
    }
    if (std::string_view(block.name) != PEM_STRING_X509) continue;
    const unsigned char* data = block.data;
    const Owned<X509> certificate(d2i_X509(nullptr, &data, block.size));
    const std::string text = certificate ? to_pem(certificate.get()) : std::string();
    if (text.empty()) {
      ++out.skipped;
      continue;
    }
    out.pem += text;
    ++out.count;
  }
  if (out.count == 0) {
    if (out.skipped > 0) return fail(Errc::kConfig, "has a certificate in it that cannot be read");
    return fail(Errc::kConfig, "no certificate in it; expected PEM text with -----BEGIN CERTIFICATE-----");
  }
  return out;
}

Result<void> check_key_pair(std::string_view certificate_pem, std::string_view key_pem) {
  const ClearErrors clear;
  HOOKD_CHECK(check_text(key_pem));
  const Owned<X509> certificate = first_certificate(certificate_pem);
  if (!certificate) return fail(Errc::kConfig, "no certificate to go with the key");
  const Owned<BIO> in = memory_bio(key_pem);
  bool asked = false;
  const Owned<EVP_PKEY> key(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, &asked) : nullptr);
  if (!key && asked) return fail(Errc::kConfig, "the key is encrypted; hookd has no passphrase for it");
  if (!key) return fail(Errc::kConfig, "no private key in it; expected PEM text with -----BEGIN … PRIVATE KEY-----");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return fail(Errc::kConfig, "the key does not belong to the client certificate");
  return {};
}

}  // namespace hookd::kube
