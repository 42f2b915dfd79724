// `hookd rbac`: the least rights that hooks need, as manifests.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "app/load_hooks.h"
#include "app/rbac.h"
#include "app/rbac_manifests.h"
#include "cli/cli.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/rest_client.h"
#include "net/curl_transport.h"
#include "rehearsal/known_types.h"

namespace hookd::cli {
namespace {

// What the cluster serves now.
Result<kube::ResourceTable> served_types(const RbacOptions& options) {
  kube::LoadOptions load;
  load.explicit_path = options.kubeconfig;
  load.context = options.context;
  HOOKD_TRY(const auto connection, kube::load_connection(load));
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  net::CurlTransport transport(scheduler);
  kube::Credentials credentials(connection, scheduler);
  kube::RestClient client(transport, credentials, connection, scheduler);
  kube::Discovery discovery(client, scheduler);
  std::optional<Result<void>> looked;
  discovery.refresh([&](Result<void> result) {
    looked = std::move(result);
    context.stop();
  });
  if (!looked) context.run();
  if (!looked) return fail(Errc::kUnavailable, "{}: no answer", connection.describe());
  if (!*looked) return fail(looked->error().with(connection.describe()));
  return discovery.table();
}

Result<kube::ResourceTable> all_types(const RbacOptions& options) {
  kube::ResourceTable table;
  if (options.kubeconfig.empty() && options.context.empty()) {
    table = rehearsal::builtin_types();
  } else {
    HOOKD_TRY(table, served_types(options));
    for (const auto& group : table.failed_groups)
      fmt::print(stderr, "note: the server knows {}, but that does not answer now\n", group);
  }
  for (const std::string& path : options.hooks) {
    std::error_code error;
    const bool folder = std::filesystem::is_directory(path, error);
    const auto beside = std::filesystem::path(path).parent_path();
    HOOKD_CHECK(rehearsal::add_defined_types(folder ? path : beside.empty() ? "." : beside.string(), table));
  }
  for (const std::string& path : options.crds) HOOKD_CHECK(rehearsal::add_defined_types(path, table));
  return table;
}

// DNS-1123 subdomain, as the server asks of these names.
bool is_name(std::string_view text) {
  const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253 || !alnum(text.front()) || !alnum(text.back())) return false;
  return std::ranges::all_of(text, [&](char c) { return alnum(c) || c == '-' || c == '.'; });
}

Result<app::RbacNames> names_of(const RbacOptions& options) {
  app::RbacNames names;
  const size_t slash = options.service_account.find('/');
  if (slash != std::string::npos) {
    names.account_ns = options.service_account.substr(0, slash);
    names.account = options.service_account.substr(slash + 1);
  }
  if (slash == std::string::npos || !is_name(names.account_ns) || !is_name(names.account))
    return fail(Errc::kConfig, "--service-account {}: NAMESPACE/NAME was expected, like hookd/hookd",
                options.service_account);
  names.role = options.name.empty() ? names.account : options.name;
  if (!is_name(names.role))
    return fail(Errc::kConfig, "--name {}: lower case letters, digits, '-' and '.' were expected", names.role);
  names.make_account = !options.no_service_account;
  return names;
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./:=,+@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Without the kubeconfig: that is a matter of who runs it, and the output does not follow from its path.
std::string command_line(const RbacOptions& options) {
  std::string line = "hookd rbac";
  const auto add = [&](std::string_view flag, const std::string& value) {
    line += fmt::format(" {} {}", flag, shell_word(value));
  };
  if (options.service_account != RbacOptions{}.service_account) add("--service-account", options.service_account);
  if (options.no_service_account) line += " --no-service-account";
  if (!options.name.empty()) add("--name", options.name);
  for (const auto& path : options.crds) add("--crds", path);
  if (!options.config_file.empty()) add("--config", options.config_file);
  if (!options.state_config_map.empty()) add("--state-config-map", options.state_config_map);
  for (const auto& path : options.hooks) line += " " + shell_word(path);
  return line;
}

Result<int> print_rights(const RbacOptions& options) {
  app::RbacNames names;
  HOOKD_TRY(names, names_of(options));
  names.command = command_line(options);
  app::RbacNeeds needs;
  if (!options.config_file.empty()) {
    HOOKD_TRY(const auto config,
              config::load_daemon_config(options.config_file, [](const std::string&) { return std::nullopt; }));
    needs.state_config_map = config.state_config_map;
    needs.state_dir = !config.state_dir.empty();
  }
  if (!options.state_config_map.empty()) {
    const size_t slash = options.state_config_map.find('/');
    const std::string_view place = options.state_config_map;
    if (slash == std::string::npos || !is_name(place.substr(0, slash)) || !is_name(place.substr(slash + 1)))
      return fail(Errc::kConfig, "--state-config-map {}: NAMESPACE/NAME was expected", place);
    needs.state_config_map = place;
  }
  auto loaded = app::load_hooks(options.hooks);
  for (const auto& error : loaded.errors) fmt::print(stderr, "{}\n", error.text());
  if (!loaded.errors.empty())
    return fail(Errc::kConfig, "what a broken hook needs cannot be known: nothing is printed");
  if (loaded.hooks.empty())
    return fail(Errc::kConfig, "no hook was found; hooks are files named hook.yaml or NAME.hook.yaml");
  needs.hooks = std::move(loaded.hooks);

  HOOKD_TRY(const auto types, all_types(options));
  const auto plan = app::plan_rights(needs, types);
  if (!plan) {
    const bool cluster = !options.kubeconfig.empty() || !options.context.empty();
    return fail(Errc::kConfig, "{}\n{}", plan.error().what,
                cluster ? "for kinds that the cluster is yet to get: --crds FILE with their CustomResourceDefinitions"
                        : "known are the kinds of Kubernetes and those that CustomResourceDefinitions in the folders "
                          "define: give others with --crds FILE, or ask the cluster with --kubeconfig FILE or "
                          "--context NAME");
  }
  for (const auto& note : plan->notes) fmt::print(stderr, "{}\n", note);
  fmt::print("{}", options.output == "json" ? app::rbac_json(*plan, names) : app::rbac_yaml(*plan, names));
  return options.strict && !plan->complete ? 1 : 0;
}

}  // namespace

int run_rbac(const RbacOptions& options) {
  auto code = print_rights(options);
  if (code) return *code;
  fmt::print(stderr, "hookd rbac: {}\n", code.error().what);
  return 1;
}

}  // namespace hookd::cli
