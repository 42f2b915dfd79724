// A hook's environment. Pure. Thread: any. Source: product.md sections 1 (`env`, `inheritEnv`) and 2.
#pragma once

#include <string>
#include <vector>

#include "hook/model.h"

namespace hookd::hook {

struct CallNames {
  std::string call_id;
  std::string binding;  // of the first event
  int attempt = 1;
  std::string answer_file;
  std::string kubeconfig;  // "" = leave KUBECONFIG as it is
};

// `daemon` is the daemon's own environment ("NAME=value"). Of it a hook never gets the daemon's settings (HOOKD_*),
// what the service manager gave the daemon alone, or its KUBECONFIG. `run.env` wins over what is inherited; the names
// of product.md section 2 win over everything.
std::vector<std::string> hook_environment(const Hook& hook, const CallNames& names,
                                          const std::vector<std::string>& daemon);

// The same for a process that stays: no names of a call, HOOKD_MODE=worker instead.
std::vector<std::string> worker_environment(const Hook& hook, const std::string& kubeconfig,
                                            const std::vector<std::string>& daemon);

std::vector<std::string> own_environment();  // of this process

}  // namespace hookd::hook
