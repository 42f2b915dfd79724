// How a connection is found and checked. Rules: k8s-client.md A1-A8, A20; scenario T32.
#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/log.h"
#include "kube/base64.h"
#include "unit/kube/test_files.h"
#include "unit/support/scratch_folder.h"

namespace hookd::kube {
namespace {

using test::make_certificate;
using test::TestCertificate;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const TestCertificate& some_certificate() {
  static const TestCertificate certificate = make_certificate("first");
  return certificate;
}
const TestCertificate& other_certificate() {
  static const TestCertificate certificate = make_certificate("second");
  return certificate;
}
std::string ca_data() { return base64_encode(some_certificate().pem); }
std::string key_data() { return base64_encode(some_certificate().key); }

// A kubeconfig with one context; `cluster` and `user` are the insides of flow mappings.
std::string one_context(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user +
         "}\n"
         "contexts:\n- name: x\n  context: {cluster: c, user: u}\n";
}

class Kubeconfig : public testing::Test {
 protected:
  void SetUp() override {
    log::set_tap([this](log::Level, std::string_view line) { log_ += std::string(line) + "\n"; });
    options_.home = folder_.path("home");
    options_.service_account_dir = folder_.path("sa");
    options_.environment = [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
  }
  void TearDown() override { log::set_tap({}); }

  void in_pod(const std::string& host = "10.96.0.1") {
    environment_["KUBERNETES_SERVICE_HOST"] = host;
    environment_["KUBERNETES_SERVICE_PORT"] = "443";
    folder_.file("sa/token", "pod-token\n");
    folder_.file("sa/ca.crt", some_certificate().pem);
    folder_.file("sa/namespace", "pod-ns\n");
  }
  void explicit_file(const std::string& text, const std::string& name = "config") {
    options_.explicit_path = folder_.file(name, text);
  }
  Result<ConnectionConfig> load_text(const std::string& text) {
    explicit_file(text);
    return load_connection(options_);
  }
  Result<ConnectionConfig> load_one(const std::string& user,
                                    const std::string& cluster = "server: \"https://h:6443\"") {
    return load_text(one_context(cluster, user));
  }
  std::string error_of(const Result<ConnectionConfig>& result) {
    if (result) return "no error";
    EXPECT_EQ(result.error().code, Errc::kConfig);
    return result.error().what;
  }

  const hookd::test::ScratchFolder folder_;
  std::map<std::string, std::string> environment_;
  LoadOptions options_;
  std::string log_;
};

// ---- A1: which files

TEST_F(Kubeconfig, FlagBeatsEnvironmentAndIsNotMerged) {
  environment_["KUBECONFIG"] = folder_.file("env", one_context("server: \"https://env\"", "token: t"));
  explicit_file("contexts:\n- {name: y, context: {cluster: c}}\ncurrent-context: y\n");
  EXPECT_THAT(error_of(load_connection(options_)),
              AllOf(HasSubstr("cluster \"c\" is not there"), HasSubstr(options_.explicit_path)));
}

TEST_F(Kubeconfig, FlagFileMustExist) {
  in_pod();
  environment_["KUBECONFIG"] = folder_.file("env", one_context("server: \"https://env\"", "token: t"));
  options_.explicit_path = folder_.path("nowhere");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr(folder_.path("nowhere")));
}

TEST_F(Kubeconfig, EnvironmentBeatsHome) {
  folder_.file("home/.kube/config", one_context("server: \"https://home\"", "token: t"));
  EXPECT_EQ(load_connection(options_)->server, "https://home");
  environment_["KUBECONFIG"] = folder_.file("env", one_context("server: \"https://env\"", "token: t"));
  EXPECT_EQ(load_connection(options_)->server, "https://env");
}

TEST_F(Kubeconfig, HomeComesFromTheEnvironment) {
  options_.home = "";
  environment_["HOME"] = folder_.path("h2");
  folder_.file("h2/.kube/config", one_context("server: \"https://home2\"", "token: t"));
  EXPECT_EQ(load_connection(options_)->server, "https://home2");
}

// T32: the first file wins for a name as a whole, a missing file is nothing.
TEST_F(Kubeconfig, ListIsMergedFirstFileWins) {
  const std::string a = folder_.file("a",
                                     "users:\n- {name: u, user: {username: from-a, password: p}}\n"
                                     "contexts:\n- {name: y, context: {cluster: c, user: u}}\n");
  const std::string b = folder_.file("b", one_context("server: \"https://b\"", "token: from-b"));
  environment_["KUBECONFIG"] = ":" + a + ":" + folder_.path("missing") + "::" + b + ":" + a;
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->context, "x");  // a has no current-context, so b's counts
  EXPECT_EQ(connection->server, "https://b");
  EXPECT_EQ(connection->username, "from-a");
  EXPECT_EQ(connection->token, "");  // no field of b's user is mixed in
}

TEST_F(Kubeconfig, FirstCurrentContextWins) {
  const std::string a = folder_.file("a", "current-context: y\n");
  const std::string b = folder_.file(
      "b", one_context("server: \"https://b\"", "") + "- {name: y, context: {cluster: c, namespace: n}}\n");
  environment_["KUBECONFIG"] = a + ":" + b;
  EXPECT_EQ(load_connection(options_)->default_namespace, "n");
}

TEST_F(Kubeconfig, BrokenFileInTheListIsAnError) {
  in_pod();
  const std::string good = folder_.file("good", one_context("server: \"https://b\"", ""));
  environment_["KUBECONFIG"] = good + ":" + folder_.file("bad", "a: [1,\nb: }\n");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr(folder_.path("bad") + ":2:"));
  std::filesystem::create_directory(folder_.path("dir"));
  environment_["KUBECONFIG"] = good + ":" + folder_.path("dir");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr(folder_.path("dir")));
}

TEST_F(Kubeconfig, AllFilesMissingIsWarnedAndThenThePodCounts) {
  in_pod();
  environment_["KUBECONFIG"] = folder_.path("no1") + ":" + folder_.path("no2");
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_TRUE(connection->in_cluster);
  EXPECT_THAT(log_, HasSubstr("none of the files in KUBECONFIG"));
}

TEST_F(Kubeconfig, NothingAnywhereSaysWhereItLooked) {
  EXPECT_THAT(error_of(load_connection(options_)),
              AllOf(HasSubstr("home/.kube/config"), HasSubstr("KUBERNETES_SERVICE_HOST is not set"),
                    HasSubstr("--kubeconfig")));
}

TEST_F(Kubeconfig, ExplicitErrorsNeverFallBackToThePod) {
  in_pod();
  explicit_file("");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("no kubeconfig with a context"));
  options_.explicit_path = "";
  options_.context = "prod";
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("no context \"prod\""));
  // A typing error must not lead to another cluster than the one that was meant.
  options_.context = "";
  folder_.file("home/.kube/config", "current-context: x\ncontexts:\n- {name: x, context: {cluster: typo}}\n");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("cluster \"typo\" is not there"));
}

TEST_F(Kubeconfig, NoCurrentContextNamesTheContexts) {
  explicit_file("contexts:\n- {name: a, context: {}}\n- {name: b, context: {}}\n");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("choose one with --context (a, b)"));
}

TEST_F(Kubeconfig, ContextFlagChooses) {
  explicit_file(one_context("server: \"https://h\"", "token: t") +
                "- {name: y, context: {cluster: c, user: u, namespace: other}}\n");
  options_.context = "y";
  EXPECT_EQ(load_connection(options_)->default_namespace, "other");
}

// ---- A3: relative paths against the file that defined the entry

TEST_F(Kubeconfig, RelativePathsStartAtTheDefiningFile) {
  folder_.file("one/pki/ca.crt", some_certificate().pem);
  folder_.file("two/c.pem", some_certificate().pem);
  folder_.file("two/k.pem", some_certificate().key);
  folder_.file("two/tok", "abc\n");
  const std::string one = folder_.file(
      "one/config", "clusters:\n- {name: c, cluster: {server: \"https://h\", certificate-authority: pki/ca.crt}}\n");
  const std::string two =
      folder_.file("two/config",
                   "users:\n- {name: u, user: {client-certificate: c.pem, client-key: ../two/k.pem, tokenFile: tok}}\n"
                   "contexts:\n- {name: x, context: {cluster: c, user: u}}\ncurrent-context: x\n");
  environment_["KUBECONFIG"] = one + ":" + two;
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->ca.file, folder_.path("one/pki/ca.crt"));
  EXPECT_EQ(connection->certificate.file, folder_.path("two/c.pem"));
  EXPECT_EQ(connection->key.file, folder_.path("two/k.pem"));
  EXPECT_EQ(connection->token_file, folder_.path("two/tok"));
  EXPECT_EQ(connection->ca.pem, some_certificate().pem);
}

// ---- A4: the format

TEST_F(Kubeconfig, JsonAndUnknownFieldsAreTaken) {
  const auto connection = load_text(
      R"({"clusters":[{"name":"c","cluster":{"server":"https://h","Insecure-Skip-TLS-Verify":true,"new":[1]}}],
    "contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x","extra":{"a":null}})");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_FALSE(connection->insecure);  // keys are case-sensitive
}

TEST_F(Kubeconfig, DuplicateNameInOneFileIsAnError) {
  EXPECT_THAT(error_of(load_text("users:\n- {name: u}\n- {name: v}\n- {name: u}\n")),
              AllOf(HasSubstr("config:4:3"), HasSubstr("user \"u\" is there twice, first in line 2")));
}

TEST_F(Kubeconfig, WrongKindOrShapeIsAnError) {
  EXPECT_THAT(error_of(load_text("kind: Pod\napiVersion: v1\n")), HasSubstr("not a kubeconfig"));
  EXPECT_THAT(error_of(load_text("just text")), HasSubstr("expected a kubeconfig"));
  EXPECT_THAT(error_of(load_text("clusters: 3\n")), HasSubstr("clusters: expected a list"));
  EXPECT_THAT(error_of(load_text("users:\n- name: u\n  user: {token: [a]}\n")),
              HasSubstr("config:3:17: token: expected a text"));
  EXPECT_THAT(error_of(load_text("clusters:\n- name: c\n  cluster: {insecure-skip-tls-verify: maybe}\n")),
              HasSubstr("expected true or false"));
}

// Section 11: of two equal keys the last counts for kubectl, and bare yes is true; merge keys come with YAML 1.1.
TEST_F(Kubeconfig, ReadsYamlAsKubectlDoes) {
  const auto connection = load_text(
      "clusters:\n- {name: c, cluster: {server: \"https://h\", insecure-skip-tls-verify: yes}}\n"
      "users:\n- name: base\n  user: &base {token: aa, token: bb, as: z}\n- name: u\n  user: {<<: *base, as: y}\n"
      "contexts:\n- {name: x, context: {cluster: c, user: u}}\ncurrent-context: x\n");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_TRUE(connection->insecure);
  EXPECT_EQ(connection->token, "bb");
  EXPECT_EQ(connection->impersonation.user, "y");
}

// A password that begins with * is an alias for YAML; it must not come back in the message.
TEST_F(Kubeconfig, SyntaxErrorsQuoteNoText) {
  EXPECT_THAT(error_of(load_one("password: *hunter2")), Not(HasSubstr("hunter2")));
  EXPECT_THAT(error_of(load_one("password: 'hunter2")), Not(HasSubstr("hunter2")));
}

// ---- A5: the table of hard errors

TEST_F(Kubeconfig, CaFileAndDataTogether) {
  folder_.file("ca.crt", some_certificate().pem);
  EXPECT_THAT(
      error_of(load_one(
          "", "server: \"https://h\", certificate-authority: ca.crt, certificate-authority-data: " + ca_data())),
      HasSubstr("cluster \"c\": certificate-authority and certificate-authority-data are both given"));
}

TEST_F(Kubeconfig, ClientCertificateFileAndDataTogether) {
  folder_.file("c.pem", some_certificate().pem);
  EXPECT_THAT(error_of(load_one("client-certificate: c.pem, client-certificate-data: " + ca_data() +
                                ", client-key-data: " + key_data())),
              HasSubstr("user \"u\": client-certificate and client-certificate-data are both given"));
}

TEST_F(Kubeconfig, ClientKeyFileAndDataTogether) {
  folder_.file("k.pem", some_certificate().key);
  EXPECT_THAT(error_of(load_one("client-certificate-data: " + ca_data() +
                                ", client-key: k.pem, client-key-data: " + key_data())),
              HasSubstr("client-key and client-key-data are both given"));
}

TEST_F(Kubeconfig, CertificateWithoutKey) {
  EXPECT_THAT(error_of(load_one("client-certificate-data: " + ca_data())),
              HasSubstr("a client certificate without client-key"));
}

TEST_F(Kubeconfig, TokenAndPassword) {
  EXPECT_THAT(error_of(load_one("token: s3cret, username: me")),
              AllOf(HasSubstr("token and username/password"), Not(HasSubstr("s3cret"))));
  folder_.file("tok", "t");
  EXPECT_THAT(error_of(load_one("tokenFile: tok, password: s3cret")),
              AllOf(HasSubstr("both given"), Not(HasSubstr("s3cret"))));
}

TEST_F(Kubeconfig, ImpersonationNeedsAUser) {
  EXPECT_THAT(error_of(load_one("as-uid: \"1\"")), HasSubstr("as-uid: needs \"as\""));
  EXPECT_THAT(error_of(load_one("as-groups: [g]")), HasSubstr("as-groups: needs \"as\""));
  EXPECT_THAT(error_of(load_one("as-user-extra: {k: [v]}")), HasSubstr("as-user-extra: needs \"as\""));
}

TEST_F(Kubeconfig, ExecNeedsItsFields) {
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  EXPECT_THAT(error_of(load_one("exec: {command: p, " + v1 + "}")), HasSubstr("exec.interactiveMode: is missing"));
  EXPECT_THAT(error_of(load_one("exec: {" + v1 + ", interactiveMode: Never}")), HasSubstr("exec.command: is missing"));
  EXPECT_THAT(error_of(load_one("exec: {command: p, interactiveMode: Never}")),
              HasSubstr("exec.apiVersion: is missing"));
  EXPECT_THAT(error_of(load_one("exec: {command: p, " + v1 + ", interactiveMode: Often}")),
              HasSubstr("expected Never"));
  EXPECT_THAT(error_of(load_one("exec: {command: p, " + v1 + ", interactiveMode: Always}")), HasSubstr("no terminal"));
  EXPECT_THAT(error_of(load_one("exec: {command: p, apiVersion: client.authentication.k8s.io/v1alpha1}")),
              HasSubstr("expected client.authentication.k8s.io/v1 or"));
  EXPECT_THAT(error_of(load_one("exec: {command: p, env: [{value: x}], interactiveMode: Never, " + v1 + "}")),
              HasSubstr("exec.env"));
}

// Not an anonymous connection, which would only give a 401 later.
TEST_F(Kubeconfig, ExecPluginIsRefusedByName) {
  const std::string error = error_of(load_one("exec: {command: p, apiVersion: client.authentication.k8s.io/v1beta1}"));
  EXPECT_THAT(error, HasSubstr("user \"u\" in " + options_.explicit_path +
                               " uses an exec credential plugin, which hookd does not run yet"));
}

TEST_F(Kubeconfig, AuthProviderIsAnError) {
  EXPECT_THAT(error_of(load_one("auth-provider: {name: gcp, config: {access-token: s3cret}}")),
              AllOf(HasSubstr("user \"u\": auth-provider"), Not(HasSubstr("s3cret"))));
}

TEST_F(Kubeconfig, ProxySchemes) {
  for (const char* good : {"http://p:3128", "https://me:s3cret@p", "socks5://[::1]:1080"}) {
    const auto connection = load_one("", fmt::format("server: \"https://h\", proxy-url: \"{}\"", good));
    ASSERT_TRUE(connection) << connection.error().what;
    EXPECT_EQ(connection->proxy_url, good);
  }
  for (const char* bad : {"ftp://me:s3cret@p", "p:3128", "socks5h://p", "http://"})
    EXPECT_THAT(error_of(load_one("", fmt::format("server: \"https://h\", proxy-url: \"{}\"", bad))),
                AllOf(HasSubstr("cluster \"c\": proxy-url:"), Not(HasSubstr("s3cret"))))
        << bad;
}

TEST_F(Kubeconfig, MissingContext) {
  explicit_file(one_context("server: \"https://h\"", ""));
  options_.context = "nope";
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("there is no context \"nope\" (there are: x)"));
  options_.context = "";
  EXPECT_THAT(error_of(load_text("current-context: gone\n")),
              HasSubstr("config:1:18: current-context: there is no context \"gone\""));
}

TEST_F(Kubeconfig, InsecureWithCaIsAnError) {
  EXPECT_THAT(
      error_of(load_one(
          "", "server: \"https://h\", insecure-skip-tls-verify: true, certificate-authority-data: " + ca_data())),
      HasSubstr("insecure-skip-tls-verify and a certificate authority are both given"));
}

// ---- A5: what is not an error

TEST_F(Kubeconfig, UnknownUserIsAnonymous) {
  const auto connection = load_text(
      "clusters:\n- {name: c, cluster: {server: \"https://h\"}}\n"
      "contexts:\n- {name: x, context: {cluster: c, user: ghost}}\ncurrent-context: x\n");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->token, "");
  EXPECT_THAT(log_, HasSubstr("ghost"));
}

TEST_F(Kubeconfig, TokenAndCertificateAreBothUsed) {
  const auto connection =
      load_one("token: t, client-certificate-data: " + ca_data() + ", client-key-data: " + key_data());
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->token, "t");
  EXPECT_EQ(connection->certificate.pem, some_certificate().pem);
  EXPECT_EQ(connection->key.pem, some_certificate().key);
  EXPECT_EQ(connection->certificate.file, "");
}

TEST_F(Kubeconfig, TokenBeatsExec) {
  const auto connection =
      load_one("token: t, exec: {command: p, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_FALSE(connection->exec);
  EXPECT_EQ(connection->token, "t");
}

// ---- A6: token and token file

TEST_F(Kubeconfig, TokenFileAloneMustBeReadable) {
  EXPECT_THAT(error_of(load_one("tokenFile: tok")),
              AllOf(HasSubstr("user \"u\": tokenFile:"), HasSubstr(folder_.path("tok"))));
  folder_.file("tok", " \n");
  EXPECT_THAT(error_of(load_one("tokenFile: tok")), HasSubstr("is empty"));
  folder_.file("tok", "s3cret s3cret");
  EXPECT_THAT(error_of(load_one("tokenFile: tok")), AllOf(HasSubstr("not a token"), Not(HasSubstr("s3cret"))));
}

TEST_F(Kubeconfig, InlineTokenIsTheFallBackOfAMissingTokenFile) {
  const auto connection = load_one("token: t, tokenFile: tok");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->token, "t");
  EXPECT_EQ(connection->token_file, folder_.path("tok"));
}

// ---- A7: the server

TEST_F(Kubeconfig, ServerIsTakenApart) {
  struct Case {
    const char* server;
    const char* origin;
    const char* base_path;
    bool loopback;
  };
  for (const Case& c :
       {Case{"https://h:6443", "https://h:6443", "", false},
        Case{"HTTPS://h/k8s/clusters/c-1/?a=b#c", "https://h", "/k8s/clusters/c-1", false},
        Case{"https://[fd00::1]:443/", "https://[fd00::1]:443", "", false},
        Case{"https://[::1]:6443", "https://[::1]:6443", "", true},
        Case{"https://127.3.2.1", "https://127.3.2.1", "", true},
        Case{"http://LOCALHOST:8080", "http://LOCALHOST:8080", "", true},
        Case{"localhost:8080", "http://localhost:8080", "", true}, Case{"10.0.0.1", "http://10.0.0.1", "", false}}) {
    const auto connection = load_one("", fmt::format("server: \"{}\"", c.server));
    ASSERT_TRUE(connection) << connection.error().what;
    EXPECT_EQ(connection->server, c.origin);
    EXPECT_EQ(connection->base_path, c.base_path);
    EXPECT_EQ(connection->host_is_loopback, c.loopback) << c.server;
  }
}

TEST_F(Kubeconfig, NoSchemeIsHttpsWhereTlsIsMeant) {
  EXPECT_EQ(load_one("", "server: \"h:6443\", insecure-skip-tls-verify: true")->server, "https://h:6443");
  EXPECT_EQ(load_one("", "server: \"h:6443\", certificate-authority-data: " + ca_data())->server, "https://h:6443");
  EXPECT_EQ(load_one("client-certificate-data: " + ca_data() + ", client-key-data: " + key_data(), "server: \"h:6443\"")
                ->server,
            "https://h:6443");
}

TEST_F(Kubeconfig, BadServers) {
  for (const char* bad :
       {"ftp://h", "https://", "https://h:0", "https://h:99999", "https://h:x", "https://me:s3cret@h", "h:1/path",
        "https://fd00::1", "https://[fd00::1", "https://[zz]", "https://a b", "https://h\\na"})
    EXPECT_THAT(error_of(load_one("", fmt::format("server: \"{}\"", bad))),
                AllOf(HasSubstr("config:6:21: cluster \"c\": server:"), Not(HasSubstr("s3cret"))))
        << bad;
  EXPECT_THAT(error_of(load_one("", "")), HasSubstr("cluster \"c\": server: is missing"));
}

TEST_F(Kubeconfig, PlainHttpIsWarned) {
  const auto connection = load_one("token: s3cret", "server: \"http://h\"");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_THAT(log_, AllOf(HasSubstr("plain http"), Not(HasSubstr("s3cret"))));
}

// ---- A8

TEST_F(Kubeconfig, NamespaceIsDefaultUnlessSet) {
  in_pod();
  EXPECT_EQ(load_one("token: t")->default_namespace, "default");
  EXPECT_THAT(error_of(load_text("clusters:\n- {name: c, cluster: {server: \"https://h\"}}\ncurrent-context: x\n"
                                 "contexts:\n- {name: x, context: {cluster: c, namespace: a/b}}\n")),
              HasSubstr("context \"x\": namespace"));
}

// ---- Certificates: errors name file, entry and key (section 11: byte order mark)

TEST_F(Kubeconfig, BadCertificatesAreNamed) {
  const auto ca = [&](const std::string& content) {
    folder_.file("ca.crt", content);
    return error_of(load_one("", "server: \"https://h\", certificate-authority: ca.crt"));
  };
  const std::string place = "cluster \"c\": certificate-authority: " + folder_.path("ca.crt") + ": ";
  EXPECT_THAT(ca("\xef\xbb\xbf" + some_certificate().pem), HasSubstr(place + "begins with a byte order mark"));
  EXPECT_THAT(ca("\n"), HasSubstr(place + "is empty"));
  EXPECT_THAT(ca("hello"), HasSubstr(place + "no certificate in it"));
  EXPECT_THAT(ca(some_certificate().key), HasSubstr(place + "no certificate in it"));
  EXPECT_THAT(ca("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
              HasSubstr(place + "has a certificate in it that cannot be read"));
  std::filesystem::remove(folder_.path("ca.crt"));
  EXPECT_THAT(error_of(load_one("", "server: \"https://h\", certificate-authority: ca.crt")),
              HasSubstr(folder_.path("ca.crt")));
  EXPECT_THAT(error_of(load_one("", "server: \"https://h\", certificate-authority-data: \"!!\"")),
              HasSubstr("config:6:62: cluster \"c\": certificate-authority-data: not base64"));
  EXPECT_THAT(
      error_of(load_one("", "server: \"https://h\", certificate-authority-data: " + base64_encode("\xef\xbb\xbfx"))),
      HasSubstr("certificate-authority-data: begins with a byte order mark"));
}

TEST_F(Kubeconfig, ReadableCertificatesOfABundleAreKept) {
  folder_.file("ca.crt", "# ours\n" + some_certificate().pem +
                             "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" +
                             other_certificate().pem);
  const auto connection = load_one("", "server: \"https://h\", certificate-authority: ca.crt");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->ca.pem, some_certificate().pem + other_certificate().pem);
  EXPECT_THAT(log_, HasSubstr("cannot be read and are left out"));
}

TEST_F(Kubeconfig, BadKeysAreNamed) {
  const auto key = [&](const std::string& content) {
    folder_.file("k.pem", content);
    return error_of(load_one("client-certificate-data: " + ca_data() + ", client-key: k.pem"));
  };
  const std::string place = "user \"u\": client-key: " + folder_.path("k.pem") + ": ";
  EXPECT_THAT(key("nonsense"), HasSubstr(place + "no private key in it"));
  EXPECT_THAT(key(other_certificate().key), HasSubstr(place + "the key does not belong to the client certificate"));
  EXPECT_THAT(key(test::encrypt_key(some_certificate().key)), HasSubstr(place + "the key is encrypted"));
  EXPECT_THAT(error_of(load_one("client-certificate-data: " + ca_data() + ", client-key-data: \"%\"")),
              HasSubstr("client-key-data: not base64"));
}

TEST_F(Kubeconfig, KeyWithoutCertificateIsNotUsed) {
  const auto connection = load_one("token: t, client-key-data: " + key_data());
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->key.pem, "");
}

TEST_F(Kubeconfig, LineBreaksInHeadersAreRefused) {
  EXPECT_THAT(error_of(load_one("token: \"a\\r\\nb\"")), HasSubstr("user \"u\": token:"));
  EXPECT_THAT(error_of(load_one("as: a, as-groups: [\"g\\nX: y\"]")), HasSubstr("user \"u\": as:"));
}

TEST_F(Kubeconfig, OtherFieldsArriveWhole) {
  const auto connection = load_one(
      "as: jane, as-uid: \"7\", as-groups: [a, b], as-user-extra: {x/y: [\"1\", \"2\"]}, username: me, password: "
      "\"p:w\"",
      "server: \"https://h\", tls-server-name: inner, disable-compression: true");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->tls_server_name, "inner");
  EXPECT_TRUE(connection->disable_compression);
  EXPECT_EQ(connection->username, "me");
  EXPECT_EQ(connection->password, "p:w");
  EXPECT_EQ(connection->impersonation.uid, "7");
  EXPECT_EQ(connection->impersonation.groups, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(connection->impersonation.extra.size(), 1u);
  EXPECT_EQ(connection->impersonation.extra[0].first, "x/y");
  EXPECT_EQ(connection->describe(), "context \"x\" (https://h)");
}

// ---- A20, A8: in-cluster

TEST_F(Kubeconfig, PodUsesItsServiceAccount) {
  in_pod();
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_TRUE(connection->in_cluster);
  EXPECT_EQ(connection->server, "https://10.96.0.1:443");
  EXPECT_EQ(connection->token_file, folder_.path("sa/token"));
  EXPECT_EQ(connection->ca.pem, some_certificate().pem);
  EXPECT_EQ(connection->default_namespace, "pod-ns");
  environment_["POD_NAMESPACE"] = "from-env";
  EXPECT_EQ(load_connection(options_)->default_namespace, "from-env");
  environment_["POD_NAMESPACE"] = "";
  std::filesystem::remove(folder_.path("sa/namespace"));
  EXPECT_EQ(load_connection(options_)->default_namespace, "default");
}

TEST_F(Kubeconfig, PodWithIpv6HostGetsBrackets) {
  in_pod("fd00:10:96::1");
  EXPECT_EQ(load_connection(options_)->server, "https://[fd00:10:96::1]:443");
}

TEST_F(Kubeconfig, PodNeedsHostPortAndToken) {
  in_pod();
  environment_.erase("KUBERNETES_SERVICE_PORT");
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("KUBERNETES_SERVICE_PORT is not set"));
  environment_["KUBERNETES_SERVICE_PORT"] = "no";
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("KUBERNETES_SERVICE_PORT"));
  environment_["KUBERNETES_SERVICE_PORT"] = "443";
  std::filesystem::remove(folder_.path("sa/token"));
  EXPECT_THAT(error_of(load_connection(options_)), HasSubstr("sa/token is missing"));
}

TEST_F(Kubeconfig, PodWithoutCaUsesTheSystemsRootsAndSaysSo) {
  in_pod();
  folder_.file("sa/ca.crt", "garbage");
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(connection->ca.pem, "");
  EXPECT_EQ(connection->ca.file, folder_.path("sa/ca.crt"));
  EXPECT_THAT(log_, HasSubstr("no CA of the cluster"));
}

// As client-go does it, but said aloud.
TEST_F(Kubeconfig, KubeconfigWithoutCurrentContextLeavesItToThePod) {
  in_pod();
  folder_.file("home/.kube/config", "contexts:\n- {name: a, context: {cluster: c}}\n");
  const auto connection = load_connection(options_);
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_TRUE(connection->in_cluster);
  EXPECT_THAT(log_, HasSubstr("no current-context"));
}

TEST_F(Kubeconfig, KubeconfigBeatsThePod) {
  in_pod();
  folder_.file("home/.kube/config", one_context("server: \"https://home\"", "token: t"));
  EXPECT_EQ(load_connection(options_)->server, "https://home");
}

}  // namespace
}  // namespace hookd::kube
