#include "apply/operation.h"

#include <array>

namespace hookd::apply {
namespace {

struct Name {
  Verb verb;
  std::string_view text;
};
constexpr std::array kNames{
    Name{Verb::kCreate, "Create"},
    Name{Verb::kCreateIfNotExists, "CreateIfNotExists"},
    Name{Verb::kCreateOrUpdate, "CreateOrUpdate"},
    Name{Verb::kApply, "Apply"},
    Name{Verb::kMergePatch, "MergePatch"},
    Name{Verb::kStrategicMergePatch, "StrategicMergePatch"},
    Name{Verb::kJsonPatch, "JSONPatch"},
    Name{Verb::kJqPatch, "JQPatch"},
    Name{Verb::kDelete, "Delete"},
    Name{Verb::kDeleteInBackground, "DeleteInBackground"},
    Name{Verb::kDeleteNonCascading, "DeleteNonCascading"},
    Name{Verb::kEvict, "Evict"},
    Name{Verb::kScale, "Scale"},
    Name{Verb::kStatus, "Status"},
    Name{Verb::kLabel, "Label"},
    Name{Verb::kAnnotate, "Annotate"},
    Name{Verb::kCondition, "Condition"},
    Name{Verb::kEvent, "Event"},
    Name{Verb::kMetric, "Metric"},
    Name{Verb::kRequeue, "Requeue"},
};

}  // namespace

std::string_view to_string(Verb verb) {
  for (const auto& name : kNames)
    if (name.verb == verb) return name.text;
  return "?";
}

std::optional<Verb> parse_verb(std::string_view text) {
  for (const auto& name : kNames)
    if (name.text == text) return name.verb;
  return std::nullopt;
}

bool is_delete(Verb verb) {
  return verb == Verb::kDelete || verb == Verb::kDeleteInBackground || verb == Verb::kDeleteNonCascading;
}

bool is_upsert(Verb verb) {
  return verb == Verb::kCreate || verb == Verb::kCreateIfNotExists || verb == Verb::kCreateOrUpdate ||
         verb == Verb::kApply;
}

bool is_patch(Verb verb) {
  switch (verb) {
    case Verb::kMergePatch:
    case Verb::kStrategicMergePatch:
    case Verb::kJsonPatch:
    case Verb::kJqPatch:
    case Verb::kStatus:
    case Verb::kLabel:
    case Verb::kAnnotate:
    case Verb::kCondition:
    case Verb::kScale:
      return true;
    default:
      return false;
  }
}

bool is_write(Verb verb) { return verb != Verb::kEvent && verb != Verb::kMetric && verb != Verb::kRequeue; }

std::string Operation::display() const {
  std::string text = kind + " ";
  if (!ns.empty()) text += ns + "/";
  return text + (name.empty() ? generate_name + "* (generated name)" : name);
}

std::string Operation::describe() const {
  const std::string_view what = to_string(verb);
  if (verb == Verb::kMetric)
    return fmt::format("{} {}", what, !metric ? "" : metric->name.empty() ? "group " + metric->group : metric->name);
  if (verb == Verb::kCondition) return fmt::format("{} {} of {}", what, condition_type, display());
  if (verb == Verb::kRequeue) return std::string(what);
  if (!words.doing.empty()) return fmt::format("{} {}", words.doing, display());
  if (verb == Verb::kApply && subresource == "status") return fmt::format("{} the status of {}", what, display());
  return fmt::format("{} {}{}", what, verb == Verb::kEvent ? "about " : "", display());
}

}  // namespace hookd::apply
