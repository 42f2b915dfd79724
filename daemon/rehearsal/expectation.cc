#include "rehearsal/expectation.h"

#include <algorithm>

#include "base/time.h"
#include "rehearsal/subset.h"

namespace hookd::rehearsal {
namespace {

using boost::json::object;
using boost::json::value;

const KindName kEventKind{"v1", "Event"};

std::string show(const value& shown) { return boost::json::serialize(shown); }

// The candidate that differs least; nullptr = there is none.
const value* closest(const value& expected, const std::vector<value>& candidates) {
  const value* best = nullptr;
  size_t least = 0;
  for (const value& candidate : candidates) {
    const size_t differs = subset_differences(expected, &candidate).size();
    if (best && differs >= least) continue;
    best = &candidate;
    least = differs;
  }
  return best;
}

// Finds the elements in order; each of `seen` is a list of forms of one thing, any of which may match. Which one
// took each expected element; the first that is not found ends it.
struct InOrder {
  std::vector<bool> used;
  size_t missing;  // index of the expected element that was not found; the size of the list = all were found
};
InOrder find_in_order(const std::vector<Listed>& expected, const std::vector<std::vector<value>>& seen) {
  InOrder result{std::vector<bool>(seen.size()), expected.size()};
  size_t next = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    while (next < seen.size() &&
           std::ranges::none_of(
               seen[next], [&](const value& form) { return subset_differences(expected[i].value, &form).empty(); }))
      ++next;
    if (next == seen.size()) {
      result.missing = i;
      return result;
    }
    result.used[next++] = true;
  }
  return result;
}

void check_list(std::string_view what, const std::vector<Listed>& expected, const std::vector<std::vector<value>>& seen,
                const std::vector<std::string>& names, bool only, config::Position at, std::vector<Unmet>& out) {
  if (expected.empty()) {
    if (!seen.empty()) out.push_back({at, fmt::format("expected no {}s, seen {}", what, seen.size())});
    return;
  }
  const InOrder found = find_in_order(expected, seen);
  if (found.missing < expected.size()) {
    const Listed& missing = expected[found.missing];
    std::string text = fmt::format("no such {}{}: {}\n", what, found.missing > 0 ? " after the one before it" : "",
                                   show(missing.value));
    std::vector<value> all;
    for (const auto& forms : seen) all.insert(all.end(), forms.begin(), forms.end());
    if (const value* near = closest(missing.value, all)) {
      text += fmt::format("  the nearest {} differs:\n", what);
      const auto differences = subset_differences(missing.value, near);
      text +=
          differences.empty() ? "    it stands in another place of the order\n" : difference_text(differences, "    ");
    } else {
      text += fmt::format("  there was no {} at all\n", what);
    }
    out.push_back({missing.at, std::move(text)});
    return;
  }
  if (!only) return;
  for (size_t i = 0; i < seen.size(); ++i)
    if (!found.used[i])
      out.push_back({at, fmt::format("one {} too many, which is not listed (`only`): {}", what, names[i])});
}

void check_objects(const Expectation& expectation, const Seen& seen, std::vector<Unmet>& out) {
  const auto there = [&](const Wanted& wanted) -> const std::vector<value>* {
    const auto& objects = seen.objects.at({wanted.api_version, wanted.kind});
    if (!objects) {
      out.push_back({wanted.at, fmt::format("{} cannot be looked up: {}", wanted.display(), objects.error().what)});
      return nullptr;
    }
    return &*objects;
  };
  for (const Wanted& wanted : expectation.objects) {
    const auto* objects = there(wanted);
    if (!objects) continue;
    const value expected(wanted.subset);
    if (std::ranges::any_of(*objects, [&](const value& one) { return subset_differences(expected, &one).empty(); }))
      continue;
    std::string text = fmt::format("no such object: {}\n", wanted.display());
    if (const value* near = closest(expected, *objects)) {
      const auto& metadata = near->at("metadata").as_object();
      const auto* ns = metadata.if_contains("namespace");
      text += fmt::format("  the nearest is {} {}{}, which differs:\n", wanted.kind,
                          ns ? std::string(ns->as_string()) + "/" : "", std::string(metadata.at("name").as_string()));
      text += difference_text(subset_differences(expected, near), "    ");
    } else {
      text += fmt::format("  there is no {} at all\n", wanted.kind);
    }
    out.push_back({wanted.at, std::move(text)});
  }
  for (const Wanted& wanted : expectation.absent) {
    const auto* objects = there(wanted);
    if (!objects) continue;
    const value expected(wanted.subset);
    for (const value& one : *objects)
      if (subset_differences(expected, &one).empty()) {
        const auto* deleting = one.at("metadata").as_object().if_contains("deletionTimestamp");
        out.push_back(
            {wanted.at, fmt::format("should not be there: {}{}", wanted.display(),
                                    deleting ? " (it is being deleted, since " + show(*deleting) + ")" : "")});
        break;
      }
  }
}

// An Event in short: {type, reason, message, object: "Pod default/web-0"}, or with the object as the map that it is in
// the Event, where the expectation has a map.
value event_in_short(const value& event, const value& expected) {
  object out;
  const auto& fields = event.as_object();
  for (const char* key : {"type", "reason", "message"})
    if (const auto* field = fields.if_contains(key)) out[key] = *field;
  const auto* wanted = expected.as_object().if_contains("object");
  const auto* about = fields.if_contains("involvedObject");
  if (about && wanted && wanted->is_object()) {
    out["object"] = *about;
  } else if (about && about->is_object()) {
    const auto text = [&](const char* key) {
      const auto* field = about->get_object().if_contains(key);
      return field && field->is_string() ? std::string(field->get_string()) : std::string();
    };
    out["object"] = text("kind") + " " + (text("namespace").empty() ? "" : text("namespace") + "/") + text("name");
  }
  return out;
}

// The message is expected as a part of it.
value with_message_cut(const value& expected, const value& event) {
  const auto* wanted = expected.as_object().if_contains("message");
  const auto* message = event.as_object().if_contains("message");
  if (!wanted || !message || !wanted->is_string() || !message->is_string()) return event;
  value cut = event;
  if (std::string_view(message->get_string()).find(std::string_view(wanted->get_string())) != std::string_view::npos)
    cut.as_object()["message"] = *wanted;
  return cut;
}

void check_events(const Expectation& expectation, const Seen& seen, std::vector<Unmet>& out) {
  if (expectation.events.empty()) return;
  const auto& objects = seen.objects.at(kEventKind);
  if (!objects) {
    out.push_back({expectation.at, "Events cannot be looked up: " + objects.error().what});
    return;
  }
  for (const Listed& wanted : expectation.events) {
    std::vector<value> events;
    for (const value& one : *objects)
      events.push_back(with_message_cut(wanted.value, event_in_short(one, wanted.value)));
    if (std::ranges::any_of(events, [&](const value& one) { return subset_differences(wanted.value, &one).empty(); }))
      continue;
    std::string text = fmt::format("no such Event: {}\n", show(wanted.value));
    if (const value* near = closest(wanted.value, events))
      text += "  the nearest differs:\n" + difference_text(subset_differences(wanted.value, near), "    ");
    else
      text += "  there is no Event at all\n";
    out.push_back({wanted.at, std::move(text)});
  }
}

}  // namespace

std::vector<KindName> kinds_needed(const Expectation& expectation) {
  std::vector<KindName> kinds;
  const auto add = [&](KindName kind) {
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(std::move(kind));
  };
  for (const auto* list : {&expectation.objects, &expectation.absent})
    for (const Wanted& wanted : *list) add({wanted.api_version, wanted.kind});
  if (!expectation.events.empty()) add(kEventKind);
  return kinds;
}

std::vector<value> call_json(const CallRecord& call) {
  object base;
  base["hook"] = call.hook;
  base["reason"] = call.reason;
  base["attempt"] = call.attempt;
  base["result"] = call.ended ? call.result : "running";
  if (call.exit_code) base["exit"] = *call.exit_code;
  if (!call.error.empty()) base["error"] = call.error;
  std::vector<value> forms;
  for (const EventRecord& event : call.events) {
    object form = base;
    form["binding"] = event.binding;
    form["type"] = event.type;
    if (!event.kind.empty()) form["kind"] = event.kind;
    if (!event.object.empty()) form["object"] = event.object;
    if (!event.cause.empty()) form["cause"] = event.cause;
    forms.emplace_back(std::move(form));
  }
  if (forms.empty()) forms.emplace_back(std::move(base));
  return forms;
}

value seen_json(const OperationRecord& operation) {
  object json = operation.json;
  json["hook"] = operation.hook;
  json["outcome"] = std::string(apply::to_string(operation.outcome.kind));
  return json;
}

std::vector<Unmet> unmet(const Expectation& expectation, const Seen& seen) {
  std::vector<Unmet> out;
  if (expectation.calls && static_cast<size_t>(*expectation.calls) != seen.calls.size())
    out.push_back(
        {expectation.calls_at, fmt::format("calls: expected {}, seen {}", *expectation.calls, seen.calls.size())});
  if (expectation.call_list) {
    std::vector<std::vector<value>> forms;
    std::vector<std::string> names;
    for (const CallRecord& call : seen.calls) {
      forms.push_back(call_json(call));
      names.push_back(show(forms.back().front()));
    }
    check_list("call", *expectation.call_list, forms, names, expectation.only, expectation.calls_at, out);
  }
  if (expectation.operations) {
    std::vector<std::vector<value>> forms;
    std::vector<std::string> names;
    for (const OperationRecord& operation : seen.operations) {
      forms.push_back({seen_json(operation)});
      names.push_back(operation.describe);
    }
    check_list("operation", *expectation.operations, forms, names, expectation.only, expectation.operations_at, out);
  }
  check_objects(expectation, seen, out);
  check_events(expectation, seen, out);
  for (const Listed& text : expectation.log)
    if (seen.log.find(std::string_view(text.value.get_string())) == std::string::npos)
      out.push_back({text.at, fmt::format("not in the log: {}", show(text.value))});
  std::ranges::stable_sort(out, {}, &Unmet::at);
  return out;
}

std::string call_text(const CallRecord& call, const std::vector<OperationRecord>& operations, std::string_view indent) {
  const std::string about = events_text(call.events, call.reason == "reconcile");
  std::string text = fmt::format("{}{}  {}: {}", indent, format_rfc3339(call.time).substr(11, 8), call.hook, about);
  if (call.attempt > 1) text += fmt::format(", attempt {}", call.attempt);
  if (call.only_operations) text += ", only what was left to do";
  text += call.ended ? fmt::format(": {}", call.result) : std::string(": still running");
  if (!call.error.empty()) text += " (" + call.error + ")";
  text += "\n";
  for (const std::string& message : call.messages) text += fmt::format("{}    {}\n", indent, message);
  for (const OperationRecord& operation : operations) {
    if (operation.call != call.id) continue;
    text += fmt::format("{}    {}: {}\n", indent, operation.describe, apply::to_string(operation.outcome.kind));
    if (!operation.outcome.ok()) text += fmt::format("{}      {}\n", indent, operation.outcome.text);
  }
  return text;
}

}  // namespace hookd::rehearsal
