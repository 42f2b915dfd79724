#include "kube/kubeconfig.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "kube/in_cluster.h"
#include "kube/kubeconfig_file.h"
#include "kube/kubeconfig_resolve.h"

namespace hookd::kube {
namespace {

constexpr size_t kMaxFileBytes = 16u << 20;

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

struct Found {
  KubeconfigFile config;               // merged
  std::vector<std::string> looked_at;  // absolute paths, whether there or not
  bool by_flag = false;
};

std::string join(const std::vector<std::string>& items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

std::string absolute(const std::string& path) {
  std::error_code problem;
  const auto full = std::filesystem::absolute(path, problem);
  return problem ? path : full.lexically_normal().string();
}

Result<KubeconfigFile> load_file(const std::string& path) {
  auto text = read_named_file(path, kMaxFileBytes);
  if (!text) {
    Error error = text.error().with("kubeconfig");
    if (error.code != Errc::kNotFound) error.code = Errc::kConfig;
    return fail(std::move(error));
  }
  return parse_kubeconfig(*text, path);
}

// The files of KUBECONFIG: empty parts skipped, each once; none = the file in the home folder (A1).
std::vector<std::string> default_files(const LoadOptions& options, const Environment& environment) {
  const std::string list = environment("KUBECONFIG").value_or("");
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin)
      if (std::string path = absolute(list.substr(begin, end - begin)); std::ranges::find(out, path) == out.end())
        out.push_back(std::move(path));
    begin = end + 1;
  }
  if (!list.empty()) return out;
  const std::string home = options.home.empty() ? environment("HOME").value_or("") : options.home;
  if (!home.empty()) out.push_back(absolute(home + "/.kube/config"));
  return out;
}

Result<Found> find_files(const LoadOptions& options, const Environment& environment) {
  Found out;
  if (!options.explicit_path.empty()) {
    out.by_flag = true;
    out.looked_at = {absolute(options.explicit_path)};
    auto file = load_file(out.looked_at.front());
    if (!file) {
      Error error = std::move(file).error();
      error.code = Errc::kConfig;
      return fail(std::move(error));
    }
    out.config = std::move(*file);
    return out;
  }
  out.looked_at = default_files(options, environment);
  size_t missing = 0;
  for (const std::string& path : out.looked_at) {
    auto file = load_file(path);
    if (!file && file.error().code == Errc::kNotFound) {
      ++missing;
      continue;
    }
    if (!file) return fail(file.error());
    merge_kubeconfig(out.config, std::move(*file));
  }
  if (missing > 0 && missing == out.looked_at.size() && environment("KUBECONFIG").value_or("") != "")
    log::warn("none of the files in KUBECONFIG is there", {{"files", join(out.looked_at, ", ")}});
  return out;
}

template <class Entry>
const Entry* by_name(const std::vector<Entry>& entries, std::string_view name) {
  for (const Entry& entry : entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

template <class Entry>
std::string names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names.empty() ? "none" : join(names, ", ");
}

// No context is asked for by flag or file: the service account of the pod, if this is one (A1).
Result<ConnectionConfig> without_context(const Found& found, const LoadOptions& options,
                                         const Environment& environment) {
  const std::string files = found.looked_at.empty() ? "no KUBECONFIG, no HOME" : join(found.looked_at, ", ");
  const bool has_contexts = !found.config.contexts.empty();
  const std::string missing = has_contexts
                                  ? fmt::format("{}: no current-context is set; choose one with --context ({})", files,
                                                names_of(found.config.contexts))
                                  : fmt::format("{}: no kubeconfig with a context", files);
  if (found.by_flag) return fail(Errc::kConfig, "{}", missing);
  const std::string obstacle = why_not_in_cluster(environment, options.service_account_dir);
  if (obstacle.empty()) {
    if (has_contexts)
      log::warn("no current-context is set in the kubeconfig: the pod's own cluster is used", {{"files", files}});
    return in_cluster_connection(environment, options.service_account_dir);
  }
  if (has_contexts) return fail(Errc::kConfig, "{}", missing);
  return fail(Errc::kConfig, "no cluster to talk to: {}, and {}; name a file with --kubeconfig", missing, obstacle);
}

bool valid_namespace(std::string_view name) {  // DNS-1123 label
  return name.size() <= 63 && !name.starts_with('-') && !name.ends_with('-') &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == name.npos;
}

Result<ConnectionConfig> from_context(const FileContext& context, const KubeconfigFile& config) {
  const FileCluster* cluster = by_name(config.clusters, context.cluster.text);
  if (!context.cluster.set() || cluster == nullptr)
    return fail(Errc::kConfig, "{}: context \"{}\": cluster \"{}\" is not there (there are: {})",
                context.origin.where(context.cluster), context.name, context.cluster.text, names_of(config.clusters));
  // An unknown user is anonymous, not an error (A5).
  const FileUser* user = context.user.set() ? by_name(config.users, context.user.text) : nullptr;
  if (context.user.set() && user == nullptr)
    log::warn("the user of the context is not in the kubeconfig: going on without credentials",
              {{"context", context.name}, {"user", context.user.text}});
  ConnectionConfig out;
  out.context = context.name;
  if (context.default_namespace.set()) out.default_namespace = context.default_namespace.text;
  if (!valid_namespace(out.default_namespace))
    return fail(Errc::kConfig, "{}: context \"{}\": namespace: expected lower-case letters, digits and -",
                context.origin.where(context.default_namespace), context.name);
  const bool user_certificate = user != nullptr && (user->certificate_file.set() || user->certificate_data.set());
  HOOKD_CHECK(resolve_cluster(*cluster, user_certificate, out));
  if (user == nullptr) return out;
  HOOKD_CHECK(resolve_user(*user, out));
  if (out.exec) {
    out.exec->cluster_config = cluster->exec_config;
    return fail(Errc::kConfig,
                "user \"{}\" in {} uses an exec credential plugin, which hookd does not run yet; use a token file or "
                "client certificate",
                user->name, user->origin.file);
  }
  const bool secrets = !out.token.empty() || !out.token_file.empty() || !out.username.empty() ||
                       !out.password.empty() || !out.certificate.pem.empty();
  if (secrets && !out.is_https())
    log::warn("the server is reached over plain http: no credentials are sent", {{"server", out.server}});
  return out;
}

}  // namespace

std::string ConnectionConfig::describe() const {
  return in_cluster ? fmt::format("the pod's own cluster ({})", server)
                    : fmt::format("context \"{}\" ({}{})", context, server, base_path);
}

Result<ConnectionConfig> load_connection(const LoadOptions& options) {
  const Environment environment = options.environment ? options.environment : process_environment;
  HOOKD_TRY(const Found found, find_files(options, environment));
  const bool asked = !options.context.empty();
  const std::string name = asked ? options.context : found.config.current_context.text;
  if (name.empty()) return without_context(found, options, environment);
  const FileContext* context = by_name(found.config.contexts, name);
  if (context != nullptr) return from_context(*context, found.config);
  const std::string place = asked ? join(found.looked_at, ", ")
                                  : fmt::format("{}:{}:{}: current-context", found.config.current_context_file,
                                                found.config.current_context.line, found.config.current_context.column);
  return fail(Errc::kConfig, "{}: there is no context \"{}\" (there are: {})", place, name,
              names_of(found.config.contexts));
}

}  // namespace hookd::kube
