#include "hook/native_reconcile.h"

#include <algorithm>

#include "config/nearest.h"
#include "hook/content_hash.h"

namespace hookd::hook {
namespace {

using config::Node;
using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLongest = hours(24 * 366);
constexpr size_t kMostRules = 100;  // children, related: each is a watch
constexpr size_t kNamePart = 63;
// Names of causes that are no names of a rule (hook/event.h, ReconcileCause).
constexpr std::string_view kOwnCauses[] = {"for", "children", "resync", "requeue", "start"};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// A DNS subdomain, a slash, and up to 63 letters, digits, '-', '_' and '.'. Source: apimachinery IsQualifiedName;
// apiserver ValidateFinalizerName wants the domain.
std::string what_is_wrong_with(std::string_view finalizer) {
  const size_t slash = finalizer.find('/');
  if (slash == std::string_view::npos || finalizer.find('/', slash + 1) != std::string_view::npos)
    return "expected DOMAIN/NAME such as example.com/cleanup";
  const std::string_view domain = finalizer.substr(0, slash), name = finalizer.substr(slash + 1);
  const bool domain_good = !domain.empty() && domain.size() <= 253 && domain.find("..") == std::string_view::npos &&
                           domain.find(".-") == std::string_view::npos && domain.find("-.") == std::string_view::npos &&
                           is_alphanumeric(domain.front()) && is_alphanumeric(domain.back()) &&
                           std::ranges::all_of(domain, [](char c) {
                             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
                           });
  if (!domain_good) return fmt::format("\"{}\" is no domain; expected lower case letters, digits, '-' and '.'", domain);
  if (name.empty() || !is_alphanumeric(name.front()) || !is_alphanumeric(name.back()) ||
      !std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }))
    return fmt::format(
        "\"{}\" is no name; expected letters, digits, '-', '_' and '.', the first and last a letter or digit", name);
  if (name.size() > kNamePart)
    return fmt::format("the part behind the slash has {} characters; the server takes {}", name.size(), kNamePart);
  for (const std::string_view reserved : {"kubernetes.io", "k8s.io"})
    if (domain == reserved || (domain.ends_with(reserved) && domain[domain.size() - reserved.size() - 1] == '.'))
      return fmt::format("{} is Kubernetes' own; choose a domain of yours", domain);
  return {};
}

void read_finalizer(Reader& r, Reconcile& out, const std::string& hook) {
  const Node* node = r.raw("finalizer");
  out.finalizer_name = default_finalizer(hook);
  if (node == nullptr) return;
  if (node->kind == Node::Kind::kBool) {
    out.finalizer = node->is_true();
    return;
  }
  if (node->kind != Node::Kind::kString)
    return r.problem(
        "finalizer",
        fmt::format("expected true, false or DOMAIN/NAME such as example.com/cleanup, found {}", node->describe()));
  if (const std::string wrong = what_is_wrong_with(node->text); !wrong.empty())
    return r.problem("finalizer", fmt::format("\"{}\" is no name of a finalizer: {}", node->text, wrong));
  out.finalizer = true;
  out.finalizer_name = node->text;
}

void read_type(Reader& r, std::string& api_version, std::string& kind) {
  r.require("apiVersion");
  read_api_version(r, api_version, false);
  read_kind(r, kind, false);
}

void read_changed(Reader& r, Changed& out) {
  std::vector<std::string> parts;
  if (!r.string_list("changed", parts)) return;
  const std::set<std::string, std::less<>> known{"spec", "labels", "annotations", "status"};
  out = {.spec = false, .labels = false, .annotations = false, .status = false};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "spec")
      out.spec = true;
    else if (parts[i] == "labels")
      out.labels = true;
    else if (parts[i] == "annotations")
      out.annotations = true;
    else if (parts[i] == "status")
      out.status = true;
    else
      r.problem("changed", i, fmt::format("\"{}\" is no part{}", parts[i], config::hint(parts[i], known)));
  }
}

ParentRule read_parent(Reader& r) {
  ParentRule out;
  out.line = r.at().line;
  read_type(r, out.api_version, out.kind);
  read_namespaces(r, out.namespaces);
  read_label_selector(r, out.label_selector);
  read_filter(r, "when", out.when);
  read_changed(r, out.changed);
  r.finish();
  return out;
}

void read_checks(Reader& r, ChildRule& out) {
  auto checks = r.map("checks");
  if (!checks) return;
  using Update = ChildRule::Update;
  if (out.update != Update::kRolling && out.update != Update::kRollingRecreate)
    r.problem("checks", "hold up a roll-out, and there is none without update: rolling or rollingRecreate");
  checks->require("conditions");
  for (Reader& c : checks->maps("conditions")) {
    ConditionCheck check;
    c.required_string("type", check.type);
    if (std::string text; c.string("status", text)) check.status = std::move(text);
    if (std::string text; c.string("reason", text)) check.reason = std::move(text);
    c.finish();
    out.checks.push_back(std::move(check));
  }
  if (checks->has("conditions") && out.checks.empty())
    checks->problem("conditions", "is empty, so nothing is checked; name a condition, or take checks away");
  checks->finish();
}

ChildRule read_child(Reader& r) {
  ChildRule out;
  out.line = r.at().line;
  read_type(r, out.api_version, out.kind);
  read_object_names(r, "namespaces", out.namespaces, true);
  read_label_selector(r, out.label_selector);
  using Update = ChildRule::Update;
  r.one_of("update", out.update,
           {{"apply", Update::kApply},
            {"recreate", Update::kRecreate},
            {"onDelete", Update::kOnDelete},
            {"rolling", Update::kRolling},
            {"rollingRecreate", Update::kRollingRecreate}});
  read_checks(r, out);
  r.boolean("adopt", out.adopt);
  r.boolean("release", out.release);
  r.finish();
  return out;
}

// A name of `related` or `sources`: what a cause is called by.
void check_name(Reader& r, const std::string& name, std::map<std::string, std::string, std::less<>>& taken) {
  if (name.empty()) return;
  if (std::ranges::find(kOwnCauses, name) != std::end(kOwnCauses))
    return r.problem("name", fmt::format("\"{}\" is what causes of hookd's own are called; choose another", name));
  const auto [other, fresh] = taken.emplace(name, r.path());
  if (!fresh)
    r.problem("name", fmt::format("\"{}\" is the name of {} already; names are unique in a hook", name, other->second));
}

RelatedRule read_related(Reader& r) {
  RelatedRule out;
  out.line = r.at().line;
  r.require("name");
  read_binding_name(r, out.name);
  read_type(r, out.api_version, out.kind);
  read_namespaces(r, out.namespaces);
  read_label_selector(r, out.label_selector);
  read_filter(r, "map", out.map);
  read_filter(r, "select", out.select);
  if (r.has("map") && r.has("select"))
    r.problem("select",
              "map (of the related object: whose it is) and select (of the parent: which it wants) cannot stand "
              "together; take one away");
  r.finish();
  return out;
}

SourceMap read_source_map(Reader& r, const Hook& hook) {
  SourceMap out;
  r.required_string("name", out.source);
  std::set<std::string, std::less<>> sources;
  for (const SourceBinding& source : hook.sources) sources.insert(source.name);
  if (!out.source.empty() && !sources.contains(out.source))
    r.problem(
        "name",
        sources.empty()
            ? fmt::format("\"{}\" names no source; this hook has none: add it under spec.source", out.source)
            : fmt::format("\"{}\" names no source of this hook{}", out.source, config::hint(out.source, sources)));
  const Node* map = r.raw("map");
  if (map == nullptr || map->kind != Node::Kind::kString || map->text != "all") read_filter(r, "map", out.map);
  r.finish();
  return out;
}

// Each is a watch of its own; a hook that follows more than that is not meant.
void check_count(Reader& r, std::string_view key, size_t count) {
  if (count > kMostRules) r.problem(key, fmt::format("has {} elements; at most {} are possible", count, kMostRules));
}

// What Kubernetes' own controllers make and own: a hook with such a kind below such parents would delete all of it.
struct Owned {
  std::string_view parent_group, parent, group, kind;
};
constexpr Owned kOwnedByKubernetes[] = {
    {"apps/", "Deployment", "apps/", "ReplicaSet"},
    {"apps/", "ReplicaSet", "", "Pod"},
    {"apps/", "StatefulSet", "", "Pod"},
    {"apps/", "StatefulSet", "apps/", "ControllerRevision"},
    {"apps/", "DaemonSet", "", "Pod"},
    {"apps/", "DaemonSet", "apps/", "ControllerRevision"},
    {"", "ReplicationController", "", "Pod"},
    {"batch/", "Job", "", "Pod"},
    {"batch/", "CronJob", "batch/", "Job"},
    {"", "Service", "discovery.k8s.io/", "EndpointSlice"},
    {"", "Pod", "", "PersistentVolumeClaim"},
    {"", "Pod", "resource.k8s.io/", "ResourceClaim"},
};

bool is_kind(std::string_view api_version, std::string_view kind, std::string_view group, std::string_view name) {
  if (api_version.substr(0, api_version.rfind('/') + 1) != group) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(kind, name, {}, lower, lower) ||
         std::ranges::equal(kind, std::string(name) + "s", {}, lower, lower);  // the plural
}

// A labelSelector says that the author has others in mind.
bool is_owned_by_kubernetes(const ParentRule& parent, const ChildRule& child) {
  return !child.label_selector && std::ranges::any_of(kOwnedByKubernetes, [&](const Owned& owned) {
    return is_kind(parent.api_version, parent.kind, owned.parent_group, owned.parent) &&
           is_kind(child.api_version, child.kind, owned.group, owned.kind);
  });
}

void read_children(Reader& r, Reconcile& out) {
  std::vector<Reader> readers = r.maps("children");
  check_count(r, "children", readers.size());
  for (Reader& child : readers) {
    ChildRule rule = read_child(child);
    for (const ChildRule& other : out.children)
      if (!rule.kind.empty() && other.kind == rule.kind && other.api_version == rule.api_version)
        child.problem("kind", fmt::format("{} of {} stands here twice; one element says all about a kind", rule.kind,
                                          rule.api_version));
    const ParentRule& parent = out.parent;
    if (!rule.kind.empty() && rule.kind == parent.kind && rule.api_version == parent.api_version &&
        !parent.label_selector && !parent.when && parent.namespaces.all())
      child.problem("kind",
                    "is the kind of the parent too: every child would get children of its own, without end; tell "
                    "parents apart by labelSelector, when or namespaces of `for`");
    if (is_owned_by_kubernetes(parent, rule))
      child.problem("kind",
                    fmt::format("every {} of a {} is made by a controller of Kubernetes, and the hook would delete "
                                "those that it does not answer; take it as `related`, or give the rule a "
                                "labelSelector that only the hook's own match",
                                rule.kind, parent.kind));
    // A namespaced owner's children live beside it, so nothing else needs to be watched.
    if (rule.namespaces.empty()) rule.namespaces = parent.namespaces.names;
    out.children.push_back(std::move(rule));
  }
}

}  // namespace

std::string default_finalizer(std::string_view hook) {
  std::string name(hook);
  if (name.size() > kNamePart) {
    const std::string hash = fmt::format("-{:08x}", static_cast<uint32_t>(content_hash(name)));
    name = name.substr(0, kNamePart - hash.size()) + hash;
  }
  return "hookd.dev/" + name;
}

void reconcile_defaults(Hook& out) {
  out.concurrency = 5;
  out.retry.initial = milliseconds(5);
  out.retry.max = seconds(1000);
}

void read_reconcile(Reader& spec, BindingReaders& readers, Hook& hook) {
  auto r = spec.map("reconcile");
  if (!spec.has("reconcile")) return;
  for (const std::string_view other : {"watch", "schedule", "startup", "batch", "state"}) {
    spec.raw(other);
    if (spec.has(other))
      spec.problem(other, "cannot stand beside reconcile: one hook, one concern; put it into a hook of its own");
  }
  if (!r) return;
  Reconcile out;
  r->require("for");
  if (auto parent = r->map("for")) out.parent = read_parent(*parent);
  read_children(*r, out);

  std::map<std::string, std::string, std::less<>> names;
  std::vector<Reader> related = r->maps("related");
  check_count(*r, "related", related.size());
  for (Reader& rule : related) {
    out.related.push_back(read_related(rule));
    check_name(rule, out.related.back().name, names);
  }
  for (Reader& map : r->maps("sources")) {
    out.sources.push_back(read_source_map(map, hook));
    check_name(map, out.sources.back().source, names);
  }
  for (size_t i = 0; i < hook.sources.size() && i < readers.source.size(); ++i) {
    if (hook.sources[i].reply_handled)
      readers.source[i].problem("reply",
                                "handled is not for reconcile, where an event only calls objects; take it away");
    const std::string& name = hook.sources[i].name;
    if (std::ranges::none_of(out.sources, [&](const SourceMap& map) { return map.source == name; }))
      readers.source[i].problem_here(fmt::format(
          "reconcile.sources does not name it, so its events would call nothing; add {{name: {}}} there", name));
  }

  r->duration("resync", out.resync, Duration{0}, kLongest);
  if (out.resync > Duration{0} && out.resync < seconds(1)) r->problem("resync", "expected 1s or more, or 0 for never");
  read_finalizer(*r, out, hook.name);
  using AtStart = Reconcile::AtStart;
  r->one_of("atStart", out.at_start, {{"all", AtStart::kAll}, {"changed", AtStart::kChanged}});
  r->finish();
  if (out.finalizer)
    hook.holds = {{out.finalizer_name, out.parent.api_version, out.parent.kind, out.parent.namespaces.names}};
  hook.reconcile = std::move(out);
}

}  // namespace hookd::hook
