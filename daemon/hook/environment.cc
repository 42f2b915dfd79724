#include "hook/environment.h"

#include <algorithm>
#include <boost/process/v2/environment.hpp>
#include <map>

namespace hookd::hook {
namespace {

bool of_the_daemon_alone(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "KUBECONFIG",   "NOTIFY_SOCKET",         "LISTEN_FDS",     "LISTEN_PID",   "LISTEN_FDNAMES", "WATCHDOG_USEC",
      "WATCHDOG_PID", "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM", "INVOCATION_ID"};
  return name.starts_with("HOOKD_") || std::ranges::find(kNames, name) != std::end(kNames);
}

// Without these hardly any program starts, so that a restricted environment has them too.
bool always_needed(std::string_view name) {
  static constexpr std::string_view kNames[] = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

using Variables = std::map<std::string, std::string>;

// What every process of the hook gets.
Variables base_variables(const Hook& hook, const std::string& kubeconfig, const std::vector<std::string>& daemon) {
  Variables variables;
  for (const std::string& entry : daemon) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = entry.substr(0, equals);
    if (of_the_daemon_alone(name)) continue;
    const bool wanted = hook.run.inherit_all || always_needed(name) ||
                        std::ranges::find(hook.run.inherit_only, name) != hook.run.inherit_only.end();
    if (wanted) variables[name] = entry.substr(equals + 1);
  }
  // The home of another user is set by who becomes it (process/exec_shim): the daemon's cannot be read, and git fails.
  if (!hook.run.user.empty() && !hook.run.user.starts_with(':')) variables.erase("HOME");
  variables.try_emplace("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  for (const auto& [name, value] : hook.run.env) variables[name] = value;
  if (!kubeconfig.empty()) variables["KUBECONFIG"] = kubeconfig;
  variables["HOOKD_HOOK"] = hook.name;
  return variables;
}

std::vector<std::string> entries_of(const Variables& variables) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

std::vector<std::string> hook_environment(const Hook& hook, const CallNames& names,
                                          const std::vector<std::string>& daemon) {
  Variables variables = base_variables(hook, names.kubeconfig, daemon);
  variables["HOOKD_BINDING"] = names.binding;
  variables["HOOKD_CALL_ID"] = names.call_id;
  variables["HOOKD_ATTEMPT"] = std::to_string(names.attempt);
  variables["HOOKD_ANSWER"] = names.answer_file;
  return entries_of(variables);
}

std::vector<std::string> worker_environment(const Hook& hook, const std::string& kubeconfig,
                                            const std::vector<std::string>& daemon) {
  Variables variables = base_variables(hook, kubeconfig, daemon);
  variables["HOOKD_MODE"] = "worker";
  return entries_of(variables);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (const auto& entry : boost::process::v2::environment::current()) entries.push_back(entry.string());
  return entries;
}

}  // namespace hookd::hook
