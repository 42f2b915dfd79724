// The connection of a pod, by its service account. Thread: any. Source: k8s-client.md A8, A20.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/kubeconfig.h"

namespace hookd::kube {

// "" = the pod's service account can be used; else why not, for people.
std::string why_not_in_cluster(const Environment& environment, const std::string& service_account_dir);

// A missing or bad ca.crt is only logged: the system's roots count until it is there (A20).
// Errors: kConfig (host, port, token file).
Result<ConnectionConfig> in_cluster_connection(const Environment& environment, const std::string& service_account_dir);

}  // namespace hookd::kube
