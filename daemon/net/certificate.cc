#include "net/certificate.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace hookd::net {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

constexpr size_t kNameBytes = 64;  // RFC 5280 ub-common-name, ub-organization-name

// OpenSSL refused something that can only be a lack of memory or a mistake of ours.
Failure broken(std::string_view step) {
  const auto code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return fail(Errc::kInternal, "a certificate cannot be made: {}: {}", step, reason ? reason : "no reason given");
}

template <class Write>
Result<std::string> to_pem(Write write) {
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || write(out.get()) != 1) return broken("writing PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Bio reader(std::string_view pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

Result<Identity> to_identity(X509* certificate, EVP_PKEY* key) {
  HOOKD_TRY(auto certificate_pem, to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); }));
  HOOKD_TRY(auto key_pem, to_pem([&](BIO* out) {
              return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
            }));
  return Identity{std::move(certificate_pem), std::move(key_pem)};
}

Result<void> add_to_subject(X509* certificate, const char* field, std::string_view value) {
  if (value.empty() || value.size() > kNameBytes)
    return fail(Errc::kInvalid, "\"{}\" cannot stand in a certificate's subject: 1 to {} bytes are allowed", value,
                kNameBytes);
  if (X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()),
                                 -1, 0) != 1) {
    ERR_clear_error();
    return fail(Errc::kInvalid, "\"{}\" cannot stand in a certificate's subject", value);
  }
  return {};
}

bool set_time(ASN1_TIME* field, WallTime time) {
  return ASN1_TIME_set(field, std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count()) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// A certificate without issuer, extensions and signature.
Result<Certificate> draft(std::string_view common_name, const std::vector<std::string>& organizations, EVP_PKEY* key,
                          const Validity& validity) {
  if (validity.not_after <= validity.not_before)
    return fail(Errc::kInvalid, "the certificate of \"{}\" would end before it begins", common_name);
  Certificate result(X509_new());
  if (!result) return broken("X509");
  X509_set_version(result.get(), X509_VERSION_3);
  uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return broken("serial number");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(result.get()), (serial >> 1) | 1);  // positive
  if (!set_time(X509_getm_notBefore(result.get()), validity.not_before) ||
      !set_time(X509_getm_notAfter(result.get()), validity.not_after))
    return broken("validity");
  for (const auto& organization : organizations) HOOKD_CHECK(add_to_subject(result.get(), "O", organization));
  HOOKD_CHECK(add_to_subject(result.get(), "CN", common_name));
  if (X509_set_pubkey(result.get(), key) != 1) return broken("public key");
  return result;
}

bool is_dns_name(std::string_view name) {
  if (name.starts_with("*.")) name.remove_prefix(2);
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, good);
}

Result<void> add_alternatives(X509* certificate, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const Names all(GENERAL_NAMES_new());
  for (const auto& name : names) {
    ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str());
    ASN1_STRING* value = address;
    if (!address) {
      if (!is_dns_name(name)) return fail(Errc::kInvalid, "\"{}\" is neither a DNS name nor an IP address", name);
      value = ASN1_IA5STRING_new();
      ASN1_STRING_set(value, name.data(), static_cast<int>(name.size()));
    }
    GENERAL_NAME* entry = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(entry, address ? GEN_IPADD : GEN_DNS, value);
    sk_GENERAL_NAME_push(all.get(), entry);
  }
  ERR_clear_error();  // of names that are no addresses
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, all.get(), 0, 0) != 1) return broken("alternative names");
  return {};
}

}  // namespace

Result<CertificateAuthority> CertificateAuthority::create(std::string_view common_name, const Validity& validity) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return broken("key");
  HOOKD_TRY(const Certificate certificate, draft(common_name, {}, key.get(), validity));
  X509* ca = certificate.get();
  X509_set_issuer_name(ca, X509_get_subject_name(ca));
  if (!add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature") ||
      !add_extension(ca, ca, NID_subject_key_identifier, "hash") || X509_sign(ca, key.get(), EVP_sha256()) <= 0)
    return broken("signing");
  HOOKD_TRY(auto identity, to_identity(ca, key.get()));
  return CertificateAuthority{std::move(identity.certificate_pem), std::move(identity.key_pem)};
}

Result<Identity> CertificateAuthority::issue(const Leaf& leaf) const {
  const Certificate ca(PEM_read_bio_X509(reader(certificate_pem).get(), nullptr, nullptr, nullptr));
  const Key ca_key(PEM_read_bio_PrivateKey(reader(key_pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!ca || !ca_key)
    return fail(Errc::kDecode, "the CA's {} cannot be read: PEM was expected", ca ? "key" : "certificate");
  if (X509_check_private_key(ca.get(), ca_key.get()) != 1) {
    ERR_clear_error();
    return fail(Errc::kDecode, "the CA's key does not belong to its certificate");
  }

  const Key key(EVP_EC_gen("P-256"));
  if (!key) return broken("key");
  HOOKD_TRY(const Certificate certificate, draft(leaf.common_name, leaf.organizations, key.get(), leaf.validity));
  X509* made = certificate.get();
  X509_set_issuer_name(made, X509_get_subject_name(ca.get()));
  HOOKD_CHECK(add_alternatives(made, leaf.names));
  const char* uses = leaf.server && leaf.client ? "serverAuth,clientAuth" : leaf.server ? "serverAuth" : "clientAuth";
  if (!add_extension(made, ca.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(made, ca.get(), NID_key_usage, "critical,digitalSignature") ||
      ((leaf.server || leaf.client) && !add_extension(made, ca.get(), NID_ext_key_usage, uses)) ||
      !add_extension(made, ca.get(), NID_subject_key_identifier, "hash") ||
      !add_extension(made, ca.get(), NID_authority_key_identifier, "keyid") ||
      X509_sign(made, ca_key.get(), EVP_sha256()) <= 0)
    return broken("signing");
  return to_identity(made, key.get());
}

}  // namespace hookd::net
