// Rotation of tokens and certificates. Rules: k8s-client.md A6, A7, A9, A13, A14, A18, A20-A22; scenarios T33, T35.
#include "kube/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/log.h"
#include "unit/kube/test_files.h"
#include "unit/support/scratch_folder.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using test::make_certificate;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    config_.server = "https://h:6443";
    log::set_tap([this](log::Level, std::string_view line) { log_.emplace_back(line); });
  }
  ~CredentialsTest() override { log::set_tap({}); }

  // As kubelet does it: a new folder, then the link is renamed over (A22).
  void swap_token(const std::string& version, const std::string& token) {
    folder_.file(version + "/token", token);
    std::filesystem::create_symlink(version, folder_.path("..new"));
    std::filesystem::rename(folder_.path("..new"), folder_.path("..data"));
    if (!std::filesystem::exists(folder_.path("token")))
      std::filesystem::create_symlink("..data/token", folder_.path("token"));
  }

  const hookd::test::ScratchFolder folder_;
  ManualScheduler scheduler_;
  ConnectionConfig config_;
  std::vector<std::string> log_;
};

TEST_F(CredentialsTest, AnonymousSendsNothing) {
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.authorization_header(), std::nullopt);
  EXPECT_THAT(credentials.impersonation_headers(), IsEmpty());
  ASSERT_NE(credentials.tls(), nullptr);
  EXPECT_EQ(credentials.tls()->ca_pem, "");
}

TEST_F(CredentialsTest, InlineTokenAndPassword) {
  config_.token = "abc";
  EXPECT_EQ(Credentials(config_, scheduler_).authorization_header(), "Bearer abc");
  config_.token = "";
  config_.username = "Aladdin";
  config_.password = "open sesame";
  EXPECT_EQ(Credentials(config_, scheduler_).authorization_header(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

// A7: no credentials over plain http; impersonation is none (a proxy on loopback adds them).
TEST_F(CredentialsTest, PlainHttpSendsNoCredentials) {
  const auto certificate = make_certificate("me");
  config_.server = "http://h";
  config_.token = "abc";
  config_.certificate.pem = certificate.pem;
  config_.key.pem = certificate.key;
  config_.impersonation.user = "jane";
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.authorization_header(), std::nullopt);
  EXPECT_EQ(credentials.tls()->certificate_pem, "");
  EXPECT_EQ(credentials.tls()->key_pem, "");
  EXPECT_THAT(credentials.impersonation_headers(), ElementsAre(Pair("Impersonate-User", "jane")));
}

// T33, A21, A22
TEST_F(CredentialsTest, RotatedTokenIsUsedWithinAMinute) {
  swap_token("v1", "one\n");
  config_.token_file = folder_.path("token");
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.authorization_header(), "Bearer one");
  swap_token("v2", " two \n");
  scheduler_.advance(49s);
  EXPECT_EQ(credentials.authorization_header(), "Bearer one");  // period less leeway is not over
  scheduler_.advance(1s);
  EXPECT_EQ(credentials.authorization_header(), "Bearer two");
}

// T33: kubernetes#68164
TEST_F(CredentialsTest, BadTokenFileKeepsTheLastGoodOneAndIsLoggedOnce) {
  config_.token_file = folder_.file("token", "s3cret");
  Credentials credentials(config_, scheduler_);
  for (const char* bad : {"", "\n", "s3cret two",
                          "s3\x01"
                          "cret"}) {
    folder_.file("token", bad);
    scheduler_.advance(50s);
    EXPECT_EQ(credentials.authorization_header(), "Bearer s3cret");
  }
  std::filesystem::remove(folder_.path("token"));
  log_.clear();
  scheduler_.advance(50s);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(credentials.authorization_header(), "Bearer s3cret");
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_THAT(log_[0], HasSubstr(folder_.path("token")));
  EXPECT_THAT(log_, testing::Each(Not(HasSubstr("s3cret"))));
  // A failing file is tried at each request, not only after a period.
  folder_.file("token", "fresh");
  EXPECT_EQ(credentials.authorization_header(), "Bearer fresh");
  EXPECT_THAT(log_.back(), HasSubstr("can be read again"));
}

// A21, A18: python#1768, client-go#1345
TEST_F(CredentialsTest, UnauthorizedReadsTheTokenFileAtOnce) {
  config_.token_file = folder_.file("token", "one");
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.authorization_header(), "Bearer one");
  folder_.file("token", "two");
  EXPECT_EQ(credentials.authorization_header(), "Bearer one");
  credentials.unauthorized();
  EXPECT_EQ(credentials.authorization_header(), "Bearer two");
}

// A6
TEST_F(CredentialsTest, TokenFileOverridesTheInlineTokenOnceReadable) {
  config_.token = "inline";
  config_.token_file = folder_.path("token");
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.authorization_header(), "Bearer inline");
  folder_.file("token", "file");
  EXPECT_EQ(credentials.authorization_header(), "Bearer file");
  std::filesystem::remove(folder_.path("token"));
  scheduler_.advance(50s);
  EXPECT_EQ(credentials.authorization_header(), "Bearer file");
}

// A13
TEST_F(CredentialsTest, ImpersonationHeadersAreEscapedAndRepeated) {
  config_.impersonation = {"jane", "7", {"a", "b"}, {{"scopes", {"x", "y"}}, {"acme.com/pro%ject é", {"z"}}}};
  Credentials credentials(config_, scheduler_);
  EXPECT_THAT(credentials.impersonation_headers(),
              ElementsAre(Pair("Impersonate-User", "jane"), Pair("Impersonate-Uid", "7"),
                          Pair("Impersonate-Group", "a"), Pair("Impersonate-Group", "b"),
                          Pair("Impersonate-Extra-scopes", "x"), Pair("Impersonate-Extra-scopes", "y"),
                          Pair("Impersonate-Extra-acme.com%2Fpro%25ject%20%C3%A9", "z")));
}

// T35, A9
TEST_F(CredentialsTest, ReplacedCaGivesNewTlsWithinFiveMinutes) {
  const auto first = make_certificate("first");
  const auto second = make_certificate("second");
  config_.ca = {first.pem, folder_.file("ca.crt", first.pem)};
  config_.tls_server_name = "inner";
  Credentials credentials(config_, scheduler_);
  const auto before = credentials.tls();
  folder_.file("ca.crt", second.pem);
  scheduler_.advance(299s);
  EXPECT_EQ(credentials.tls(), before);
  scheduler_.advance(1s);
  const auto after = credentials.tls();
  ASSERT_NE(after, before);
  EXPECT_EQ(before->ca_pem, first.pem);  // what runs keeps its own
  EXPECT_EQ(after->ca_pem, second.pem);
  EXPECT_EQ(after->server_name, "inner");
  EXPECT_EQ(credentials.config().ca.pem, second.pem);
}

TEST_F(CredentialsTest, UnchangedFilesKeepTheSameTls) {
  const auto certificate = make_certificate("me");
  config_.ca = {certificate.pem, folder_.file("ca.crt", certificate.pem)};
  config_.certificate = {certificate.pem, folder_.file("c.pem", certificate.pem)};
  config_.key = {certificate.key, folder_.file("k.pem", certificate.key)};
  Credentials credentials(config_, scheduler_);
  const auto before = credentials.tls();
  folder_.file("ca.crt", "# a comment is no change\n" + certificate.pem);
  scheduler_.advance(10min);
  EXPECT_EQ(credentials.tls(), before);
  EXPECT_THAT(log_, IsEmpty());
}

// T35, A9: an empty or bad file keeps the old one; it is looked at again soon, and logged once.
TEST_F(CredentialsTest, BadCaFileIsIgnored) {
  const auto first = make_certificate("first");
  const auto second = make_certificate("second");
  config_.ca = {first.pem, folder_.file("ca.crt", first.pem)};
  Credentials credentials(config_, scheduler_);
  const auto before = credentials.tls();
  folder_.file("ca.crt", "");
  scheduler_.advance(5min);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(credentials.tls(), before);
    scheduler_.advance(10s);
  }
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_THAT(log_[0], HasSubstr(folder_.path("ca.crt")));
  folder_.file("ca.crt", second.pem);
  scheduler_.advance(10s);
  EXPECT_EQ(credentials.tls()->ca_pem, second.pem);
}

// A20: the CA of a pod may come late.
TEST_F(CredentialsTest, CaThatWasNotThereAtStartIsTakenLater) {
  const auto ca = make_certificate("ca");
  config_.ca.file = folder_.path("ca.crt");
  Credentials credentials(config_, scheduler_);
  EXPECT_EQ(credentials.tls()->ca_pem, "");
  folder_.file("ca.crt", ca.pem);
  credentials.tls_failed();
  scheduler_.advance(1s);
  EXPECT_EQ(credentials.tls()->ca_pem, ca.pem);
}

// Certificate and key are two files: between the two writes the old pair stays.
TEST_F(CredentialsTest, HalfRotatedPairIsNotUsed) {
  const auto first = make_certificate("first");
  const auto second = make_certificate("second");
  config_.certificate = {first.pem, folder_.file("c.pem", first.pem)};
  config_.key = {first.key, folder_.file("k.pem", first.key)};
  Credentials credentials(config_, scheduler_);
  const auto before = credentials.tls();
  folder_.file("c.pem", second.pem);
  scheduler_.advance(5min);
  EXPECT_EQ(credentials.tls(), before);
  EXPECT_THAT(log_.at(0), HasSubstr("does not belong"));
  folder_.file("k.pem", second.key);
  scheduler_.advance(10s);
  const auto after = credentials.tls();
  EXPECT_EQ(after->certificate_pem, second.pem);
  EXPECT_EQ(after->key_pem, second.key);
}

TEST_F(CredentialsTest, UnauthorizedAndFailedHandshakesLookAtCertificatesAtMostOnceASecond) {
  const auto first = make_certificate("first");
  const auto second = make_certificate("second");
  config_.certificate = {first.pem, folder_.file("c.pem", first.pem)};
  config_.key = {first.key, folder_.file("k.pem", first.key)};
  Credentials credentials(config_, scheduler_);
  folder_.file("c.pem", second.pem);
  folder_.file("k.pem", second.key);
  credentials.unauthorized();
  EXPECT_EQ(credentials.tls()->certificate_pem, first.pem);  // looked at less than a second ago
  scheduler_.advance(1s);
  EXPECT_EQ(credentials.tls()->certificate_pem, second.pem);
}

}  // namespace
}  // namespace hookd::kube
