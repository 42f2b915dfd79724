// `expect`, `object` and `absent` as they stand in the YAML.
#include <set>

#include "rehearsal/steps.h"

namespace hookd::rehearsal {
namespace {

using config::Node;
using config::Problems;
using config::Reader;

const std::set<std::string, std::less<>> kCallKeys{"hook", "reason", "attempt", "result", "exit", "binding",
                                                   "type", "kind",   "object",  "cause",  "error"};
const std::set<std::string, std::less<>> kEventKeys{"reason", "message", "type", "object"};

std::vector<Listed> listed(Reader& reader, std::string_view key, const std::set<std::string, std::less<>>* known) {
  std::vector<Listed> all;
  const Node* node = reader.raw(key);
  if (node->kind != Node::Kind::kList) {
    reader.problem(key, fmt::format("expected a list, found {}", node->describe()));
    return all;
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    const Node& item = node->items[i];
    const std::string path = fmt::format("{}[{}]", reader.path_of(key), i);
    if (item.kind != Node::Kind::kMap) {
      reader.problems().add(item.at, path, "expected a map, found {}", item.describe());
      continue;
    }
    if (known)
      for (const config::Entry& entry : item.entries)
        if (!known->contains(entry.key))
          reader.problems().add(entry.at, path, "unknown key \"{}\"; expected one of {}", entry.key,
                                fmt::join(*known, ", "));
    if (auto json = json_of(item, path, reader.problems())) all.push_back({item.at, *std::move(json)});
  }
  return all;
}

std::vector<Wanted> wanted_list(Reader& reader, std::string_view key) {
  std::vector<Wanted> all;
  const Node* node = reader.raw(key);
  if (node->kind != Node::Kind::kList) {
    reader.problem(key, fmt::format("expected a list of objects, found {}", node->describe()));
    return all;
  }
  for (size_t i = 0; i < node->items.size(); ++i)
    if (auto wanted = read_wanted(node->items[i], fmt::format("{}[{}]", reader.path_of(key), i), reader.problems()))
      all.push_back(*std::move(wanted));
  return all;
}

void read_calls(Reader& r, Expectation& out) {
  const Node* calls = r.raw("calls");
  if (!calls) return;
  out.calls_at = r.at("calls");
  if (calls->kind == Node::Kind::kList) {
    out.call_list = listed(r, "calls", &kCallKeys);
  } else {
    int count = 0;
    if (r.integer("calls", count, 0, 1'000'000)) out.calls = count;
  }
}

void read_operations(Reader& r, Expectation& out) {
  if (!r.raw("operations")) return;
  out.operations_at = r.at("operations");
  out.operations = listed(r, "operations", nullptr);
  for (const Listed& item : *out.operations) {
    const auto* verb = item.value.as_object().if_contains("operation");
    if (verb && !(verb->is_string() && apply::parse_verb(std::string_view(verb->get_string()))))
      r.problems().add(item.at, r.path_of("operations"), "no such operation: {}", boost::json::serialize(*verb));
  }
}

void read_log(Reader& r, Expectation& out) {
  const Node* log = r.raw("log");
  if (!log) return;
  if (log->kind == Node::Kind::kString) {
    out.log.push_back({log->at, boost::json::value(log->text)});
    return;
  }
  std::vector<std::string> texts;
  if (!r.string_list("log", texts)) return;
  for (size_t i = 0; i < texts.size(); ++i) out.log.push_back({log->items[i].at, boost::json::value(texts[i])});
}

}  // namespace

std::optional<Wanted> read_wanted(const Node& node, const std::string& path, Problems& problems) {
  Reader reader(node, path, problems);
  if (!reader.is_map()) return std::nullopt;
  Wanted wanted;
  wanted.at = node.at;
  reader.string("apiVersion", wanted.api_version);
  if (!reader.required_string("kind", wanted.kind)) return std::nullopt;
  auto json = json_of(node, path, problems);
  if (!json) return std::nullopt;
  wanted.subset = std::move(json->get_object());
  wanted.subset.stable_erase("apiVersion");
  wanted.subset.stable_erase("kind");
  // No kind has these two at the top: they are short for those in metadata.
  for (const char* key : {"namespace", "name"}) {
    const auto* field = wanted.subset.if_contains(key);
    if (!field) continue;
    auto& metadata = wanted.subset["metadata"];
    if (!metadata.is_object()) metadata = boost::json::object();
    metadata.get_object()[key] = wanted.subset.at(key);
    wanted.subset.stable_erase(key);
  }
  return wanted;
}

std::string Wanted::display() const {
  std::string text = kind;
  boost::json::object rest = subset;
  if (auto* metadata = rest.if_contains("metadata"); metadata && metadata->is_object()) {
    auto& fields = metadata->get_object();
    std::string name;
    for (const char* key : {"namespace", "name"})
      if (const auto* field = fields.if_contains(key); field && field->is_string()) {
        name += (name.empty() ? "" : "/") + std::string(field->get_string());
        fields.stable_erase(key);
      }
    if (!name.empty()) text += " " + name;
    if (fields.empty()) rest.stable_erase("metadata");
  }
  return rest.empty() ? text : text + " " + boost::json::serialize(rest);
}

void read_expectation(Reader& r, Expectation& out, bool may_be_empty) {
  if (!r.is_map()) return;
  const size_t before = r.problems().size();
  read_calls(r, out);
  read_operations(r, out);
  if (r.raw("objects")) out.objects = wanted_list(r, "objects");
  if (r.raw("absent")) out.absent = wanted_list(r, "absent");
  if (r.raw("events")) out.events = listed(r, "events", &kEventKeys);
  read_log(r, out);
  r.boolean("only", out.only);
  r.finish();
  if (!out.calls && !out.call_list && !out.operations && out.objects.empty() && out.absent.empty() &&
      out.events.empty() && out.log.empty() && !may_be_empty && r.problems().size() == before)
    r.problem_here(
        "expects nothing; expected calls, operations, objects, absent, events or log (--update writes what is seen)");
  if (out.only && !out.call_list && !out.operations) r.problem("only", "needs a list of calls or operations");
}

}  // namespace hookd::rehearsal
