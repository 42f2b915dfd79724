#include "config/daemon_config.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "config/nearest.h"
#include "config/reader.h"
#include "config/yaml_scalar.h"

namespace hookd::config {
namespace {

using std::chrono::hours;

constexpr size_t kConfigLimitBytes = 1u << 20;

// Where a key stands in the file and how its environment variable is called.
struct EnvKey {
  std::string_view variable;
  std::string_view section;  // "" = top level
  std::string_view key;
};
constexpr EnvKey kEnvKeys[] = {
    {"HOOKD_HOOKS", "", "hooks"},
    {"HOOKD_KUBECONFIG", "", "kubeconfig"},
    {"HOOKD_CONTEXT", "", "context"},
    {"HOOKD_STRICT", "", "strict"},
    {"HOOKD_LISTEN", "", "listen"},
    {"HOOKD_LOG_LEVEL", "log", "level"},
    {"HOOKD_LOG_FORMAT", "log", "format"},
    {"HOOKD_DRY_RUN", "", "dryRun"},
    {"HOOKD_ONCE", "", "once"},
    {"HOOKD_CONCURRENCY", "", "concurrency"},
    {"HOOKD_ANSWER_LIMIT", "", "answerLimit"},
    {"HOOKD_GRACE", "", "grace"},
    {"HOOKD_RELOAD", "", "reload"},
    {"HOOKD_KUBE_QPS", "kube", "qps"},
    {"HOOKD_KUBE_BURST", "kube", "burst"},
    {"HOOKD_KUBE_COMPRESSION", "kube", "compression"},
    {"HOOKD_KUBE_PAGE_SIZE", "kube", "pageSize"},
    {"HOOKD_CONTROL", "", "control"},
    {"HOOKD_STATE_DIR", "", "stateDir"},
    {"HOOKD_STATE_CONFIG_MAP", "state", "configMap"},
    {"HOOKD_RUNS_KEEP", "runs", "keep"},
    {"HOOKD_RUNS_BYTES", "runs", "bytes"},
    {"HOOKD_CGROUP", "", "cgroup"},
    {"HOOKD_METACONTROLLER", "", "metacontroller"},
};

std::string against(const std::filesystem::path& folder, const std::string& path) {
  const std::filesystem::path given(path);
  return (given.is_absolute() || folder.empty() ? given : folder / given).lexically_normal().string();
}

// "NAMESPACE/NAME", both as Kubernetes takes them.
bool is_object_place(std::string_view text) {
  const size_t slash = text.find('/');
  const auto good = [](std::string_view name, size_t most, bool dots) {
    return !name.empty() && name.size() <= most && name.front() != '-' && name.front() != '.' && name.back() != '-' &&
           name.back() != '.' && std::ranges::all_of(name, [&](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || (dots && c == '.');
           });
  };
  return slash != std::string_view::npos && good(text.substr(0, slash), 63, false) &&
         good(text.substr(slash + 1), 253, true);
}

// `stateDir` or `state.configMap`; the later source (environment after file) takes the place of the other one.
void read_state_place(Reader& r, const std::filesystem::path& folder, DaemonConfig& out) {
  std::string text;
  const bool has_folder = r.string("stateDir", text);
  if (has_folder) {
    out.state_dir = text == "none" ? "" : against(folder, text);
    out.state_config_map.clear();
  }
  auto section = r.map("state");
  if (!section) return;
  if (section->string("configMap", text)) {
    if (!is_object_place(text))
      section->problem("configMap",
                       fmt::format("\"{}\" is no ConfigMap; expected NAMESPACE/NAME such as hookd/state", text));
    else if (has_folder)
      section->problem("configMap", "stands beside stateDir; the state is kept in one place, take one away");
    out.state_config_map = text;
    out.state_dir.clear();
  }
  section->finish();
}

// `true`, `false`, or a map, which is `true` with settings.
void read_metacontroller(Reader& r, const std::filesystem::path& folder, MetacontrollerConfig& out) {
  const Node* node = r.raw("metacontroller");
  if (!node) return;
  if (node->kind != Node::Kind::kMap) {
    r.boolean("metacontroller", out.enabled);
    return;
  }
  auto section = r.map("metacontroller");
  if (!section) return;
  out.enabled = true;
  section->boolean("enabled", out.enabled);
  section->one_of("applyStrategy", out.server_side_apply, {{"dynamic-apply", false}, {"server-side-apply", true}});
  section->string("ssaFieldManager", out.ssa_field_manager);
  section->string("targetLabelSelector", out.target_label_selector);
  section->integer("workers", out.workers, 1, 1000);
  if (std::string text; section->string("execFolder", text))
    out.exec_folder = text == "none" ? "" : against(folder, text);
  section->boolean("builtInParents", out.built_in_parents);
  read_guard(*section, out.guard);
  section->finish();
}

// Reads all keys of one map into `out`; `folder` is what relative paths are taken from, "" = as they are.
void read_config(const Node& root, Problems& problems, const std::filesystem::path& folder, DaemonConfig& out) {
  Reader r(root, "", problems);
  if (r.string_list("hooks", out.hooks))
    for (std::string& directory : out.hooks) directory = against(folder, directory);
  if (r.string("kubeconfig", out.kubeconfig) && out.kubeconfig.find(':') == std::string::npos)
    out.kubeconfig = against(folder, out.kubeconfig);
  r.string("context", out.context);
  r.boolean("strict", out.strict);
  if (std::string text; r.string("listen", text)) {
    if (auto listen = parse_listen(text))
      out.listen = *listen;
    else
      r.problem("listen", listen.error().what);
  }
  if (auto section = r.map("log")) {
    section->one_of("level", out.log_level,
                    {{"debug", log::Level::kDebug},
                     {"info", log::Level::kInfo},
                     {"warn", log::Level::kWarn},
                     {"error", log::Level::kError}});
    section->one_of<std::optional<log::Format>>(
        "format", out.log_format, {{"auto", std::nullopt}, {"text", log::Format::kText}, {"json", log::Format::kJson}});
    section->finish();
  }
  r.boolean("dryRun", out.dry_run);
  r.boolean("once", out.once);
  r.integer("concurrency", out.concurrency, 1, 1000);
  r.quantity("answerLimit", out.answer_limit_bytes, 1024, uint64_t{4} << 30);
  r.duration("grace", out.grace, Duration{0}, hours(1));
  r.boolean("reload", out.reload);
  if (std::string text; r.string("control", text))
    out.control = text == "off" ? "" : std::filesystem::path(text).is_absolute() ? text : against(folder, text);
  if (std::string text; r.string("cgroup", text)) {
    if (text == "auto" || text == "off" || text.starts_with('/'))
      out.cgroup = text;
    else
      r.problem("cgroup",
                fmt::format("expected auto, off or the absolute path of a cgroup v2 folder, found \"{}\"", text));
  }
  read_state_place(r, folder, out);
  if (auto section = r.map("runs")) {
    section->integer("keep", out.runs_keep, 0, 10'000);
    section->quantity("bytes", out.runs_bytes, 0, uint64_t{1} << 30);
    section->finish();
  }
  if (auto section = r.map("kube")) {
    section->number("qps", out.kube.qps, 0, 100'000);
    section->integer("burst", out.kube.burst, 1, 100'000);
    section->boolean("compression", out.kube.compression);
    section->integer("pageSize", out.kube.page_size, 1, 10'000);
    section->finish();
  }
  read_metacontroller(r, folder, out.metacontroller);
  r.finish();
}

// The environment as the same tree, so that both go through one reader. Position = none.
Node environment_tree(const EnvLookup& env, std::map<std::string, std::string>& variable_of_path) {
  Node root;
  root.kind = Node::Kind::kMap;
  for (const EnvKey& key : kEnvKeys) {
    const auto value = env(std::string(key.variable));
    if (!value || value->empty()) continue;
    Node node;
    if (key.key == "hooks") {
      node.kind = Node::Kind::kList;
      for (size_t begin = 0; begin <= value->size();) {
        const size_t end = std::min(value->find(':', begin), value->size());
        Node item;
        item.kind = Node::Kind::kString;
        item.text = value->substr(begin, end - begin);
        if (!item.text.empty()) node.items.push_back(std::move(item));
        begin = end + 1;
      }
    } else {
      const bool is_text = key.key == "kubeconfig" || key.key == "context" || key.key == "listen" ||
                           key.key == "control" || key.key == "cgroup" || key.key == "stateDir" ||
                           key.key == "configMap";
      node.kind = is_text ? Node::Kind::kString : resolve_plain(*value);
      node.text = *value;
      // "1" and "0" are what people write for a switch in an environment.
      const bool is_switch = key.key == "strict" || key.key == "dryRun" || key.key == "once" || key.key == "reload" ||
                             key.key == "compression" || key.key == "metacontroller";
      if (is_switch && (node.text == "1" || node.text == "0")) {
        node.kind = Node::Kind::kBool;
        node.text = node.text == "1" ? "true" : "false";
      }
    }
    std::vector<Entry>* entries = &root.entries;
    std::string path(key.key);
    if (!key.section.empty()) {
      path = fmt::format("{}.{}", key.section, key.key);
      if (root.find(key.section) == nullptr) {
        Node section;
        section.kind = Node::Kind::kMap;
        root.entries.push_back({std::string(key.section), {}, std::move(section)});
      }
      entries = &std::ranges::find(root.entries, key.section, &Entry::key)->value.entries;
    }
    variable_of_path[path] = key.variable;
    entries->push_back({std::string(key.key), {}, std::move(node)});
  }
  return root;
}

}  // namespace

EnvLookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::string> parse_listen(std::string_view text) {
  if (text == "none") return std::string();
  const auto bad = [&] {
    return fail(Errc::kConfig, "\"{}\" is no address to listen on; write :9115, 127.0.0.1:9115, [::1]:9115 or none",
                text);
  };
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const std::string_view host = colon == std::string_view::npos ? std::string_view{} : text.substr(0, colon);
  unsigned number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size() || number > 65535)
    return bad();
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (!bracketed && host.find_first_of(":[] \t/") != std::string_view::npos) return bad();
  return fmt::format("{}:{}", host, number);
}

Result<void> check_variable_names(std::span<const std::string> environment) {
  constexpr std::string_view kPrefix = "HOOKD_";
  // Settings by their names behind the prefix, and what hooks are told, for a hookd that a hook starts.
  std::set<std::string, std::less<>> settings{"CONFIG"};
  for (const EnvKey& key : kEnvKeys) settings.emplace(key.variable.substr(kPrefix.size()));
  static const std::set<std::string, std::less<>> others{"HOOK",   "BINDING", "CALL_ID", "ATTEMPT",
                                                         "ANSWER", "MODE",    "CHILD_ID"};
  std::string problems;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kPrefix)) continue;
    const std::string name = entry.substr(kPrefix.size(), entry.find('=') - kPrefix.size());
    if (settings.contains(name) || others.contains(name)) continue;
    // Of a Service named hookd-state: HOOKD_STATE_SERVICE_HOST, HOOKD_STATE_PORT, HOOKD_STATE_PORT_80_TCP, …
    if (name.ends_with("_PORT") || name.find("_PORT_") != name.npos || name.find("_SERVICE_") != name.npos) continue;
    const std::string meant = nearest(name, settings);
    if (meant.empty()) continue;
    problems += fmt::format("{}HOOKD_{}: there is no such setting; did you mean HOOKD_{}?",
                            problems.empty() ? "" : "\n", name, meant);
  }
  if (!problems.empty()) return fail(Errc::kConfig, "{}", problems);
  return {};
}

Result<DaemonConfig> load_daemon_config(const std::string& path, const EnvLookup& env) {
  DaemonConfig config;
  std::string problems_text;
  if (!path.empty()) {
    HOOKD_TRY(const std::string text, read_named_file(path, kConfigLimitBytes));
    Problems problems(path);
    const std::vector<Node> documents = parse_yaml(text, problems);
    if (documents.size() > 1)
      problems.add(documents[1].at, "", "the daemon's config is one document; this is a second one");
    const auto folder = std::filesystem::absolute(path).parent_path();
    if (!documents.empty() && documents[0].kind != Node::Kind::kNull)
      read_config(documents[0], problems, folder, config);
    problems_text = problems.text();
  }
  if (env) {
    std::map<std::string, std::string> variable_of_path;
    const Node tree = environment_tree(env, variable_of_path);
    Problems problems("environment");
    read_config(tree, problems, {}, config);
    for (const Problem& problem : problems.sorted()) {
      const std::string key = problem.message.substr(0, problem.message.find_first_of(":["));
      const auto variable = variable_of_path.find(key);
      if (!problems_text.empty()) problems_text += '\n';
      problems_text +=
          variable == variable_of_path.end() ? problem.text() : variable->second + problem.message.substr(key.size());
    }
  }
  if (!problems_text.empty()) return fail(Errc::kConfig, "{}", problems_text);
  return config;
}

}  // namespace hookd::config
