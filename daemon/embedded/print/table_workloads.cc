// Jobs, services, events, nodes, autoscalers.
#include <algorithm>
#include <set>

#include "base/time.h"
#include "embedded/print/table.h"
#include "embedded/print/table_cells.h"

namespace hookd::embedded {
namespace {

json::value text(std::string_view value) { return json::value(value); }
json::value name_of(const json::object& object) { return text(string_at(object, {"metadata", "name"})); }

bool job_condition(const json::object& job, std::string_view type) {
  for (const json::value& item : array_at(job, {"status", "conditions"}))
    if (string_at(as_object(item), {"type"}) == type) return string_at(as_object(item), {"status"}) == "True";
  return false;
}

std::string job_status(const json::object& job) {
  if (job_condition(job, "Complete")) return "Complete";
  if (job_condition(job, "Failed")) return "Failed";
  if (has(job, {"metadata", "deletionTimestamp"})) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (job_condition(job, type)) return type;
  return "Running";
}

// Addresses of a load balancer, sorted and each once.
std::string balancer(const json::object& object) {
  std::set<std::string_view> out;
  for (const json::value& item : array_at(object, {"status", "loadBalancer", "ingress"})) {
    const std::string_view ip = string_at(as_object(item), {"ip"}), host = string_at(as_object(item), {"hostname"});
    if (!ip.empty() || !host.empty()) out.insert(ip.empty() ? host : ip);
  }
  return fmt::format("{}", fmt::join(out, ","));
}

std::string external_ip(const json::object& service) {
  std::vector<std::string_view> ips;
  for (const json::value& ip : array_at(service, {"spec", "externalIPs"})) ips.push_back(as_string(ip));
  std::string outside = fmt::format("{}", fmt::join(ips, ","));
  const std::string_view type = string_at(service, {"spec", "type"});
  if (type == "ClusterIP" || type == "NodePort") return outside.empty() ? "<none>" : outside;
  if (type == "LoadBalancer") {
    const std::string own = balancer(service);
    if (outside.empty()) return own.empty() ? "<pending>" : own;
    return own.empty() ? outside : own + "," + outside;
  }
  return type == "ExternalName" ? std::string(string_at(service, {"spec", "externalName"})) : "<unknown>";
}

std::string quantity_of(const json::value* value, std::string unset) {
  if (!value) return unset;
  return value->is_string() ? std::string(as_string(*value)) : json::serialize(*value);
}

// One metric of an autoscaler: "cpu: 10%/80%".
std::string metric_text(const json::object& spec, const json::object* status) {
  struct Source {
    const char* type;
    const char* field;
  };
  constexpr Source kSources[] = {{"External", "external"},
                                 {"Pods", "pods"},
                                 {"Object", "object"},
                                 {"Resource", "resource"},
                                 {"ContainerResource", "containerResource"}};
  const std::string_view type = string_at(spec, {"type"});
  for (const Source& source : kSources) {
    if (type != source.type) continue;
    const json::object& target = object_at(spec, {source.field, "target"});
    const json::object& current = status ? object_at(*status, {source.field, "current"}) : object_at(spec, {"-"});
    const bool average = has(target, {"averageValue"});
    if (type == "Pods")
      return fmt::format("{}/{}", quantity_of(value_at(current, {"averageValue"}), "<unknown>"),
                         quantity_of(value_at(target, {"averageValue"}), "0"));
    if (type == "External" || type == "Object") {
      const char* const key = average ? "averageValue" : "value";
      return fmt::format("{}/{}{}", quantity_of(value_at(current, {key}), "<unknown>"),
                         quantity_of(value_at(target, {key}), "0"), average ? " (avg)" : "");
    }
    const std::string_view name = string_at(spec, {source.field, "name"});
    if (average)
      return fmt::format("{}: {}/{}", name, quantity_of(value_at(current, {"averageValue"}), "<unknown>"),
                         quantity_of(value_at(target, {"averageValue"}), "0"));
    const auto is = integer_at(current, {"averageUtilization"}), wanted = integer_at(target, {"averageUtilization"});
    return fmt::format("{}: {}/{}", name, is ? fmt::format("{}%", *is) : "<unknown>",
                       wanted ? fmt::format("{}%", *wanted) : "<auto>");
  }
  return "<unknown type>";
}

std::string metrics_text(const json::object& autoscaler) {
  if (const auto wanted = integer_at(autoscaler, {"spec", "targetCPUUtilizationPercentage"})) {  // autoscaling/v1
    const auto is = integer_at(autoscaler, {"status", "currentCPUUtilizationPercentage"});
    return fmt::format("cpu: {}/{}%", is ? fmt::format("{}%", *is) : "<unknown>", *wanted);
  }
  const json::array& metrics = array_at(autoscaler, {"spec", "metrics"});
  const json::array& statuses = array_at(autoscaler, {"status", "currentMetrics"});
  if (metrics.empty()) return "<none>";
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min<size_t>(2, metrics.size()); ++i)
    parts.push_back(metric_text(as_object(metrics[i]), i < statuses.size() ? &as_object(statuses[i]) : nullptr));
  std::string out = fmt::format("{}", fmt::join(parts, ", "));
  if (metrics.size() > 2) out += fmt::format(" + {} more...", metrics.size() - 2);
  return out;
}

}  // namespace

void add_containers(json::array& cells, const json::object& pod_spec) {
  std::vector<std::string_view> names, images;
  for (const json::value& item : array_at(pod_spec, {"containers"})) {
    names.push_back(string_at(as_object(item), {"name"}));
    images.push_back(string_at(as_object(item), {"image"}));
  }
  cells.push_back(text(fmt::format("{}", fmt::join(names, ","))));
  cells.push_back(text(fmt::format("{}", fmt::join(images, ","))));
}

json::array job_cells(const json::object& job, WallTime now) {
  const int64_t done = integer_at(job, {"status", "succeeded"}).value_or(0);
  const int64_t parallel = integer_at(job, {"spec", "parallelism"}).value_or(0);
  const auto wanted = integer_at(job, {"spec", "completions"});
  const std::string completions = wanted         ? fmt::format("{}/{}", done, *wanted)
                                  : parallel > 1 ? fmt::format("{}/1 of {}", done, parallel)
                                                 : fmt::format("{}/1", done);
  std::string took;
  if (const Result<WallTime> start = parse_rfc3339(string_at(job, {"status", "startTime"}))) {
    const Result<WallTime> end = parse_rfc3339(string_at(job, {"status", "completionTime"}));
    took = human_duration((end ? *end : now) - *start);
  }
  json::array cells{name_of(job), text(job_status(job)), text(completions), text(took), text(age_of(job, now))};
  add_containers(cells, object_at(job, {"spec", "template", "spec"}));
  cells.push_back(text(selector_text(value_at(job, {"spec", "selector"}), "<none>", "<none>")));
  return cells;
}

json::array service_cells(const json::object& service, WallTime now) {
  std::vector<std::string> ports;
  for (const json::value& item : array_at(service, {"spec", "ports"})) {
    const json::object& port = as_object(item);
    const int64_t number = integer_at(port, {"port"}).value_or(0), node = integer_at(port, {"nodePort"}).value_or(0);
    const std::string_view protocol = string_at(port, {"protocol"});
    ports.push_back(node > 0 ? fmt::format("{}:{}/{}", number, node, protocol)
                             : fmt::format("{}/{}", number, protocol));
  }
  const json::array& ips = array_at(service, {"spec", "clusterIPs"});
  return {name_of(service),
          text(string_at(service, {"spec", "type"})),
          text(ips.empty() ? "<none>" : as_string(ips[0])),
          text(external_ip(service)),
          text(ports.empty() ? "<none>" : fmt::format("{}", fmt::join(ports, ","))),
          text(age_of(service, now)),
          text(labels_text(object_at(service, {"spec", "selector"})))};
}

// core/v1 and events.k8s.io/v1, whose fields have other names.
json::array event_cells(const json::object& event, WallTime now) {
  const auto either = [&](const char* one, const char* other) {
    const std::string_view value = string_at(event, {one});
    return value.empty() ? string_at(event, {other}) : value;
  };
  const json::object& about = object_at(event, {has(event, {"regarding"}) ? "regarding" : "involvedObject"});
  const json::object& source = object_at(event, {has(event, {"deprecatedSource"}) ? "deprecatedSource" : "source"});
  std::string_view first = either("firstTimestamp", "deprecatedFirstTimestamp");
  if (first.empty()) first = string_at(event, {"eventTime"});
  std::string_view last = either("lastTimestamp", "deprecatedLastTimestamp");
  if (last.empty()) last = first;
  int64_t count = integer_at(event, {"count"}).value_or(integer_at(event, {"deprecatedCount"}).value_or(0));
  if (has(event, {"series"})) {
    last = string_at(event, {"series", "lastObservedTime"});
    count = integer_at(event, {"series", "count"}).value_or(0);
  } else if (count == 0) {
    count = 1;
  }
  std::string target(string_at(about, {"kind"}));
  std::ranges::transform(target, target.begin(), [](unsigned char c) { return std::tolower(c); });
  if (const std::string_view name = string_at(about, {"name"}); !name.empty()) target += fmt::format("/{}", name);
  const auto first_of = [](std::string_view a, std::string_view b) { return a.empty() ? b : a; };
  std::string by(first_of(string_at(source, {"component"}), either("reportingComponent", "reportingController")));
  if (const std::string_view host = first_of(string_at(source, {"host"}), string_at(event, {"reportingInstance"}));
      !host.empty())
    by += fmt::format(", {}", host);
  std::string_view message = either("message", "note");
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back()))) message.remove_suffix(1);
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.front()))) message.remove_prefix(1);
  return {text(age_of(last, now)),
          text(string_at(event, {"type"})),
          text(string_at(event, {"reason"})),
          text(target),
          text(string_at(about, {"fieldPath"})),
          text(by),
          text(message),
          text(age_of(first, now)),
          count,
          name_of(event)};
}

json::array node_cells(const json::object& node, WallTime now) {
  std::string status = "Unknown";
  for (const json::value& item : array_at(node, {"status", "conditions"}))
    if (string_at(as_object(item), {"type"}) == "Ready")
      status = string_at(as_object(item), {"status"}) == "True" ? "Ready" : "NotReady";
  if (bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::set<std::string_view> roles;
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  for (const auto& entry : object_at(node, {"metadata", "labels"})) {
    const std::string_view key = entry.key();
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) roles.insert(key.substr(kPrefix.size()));
    if (key == "kubernetes.io/role" && !as_string(entry.value()).empty()) roles.insert(as_string(entry.value()));
  }
  const auto address = [&](std::string_view type) {
    for (const json::value& item : array_at(node, {"status", "addresses"}))
      if (string_at(as_object(item), {"type"}) == type) return string_at(as_object(item), {"address"});
    return std::string_view("<none>");
  };
  const auto info = [&](const char* key) {
    const std::string_view value = string_at(node, {"status", "nodeInfo", key});
    return std::string(value.empty() ? "<unknown>" : value);
  };
  std::string kernel = info("kernelVersion");
  if (const std::string_view processor = string_at(node, {"status", "nodeInfo", "architecture"}); !processor.empty())
    kernel += fmt::format(" ({})", processor);
  return {name_of(node),
          text(status),
          text(roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","))),
          text(age_of(node, now)),
          text(string_at(node, {"status", "nodeInfo", "kubeletVersion"})),
          text(address("InternalIP")),
          text(address("ExternalIP")),
          text(info("osImage")),
          text(kernel),
          text(info("containerRuntimeVersion"))};
}

json::array autoscaler_cells(const json::object& object, WallTime now) {
  const auto least = integer_at(object, {"spec", "minReplicas"});
  return {name_of(object),
          text(fmt::format("{}/{}", string_at(object, {"spec", "scaleTargetRef", "kind"}),
                           string_at(object, {"spec", "scaleTargetRef", "name"}))),
          text(metrics_text(object)),
          text(least ? std::to_string(*least) : "<unset>"),
          integer_at(object, {"spec", "maxReplicas"}).value_or(0),
          integer_at(object, {"status", "currentReplicas"}).value_or(0),
          text(age_of(object, now))};
}

}  // namespace hookd::embedded
