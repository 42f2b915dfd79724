#include "rehearsal/test_update.h"

#include <algorithm>

#include "config/yaml_scalar.h"
#include "rehearsal/subset.h"

namespace hookd::rehearsal {
namespace {

using boost::json::object;
using boost::json::value;

bool plain(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (!letter(text.front()) && text.front() != '/' && text.front() != '.') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inner_blank = c == ' ' && i + 1 < text.size() && text[i + 1] != '#';
    if (!letter(c) && !inner_blank && std::string_view("_-./()=+@%;").find(c) == std::string_view::npos) return false;
  }
  // Words that YAML 1.1, which other tools read, takes for booleans.
  static constexpr std::string_view kWords[] = {"y", "Y", "n", "N", "yes", "Yes", "no", "No", "on", "On", "off", "Off"};
  if (std::ranges::find(kWords, text) != std::end(kWords)) return false;
  return config::resolve_plain(text) == config::Node::Kind::kString;
}

std::string scalar(std::string_view text) {
  return plain(text) ? std::string(text) : boost::json::serialize(value(text));
}

// Of an operation: what tells it, and what the expectation at its place looked at. Uids are new in every run.
value operation_as_seen(const OperationRecord& operation, const Listed* expected) {
  value whole = seen_json(operation);
  auto& fields = whole.as_object();
  const auto asked = [&](const char* key) { return expected && expected->value.as_object().contains(key); };
  for (const char* key : {"uid", "hook", "object", "resourceVersion"})
    if (!asked(key)) fields.stable_erase(key);
  if (!asked("outcome") && operation.outcome.ok()) fields.stable_erase("outcome");
  if (auto* about = fields.if_contains("about"); about && about->is_object()) about->get_object().stable_erase("uid");
  if (asked("object")) fields["object"] = seen_as_expected(expected->value.as_object().at("object"), fields["object"]);
  return whole;
}

value call_as_seen(const CallRecord& call) {
  value whole = call_json(call).front();
  auto& fields = whole.as_object();
  for (const char* key : {"reason", "kind", "error", "exit"}) fields.stable_erase(key);
  if (call.attempt == 1) fields.stable_erase("attempt");
  if (call.result == "ok") fields.stable_erase("result");
  return whole;
}

void append_list(std::string& out, std::string_view key, const std::vector<value>& items) {
  if (items.empty()) {
    out += fmt::format("{}: []\n", key);
    return;
  }
  out += fmt::format("{}:\n", key);
  for (const value& item : items) out += fmt::format("  - {}\n", flow_yaml(item));
}

bool holds(const Wanted& wanted, const Seen& seen) {
  const auto& objects = seen.objects.at({wanted.api_version, wanted.kind});
  return objects && std::ranges::any_of(*objects, [&](const value& one) {
           return subset_differences(value(wanted.subset), &one).empty();
         });
}

object head_of(const Wanted& wanted) {
  object head;
  if (!wanted.api_version.empty()) head["apiVersion"] = wanted.api_version;
  head["kind"] = wanted.kind;
  return head;
}

// namespace and name go back to the top.
value wanted_json(const Wanted& wanted, object subset) {
  object out = head_of(wanted);
  if (auto* metadata = subset.if_contains("metadata"); metadata && metadata->is_object()) {
    auto& fields = metadata->get_object();
    for (const char* key : {"namespace", "name"})
      if (const auto* field = fields.if_contains(key)) {
        out[key] = *field;
        fields.stable_erase(key);
      }
    if (fields.empty()) subset.stable_erase("metadata");
  }
  for (const auto& [key, field] : subset) out[key] = field;
  return out;
}

// The object of that name as it is now, where the expectation names one; nullopt = it is not there.
std::optional<value> object_as_seen(const Wanted& wanted, const Seen& seen) {
  if (holds(wanted, seen)) return wanted_json(wanted, wanted.subset);
  const auto& objects = seen.objects.at({wanted.api_version, wanted.kind});
  const auto* metadata = wanted.subset.if_contains("metadata");
  if (!objects || !metadata || !metadata->is_object() || !metadata->get_object().contains("name")) return std::nullopt;
  object identity;
  for (const char* key : {"namespace", "name"})
    if (const auto* field = metadata->get_object().if_contains(key)) identity[key] = *field;
  const value same_name(object{{"metadata", identity}});
  for (const value& one : *objects)
    if (subset_differences(same_name, &one).empty())
      return wanted_json(wanted, seen_as_expected(value(wanted.subset), one).as_object());
  return std::nullopt;
}

bool in_line_of_its_own(std::string_view line, size_t column) {
  return line.substr(0, column).find_first_not_of(" -") == std::string_view::npos;
}

}  // namespace

bool is_empty(const Expectation& e) {
  return !e.calls && !e.call_list && !e.operations && e.objects.empty() && e.absent.empty() && e.events.empty() &&
         e.log.empty();
}

std::string flow_yaml(const value& shown) {
  std::string out;
  if (shown.is_object()) {
    for (const auto& [key, field] : shown.get_object())
      out += (out.empty() ? "" : ", ") + scalar(key) + ": " + flow_yaml(field);
    return "{" + out + "}";
  }
  if (shown.is_array()) {
    for (const value& item : shown.get_array()) out += (out.empty() ? "" : ", ") + flow_yaml(item);
    return "[" + out + "]";
  }
  return shown.is_string() ? scalar(shown.get_string()) : boost::json::serialize(shown);
}

std::string expectation_as_seen(const Expectation& expectation, const Seen& seen) {
  const bool all = is_empty(expectation);
  std::string out;
  if (expectation.calls || all) out += fmt::format("calls: {}\n", seen.calls.size());
  std::vector<value> items;
  if (expectation.call_list) {
    for (const CallRecord& call : seen.calls) items.push_back(call_as_seen(call));
    append_list(out, "calls", std::exchange(items, {}));
  }
  if (expectation.operations || all) {
    for (size_t i = 0; i < seen.operations.size(); ++i) {
      const bool there = expectation.operations && i < expectation.operations->size();
      items.push_back(operation_as_seen(seen.operations[i], there ? &(*expectation.operations)[i] : nullptr));
    }
    append_list(out, "operations", std::exchange(items, {}));
  }
  if (expectation.only) out += "only: true\n";
  for (const Wanted& wanted : expectation.objects)
    if (auto item = object_as_seen(wanted, seen)) items.push_back(*std::move(item));
  if (!items.empty()) append_list(out, "objects", std::exchange(items, {}));
  for (const Wanted& wanted : expectation.absent)
    if (!holds(wanted, seen)) items.push_back(wanted_json(wanted, wanted.subset));
  if (!items.empty()) append_list(out, "absent", std::exchange(items, {}));
  Expectation one;
  for (const Listed& event : expectation.events) {
    one.events = {event};
    if (unmet(one, seen).empty()) items.push_back(event.value);
  }
  if (!items.empty()) append_list(out, "events", std::exchange(items, {}));
  for (const Listed& text : expectation.log)
    if (seen.log.find(std::string_view(text.value.get_string())) != std::string::npos) items.push_back(text.value);
  if (!items.empty()) append_list(out, "log", std::exchange(items, {}));
  // All that was expected is not there: say what is.
  return out.empty() ? expectation_as_seen({}, seen) : out;
}

Result<std::string> with_updates(std::string_view text, std::vector<TestUpdate> updates) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::ranges::sort(updates, std::greater{}, &TestUpdate::at);
  for (const TestUpdate& update : updates) {
    const auto first = static_cast<size_t>(update.at.line - 1);
    const auto column = static_cast<size_t>(update.at.column - 1);
    if (first >= lines.size() || !in_line_of_its_own(lines[first], column))
      return fail(Errc::kConfig, "{}:{}: `expect` is not at the beginning of its line: write it as a block of its own",
                  update.at.line, update.at.column);
    size_t end = first + 1, last = first + 1;  // `last`: behind what surely belongs to it
    for (; end < lines.size(); ++end) {
      const size_t indent = lines[end].find_first_not_of(" \t\r");
      if (indent == std::string::npos) continue;
      // A bracket that was opened in `expect` may be closed at its column.
      const bool closing = indent == column && (lines[end][indent] == '}' || lines[end][indent] == ']');
      if (indent <= column && !closing) break;
      last = end + 1;
    }
    std::vector<std::string> block{lines[first].substr(0, column) + "expect:"};
    const std::string indent(column + 2, ' ');
    for (size_t at = 0; at < update.block.size();) {
      const size_t stop = update.block.find('\n', at);
      block.push_back(indent + update.block.substr(at, stop - at));
      if (stop == std::string::npos) break;
      at = stop + 1;
    }
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.begin() + static_cast<std::ptrdiff_t>(last));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first), block.begin(), block.end());
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace hookd::rehearsal
