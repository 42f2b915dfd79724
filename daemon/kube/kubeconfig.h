// Where the API server is and who we are: a kubeconfig (KUBECONFIG list, --kubeconfig, ~/.kube/config) or the pod's
// service account, resolved to one plain value.
// Thread: any. Source: k8s-client.md A1-A8, A15-A16, A20; kubectl's "Organizing Cluster Access" page.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::kube {

// A PEM text; `file` is the absolute path it was read from, "" = it was given inline and never changes (A9).
struct PemText {
  std::string pem;
  std::string file;
};

struct Impersonation {  // A13
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;  // in the order of the file
};

struct ExecPlugin {  // A15, A16
  enum class Interactive { kNever, kIfAvailable, kAlways };
  std::string command;  // absolute path, or a bare name for PATH (A3)
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;  // client.authentication.k8s.io/v1 or …/v1beta1
  Interactive interactive = Interactive::kIfAvailable;
  bool provide_cluster_info = false;
  std::string cluster_config;  // JSON of the cluster's extension client.authentication.k8s.io/exec, "" = none
  std::string install_hint;    // control characters already taken out (A19)
};

// Holds secrets: never print it whole; describe() is safe.
struct ConnectionConfig {
  std::string server;  // "https://10.0.0.1:6443", "https://[fd00::1]:443": scheme, host, port if one was given; no path
  std::string base_path;          // "" or "/k8s/clusters/c-1": goes before every path, no slash at its end (A7)
  bool host_is_loopback = false;  // localhost, 127.0.0.0/8 or ::1: never through a proxy of the environment (A12)
  bool in_cluster = false;
  std::string context;  // name, "" = in-cluster
  std::string default_namespace = "default";

  PemText ca;           // empty pem = the system's roots; a file with empty pem = not there yet (A20)
  PemText certificate;  // client certificate chain
  PemText key;
  std::string token;       // given inline; the fall-back where there is a token_file too (A6)
  std::string token_file;  // absolute path
  std::string username;
  std::string password;
  std::string tls_server_name;
  bool insecure = false;  // no check of the server's certificate
  std::string proxy_url;  // "" = from the environment; may hold a password
  bool disable_compression = false;
  Impersonation impersonation;
  std::optional<ExecPlugin> exec;  // only when no token, token file or password is set (A5)

  bool is_https() const { return server.starts_with("https://"); }
  std::string describe() const;  // for people, no secrets: context "prod" (https://10.0.0.1:6443)
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct LoadOptions {
  std::string explicit_path;  // --kubeconfig: this file alone, it must exist; "" = KUBECONFIG, then HOME/.kube/config
  std::string context;        // --context; "" = current-context
  Environment environment;    // empty = the process's
  std::string home;           // "" = HOME of `environment`
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Finds, merges and checks; reads certificate and key files. In-cluster only where no kubeconfig says anything.
// Errors: kConfig, for people ("FILE:LINE:COLUMN: user "x": …"), without secrets.
Result<ConnectionConfig> load_connection(const LoadOptions& options);

}  // namespace hookd::kube
