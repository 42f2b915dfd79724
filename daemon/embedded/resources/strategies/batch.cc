// Jobs and CronJobs. Source: API docs "Jobs", "CronJob"; the real server's checks.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

constexpr const char* kUidLabels[] = {"controller-uid", "batch.kubernetes.io/controller-uid"};
constexpr const char* kNameLabels[] = {"job-name", "batch.kubernetes.io/job-name"};

json::object sorted(const json::object& map) {
  std::vector<std::string_view> keys;
  for (const auto& entry : map) keys.push_back(entry.key());
  std::ranges::sort(keys);
  json::object out;
  for (const std::string_view key : keys) out[key] = map.at(key);
  return out;
}

// Labels of the template and the selector that finds its pods, unless the user does it by hand.
void prepare_job(json::object& job, const WriteContext&) {
  json::object& spec = ensure_object(job, {"spec"});
  if (bool_at(spec, {"manualSelector"})) return;
  json::object& labels = ensure_object(spec, {"template", "metadata", "labels"});
  const json::object before = labels;
  const std::string name(string_at(job, {"metadata", "name"})), uid(string_at(job, {"metadata", "uid"}));
  for (const char* key : kNameLabels)
    if (!labels.contains(key)) labels[key] = name;
  for (const char* key : kUidLabels)
    if (!labels.contains(key)) labels[key] = uid;
  labels = sorted(labels);
  json::object& selector = ensure_object(spec, {"selector", "matchLabels"});
  if (!selector.contains(kUidLabels[1])) selector[kUidLabels[1]] = uid;
  // A job without labels has those of its template.
  json::object& own = ensure_object(job, {"metadata", "labels"});
  if (own.empty() || same(own, before)) own = labels;
}

void check_generated(const json::object& job, Complaints& complaints) {
  if (bool_at(job, {"spec", "manualSelector"}) || !has(job, {"spec", "selector"})) return;
  const std::string_view name = string_at(job, {"metadata", "name"}), uid = string_at(job, {"metadata", "uid"});
  const json::object& labels = object_at(job, {"spec", "template", "metadata", "labels"});
  json::object expected;
  const auto check = [&](const char* key, std::string_view value) {
    const std::string path = keyed("spec.template.metadata.labels", key);
    expected[key] = value;
    if (!labels.contains(key)) return complaints.required(path, fmt::format("must be '{}'", value));
    if (string_at(labels, {key}) != value)
      complaints.invalid(path, json::value(labels), fmt::format("must be '{}'", value));
  };
  check(kUidLabels[0], uid);
  check(kNameLabels[0], name);
  check(kUidLabels[1], uid);
  check(kNameLabels[1], name);
  if (!selector_matches(object_at(job, {"spec", "selector"}), expected))
    complaints.invalid("spec.selector", *value_at(job, {"spec", "selector"}), "`selector` not auto-generated");
}

void check_failure_policy(const json::object& spec, const std::string& path, Complaints& complaints) {
  const json::array& rules = array_at(spec, {"podFailurePolicy", "rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    const json::object& rule = as_object(rules[i]);
    const std::string here = at(path + ".rules", i);
    const std::string_view action = string_at(rule, {"action"});
    if (action.empty()) {
      complaints.required(here + ".action", R"(valid values: ["Count" "FailIndex" "FailJob" "Ignore"])");
    } else if (action == "FailIndex") {
      if (!has(spec, {"backoffLimitPerIndex"}))
        complaints.invalid(here + ".action", json::value(action), "requires the backoffLimitPerIndex to be set");
    } else if (action != "Count" && action != "FailJob" && action != "Ignore") {
      complaints.unsupported(here + ".action", json::value(action), {"Count", "FailIndex", "FailJob", "Ignore"});
    }
    if (has(rule, {"onExitCodes"})) {
      const std::string codes = here + ".onExitCodes";
      const std::string_view verb = string_at(rule, {"onExitCodes", "operator"});
      if (verb != "In" && verb != "NotIn")
        complaints.unsupported(codes + ".operator", json::value(verb), {"In", "NotIn"});
      const json::array& values = array_at(rule, {"onExitCodes", "values"});
      if (values.empty()) complaints.invalid(codes + ".values", json::value(values), "at least one value is required");
      for (size_t k = 0; k < values.size(); ++k)
        if (verb == "In" && values[k].is_int64() && values[k].get_int64() == 0)
          complaints.invalid(at(codes + ".values", k), 0, "must not be 0 for the In operator");
    }
  }
}

void validate_job(const json::object& job, FieldErrors& errors) {
  Complaints complaints(errors);
  check_generated(job, complaints);
  const json::object& spec = object_at(job, {"spec"});
  check_job_spec(spec, "spec", false, complaints);
  if (!has(spec, {"selector"})) {
    complaints.required("spec.selector");
  } else {
    check_label_selector(object_at(spec, {"selector"}), "spec.selector", complaints);
  }
  const json::object& labels = object_at(spec, {"template", "metadata", "labels"});
  if (!has(spec, {"selector"}) || !selector_matches(object_at(spec, {"selector"}), labels))
    complaints.invalid("spec.template.metadata.labels", labels.empty() ? json::value(nullptr) : json::value(labels),
                       "`selector` does not match template `labels`");
}

void validate_job_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(next, {"spec"});
  const json::object& old = object_at(live, {"spec"});
  const auto immutable = [&](const char* key) {
    complaints.immutable(child("spec", key), value_at(spec, {key}), value_at(old, {key}));
  };
  // An indexed job may be resized together with its parallelism (KEP-3715).
  const bool indexed = string_at(spec, {"completionMode"}) == "Indexed";
  if (!indexed || integer_at(spec, {"completions"}) != integer_at(spec, {"parallelism"})) immutable("completions");
  immutable("selector");
  json::object pod_template = object_at(spec, {"template"}), old_template = object_at(old, {"template"});
  if (bool_at(old, {"suspend"}) && integer_at(live, {"status", "active"}).value_or(0) == 0 &&
      !has(live, {"status", "startTime"})) {
    for (json::object* side : {&pod_template, &old_template}) {
      json::object& pod = ensure_object(*side, {"spec"});
      for (const char* key : {"nodeSelector", "tolerations", "schedulingGates"}) pod.erase(key);
      if (has(pod, {"affinity"})) ensure_object(pod, {"affinity"}).erase("nodeAffinity");
      for (const char* list : {"containers", "initContainers"})
        if (has(pod, {list}))
          for (json::value& container : pod[list].as_array())
            if (container.is_object()) container.get_object().erase("resources");
      json::object& meta = ensure_object(*side, {"metadata"});
      meta.erase("annotations");
      meta.erase("labels");
    }
  }
  if (!same(pod_template, old_template))
    complaints.invalid("spec.template", *value_at(spec, {"template"}), "field is immutable");
  for (const char* key : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    immutable(key);
}

// The real server is stricter with finished jobs; only counters are checked here.
void validate_job_status(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  for (const char* key : {"active", "succeeded", "failed", "ready", "terminating"})
    complaints.not_negative(child("status", key), integer_at(next, {"status", key}));
  for (const char* key : {"failed", "succeeded"}) {
    const int64_t count = integer_at(next, {"status", key}).value_or(0);
    if (count < integer_at(live, {"status", key}).value_or(0))
      complaints.invalid(child("status", key), count, fmt::format("cannot decrease the {} counter", key));
  }
}

std::string cron_problem(std::string_view schedule) {
  if (schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=")) {
    const size_t space = schedule.find(' ');
    schedule = space == std::string_view::npos ? std::string_view() : schedule.substr(space + 1);
  }
  if (schedule.starts_with('@')) {
    for (const char* word : {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
      if (schedule == word) return {};
    return schedule.starts_with("@every ") ? "" : fmt::format("unrecognized descriptor: {}", schedule);
  }
  std::vector<std::string_view> fields;
  for (size_t i = 0; i < schedule.size();) {
    const size_t end = std::min(schedule.find_first_of(" \t", i), schedule.size());
    if (end > i) fields.push_back(schedule.substr(i, end - i));
    i = end + 1;
  }
  if (fields.size() != 5)
    return fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(), fmt::join(fields, " "));
  constexpr std::pair<int, int> kRanges[] = {{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}};
  constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec", kDays = "sunmontuewedthufrisat";
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string_view rest = fields[i];
    while (true) {
      const size_t comma = std::min(rest.find(','), rest.size());
      std::string_view part = rest.substr(0, comma);
      part = part.substr(0, part.find('/'));
      for (std::string_view number = part; part != "*" && part != "?";) {
        const size_t dash = std::min(number.find('-'), number.size());
        std::string word(number.substr(0, dash));
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
        const std::string_view names = i == 3 ? kMonths : i == 4 ? kDays : std::string_view();
        int value = -1;
        const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
        const bool named = word.size() == 3 && names.find(word) % 3 == 0 && names.find(word) != std::string_view::npos;
        if (!named) {
          if (problem != std::errc() || end != word.data() + word.size())
            return fmt::format("failed to parse int from {0}: strconv.Atoi: parsing \"{0}\": invalid syntax",
                               number.substr(0, dash));
          if (value < kRanges[i].first)
            return fmt::format("beginning of range ({}) below minimum ({}): {}", value, kRanges[i].first, part);
          if (value > kRanges[i].second)
            return fmt::format("end of range ({}) above maximum ({}): {}", value, kRanges[i].second, part);
        }
        if (dash == number.size()) break;
        number.remove_prefix(dash + 1);
      }
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return {};
}

void validate_cron_job(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  const std::string_view schedule = string_at(spec, {"schedule"});
  if (schedule.empty()) {
    complaints.required("spec.schedule");
  } else {
    if (const std::string problem = cron_problem(schedule); !problem.empty())
      complaints.invalid("spec.schedule", json::value(schedule), problem);
    if (schedule.find("TZ") != std::string_view::npos)
      complaints.invalid("spec.schedule", json::value(schedule),
                         "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  }
  complaints.not_negative("spec.startingDeadlineSeconds", integer_at(spec, {"startingDeadlineSeconds"}));
  if (const json::value* zone = value_at(spec, {"timeZone"})) {
    const std::string_view name = as_string(*zone);
    if (name.empty()) {
      complaints.invalid("spec.timeZone", *zone, "timeZone must be nil or non-empty string");
    } else if (!std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || strchr("./-_+", c); })) {
      complaints.invalid("spec.timeZone", *zone, fmt::format("unknown time zone {}", name));
    }
  }
  complaints.one_of("spec.concurrencyPolicy", string_at(spec, {"concurrencyPolicy"}), {"Allow", "Forbid", "Replace"});
  const json::object& job = object_at(spec, {"jobTemplate", "spec"});
  check_job_spec(job, "spec.jobTemplate.spec", true, complaints);
  if (has(job, {"selector"}))
    complaints.invalid("spec.jobTemplate.spec.selector", *value_at(job, {"selector"}),
                       "`selector` will be auto-generated");
  if (bool_at(job, {"manualSelector"}))
    complaints.unsupported("spec.jobTemplate.spec.manualSelector", true, {"nil", "false"});
  for (const char* key : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    complaints.not_negative(child("spec", key), integer_at(spec, {key}));
  const std::string_view name = string_at(object, {"metadata", "name"});
  if (name.size() > 52 && !has(object, {"metadata", "resourceVersion"}))
    complaints.invalid("metadata.name", json::value(name), "must be no more than 52 characters");
}

}  // namespace

void check_job_spec(const json::object& spec, const std::string& path, bool is_template, Complaints& complaints) {
  (void)is_template;
  for (const char* key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                          "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    complaints.not_negative(child(path, key), integer_at(spec, {key}));
  if (has(spec, {"maxFailedIndexes"}) && !has(spec, {"backoffLimitPerIndex"}))
    complaints.required(child(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified");
  const std::string_view mode = string_at(spec, {"completionMode"});
  complaints.one_of(child(path, "completionMode"), mode, {"NonIndexed", "Indexed"}, false);
  if (mode == "Indexed") {
    if (!has(spec, {"completions"})) complaints.required(child(path, "completions"), "when completion mode is Indexed");
  } else {
    for (const char* key : {"backoffLimitPerIndex", "maxFailedIndexes"})
      if (const auto value = integer_at(spec, {key}))
        complaints.invalid(child(path, key), *value, "requires indexed completion mode");
    if (const json::value* policy = value_at(spec, {"successPolicy"}))
      complaints.invalid(child(path, "successPolicy"), *policy, "requires indexed completion mode");
  }
  const bool failure_policy = has(spec, {"podFailurePolicy"});
  check_failure_policy(spec, child(path, "podFailurePolicy"), complaints);
  if (const std::string_view policy = string_at(spec, {"podReplacementPolicy"}); !policy.empty()) {
    if (failure_policy) {
      complaints.one_of(child(path, "podReplacementPolicy"), policy, {"Failed"});
    } else {
      complaints.one_of(child(path, "podReplacementPolicy"), policy, {"Failed", "TerminatingOrFailed"});
    }
  }
  check_pod_template(object_at(spec, {"template"}), child(path, "template"), complaints);
  const std::string restart = child(path, "template.spec.restartPolicy");
  const std::string_view policy = string_at(spec, {"template", "spec", "restartPolicy"});
  if (policy == "Always" || policy.empty()) {
    complaints.required(restart, R"(valid values: "OnFailure", "Never")");
  } else if (policy != "OnFailure" && policy != "Never") {
    complaints.unsupported(restart, json::value(policy), {"OnFailure", "Never"});
  } else if (failure_policy && policy != "Never") {
    complaints.invalid(restart, json::value(policy), R"(only "Never" is supported when podFailurePolicy is specified)");
  }
}

const Strategy& job_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.prepare_create = prepare_job;
    s.orphans_by_default = true;
    s.validate = validate_job;
    s.validate_update = validate_job_update;
    s.validate_status = validate_job_status;
    s.selectable.emplace("status.successful", field_at({"status", "succeeded"}, "0"));
    s.warnings = [](const json::object& job) {
      std::vector<std::string> out;
      if (const Faulty faults = dns_label(string_at(job, {"metadata", "name"})); !faults.empty())
        out.push_back(
            fmt::format("metadata.name: this is used in Pod names and hostnames, which can result in "
                        "surprising behavior; a DNS label is recommended: [{}]",
                        fmt::join(faults, " ")));
      for (std::string& line :
           pod_warnings(object_at(job, {"spec", "template", "metadata"}), object_at(job, {"spec", "template", "spec"}),
                        "spec.template.metadata", "spec.template.spec"))
        out.push_back(std::move(line));
      return out;
    };
    s.update_warns = Strategy::UpdateWarns::kNewGeneration;
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& cron_job_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = validate_cron_job;
    s.warnings = [](const json::object& object) {
      const json::object& pod_template = object_at(object, {"spec", "jobTemplate", "spec", "template"});
      std::vector<std::string> out;
      if (const Faulty faults = dns_label(string_at(object, {"metadata", "name"})); !faults.empty())
        out.push_back(
            fmt::format("metadata.name: this is used in Pod names and hostnames, which can result in "
                        "surprising behavior; a DNS label is recommended: [{}]",
                        fmt::join(faults, " ")));
      for (std::string& line :
           pod_warnings(object_at(pod_template, {"metadata"}), object_at(pod_template, {"spec"}),
                        "spec.jobTemplate.spec.template.metadata", "spec.jobTemplate.spec.template.spec"))
        out.push_back(std::move(line));
      return out;
    };
    s.update_warns = Strategy::UpdateWarns::kNewGeneration;
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
