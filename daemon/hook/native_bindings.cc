#include "hook/native_bindings.h"

#include <algorithm>

#include "config/nearest.h"
#include "config/quantity.h"
#include "hook/field_selector.h"

namespace hookd::hook {
namespace {

using config::Node;
using config::Reader;
using std::chrono::hours;
using std::chrono::seconds;

constexpr Duration kLongest = hours(24 * 366);
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool made_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::ranges::all_of(text, [&](char c) {
    return std::ranges::any_of(sets, [&](std::string_view set) { return set.find(c) != std::string_view::npos; });
  });
}

}  // namespace

void read_binding_name(Reader& r, std::string& name) {
  if (!r.string("name", name)) return;
  if (name.size() > 100 || !made_of(name, {kLetters, kDigits, "-_."}))
    r.problem("name",
              fmt::format("\"{}\" is no binding name; expected up to 100 letters, digits, '-', '_' and '.'", name));
  else if (name == "startup")
    r.problem("name", "\"startup\" is the name of the startup binding; choose another");
}

void read_api_version(Reader& r, std::string& out, bool stars) {
  if (!r.string("apiVersion", out)) return;
  const size_t slash = out.find('/');
  const std::string_view text = out;
  const std::string_view group = slash == std::string::npos ? std::string_view{} : text.substr(0, slash);
  const std::string_view version = slash == std::string::npos ? text : text.substr(slash + 1);
  const bool version_good = (stars && version == "*") || (!version.empty() && made_of(version, {kLetters, kDigits}));
  const bool group_good = slash == std::string::npos || (!group.empty() && made_of(group, {kLetters, kDigits, "-."}));
  if (!version_good || !group_good)
    r.problem("apiVersion",
              fmt::format("\"{}\" is no API version; expected VERSION or GROUP/VERSION such as v1 or apps/v1{}", out,
                          stars ? ", GROUP/* or \"*\"" : ""));
}

void read_kind(Reader& r, std::string& out, bool star) {
  r.require("kind");
  if (!r.string("kind", out) || (star && out == "*")) return;
  // A watch also takes a CRD's own name: plural.group, or plural.version.group.
  const bool dots = !star;
  if (made_of(out, {kLetters, kDigits, dots ? "-." : "-"}) && !out.starts_with('.') && !out.ends_with('.')) return;
  r.problem("kind", fmt::format("\"{}\" is no kind; expected a Kind, plural or short name such as Pod, pods or po{}{}",
                                out, dots ? ", or a CRD's name such as widgets.example.com" : "",
                                out.find('/') == std::string::npos ? "" : "; the group goes into apiVersion"));
}

namespace {

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && made_of(text, {kLetters.substr(0, 26), kDigits, "-"}) &&
         text.front() != '-' && text.back() != '-';
}

}  // namespace

void read_object_names(Reader& r, std::string_view key, std::vector<std::string>& out, bool are_namespaces) {
  if (!r.string_list(key, out)) return;
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string& name = out[i];
    // Some kinds (RBAC) have names with ':' and capitals; none can have what is no path segment.
    const bool good = are_namespaces ? is_dns_label(name)
                                     : name.size() <= 253 && name != "." && name != ".." &&
                                           name.find_first_of("/% \t\n*") == std::string::npos;
    if (good) continue;
    r.problem(
        key, i,
        fmt::format("\"{}\" is no name of {}{}", name, are_namespaces ? "a namespace" : "an object",
                    name.find('*') == std::string::npos ? "" : "; patterns are not possible here, select by labels"));
  }
}

namespace {

void read_selector_map(Reader r, std::optional<cache::LabelSelector>& out) {
  const size_t before = r.problems().size();
  boost::json::object object;
  std::map<std::string, std::string> labels;
  if (r.string_map("matchLabels", labels)) {
    boost::json::object& target = object["matchLabels"].emplace_object();
    for (const auto& [key, value] : labels) target[key] = value;
  }
  boost::json::array expressions;
  for (Reader& e : r.maps("matchExpressions")) {
    std::string key, op;
    std::vector<std::string> values;
    e.required_string("key", key);
    e.require("operator");
    e.one_of<std::string>("operator", op,
                          {{"In", "In"}, {"NotIn", "NotIn"}, {"Exists", "Exists"}, {"DoesNotExist", "DoesNotExist"}});
    e.words("values", values);
    e.finish();
    const bool needs_values = op == "In" || op == "NotIn";
    if (needs_values && values.empty() && !e.has("values"))
      e.problem_here(fmt::format("the operator {} needs values", op));
    boost::json::object expression{{"key", key}, {"operator", op}};
    if (e.has("values")) expression["values"] = boost::json::array(values.begin(), values.end());
    expressions.push_back(std::move(expression));
  }
  if (!expressions.empty()) object["matchExpressions"] = std::move(expressions);
  r.finish();
  if (r.problems().size() != before) return;
  auto selector = cache::LabelSelector::from_json(object);
  if (selector)
    out = *std::move(selector);
  else
    r.problem_here(selector.error().what);
}

}  // namespace

void read_label_selector(Reader& r, std::optional<cache::LabelSelector>& out) {
  const Node* node = r.raw("labelSelector");
  if (node == nullptr) return;
  if (node->kind == Node::Kind::kMap)
    return read_selector_map(Reader(*node, r.path_of("labelSelector"), r.problems()), out);
  if (node->kind != Node::Kind::kString)
    return r.problem("labelSelector",
                     fmt::format("expected text such as app=web or a map of matchLabels and matchExpressions, found {}",
                                 node->describe()));
  auto selector = cache::LabelSelector::parse(node->text);
  if (selector)
    out = *std::move(selector);
  else
    r.problem("labelSelector", selector.error().what);
}

void read_namespaces(Reader& r, Namespaces& out) {
  auto namespaces = r.map("namespaces");
  if (!namespaces) return;
  read_object_names(*namespaces, "names", out.names, true);
  read_label_selector(*namespaces, out.label_selector);
  namespaces->finish();
}

void read_filter(Reader& r, std::string_view key, std::shared_ptr<const filter::Filter>& out) {
  std::string text;
  if (!r.string(key, text)) return;
  auto compiled = filter::Filter::compile(text);
  if (compiled)
    out = *std::move(compiled);
  else
    r.problem(key, compiled.error().what);
}

namespace {

void read_events(Reader& r, WatchBinding& out) {
  std::vector<std::string> events;
  if (!r.string_list("events", events)) return;
  const std::set<std::string, std::less<>> known{"added", "modified", "deleted"};
  out.added = out.modified = out.deleted = false;
  for (size_t i = 0; i < events.size(); ++i) {
    const std::string& event = events[i];
    if (event == "added")
      out.added = true;
    else if (event == "modified")
      out.modified = true;
    else if (event == "deleted")
      out.deleted = true;
    else
      r.problem("events", i, fmt::format("\"{}\" is no event{}", event, config::hint(event, known)));
  }
}

WatchBinding read_watch(Reader& r) {
  WatchBinding out;
  out.line = r.at().line;
  read_binding_name(r, out.name);
  read_api_version(r, out.api_version, false);
  read_kind(r, out.kind, false);
  if (out.name.empty() && !r.has("name")) {
    out.name = out.kind;
    for (char& c : out.name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  read_namespaces(r, out.namespaces);
  read_object_names(r, "names", out.names, false);
  read_label_selector(r, out.label_selector);
  if (r.string("fieldSelector", out.field_selector))
    if (auto good = check_field_selector(out.field_selector); !good) r.problem("fieldSelector", good.error().what);
  read_events(r, out);
  using Existing = WatchBinding::Existing;
  r.one_of("existing", out.existing,
           {{"added", Existing::kAdded}, {"sync", Existing::kSync}, {"none", Existing::kNone}});
  r.boolean("metadataOnly", out.metadata_only);
  read_filter(r, "when", out.when);
  r.duration("for", out.hold_for, Duration{0}, kLongest);
  read_filter(r, "since", out.since);
  if (r.has("since") && !r.has("for"))
    r.problem("since", "tells when `for` began, but there is no `for` here; add one or take this away");
  read_filter(r, "value", out.value);
  using Keep = WatchBinding::Keep;
  r.one_of("keep", out.keep, {{"object", Keep::kObject}, {"value", Keep::kValue}, {"none", Keep::kNone}});
  if (out.keep == Keep::kValue && !r.has("value"))
    r.problem("keep", "keeps the result of `value`, but there is no `value` here; add one or write object or none");
  r.one_of("ownWrites", out.ignore_own_writes, {{"deliver", false}, {"ignore", true}});
  r.one_of("coalesce", out.coalesce, {{"latest", true}, {"none", false}});
  r.string_list("include", out.include);
  r.finish();
  return out;
}

ScheduleBinding read_schedule(Reader& r, const CronCheck& cron_check) {
  ScheduleBinding out;
  read_binding_name(r, out.name);
  if (!r.has("name")) out.name = "schedule";
  if (Duration every{0}; r.duration("every", every, seconds(1), kLongest)) out.every = every;
  const bool has_cron = r.string("cron", out.cron);
  const bool has_zone = r.string("timeZone", out.time_zone);
  if (r.has("every") && r.has("cron")) r.problem("cron", "every and cron cannot stand together; take one away");
  if (r.is_map() && !r.has("every") && !r.has("cron"))
    r.problem_here("the key \"every\" (such as 10s) or \"cron\" (such as \"0 3 * * *\") is missing");
  if (r.has("timeZone") && !r.has("cron")) r.problem("timeZone", "has a meaning only with cron");
  if (has_cron && cron_check) {
    // Twice, so that a bad zone is shown where it stands and not as a fault of the expression.
    auto expression = cron_check(out.cron, "");
    if (!expression)
      r.problem("cron", expression.error().what);
    else if (has_zone)
      if (auto zone = cron_check(out.cron, out.time_zone); !zone) r.problem("timeZone", zone.error().what);
  }
  r.duration("jitter", out.jitter, Duration{0}, hours(24));
  if (out.every && out.jitter > *out.every) r.problem("jitter", "is longer than every");
  using Overlap = ScheduleBinding::Overlap;
  using Missed = ScheduleBinding::Missed;
  r.one_of("overlap", out.overlap, {{"skip", Overlap::kSkip}, {"queue", Overlap::kQueue}});
  r.one_of("missed", out.missed, {{"run-once", Missed::kRunOnce}, {"skip", Missed::kSkip}});
  r.string_list("include", out.include);
  r.finish();
  return out;
}

Startup read_startup(Reader& r) {
  Startup out;
  r.integer("order", out.order, -1'000'000, 1'000'000);
  r.string_list("include", out.include);
  r.finish();
  return out;
}

void check_include(Reader& r, const std::vector<std::string>& include,
                   const std::set<std::string, std::less<>>& watches) {
  for (size_t i = 0; i < include.size(); ++i) {
    const std::string& name = include[i];
    if (watches.contains(name)) continue;
    r.problem("include", i,
              watches.empty()
                  ? fmt::format("\"{}\" names no watch binding; this hook has none", name)
                  : fmt::format("\"{}\" names no watch binding of this hook{}", name, config::hint(name, watches)));
  }
}

}  // namespace

void read_bindings(BindingReaders& readers, const CronCheck& cron_check, Hook& out) {
  for (Reader& r : readers.watch) out.watches.push_back(read_watch(r));
  for (Reader& r : readers.schedule) out.schedules.push_back(read_schedule(r, cron_check));
  if (readers.startup) out.startup = read_startup(*readers.startup);
}

std::optional<std::vector<apply::AllowRule>> read_allow(Reader& spec) {
  if (spec.raw("allow") == nullptr) return std::nullopt;
  const std::set<std::string, std::less<>> verbs{"create", "update", "patch",  "apply", "delete",
                                                 "evict",  "scale",  "status", "event", "*"};
  std::vector<apply::AllowRule> out;
  for (Reader& r : spec.maps("allow")) {
    apply::AllowRule rule;
    rule.line = r.at().line;
    r.require("apiVersion");
    read_api_version(r, rule.api_version, true);
    read_kind(r, rule.kind, true);
    r.require("verbs");
    if (r.string_list("verbs", rule.verbs)) {
      if (rule.verbs.empty()) r.problem("verbs", "is empty, so the rule allows nothing; take the rule away");
      for (size_t i = 0; i < rule.verbs.size(); ++i)
        if (!verbs.contains(rule.verbs[i]))
          r.problem("verbs", i, fmt::format("\"{}\" is no verb{}", rule.verbs[i], config::hint(rule.verbs[i], verbs)));
    }
    read_object_names(r, "namespaces", rule.namespaces, true);
    read_object_names(r, "names", rule.names, false);
    r.finish();
    out.push_back(std::move(rule));
  }
  return out;
}

void check_bindings(BindingReaders& readers, const Hook& hook) {
  std::map<std::string, std::string, std::less<>> first;  // name -> path of its binding
  std::set<std::string, std::less<>> watches;
  const auto name_once = [&](Reader& r, const std::string& name) {
    if (name.empty()) return;
    const auto [other, fresh] = first.emplace(name, r.path());
    if (fresh) return;
    if (r.has("name"))
      r.problem("name",
                fmt::format("\"{}\" is the name of {} already; names are unique in a hook", name, other->second));
    else
      r.problem_here(
          fmt::format("is called \"{}\" like {}, having no name of its own; give it a name", name, other->second));
  };
  for (size_t i = 0; i < hook.watches.size(); ++i) {
    name_once(readers.watch[i], hook.watches[i].name);
    watches.insert(hook.watches[i].name);
  }
  for (size_t i = 0; i < hook.schedules.size(); ++i) name_once(readers.schedule[i], hook.schedules[i].name);
  for (size_t i = 0; i < hook.sources.size(); ++i) name_once(readers.source[i], hook.sources[i].name);

  for (size_t i = 0; i < hook.watches.size(); ++i) check_include(readers.watch[i], hook.watches[i].include, watches);
  for (size_t i = 0; i < hook.schedules.size(); ++i)
    check_include(readers.schedule[i], hook.schedules[i].include, watches);
  for (size_t i = 0; i < hook.sources.size(); ++i) check_include(readers.source[i], hook.sources[i].include, watches);
  if (readers.startup && hook.startup) check_include(*readers.startup, hook.startup->include, watches);
}

}  // namespace hookd::hook
