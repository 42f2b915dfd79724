#include "net/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace hookd::net {

struct HmacSha256::State {
  struct Free {
    void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  std::unique_ptr<EVP_MAC, Free> mac{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  std::unique_ptr<EVP_MAC_CTX, Free> context{mac ? EVP_MAC_CTX_new(mac.get()) : nullptr};
};

HmacSha256::HmacSha256(std::string_view key) : state_(std::make_unique<State>()) {
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  // An empty key is a key too, but a null pointer would mean "the one set before".
  const char* bytes = key.empty() ? "" : key.data();
  if (!state_->context ||
      EVP_MAC_init(state_->context.get(), reinterpret_cast<const unsigned char*>(bytes), key.size(), parameters) != 1)
    throw std::runtime_error("OpenSSL has no HMAC with SHA-256");  // a build without it: nothing a person can mend
}

HmacSha256::HmacSha256(HmacSha256&&) noexcept = default;
HmacSha256::~HmacSha256() = default;

void HmacSha256::update(std::string_view bytes) {
  EVP_MAC_update(state_->context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string HmacSha256::hex() {
  unsigned char digest[32];
  size_t size = 0;
  EVP_MAC_final(state_->context.get(), digest, &size, sizeof digest);
  std::string text;
  for (size_t i = 0; i < size; ++i)
    for (const int nibble : {digest[i] >> 4, digest[i] & 15}) text += "0123456789abcdef"[nibble];
  return text;
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  HmacSha256 hmac(key);
  hmac.update(bytes);
  return hmac.hex();
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hookd::net
