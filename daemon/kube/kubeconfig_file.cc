#include "kube/kubeconfig_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/json_writer.h"

namespace hookd::kube {
namespace {

constexpr int kMaxMergeDepth = 8;  // of `<<` in `<<`
constexpr int kMaxExtensionDepth = 64;
constexpr size_t kMaxExtensionBytes = 1u << 20;  // aliases could make it as large as they like

struct Fault {  // thrown and caught in this file, as yaml-cpp throws anyway
  Error error;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  [[noreturn]] void fault(const YAML::Mark& mark, const std::string& what) const {
    const std::string place = mark.is_null() ? file_ : fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1);
    throw Fault{Error{Errc::kConfig, place + ": " + what, 0, {}, {}}};
  }

  // Of equal keys the last counts, as kubectl reads it; then what `<<` brings in, as kubectl knows YAML 1.1.
  YAML::Node find(const YAML::Node& map, std::string_view key, int depth = 0) const {
    YAML::Node found(YAML::NodeType::Undefined);
    YAML::Node merged(YAML::NodeType::Undefined);
    for (const auto& pair : map) {
      if (!pair.first.IsScalar()) continue;
      if (pair.first.Scalar() == key) found.reset(pair.second);
      if (pair.first.Scalar() == "<<") merged.reset(pair.second);
    }
    if (found.IsDefined() || !merged.IsDefined()) return found;
    if (depth == kMaxMergeDepth) fault(merged.Mark(), "merge keys (<<) nested too deeply");
    if (merged.IsMap()) return find(merged, key, depth + 1);
    if (!merged.IsSequence()) fault(merged.Mark(), "<<: expected a mapping or a list of mappings");
    for (const auto& item : merged) {
      if (!item.IsMap()) fault(item.Mark(), "<<: expected a list of mappings");
      YAML::Node got = find(item, key, depth + 1);
      if (got.IsDefined()) return got;
    }
    return found;
  }

  FileField field(const YAML::Node& map, const char* key) const {
    const YAML::Node node = find(map, key);
    if (!node.IsDefined() || node.IsNull()) return {};
    return FileField{scalar(node, key), node.Mark().line + 1, node.Mark().column + 1};
  }

  std::string scalar(const YAML::Node& node, const char* key) const {
    if (!node.IsScalar()) fault(node.Mark(), fmt::format("{}: expected a text", key));
    if (node.Scalar().find('\0') != std::string::npos) fault(node.Mark(), fmt::format("{}: has a NUL byte in it", key));
    return node.Scalar();
  }

  bool flag(const YAML::Node& map, const char* key) const {
    const YAML::Node node = find(map, key);
    if (!node.IsDefined() || node.IsNull()) return false;
    bool value = false;
    if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
      fault(node.Mark(), fmt::format("{}: expected true or false", key));
    return value;
  }

  std::vector<std::string> texts(const YAML::Node& map, const char* key) const {
    std::vector<std::string> out;
    for (const YAML::Node& item : items(map, key)) out.push_back(scalar(item, key));
    return out;
  }

  std::vector<YAML::Node> items(const YAML::Node& map, const char* key) const {
    const YAML::Node node = find(map, key);
    if (!node.IsDefined() || node.IsNull()) return {};
    if (!node.IsSequence()) fault(node.Mark(), fmt::format("{}: expected a list", key));
    return {node.begin(), node.end()};
  }

  // An absent or null mapping is an empty one.
  YAML::Node mapping(const YAML::Node& map, const char* key) const {
    const YAML::Node node = find(map, key);
    if (!node.IsDefined() || node.IsNull()) return YAML::Node(YAML::NodeType::Map);
    if (!node.IsMap()) fault(node.Mark(), fmt::format("{}: expected a mapping", key));
    return node;
  }

  FileOrigin origin(const YAML::Node& node) const { return {file_, node.Mark().line + 1, node.Mark().column + 1}; }

  void to_json(const YAML::Node& node, JsonWriter& out, int depth) const {
    if (depth > kMaxExtensionDepth || out.text().size() > kMaxExtensionBytes)
      fault(node.Mark(),
            fmt::format("extension is over {} levels or {} bytes", kMaxExtensionDepth, kMaxExtensionBytes));
    if (node.IsMap()) {
      out.begin_object();
      for (const auto& pair : node) {
        if (!pair.first.IsScalar()) fault(pair.first.Mark(), "extension: expected a text as key");
        out.key(pair.first.Scalar());
        to_json(pair.second, out, depth + 1);
      }
      out.end_object();
    } else if (node.IsSequence()) {
      out.begin_array();
      for (const auto& item : node) to_json(item, out, depth + 1);
      out.end_array();
    } else if (node.IsScalar()) {
      scalar_to_json(node, out);
    } else {
      out.null();
    }
  }

 private:
  static void scalar_to_json(const YAML::Node& node, JsonWriter& out) {
    bool flag = false;
    int64_t integer = 0;
    double real = 0;
    if (node.Tag() == "!")
      out.string(node.Scalar());  // quoted
    else if (YAML::convert<bool>::decode(node, flag))
      out.boolean(flag);
    else if (YAML::convert<int64_t>::decode(node, integer))
      out.number(integer);
    else if (YAML::convert<double>::decode(node, real))
      out.number(real);
    else
      out.string(node.Scalar());
  }

  const std::string& file_;
};

FileCluster read_cluster(const Reader& read, const YAML::Node& node) {
  FileCluster out;
  out.server = read.field(node, "server");
  out.ca_file = read.field(node, "certificate-authority");
  out.ca_data = read.field(node, "certificate-authority-data");
  out.tls_server_name = read.field(node, "tls-server-name");
  out.proxy_url = read.field(node, "proxy-url");
  out.insecure = read.flag(node, "insecure-skip-tls-verify");
  out.disable_compression = read.flag(node, "disable-compression");
  for (const YAML::Node& item : read.items(node, "extensions")) {
    if (!item.IsMap() || read.field(item, "name").text != "client.authentication.k8s.io/exec") continue;
    const YAML::Node extension = read.find(item, "extension");
    if (!extension.IsDefined()) continue;
    JsonWriter json;
    read.to_json(extension, json, 0);
    out.exec_config = std::move(json).take();
  }
  return out;
}

FileExec read_exec(const Reader& read, const YAML::Node& user) {
  FileExec out;
  const YAML::Node node = read.mapping(user, "exec");
  const YAML::Node given = read.find(user, "exec");
  out.present = given.IsDefined() && !given.IsNull();
  out.command = read.field(node, "command");
  out.api_version = read.field(node, "apiVersion");
  out.interactive_mode = read.field(node, "interactiveMode");
  out.install_hint = read.field(node, "installHint");
  out.args = read.texts(node, "args");
  out.provide_cluster_info = read.flag(node, "provideClusterInfo");
  for (const YAML::Node& item : read.items(node, "env")) {
    if (!item.IsMap()) read.fault(item.Mark(), "env: expected mappings with name and value");
    out.env.emplace_back(read.field(item, "name").text, read.field(item, "value").text);
  }
  return out;
}

FileUser read_user(const Reader& read, const YAML::Node& node) {
  FileUser out;
  out.certificate_file = read.field(node, "client-certificate");
  out.certificate_data = read.field(node, "client-certificate-data");
  out.key_file = read.field(node, "client-key");
  out.key_data = read.field(node, "client-key-data");
  out.token = read.field(node, "token");
  out.token_file = read.field(node, "tokenFile");
  out.username = read.field(node, "username");
  out.password = read.field(node, "password");
  out.as = read.field(node, "as");
  out.as_uid = read.field(node, "as-uid");
  out.as_groups = read.texts(node, "as-groups");
  const YAML::Node extra = read.mapping(node, "as-user-extra");
  for (const auto& pair : extra)
    out.as_extra.emplace_back(read.scalar(pair.first, "as-user-extra"), read.texts(extra, pair.first.Scalar().c_str()));
  out.exec = read_exec(read, node);
  const YAML::Node provider = read.find(node, "auth-provider");
  if (provider.IsMap()) {
    out.auth_provider = read.field(provider, "name");
    if (!out.auth_provider.set()) out.auth_provider = {"?", provider.Mark().line + 1, provider.Mark().column + 1};
  }
  return out;
}

FileContext read_context(const Reader& read, const YAML::Node& node) {
  FileContext out;
  out.cluster = read.field(node, "cluster");
  out.user = read.field(node, "user");
  out.default_namespace = read.field(node, "namespace");
  return out;
}

// The list at `list_key`, each item {name, entry_key: {…}}.
template <class Entry>
std::vector<Entry> read_entries(const Reader& read, const YAML::Node& root, const char* list_key, const char* entry_key,
                                Entry (*read_entry)(const Reader&, const YAML::Node&)) {
  std::vector<Entry> out;
  for (const YAML::Node& item : read.items(root, list_key)) {
    if (!item.IsMap())
      read.fault(item.Mark(), fmt::format("{}: expected mappings with name and {}", list_key, entry_key));
    const std::string name = read.field(item, "name").text;
    for (const Entry& other : out)
      if (other.name == name)
        read.fault(item.Mark(),
                   fmt::format("{} \"{}\" is there twice, first in line {}", entry_key, name, other.origin.line));
    out.push_back(read_entry(read, read.mapping(item, entry_key)));
    out.back().name = name;
    out.back().origin = read.origin(item);
  }
  return out;
}

KubeconfigFile read_root(const Reader& read, const YAML::Node& root) {
  KubeconfigFile out;
  if (!root.IsDefined() || root.IsNull()) return out;
  if (!root.IsMap()) read.fault(root.Mark(), "expected a kubeconfig: a mapping with clusters, users and contexts");
  const FileField kind = read.field(root, "kind");
  const FileField api_version = read.field(root, "apiVersion");
  if ((kind.set() && kind.text != "Config") || (api_version.set() && api_version.text != "v1"))
    read.fault(root.Mark(), "not a kubeconfig: expected kind Config and apiVersion v1 (or neither)");
  out.clusters = read_entries<FileCluster>(read, root, "clusters", "cluster", read_cluster);
  out.users = read_entries<FileUser>(read, root, "users", "user", read_user);
  out.contexts = read_entries<FileContext>(read, root, "contexts", "context", read_context);
  out.current_context = read.field(root, "current-context");
  return out;
}

template <class Entry>
void merge_entries(std::vector<Entry>& into, std::vector<Entry>& from) {
  for (Entry& entry : from)
    if (std::ranges::none_of(into, [&](const Entry& have) { return have.name == entry.name; }))
      into.push_back(std::move(entry));
}

}  // namespace

std::string FileOrigin::where(const FileField& field) const {
  return field.line > 0 ? fmt::format("{}:{}:{}", file, field.line, field.column)
                        : fmt::format("{}:{}:{}", file, line, column);
}

Result<KubeconfigFile> parse_kubeconfig(std::string_view text, const std::string& file) {
  const Reader read(file);
  try {
    KubeconfigFile out = read_root(read, YAML::Load(std::string(text)));
    if (out.current_context.set()) out.current_context_file = file;
    return out;
  } catch (const Fault& fault) {
    return fail(fault.error);
  } catch (const YAML::Exception& exception) {
    // After a colon yaml-cpp may quote the text ("anchor is not defined: …"), which may be a password that begins with
    // *.
    const std::string what = exception.msg.substr(0, exception.msg.find(':'));
    if (exception.mark.is_null()) return fail(Errc::kConfig, "{}: not YAML: {}", file, what);
    return fail(Errc::kConfig, "{}:{}:{}: not YAML: {}", file, exception.mark.line + 1, exception.mark.column + 1,
                what);
  } catch (const std::exception&) {
    return fail(Errc::kConfig, "{}: not YAML that can be read", file);
  }
}

void merge_kubeconfig(KubeconfigFile& into, KubeconfigFile from) {
  merge_entries(into.clusters, from.clusters);
  merge_entries(into.users, from.users);
  merge_entries(into.contexts, from.contexts);
  if (!into.current_context.set()) {
    into.current_context = from.current_context;
    into.current_context_file = from.current_context_file;
  }
}

}  // namespace hookd::kube
