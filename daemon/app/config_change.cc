#include "app/config_change.h"

#include <tuple>

namespace hookd::app {
namespace {

// One list for both functions: `visit(key, at once?, member of now, member of next)`.
template <class Now, class Next, class Visit>
void each_key(Now& now, Next& next, Visit visit) {
  visit("hooks", true, now.hooks, next.hooks);
  visit("log.level", true, now.log_level, next.log_level);
  visit("concurrency", true, now.concurrency, next.concurrency);
  visit("answerLimit", false, now.answer_limit_bytes, next.answer_limit_bytes);
  visit("grace", true, now.grace, next.grace);
  visit("reload", true, now.reload, next.reload);
  visit("runs.keep", true, now.runs_keep, next.runs_keep);
  visit("runs.bytes", true, now.runs_bytes, next.runs_bytes);
  visit("strict", false, now.strict, next.strict);
  visit("kubeconfig", false, now.kubeconfig, next.kubeconfig);
  visit("context", false, now.context, next.context);
  visit("listen", false, now.listen, next.listen);
  visit("log.format", false, now.log_format, next.log_format);
  visit("dryRun", false, now.dry_run, next.dry_run);
  visit("once", false, now.once, next.once);
  visit("stateDir", false, now.state_dir, next.state_dir);
  visit("state.configMap", false, now.state_config_map, next.state_config_map);
  visit("control", false, now.control, next.control);
  visit("cgroup", false, now.cgroup, next.cgroup);
  visit("metacontroller", false, now.metacontroller, next.metacontroller);
  visit("kube.qps", false, now.kube.qps, next.kube.qps);
  visit("kube.burst", false, now.kube.burst, next.kube.burst);
  visit("kube.compression", false, now.kube.compression, next.kube.compression);
  visit("kube.pageSize", false, now.kube.page_size, next.kube.page_size);
}

}  // namespace

ConfigChange compare(const config::DaemonConfig& now, const config::DaemonConfig& next) {
  ConfigChange change;
  each_key(now, next, [&](const char* key, bool at_once, const auto& old, const auto& fresh) {
    if (old != fresh) (at_once ? change.at_once : change.restart).emplace_back(key);
  });
  return change;
}

config::DaemonConfig applied(const config::DaemonConfig& now, const config::DaemonConfig& next) {
  config::DaemonConfig result = next;
  each_key(now, result, [](const char*, bool at_once, const auto& old, auto& fresh) {
    if (!at_once) fresh = old;
  });
  return result;
}

}  // namespace hookd::app
