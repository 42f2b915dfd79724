// The kubeconfig of hooks reads back as the same connection. Source: product.md section 2.
#include "kube/hook_kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/test_files.h"
#include "unit/support/scratch_folder.h"

namespace hookd::kube {
namespace {

class HookKubeconfig : public testing::Test {
 protected:
  Result<ConnectionConfig> round_trip(const ConnectionConfig& config) {
    const auto text = write_hook_kubeconfig(config);
    if (!text) return fail(text.error());
    text_ = *text;
    LoadOptions options;
    options.explicit_path = folder_.file("hook/config", *text);
    options.environment = [](const std::string&) { return std::nullopt; };
    return load_connection(options);
  }
  const hookd::test::ScratchFolder folder_;
  std::string text_;
};

TEST_F(HookKubeconfig, ReadsBackAsTheSameConnection) {
  const auto certificate = test::make_certificate("me");
  ConnectionConfig config;
  config.server = "https://[fd00::1]:6443";
  config.base_path = "/k8s/clusters/c-1";
  config.context = "prod";
  config.default_namespace = "a";
  config.ca = {certificate.pem, "/etc/ca.crt"};
  config.certificate = {certificate.pem, "/etc/c.pem"};
  config.key = {certificate.key, "/etc/k.pem"};
  config.username = "me\"";
  config.password = "p: #w\nx";
  config.tls_server_name = "inner";
  config.proxy_url = "socks5://p:1080";
  config.disable_compression = true;
  config.impersonation = {"jane", "7", {"a", "b"}, {{"x/y", {"1", "2"}}}};
  const auto back = round_trip(config);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->server, config.server);
  EXPECT_EQ(back->base_path, config.base_path);
  EXPECT_EQ(back->default_namespace, "a");
  EXPECT_EQ(back->ca.pem, certificate.pem);
  EXPECT_EQ(back->ca.file, "");  // inline: the hook need not be able to read the daemon's files
  EXPECT_EQ(back->certificate.pem, certificate.pem);
  EXPECT_EQ(back->key.pem, certificate.key);
  EXPECT_EQ(back->username, config.username);
  EXPECT_EQ(back->password, config.password);
  EXPECT_EQ(back->tls_server_name, "inner");
  EXPECT_EQ(back->proxy_url, config.proxy_url);
  EXPECT_TRUE(back->disable_compression);
  EXPECT_EQ(back->impersonation.groups, config.impersonation.groups);
  EXPECT_EQ(back->impersonation.extra, config.impersonation.extra);
  EXPECT_EQ(back->context, "hookd");
}

// A pod's token rotates, so the file is named and its content is not copied.
TEST_F(HookKubeconfig, NamesTheTokenFile) {
  ConnectionConfig config;
  config.server = "https://10.96.0.1:443";
  config.in_cluster = true;
  config.default_namespace = "pod-ns";
  config.token_file = folder_.file("sa/token", "pod-token");
  const auto back = round_trip(config);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->token_file, folder_.path("sa/token"));
  EXPECT_EQ(back->token, "");
  EXPECT_EQ(back->default_namespace, "pod-ns");
  EXPECT_THAT(text_, testing::Not(testing::HasSubstr("pod-token")));
}

TEST_F(HookKubeconfig, InsecureAndPlainTokenAreKept) {
  ConnectionConfig config;
  config.server = "https://h";
  config.insecure = true;
  config.token = "abc";
  const auto back = round_trip(config);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_TRUE(back->insecure);
  EXPECT_EQ(back->token, "abc");
}

TEST_F(HookKubeconfig, NeedsAServer) { EXPECT_FALSE(write_hook_kubeconfig({})); }

}  // namespace
}  // namespace hookd::kube
