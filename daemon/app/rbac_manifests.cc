#include "app/rbac_manifests.h"

#include <algorithm>
#include <set>

#include "base/json_writer.h"

namespace hookd::app {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// In the flow lists below as well: plain only where every reader of YAML, 1.1 too, takes it for text; else as JSON.
std::string scalar(std::string_view text) {
  static constexpr std::string_view kOther[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const bool plain = !text.empty() && is_lower(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_lower(c) || is_digit(c) || c == '-' || c == '.' || c == '/';
  });
  return plain && std::ranges::find(kOther, text) == std::end(kOther) ? std::string(text) : json_string(text);
}

std::string list(const std::vector<std::string>& texts) {
  std::vector<std::string> scalars;
  for (const auto& text : texts) scalars.push_back(scalar(text));
  return fmt::format("[{}]", fmt::join(scalars, ", "));
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

std::string yaml_head(std::string_view api_version, std::string_view kind, std::string_view name, std::string_view ns) {
  std::string out = fmt::format("apiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n", api_version, kind, scalar(name));
  if (!ns.empty()) out += fmt::format("  namespace: {}\n", scalar(ns));
  return out;
}

std::string yaml_role(const RbacRole& role, const RbacNames& names) {
  const std::string_view kind = role.ns.empty() ? "ClusterRole" : "Role";
  std::string out = yaml_head(fmt::format("{}/v1", kGroup), kind, names.role, role.ns) + "rules:\n";
  for (const auto& rule : role.rules) {
    for (const auto& why : rule.why) out += fmt::format("  # {}\n", one_line(why));
    out += fmt::format("  - {{apiGroups: {}, resources: {}", list({rule.group}), list({rule.resource}));
    if (!rule.names.empty()) out += fmt::format(", resourceNames: {}", list(rule.names));
    out += fmt::format(", verbs: {}}}\n", list(rule.verbs));
  }
  out += "---\n" + yaml_head(fmt::format("{}/v1", kGroup), std::string(kind) + "Binding", names.role, role.ns);
  out += fmt::format("roleRef: {{apiGroup: {}, kind: {}, name: {}}}\n", kGroup, kind, scalar(names.role));
  return out + fmt::format("subjects:\n  - {{kind: ServiceAccount, name: {}, namespace: {}}}\n", scalar(names.account),
                           scalar(names.account_ns));
}

void json_head(JsonWriter& out, std::string_view api_version, std::string_view kind, std::string_view name,
               std::string_view ns) {
  out.begin_object().key("apiVersion").string(api_version).key("kind").string(kind);
  out.key("metadata").begin_object().key("name").string(name);
  if (!ns.empty()) out.key("namespace").string(ns);
  out.end_object();
}

void json_list(JsonWriter& out, std::string_view key, const std::vector<std::string>& texts) {
  out.key(key).begin_array();
  for (const auto& text : texts) out.string(text);
  out.end_array();
}

void json_role(JsonWriter& out, const RbacRole& role, const RbacNames& names) {
  const std::string version = fmt::format("{}/v1", kGroup);
  const std::string kind = role.ns.empty() ? "ClusterRole" : "Role";
  json_head(out, version, kind, names.role, role.ns);
  out.key("rules").begin_array();
  for (const auto& rule : role.rules) {
    out.begin_object();
    json_list(out, "apiGroups", {rule.group});
    json_list(out, "resources", {rule.resource});
    if (!rule.names.empty()) json_list(out, "resourceNames", rule.names);
    json_list(out, "verbs", rule.verbs);
    out.end_object();
  }
  out.end_array().end_object();
  json_head(out, version, kind + "Binding", names.role, role.ns);
  out.key("roleRef").begin_object().key("apiGroup").string(kGroup).key("kind").string(kind);
  out.key("name").string(names.role).end_object();
  out.key("subjects").begin_array().begin_object().key("kind").string("ServiceAccount");
  out.key("name").string(names.account).key("namespace").string(names.account_ns).end_object().end_array();
  out.end_object();
}

}  // namespace

std::string rbac_yaml(const RbacPlan& plan, const RbacNames& names) {
  std::string out;
  if (!names.command.empty())
    out += fmt::format("# Made by `{}`: what these hooks need, and nothing else.\n", one_line(names.command));
  std::set<std::string> namespaces;
  if (names.make_account) namespaces.insert(names.account_ns);
  for (const auto& role : plan.roles)
    if (!role.ns.empty()) namespaces.insert(role.ns);
  if (!namespaces.empty()) out += fmt::format("# Must be there before: namespace {}.\n", fmt::join(namespaces, ", "));
  if (plan.roles.empty()) out += "# These hooks need no rights in the cluster.\n";
  std::vector<std::string> documents;
  if (names.make_account) documents.push_back(yaml_head("v1", "ServiceAccount", names.account, names.account_ns));
  for (const auto& role : plan.roles) documents.push_back(yaml_role(role, names));
  return out + fmt::format("{}", fmt::join(documents, "---\n"));
}

std::string rbac_json(const RbacPlan& plan, const RbacNames& names) {
  JsonWriter out;
  out.begin_object().key("apiVersion").string("v1").key("kind").string("List").key("items").begin_array();
  if (names.make_account) {
    json_head(out, "v1", "ServiceAccount", names.account, names.account_ns);
    out.end_object();
  }
  for (const auto& role : plan.roles) json_role(out, role, names);
  out.end_array().end_object();
  return std::move(out).take() + "\n";
}

}  // namespace hookd::app
