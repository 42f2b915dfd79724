// One cluster and one user entry of a kubeconfig, checked and with their files read. Thread: any.
// Source: k8s-client.md A3 (relative paths), A5 (what is an error), A6, A7, A13, A15, A16, A19.
#pragma once

#include "base/result.h"
#include "kube/kubeconfig.h"
#include "kube/kubeconfig_file.h"

namespace hookd::kube {

// Both fill their part of `out`; the cluster goes first. Errors: kConfig "FILE:LINE:COLUMN: user "x": key: …".
// `tls_by_user`: the user entry has a client certificate (A7: decides the scheme of a server without one).
Result<void> resolve_cluster(const FileCluster& cluster, bool tls_by_user, ConnectionConfig& out);
Result<void> resolve_user(const FileUser& user, ConnectionConfig& out);

}  // namespace hookd::kube
