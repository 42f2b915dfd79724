// The kubeconfig that hooks get through KUBECONFIG, so that kubectl inside a hook talks to the daemon's cluster.
// Thread: any. Source: product.md section 2 (KUBECONFIG leads to the cluster that the daemon talks to).
#pragma once

#include <string>

#include "base/result.h"
#include "kube/kubeconfig.h"

namespace hookd::kube {

// One cluster, user and context, all named "hookd"; JSON, which every YAML reader takes. A token file is named by its
// absolute path, so that kubectl sees rotated tokens; everything else is inline. Holds secrets: write it with mode
// 0600. Errors: kConfig (no server).
Result<std::string> write_hook_kubeconfig(const ConnectionConfig& config);

}  // namespace hookd::kube
