#include "kube/kubeconfig_resolve.h"

#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "kube/base64.h"
#include "kube/pem.h"
#include "kube/server_url.h"
#include "kube/token_file.h"

namespace hookd::kube {
namespace {

constexpr size_t kMaxPemBytes = 4u << 20;

// Names the entry and the key in every error.
class Entry {
 public:
  Entry(const char* kind, const std::string& name, const FileOrigin& origin)
      : label_(fmt::format("{} \"{}\"", kind, name)), origin_(origin) {}

  Failure error(const FileField& field, const char* key, std::string_view what) const {
    return fail(Errc::kConfig, "{}: {}: {}: {}", origin_.where(field), label_, key, what);
  }
  Failure error(const FileField& field, std::string_view what) const {
    return fail(Errc::kConfig, "{}: {}: {}", origin_.where(field), label_, what);
  }

  // Absolute, against the folder of the file that defined the entry (A3).
  std::string path(const std::string& given) const {
    return (std::filesystem::path(origin_.file).parent_path() / given).lexically_normal();
  }

  // The text of a pair of keys NAME (a file) and NAME-data (base64).
  Result<PemText> pem(const FileField& file, const FileField& data, const char* key) const {
    const std::string data_key = std::string(key) + "-data";
    if (file.set() && data.set()) return error(data, fmt::format("{} and {} are both given; keep one", key, data_key));
    if (data.set()) {
      auto decoded = base64_decode(trim(data.text));
      if (!decoded) return error(data, data_key.c_str(), "not base64");
      if (decoded->empty()) return error(data, data_key.c_str(), "is empty");
      return PemText{std::move(*decoded), ""};
    }
    if (!file.set()) return PemText{};
    PemText out{"", path(file.text)};
    auto content = read_file(out.file, kMaxPemBytes);
    if (!content) return error(file, key, content.error().what);
    out.pem = std::move(*content);
    return out;
  }

  // Keeps the certificates alone; `pem` may be empty.
  Result<void> certificates(PemText& pem, const FileField& file, const FileField& data, const char* key) const {
    if (!file.set() && !data.set()) return {};
    auto read = read_certificates(pem.pem);
    if (!read) return pem_error(pem, file, data, key, read.error().what);
    if (read->skipped > 0)
      log::warn("some certificates cannot be read and are left out",
                {{"entry", label_}, {"key", key}, {"count", read->skipped}});
    pem.pem = std::move(read->pem);
    return {};
  }

  Failure pem_error(const PemText& pem, const FileField& file, const FileField& data, const char* key,
                    std::string_view what) const {
    if (pem.file.empty()) return error(data, (std::string(key) + "-data").c_str(), what);
    return error(file, key, fmt::format("{}: {}", pem.file, what));
  }

 private:
  std::string label_;
  const FileOrigin& origin_;
};

Result<void> resolve_impersonation(const Entry& entry, const FileUser& user, Impersonation& out) {
  if (!user.as.set()) {
    if (user.as_uid.set()) return entry.error(user.as_uid, "as-uid", "needs \"as\" beside it: the user to act as");
    if (!user.as_groups.empty()) return entry.error({}, "as-groups", "needs \"as\" beside it: the user to act as");
    if (!user.as_extra.empty()) return entry.error({}, "as-user-extra", "needs \"as\" beside it: the user to act as");
    return {};
  }
  bool clean = is_header_value(user.as.text) && is_header_value(user.as_uid.text);
  for (const std::string& group : user.as_groups) clean = clean && is_header_value(group);
  for (const auto& [key, values] : user.as_extra)
    for (const std::string& value : values) clean = clean && is_header_value(value);
  if (!clean)
    return entry.error(user.as, "as", "a line break or control character in it or in its uid, groups or extra");
  out = {user.as.text, user.as_uid.text, user.as_groups, user.as_extra};
  return {};
}

Result<ExecPlugin::Interactive> exec_interactive(const Entry& entry, const FileExec& exec) {
  using Interactive = ExecPlugin::Interactive;
  const std::string& mode = exec.interactive_mode.text;
  if (mode == "Never") return Interactive::kNever;
  if (mode == "IfAvailable") return Interactive::kIfAvailable;
  if (mode == "Always") return Interactive::kAlways;
  if (!mode.empty())
    return entry.error(exec.interactive_mode, "exec.interactiveMode", "expected Never, IfAvailable or Always");
  if (exec.api_version.text.ends_with("/v1"))
    return entry.error(exec.api_version, "exec.interactiveMode",
                       "is missing; with v1 it must be Never, IfAvailable or Always");
  return Interactive::kIfAvailable;
}

std::string printable(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; });
  return out;
}

Result<ExecPlugin> resolve_exec(const Entry& entry, const FileExec& exec) {
  ExecPlugin out;
  if (!exec.command.set()) return entry.error(exec.command, "exec.command", "is missing");
  if (!exec.api_version.set()) return entry.error(exec.api_version, "exec.apiVersion", "is missing");
  out.api_version = exec.api_version.text;
  if (out.api_version != "client.authentication.k8s.io/v1" && out.api_version != "client.authentication.k8s.io/v1beta1")
    return entry.error(exec.api_version, "exec.apiVersion",
                       "expected client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
  HOOKD_TRY(out.interactive, exec_interactive(entry, exec));
  if (out.interactive == ExecPlugin::Interactive::kAlways)  // A16: a daemon has no terminal
    return entry.error(exec.interactive_mode, "exec.interactiveMode",
                       "is Always, but a daemon has no terminal to ask on");
  const bool bare = exec.command.text.find('/') == std::string::npos;
  out.command = bare ? exec.command.text : entry.path(exec.command.text);
  out.args = exec.args;
  out.env = exec.env;
  for (const auto& [name, value] : out.env)
    if (name.empty() || name.find('=') != name.npos)
      return entry.error(exec.command, "exec.env", "a name is empty or has = in it");
  out.provide_cluster_info = exec.provide_cluster_info;
  out.install_hint = printable(exec.install_hint.text);
  return out;
}

Result<void> resolve_certificate(const Entry& entry, const FileUser& user, ConnectionConfig& out) {
  HOOKD_TRY(out.certificate, entry.pem(user.certificate_file, user.certificate_data, "client-certificate"));
  HOOKD_TRY(out.key, entry.pem(user.key_file, user.key_data, "client-key"));
  const bool has_certificate = user.certificate_file.set() || user.certificate_data.set();
  const bool has_key = user.key_file.set() || user.key_data.set();
  if (has_certificate && !has_key)
    return entry.error(user.certificate_file.set() ? user.certificate_file : user.certificate_data,
                       "a client certificate without client-key or client-key-data");
  if (has_key && !has_certificate) {  // not an error for kubectl either
    log::warn("a client key without a client certificate is not used",
              {{"user", user.name}, {"file", user.origin.file}});
    out.key = {};
  }
  if (!has_certificate) return {};
  HOOKD_CHECK(entry.certificates(out.certificate, user.certificate_file, user.certificate_data, "client-certificate"));
  if (auto pair = check_key_pair(out.certificate.pem, out.key.pem); !pair)
    return entry.pem_error(out.key, user.key_file, user.key_data, "client-key", pair.error().what);
  return {};
}

Result<void> resolve_token(const Entry& entry, const FileUser& user, ConnectionConfig& out) {
  out.token = trim(user.token.text);
  if (!is_header_value(out.token)) return entry.error(user.token, "token", "a line break or control character in it");
  out.username = user.username.text;
  out.password = user.password.text;
  const bool basic = !out.username.empty() || !out.password.empty();
  const FileField& token = user.token.set() ? user.token : user.token_file;
  if (basic && token.set()) return entry.error(token, "a token and username/password are both given; keep one");
  if (!user.token_file.set()) return {};
  out.token_file = entry.path(user.token_file.text);
  if (!out.token.empty() || !out.is_https()) return {};  // A6: the inline token is the fall-back; A7: none is sent
  if (auto read = read_token_file(out.token_file); !read)
    return entry.error(user.token_file, "tokenFile", read.error().what);
  return {};
}

}  // namespace

Result<void> resolve_cluster(const FileCluster& cluster, bool tls_by_user, ConnectionConfig& out) {
  const Entry entry("cluster", cluster.name, cluster.origin);
  if (!cluster.server.set())
    return entry.error(cluster.server, "server", "is missing; expected a URL like https://10.0.0.1:6443");
  const bool has_ca = cluster.ca_file.set() || cluster.ca_data.set();
  auto url = parse_server_url(trim(cluster.server.text), has_ca || tls_by_user || cluster.insecure);
  if (!url) return entry.error(cluster.server, "server", url.error().what);
  out.server = url->origin;
  out.base_path = url->base_path;
  out.host_is_loopback = url->loopback;
  out.tls_server_name = cluster.tls_server_name.text;
  out.insecure = cluster.insecure;
  out.disable_compression = cluster.disable_compression;
  out.proxy_url = cluster.proxy_url.text;
  if (cluster.proxy_url.set())
    if (auto proxy = check_proxy_url(out.proxy_url); !proxy)
      return entry.error(cluster.proxy_url, "proxy-url", proxy.error().what);
  HOOKD_TRY(out.ca, entry.pem(cluster.ca_file, cluster.ca_data, "certificate-authority"));
  if (has_ca && out.insecure)
    return entry.error(cluster.ca_file.set() ? cluster.ca_file : cluster.ca_data,
                       "insecure-skip-tls-verify and a certificate authority are both given; keep one");
  return entry.certificates(out.ca, cluster.ca_file, cluster.ca_data, "certificate-authority");
}

Result<void> resolve_user(const FileUser& user, ConnectionConfig& out) {
  const Entry entry("user", user.name, user.origin);
  if (user.auth_provider.set())
    return entry.error(user.auth_provider, "auth-provider",
                       "is not supported any more by Kubernetes; use an exec plugin or a token");
  HOOKD_CHECK(resolve_token(entry, user, out));
  HOOKD_CHECK(resolve_certificate(entry, user, out));
  HOOKD_CHECK(resolve_impersonation(entry, user, out.impersonation));
  if (!user.exec.present) return {};
  HOOKD_TRY(ExecPlugin exec, resolve_exec(entry, user.exec));
  const bool has_authorization =
      !out.token.empty() || !out.token_file.empty() || !out.username.empty() || !out.password.empty();
  if (!has_authorization && out.is_https()) out.exec = std::move(exec);
  return {};
}

}  // namespace hookd::kube
