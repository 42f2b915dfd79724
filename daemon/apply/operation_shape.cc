#include "apply/operation_shape.h"

#include <algorithm>

#include "config/nearest.h"

namespace hookd::apply {

Shape shape_of(Verb verb) {
  Words takes;
  const auto add = [&](std::initializer_list<std::string_view> words) { takes.insert(takes.end(), words); };
  const auto target = [&] { add({"apiVersion", "kind", "namespace", "name"}); };
  const auto patching = [&] {
    target();
    add({"ignoreMissingObject", "dryRun", "fieldManager", "uid", "resourceVersion"});
  };
  const Words named{"apiVersion", "kind", "name"};
  const auto needs = [&](std::string_view one) {
    Words words = named;
    words.push_back(one);
    return words;
  };
  switch (verb) {
    case Verb::kCreate:
    case Verb::kCreateIfNotExists:
    case Verb::kCreateOrUpdate:
      add({"object", "namespace", "dryRun", "fieldManager"});
      return {takes, {"object"}};
    case Verb::kApply:
      add({"object", "namespace", "dryRun", "fieldManager", "force", "subresource"});
      return {takes, {"object"}};
    case Verb::kMergePatch:
    case Verb::kStrategicMergePatch:
    case Verb::kJsonPatch:
      patching();
      add({"patch", "subresource"});
      return {takes, needs("patch")};
    case Verb::kJqPatch:
      patching();
      add({"jqFilter", "subresource"});
      return {takes, needs("jqFilter")};
    case Verb::kStatus:
      patching();
      add({"status"});
      return {takes, needs("status")};
    case Verb::kLabel:
      patching();
      add({"labels"});
      return {takes, needs("labels")};
    case Verb::kAnnotate:
      patching();
      add({"annotations"});
      return {takes, needs("annotations")};
    case Verb::kCondition:
      patching();
      add({"type", "status", "reason", "message"});
      return {takes, {"type", "status", "reason"}};
    case Verb::kDelete:
    case Verb::kDeleteInBackground:
    case Verb::kDeleteNonCascading:
      target();
      add({"gracePeriodSeconds", "propagationPolicy", "uid", "resourceVersion", "ignoreMissingObject", "dryRun"});
      return {takes, named};
    case Verb::kEvict:
      target();
      add({"gracePeriodSeconds", "uid", "resourceVersion", "ignoreMissingObject", "dryRun"});
      return {takes, {"namespace", "name"}};
    case Verb::kScale:
      target();
      add({"replicas", "ignoreMissingObject", "dryRun", "fieldManager"});
      return {takes, needs("replicas")};
    case Verb::kEvent:
      target();
      add({"about", "uid", "reason", "message", "type"});
      return {takes, {"reason", "message"}};
    case Verb::kMetric:
      return {{"name", "action", "value", "labels", "buckets", "group"}, {}};
    case Verb::kRequeue:
      return {{"after"}, {"after"}};
  }
  return {};
}

std::string nearest(std::string_view word, const Words& known) {
  for (const auto one : known)
    if (word.size() > 4 && one.starts_with(word)) return fmt::format("; did you mean \"{}\"?", one);
  return config::hint(word.substr(0, 64), {known.begin(), known.end()});
}

std::string_view json_type_name(std::string_view raw) {
  if (raw.empty()) return "nothing";
  switch (raw.front()) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"':
      return "text";
    case 't':
    case 'f':
      return "true or false";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

std::string shorten(std::string_view text) { return std::string(text.substr(0, 60)); }

bool fits_path(std::string_view name) {
  return name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos && name.size() <= 253 &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace hookd::apply
