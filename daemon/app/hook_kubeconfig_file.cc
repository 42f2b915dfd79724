#include "app/hook_kubeconfig_file.h"

#include "base/fd.h"
#include "base/log.h"
#include "kube/hook_kubeconfig.h"

namespace hookd::app {

void HookKubeconfigFile::refresh() {
  const SteadyTime now = scheduler_.now();
  auto tls = credentials_.tls();
  if (tls == written_ && (problem_.empty() || now < retry_)) return;
  written_ = std::move(tls);
  auto text = kube::write_hook_kubeconfig(credentials_.config());
  auto written = text ? write_file(path_, *text) : Failure(text.error());
  if (!written && written.error().what != problem_)
    log::error("hooks get no kubeconfig", {{"error", written.error().what}});
  problem_ = written ? "" : written.error().what;
  retry_ = now + kRetry;
}

}  // namespace hookd::app
