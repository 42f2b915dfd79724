#include "kube/hook_kubeconfig.h"

#include "base/json_writer.h"
#include "kube/base64.h"

namespace hookd::kube {
namespace {

constexpr std::string_view kName = "hookd";

class Fields {
 public:
  explicit Fields(JsonWriter& out) : out_(out) {}
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) out_.key(key).string(value);
  }
  void data(std::string_view key, std::string_view bytes) {
    if (!bytes.empty()) out_.key(key).string(base64_encode(bytes));
  }
  void flag(std::string_view key, bool value) {
    if (value) out_.key(key).boolean(true);
  }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    if (values.empty()) return;
    out_.key(key).begin_array();
    for (const std::string& value : values) out_.string(value);
    out_.end_array();
  }

 private:
  JsonWriter& out_;
};

void write_cluster(JsonWriter& out, const ConnectionConfig& config) {
  Fields fields(out);
  out.begin_object();
  fields.text("server", config.server + config.base_path);
  fields.data("certificate-authority-data", config.ca.pem);
  fields.text("tls-server-name", config.tls_server_name);
  fields.flag("insecure-skip-tls-verify", config.insecure);
  fields.text("proxy-url", config.proxy_url);
  fields.flag("disable-compression", config.disable_compression);
  if (config.exec && !config.exec->cluster_config.empty()) {
    out.key("extensions").begin_array().begin_object();
    out.key("name").string("client.authentication.k8s.io/exec");
    out.key("extension").raw(config.exec->cluster_config);
    out.end_object().end_array();
  }
  out.end_object();
}

void write_impersonation(JsonWriter& out, const Impersonation& as) {
  if (as.user.empty()) return;
  Fields fields(out);
  fields.text("as", as.user);
  fields.text("as-uid", as.uid);
  fields.texts("as-groups", as.groups);
  if (as.extra.empty()) return;
  out.key("as-user-extra").begin_object();
  for (const auto& [key, values] : as.extra) fields.texts(key, values);
  out.end_object();
}

void write_exec(JsonWriter& out, const ExecPlugin& exec) {
  Fields fields(out);
  out.key("exec").begin_object();
  fields.text("apiVersion", exec.api_version);
  fields.text("command", exec.command);
  fields.texts("args", exec.args);
  if (!exec.env.empty()) {
    out.key("env").begin_array();
    for (const auto& [name, value] : exec.env)
      out.begin_object().key("name").string(name).key("value").string(value).end_object();
    out.end_array();
  }
  fields.text("interactiveMode", "Never");  // a hook has no terminal either
  fields.flag("provideClusterInfo", exec.provide_cluster_info);
  fields.text("installHint", exec.install_hint);
  out.end_object();
}

void write_user(JsonWriter& out, const ConnectionConfig& config) {
  Fields fields(out);
  out.begin_object();
  fields.data("client-certificate-data", config.certificate.pem);
  fields.data("client-key-data", config.key.pem);
  fields.text("token", config.token);
  fields.text("tokenFile", config.token_file);
  fields.text("username", config.username);
  fields.text("password", config.password);
  write_impersonation(out, config.impersonation);
  if (config.exec) write_exec(out, *config.exec);
  out.end_object();
}

// {"KIND": …} with its name, the only item of the list at `key`.
template <class Body>
void write_entry(JsonWriter& out, std::string_view list_key, std::string_view kind, Body body) {
  out.key(list_key).begin_array().begin_object();
  out.key("name").string(kName).key(kind);
  body();
  out.end_object().end_array();
}

}  // namespace

Result<std::string> write_hook_kubeconfig(const ConnectionConfig& config) {
  if (config.server.empty()) return fail(Errc::kConfig, "no server to write a kubeconfig for");
  JsonWriter out;
  out.begin_object();
  out.key("apiVersion").string("v1").key("kind").string("Config");
  out.key("current-context").string(kName);
  write_entry(out, "clusters", "cluster", [&] { write_cluster(out, config); });
  write_entry(out, "users", "user", [&] { write_user(out, config); });
  write_entry(out, "contexts", "context", [&] {
    out.begin_object().key("cluster").string(kName).key("user").string(kName);
    out.key("namespace").string(config.default_namespace).end_object();
  });
  out.end_object();
  return std::move(out).take() + "\n";
}

}  // namespace hookd::kube
