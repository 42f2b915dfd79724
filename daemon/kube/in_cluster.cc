#include "kube/in_cluster.h"

#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "kube/pem.h"
#include "kube/server_url.h"
#include "kube/token_file.h"

namespace hookd::kube {
namespace {

constexpr char kHost[] = "KUBERNETES_SERVICE_HOST";
constexpr char kPort[] = "KUBERNETES_SERVICE_PORT";
constexpr size_t kMaxFileBytes = 4u << 20;

// POD_NAMESPACE, then the service account's own, then "default" (A8).
std::string pod_namespace(const Environment& environment, const std::string& service_account_dir) {
  if (const auto name = environment("POD_NAMESPACE"); name && !name->empty()) return *name;
  if (const auto content = read_file(service_account_dir + "/namespace", kMaxFileBytes))
    if (const std::string_view name = trim(*content); !name.empty()) return std::string(name);
  return "default";
}

PemText service_account_ca(const std::string& path) {
  PemText out{"", path};
  auto content = read_file(path, kMaxFileBytes);
  auto certificates = content ? read_certificates(*content) : Result<Certificates>(fail(content.error()));
  if (certificates)
    out.pem = std::move(certificates->pem);
  else
    log::warn("no CA of the cluster; the system's roots are used until it can be read",
              {{"file", path}, {"error", certificates.error().what}});
  return out;
}

}  // namespace

std::string why_not_in_cluster(const Environment& environment, const std::string& service_account_dir) {
  for (const char* name : {kHost, kPort})
    if (environment(name).value_or("").empty()) return fmt::format("not in a pod ({} is not set)", name);
  const std::string path = service_account_dir + "/token";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::is_directory(path, ignored))
    return fmt::format("in a pod, but without a service account token ({} is missing)", path);
  return "";
}

Result<ConnectionConfig> in_cluster_connection(const Environment& environment, const std::string& service_account_dir) {
  const std::string dir = std::filesystem::absolute(service_account_dir).lexically_normal();
  ConnectionConfig out;
  auto address = join_host_port(environment(kHost).value_or(""), environment(kPort).value_or(""));
  if (!address) return fail(address.error().with(fmt::format("{} and {} of the environment", kHost, kPort)));
  auto url = parse_server_url("https://" + *address, true);
  if (!url) return fail(url.error().with(kHost));
  out.server = url->origin;
  out.host_is_loopback = url->loopback;
  out.in_cluster = true;
  out.token_file = dir + "/token";
  auto token = read_token_file(out.token_file);
  if (!token) return fail(token.error());
  out.ca = service_account_ca(dir + "/ca.crt");
  out.default_namespace = pod_namespace(environment, dir);
  return out;
}

}  // namespace hookd::kube
