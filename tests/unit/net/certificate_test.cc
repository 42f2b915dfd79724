// Certificates as other programs see them: checked by OpenSSL, strictly. That clients take them: http_server_tls_test.
#include "net/certificate.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/time.h"

namespace hookd::net {
namespace {

using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

Certificate parse(const std::string& pem) {
  const std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  return {PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free};
}

WallTime at(std::string_view text) { return *parse_rfc3339(text); }

Validity year() { return {at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")}; }

// OpenSSL's verdict on `leaf` under `ca` for a purpose at a time; "ok" or what is wrong.
std::string verdict(const std::string& leaf, const std::string& ca, int purpose, std::string_view when) {
  const auto certificate = parse(leaf);
  const auto root = parse(ca);
  const std::unique_ptr<X509_STORE, void (*)(X509_STORE*)> store(X509_STORE_new(), X509_STORE_free);
  X509_STORE_add_cert(store.get(), root.get());
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> context(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
  X509_STORE_CTX_set_time(context.get(), 0,
                          std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(at(when))));
  if (X509_verify_cert(context.get()) == 1) return "ok";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

std::string subject(const std::string& pem) {
  const auto certificate = parse(pem);
  char text[512];
  return X509_NAME_oneline(X509_get_subject_name(certificate.get()), text, sizeof text);
}

constexpr std::string_view kMay = "2026-05-01T00:00:00Z";

TEST(CertificateAuthority, IssuesWhatStrictChecksTake) {
  const auto ca = CertificateAuthority::create("hookd-ca", year());
  ASSERT_TRUE(ca.has_value()) << ca.error().what;
  const auto both = ca->issue({.common_name = "both",
                               .organizations = {"system:masters", "team:ä"},
                               .names = {"localhost", "kubernetes.default.svc", "127.0.0.1", "::1"},
                               .server = true,
                               .client = true,
                               .validity = year()});
  ASSERT_TRUE(both.has_value()) << both.error().what;
  EXPECT_EQ(verdict(both->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_SERVER, kMay), "ok");
  EXPECT_EQ(verdict(both->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_CLIENT, kMay), "ok");
  EXPECT_EQ(verdict(ca->certificate_pem, ca->certificate_pem, X509_PURPOSE_ANY, kMay), "ok");
  EXPECT_EQ(subject(both->certificate_pem), "/O=system:masters/O=team:\\xC3\\xA4/CN=both");
  const auto certificate = parse(both->certificate_pem);
  for (const char* host : {"localhost", "kubernetes.default.svc"})
    EXPECT_EQ(X509_check_host(certificate.get(), host, 0, 0, nullptr), 1) << host;
  for (const char* address : {"127.0.0.1", "::1"})
    EXPECT_EQ(X509_check_ip_asc(certificate.get(), address, 0), 1) << address;
  EXPECT_EQ(X509_check_host(certificate.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "127.0.0.2", 0), 0);
}

TEST(CertificateAuthority, UsesAreKeptApart) {
  const auto ca = CertificateAuthority::create("ca", year());
  const auto server = ca->issue({.common_name = "s", .server = true, .validity = year()});
  const auto client = ca->issue({.common_name = "c", .client = true, .validity = year()});
  EXPECT_EQ(verdict(server->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_SERVER, kMay), "ok");
  EXPECT_NE(verdict(server->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_CLIENT, kMay), "ok");
  EXPECT_EQ(verdict(client->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_CLIENT, kMay), "ok");
  EXPECT_NE(verdict(client->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_SERVER, kMay), "ok");
}

TEST(CertificateAuthority, ValidityIsKeptToTheSecond) {
  const auto ca = CertificateAuthority::create("ca", {at("2020-01-01T00:00:00Z"), at("2099-12-31T23:59:59Z")});
  const auto leaf = ca->issue(
      {.common_name = "l", .server = true, .validity = {at("2026-05-01T10:00:00.7Z"), at("2051-05-01T10:00:30Z")}});
  const auto when = [&](std::string_view time) {
    return verdict(leaf->certificate_pem, ca->certificate_pem, X509_PURPOSE_SSL_SERVER, time);
  };
  EXPECT_EQ(when("2026-05-01T09:59:59Z"), "certificate is not yet valid");
  EXPECT_EQ(when("2026-05-01T10:00:00Z"), "ok");
  EXPECT_EQ(when("2051-05-01T10:00:29Z"), "ok");
  EXPECT_EQ(when("2051-05-01T10:00:31Z"), "certificate has expired");
}

TEST(CertificateAuthority, IsReadBackFromItsPem) {
  const auto made = CertificateAuthority::create("ca", year());
  const CertificateAuthority read{made->certificate_pem, made->key_pem};
  const auto leaf = read.issue({.common_name = "l", .server = true, .validity = year()});
  ASSERT_TRUE(leaf.has_value()) << leaf.error().what;
  EXPECT_EQ(verdict(leaf->certificate_pem, made->certificate_pem, X509_PURPOSE_SSL_SERVER, kMay), "ok");
  const auto other = CertificateAuthority::create("ca", year());
  EXPECT_NE(verdict(leaf->certificate_pem, other->certificate_pem, X509_PURPOSE_SSL_SERVER, kMay), "ok");
  EXPECT_NE(leaf->certificate_pem, read.issue({.common_name = "l", .validity = year()})->certificate_pem);
}

TEST(CertificateAuthority, ExplainsWhatItCannotDo) {
  const auto ca = CertificateAuthority::create("ca", year());
  const auto other = CertificateAuthority::create("ca", year());
  const auto why = [](const Result<Identity>& result, Errc code) {
    EXPECT_FALSE(result.has_value());
    if (result) return std::string();
    EXPECT_EQ(result.error().code, code);
    return result.error().what;
  };
  const Leaf leaf{.common_name = "l", .validity = year()};
  EXPECT_EQ(why(CertificateAuthority{"x", ca->key_pem}.issue(leaf), Errc::kDecode),
            "the CA's certificate cannot be read: PEM was expected");
  EXPECT_EQ(why(CertificateAuthority{ca->certificate_pem, "x"}.issue(leaf), Errc::kDecode),
            "the CA's key cannot be read: PEM was expected");
  EXPECT_EQ(why(CertificateAuthority{ca->certificate_pem, other->key_pem}.issue(leaf), Errc::kDecode),
            "the CA's key does not belong to its certificate");
  EXPECT_EQ(why(ca->issue({.common_name = "l", .names = {"a,IP:1.2.3.4"}, .validity = year()}), Errc::kInvalid),
            "\"a,IP:1.2.3.4\" is neither a DNS name nor an IP address");
  EXPECT_EQ(why(ca->issue({.common_name = "", .validity = year()}), Errc::kInvalid),
            "\"\" cannot stand in a certificate's subject: 1 to 64 bytes are allowed");
  why(ca->issue({.common_name = std::string(65, 'x'), .validity = year()}), Errc::kInvalid);
  why(ca->issue({.common_name = "l", .organizations = {""}, .validity = year()}), Errc::kInvalid);
  EXPECT_EQ(why(ca->issue({.common_name = "l", .validity = {year().not_after, year().not_before}}), Errc::kInvalid),
            "the certificate of \"l\" would end before it begins");
}

TEST(CertificateAuthority, TakesLessThanFiveMilliseconds) {
  // Of this thread's own time: the machine may be busy.
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 10; ++i) {
    const auto start = used();
    const auto ca = CertificateAuthority::create("ca", year());
    const auto leaf = ca->issue({.common_name = "l", .names = {"localhost"}, .server = true, .validity = year()});
    ASSERT_TRUE(leaf.has_value());
    best = std::min(best, (used() - start) / 2);
  }
  EXPECT_LT(best, std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace hookd::net
