// autoscaling/v1 and v2. What v1 has no field for travels in annotations. Source: API reference of both versions;
// annotations autoscaling.alpha.kubernetes.io/*.
#include <array>

#include "embedded/resources/convert_kinds.h"
#include "embedded/resources/fields.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kToleranceDown = "autoscaling.alpha.kubernetes.io/scale-down-tolerance";
constexpr std::string_view kToleranceUp = "autoscaling.alpha.kubernetes.io/scale-up-tolerance";
constexpr int64_t kDefaultCpu = 80;  // percent, where v1 says nothing

constexpr std::array<std::string_view, 5> kSources{"object", "pods", "resource", "containerResource", "external"};

void copy(const json::object& from, std::string_view key, json::object& to, std::string_view as) {
  if (const json::value* value = value_at(from, {key})) to[as] = *value;
}

// v1's spelling of the numbers of a metric: "targetAverageValue" in spec, "currentAverageValue" in status.
std::string number_name(bool status, std::string_view what) {
  return fmt::format("{}{}", status ? "current" : "target", what);
}
std::string_view numbers_key(bool status) { return status ? "current" : "target"; }

json::object metric_to_v1(const json::object& metric, bool status) {
  json::object out{{"type", string_at(metric, {"type"})}};
  for (std::string_view key : kSources) {
    const json::value* found = value_at(metric, {key});
    if (!found) continue;
    const json::object& from = as_object(*found);
    const json::object& numbers = object_at(from, {numbers_key(status)});
    const json::object& identity = object_at(from, {"metric"});
    json::object to;
    if (key == "resource" || key == "containerResource") {
      copy(from, "name", to, "name");
      copy(numbers, "averageUtilization", to, number_name(status, "AverageUtilization"));
      copy(numbers, "averageValue", to, number_name(status, "AverageValue"));
      if (status) to.emplace("currentAverageValue", "0");
      copy(from, "container", to, "container");
    } else if (key == "object") {
      copy(from, "describedObject", to, "target");
      copy(identity, "name", to, "metricName");
      to[number_name(status, "Value")] = "0";
      copy(numbers, "value", to, number_name(status, "Value"));
      copy(identity, "selector", to, "selector");
      copy(numbers, "averageValue", to, "averageValue");
    } else if (key == "pods") {
      copy(identity, "name", to, "metricName");
      to[number_name(status, "AverageValue")] = "0";
      copy(numbers, "averageValue", to, number_name(status, "AverageValue"));
      copy(identity, "selector", to, "selector");
    } else {
      copy(identity, "name", to, "metricName");
      copy(identity, "selector", to, "metricSelector");
      if (status) to["currentValue"] = "0";
      copy(numbers, "value", to, number_name(status, "Value"));
      copy(numbers, "averageValue", to, number_name(status, "AverageValue"));
    }
    out[key] = std::move(to);
  }
  return out;
}

json::object metric_to_v2(const json::object& metric, bool status) {
  json::object out{{"type", string_at(metric, {"type"})}};
  for (std::string_view key : kSources) {
    const json::value* found = value_at(metric, {key});
    if (!found) continue;
    const json::object& from = as_object(*found);
    json::object to, numbers, identity;
    std::string_view target = "AverageValue";
    if (key == "resource" || key == "containerResource") {
      copy(from, "name", to, "name");
      copy(from, "container", to, "container");
      copy(from, number_name(status, "AverageValue"), numbers, "averageValue");
      copy(from, number_name(status, "AverageUtilization"), numbers, "averageUtilization");
      if (numbers.contains("averageUtilization")) target = "Utilization";
    } else if (key == "object") {
      copy(from, "target", to, "describedObject");
      copy(from, "averageValue", numbers, "averageValue");
      const bool average = numbers.contains("averageValue");
      if (!average || status || string_at(from, {"targetValue"}) != "0")
        copy(from, number_name(status, "Value"), numbers, "value");
      if (!average) target = "Value";
    } else if (key == "pods") {
      copy(from, number_name(status, "AverageValue"), numbers, "averageValue");
    } else {
      copy(from, number_name(status, "Value"), numbers, "value");
      copy(from, number_name(status, "AverageValue"), numbers, "averageValue");
      if (numbers.contains("value")) target = "Value";
    }
    if (from.contains("metricName")) {
      copy(from, "metricName", identity, "name");
      copy(from, key == "external" ? "metricSelector" : "selector", identity, "selector");
      to["metric"] = std::move(identity);
    }
    if (!status) {
      json::object typed{{"type", target}};
      for (auto& [name, value] : numbers) typed[name] = std::move(value);
      numbers = std::move(typed);
    }
    to[numbers_key(status)] = std::move(numbers);
    out[key] = std::move(to);
  }
  return out;
}

bool cpu_utilization(const json::object& metric, Keys numbers) {
  return string_at(metric, {"type"}) == "Resource" && string_at(metric, {"resource", "name"}) == "cpu" &&
         has(object_at(metric, {"resource"}), numbers);
}

// The annotation holds the server's inner form, whose names begin with capitals.
json::value with_capitals(const json::value& value, bool capitals) {
  if (const json::array* list = value.if_array()) {
    json::array out;
    for (const json::value& item : *list) out.push_back(with_capitals(item, capitals));
    return out;
  }
  const json::object* object = value.if_object();
  if (!object) return value;
  json::object out;
  for (const auto& [key, item] : *object) {
    std::string name(key);
    if (!name.empty()) name[0] = static_cast<char>(capitals ? std::toupper(name[0]) : std::tolower(name[0]));
    if (!item.is_null()) out[name] = with_capitals(item, capitals);
  }
  return out;
}

void drop_annotations(json::object& object) {
  json::value* annotations = object["metadata"].as_object().if_contains("annotations");
  if (!annotations || !annotations->is_object()) return;
  for (std::string_view key : {kMetrics, kCurrentMetrics, kConditions, kBehavior, kToleranceDown, kToleranceUp})
    annotations->get_object().stable_erase(key);
  if (annotations->get_object().empty()) object["metadata"].as_object().stable_erase("annotations");
}

std::optional<json::value> annotation(const json::object& object, std::string_view key) {
  const json::value* text = value_at(object, {"metadata", "annotations", key});
  if (!text || !text->is_string()) return std::nullopt;
  auto parsed = parse_text(as_string(*text));
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

json::array metrics_to_v2(const json::value& list, bool status) {
  json::array out;
  if (const json::array* items = list.if_array())
    for (const json::value& metric : *items) out.push_back(metric_to_v2(as_object(metric), status));
  return out;
}

}  // namespace

void hpa_to_v1(json::object& object) {
  const json::object spec = object_at(object, {"spec"}), status = object_at(object, {"status"});
  json::object& meta = ensure_object(object, {"metadata"});
  drop_annotations(object);
  auto annotate = [&](std::string_view key, const json::value& value) {
    ensure_object(meta, {"annotations"})[key] = to_text(value);
  };

  json::object next;
  for (std::string_view key : {"scaleTargetRef", "minReplicas", "maxReplicas"}) copy(spec, key, next, key);
  json::array others;
  for (const json::value& metric : array_at(spec, {"metrics"})) {
    if (!cpu_utilization(as_object(metric), {"target", "averageUtilization"}))
      others.push_back(metric_to_v1(as_object(metric), false));
    else if (!next.contains("targetCPUUtilizationPercentage"))
      next["targetCPUUtilizationPercentage"] =
          *value_at(as_object(metric), {"resource", "target", "averageUtilization"});
  }
  if (!others.empty()) annotate(kMetrics, others);

  json::object shown;
  for (std::string_view key : {"observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"})
    copy(status, key, shown, key);
  json::array current;
  for (const json::value& metric : array_at(status, {"currentMetrics"})) {
    current.push_back(metric_to_v1(as_object(metric), true));
    if (cpu_utilization(as_object(metric), {"current", "averageUtilization"}))
      shown["currentCPUUtilizationPercentage"] =
          *value_at(as_object(metric), {"resource", "current", "averageUtilization"});
  }
  if (!current.empty()) annotate(kCurrentMetrics, current);
  if (const json::value* behavior = value_at(spec, {"behavior"})) annotate(kBehavior, with_capitals(*behavior, true));
  if (const json::array& conditions = array_at(status, {"conditions"}); !conditions.empty())
    annotate(kConditions, conditions);
  object["spec"] = std::move(next);
  object["status"] = std::move(shown);
}

void hpa_to_v2(json::object& object) {
  const json::object spec = object_at(object, {"spec"}), status = object_at(object, {"status"});
  json::object next;
  for (std::string_view key : {"scaleTargetRef", "minReplicas", "maxReplicas"}) copy(spec, key, next, key);
  json::array metrics;
  if (const auto others = annotation(object, kMetrics)) metrics = metrics_to_v2(*others, false);
  const json::value* percent = value_at(spec, {"targetCPUUtilizationPercentage"});
  if (percent || metrics.empty())
    metrics.push_back(json::object{
        {"type", "Resource"},
        {"resource",
         {{"name", "cpu"},
          {"target",
           {{"type", "Utilization"}, {"averageUtilization", percent ? *percent : json::value(kDefaultCpu)}}}}}});
  next["metrics"] = std::move(metrics);
  if (const auto behavior = annotation(object, kBehavior)) next["behavior"] = with_capitals(*behavior, false);

  json::object shown;
  for (std::string_view key : {"observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"})
    copy(status, key, shown, key);
  if (const auto current = annotation(object, kCurrentMetrics)) {
    shown["currentMetrics"] = metrics_to_v2(*current, true);
  } else if (const json::value* used = value_at(status, {"currentCPUUtilizationPercentage"})) {
    shown["currentMetrics"] = json::array{json::object{
        {"type", "Resource"}, {"resource", {{"name", "cpu"}, {"current", {{"averageUtilization", *used}}}}}}};
  }
  if (const auto conditions = annotation(object, kConditions)) shown["conditions"] = *conditions;
  object["spec"] = std::move(next);
  object["status"] = std::move(shown);
  ensure_object(object, {"metadata"});
  drop_annotations(object);
}

}  // namespace hookd::embedded
