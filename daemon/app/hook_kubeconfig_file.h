// The kubeconfig file that hooks get through KUBECONFIG, kept as the credentials are now. Thread: loop only.
// Source: product.md section 2: kubectl inside a hook talks to the cluster that the daemon talks to.
#pragma once

#include <memory>
#include <string>

#include "base/scheduler.h"
#include "kube/credentials.h"

namespace hookd::app {

class HookKubeconfigFile {
 public:
  // Lies in `folder`, the daemon's private one. Written by refresh().
  HookKubeconfigFile(std::string folder, kube::Credentials& credentials, Scheduler& scheduler)
      : path_(std::move(folder) + "/kubeconfig"), credentials_(credentials), scheduler_(scheduler) {}

  // Writes it if the credentials changed since, or if it could not be written the last time.
  void refresh();

  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }  // why hooks have none, "" = they have

 private:
  static constexpr Duration kRetry = std::chrono::seconds(10);

  std::string path_;
  kube::Credentials& credentials_;
  Scheduler& scheduler_;
  std::shared_ptr<const net::TlsOptions> written_;
  SteadyTime retry_{};
  std::string problem_;
};

}  // namespace hookd::app
