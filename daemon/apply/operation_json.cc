#include "apply/operation_json.h"

#include "base/json_read.h"
#include "base/time.h"

namespace hookd::apply {
namespace {

using boost::json::object;
using boost::json::value;

value parsed(const std::string& text) {
  auto read = parse_json(text);
  return read ? *std::move(read) : value(text);
}

void put(object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}

void put_event(object& out, const Operation& op) {
  object about;
  put(about, "apiVersion", op.api_version);
  put(about, "kind", op.kind);
  put(about, "namespace", op.ns);
  put(about, "name", op.name);
  put(about, "uid", op.uid);
  out["about"] = std::move(about);
  put(out, "type", op.event_type);
  put(out, "reason", op.reason);
  put(out, "message", op.message);
}

void put_metric(object& out, const MetricSample& metric) {
  using Action = MetricSample::Action;
  if (metric.action == Action::kExpire) {
    out["action"] = "expire";
    put(out, "group", metric.group);
    return;
  }
  put(out, "name", metric.name);
  out["action"] = metric.action == Action::kSet ? "set" : metric.action == Action::kAdd ? "add" : "observe";
  out["value"] = metric.value;
  object labels;
  for (const auto& [key, text] : metric.labels) labels[key] = text;
  if (!labels.empty()) out["labels"] = std::move(labels);
  put(out, "group", metric.group);
}

}  // namespace

object operation_json(const Operation& op) {
  object out;
  out["operation"] = std::string(to_string(op.verb));
  if (op.verb == Verb::kEvent) {
    put_event(out, op);
    return out;
  }
  if (op.metric) {
    put_metric(out, *op.metric);
    return out;
  }
  if (op.verb == Verb::kRequeue) {
    out["after"] = format_duration(op.after);
    return out;
  }
  put(out, "apiVersion", op.api_version);
  put(out, "kind", op.kind);
  put(out, "namespace", op.ns);
  put(out, "name", op.name);
  put(out, "generateName", op.generate_name);
  put(out, "uid", op.uid);
  put(out, "resourceVersion", op.resource_version);
  if (!op.object.empty()) out["object"] = parsed(op.object);
  if (!op.patch.empty()) out[op.verb == Verb::kStatus ? "status" : "patch"] = parsed(op.patch);
  put(out, "jqFilter", op.jq_filter);
  if (op.verb == Verb::kCondition) {
    put(out, "type", op.condition_type);
    put(out, "status", op.condition_status);
    put(out, "reason", op.reason);
    put(out, "message", op.message);
  }
  if (op.grace_period_seconds) out["gracePeriodSeconds"] = *op.grace_period_seconds;
  put(out, "propagationPolicy", op.propagation_policy);
  put(out, "subresource", op.subresource);
  if (op.ignore_missing_object) out["ignoreMissingObject"] = true;
  if (op.dry_run) out["dryRun"] = true;
  if (op.force && !op.from_manifest) out["force"] = true;
  put(out, "fieldManager", op.field_manager);
  if (op.verb == Verb::kScale) out["replicas"] = op.replicas;
  if (!op.entries.empty()) {
    object entries;
    for (const auto& [key, text] : op.entries) entries[key] = text ? value(*text) : value();
    out[op.verb == Verb::kLabel ? "labels" : "annotations"] = std::move(entries);
  }
  return out;
}

}  // namespace hookd::apply
