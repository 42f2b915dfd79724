// One kubeconfig file as typed entries that remember where they stand; nothing is resolved or checked against anything.
// Thread: any. Source: k8s-client.md A4 (case, unknown fields, JSON, duplicate names); the Config v1 API type.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::kube {

// A string field and its place. "" is the same as absent, as for kubectl.
struct FileField {
  std::string text;
  int line = 0;  // 1-based, 0 = absent
  int column = 0;
  bool set() const { return !text.empty(); }
};

// Where an entry stands; the file matters after merging (A3).
struct FileOrigin {
  std::string file;
  int line = 0;
  int column = 0;
  std::string where(const FileField& field) const;  // "FILE:LINE:COLUMN" of the field, else of the entry
};

struct FileCluster {
  std::string name;
  FileOrigin origin;
  FileField server, ca_file, ca_data, tls_server_name, proxy_url;
  bool insecure = false;
  bool disable_compression = false;
  std::string exec_config;  // JSON of the extension client.authentication.k8s.io/exec, "" = none
};

struct FileExec {
  bool present = false;
  FileField command, api_version, interactive_mode, install_hint;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  bool provide_cluster_info = false;
};

struct FileUser {
  std::string name;
  FileOrigin origin;
  FileField certificate_file, certificate_data, key_file, key_data;
  FileField token, token_file, username, password;
  FileField as, as_uid;
  std::vector<std::string> as_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> as_extra;
  FileExec exec;
  FileField auth_provider;  // its name; no client runs them any more
};

struct FileContext {
  std::string name;
  FileOrigin origin;
  FileField cluster, user, default_namespace;
};

struct KubeconfigFile {
  std::vector<FileCluster> clusters;
  std::vector<FileUser> users;
  std::vector<FileContext> contexts;
  FileField current_context;
  std::string current_context_file;
};

// YAML or JSON; `file` is for messages and relative paths. An empty text is an empty configuration.
// Errors: kConfig "FILE:LINE:COLUMN: …", never with a value of the text in it.
Result<KubeconfigFile> parse_kubeconfig(std::string_view text, const std::string& file);

// Adds the names that `into` has not: the first file wins for a name as a whole, and for the current context (A2).
void merge_kubeconfig(KubeconfigFile& into, KubeconfigFile from);

}  // namespace hookd::kube
