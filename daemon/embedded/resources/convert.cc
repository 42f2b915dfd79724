#include "embedded/resources/convert.h"

#include <array>

#include "embedded/resources/convert_kinds.h"
#include "embedded/resources/fields.h"
#include "embedded/schema/builtin.h"
#include "embedded/schema/decode.h"
#include "embedded/schema/defaults.h"
#include "embedded/schema/prune.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

using Renames = std::array<std::pair<std::string_view, std::string_view>, 14>;

// core/v1 and events.k8s.io/v1, in the order in which each is printed.
constexpr Renames kToEvents{{{"eventTime", "eventTime"},
                             {"series", "series"},
                             {"reportingComponent", "reportingController"},
                             {"reportingInstance", "reportingInstance"},
                             {"action", "action"},
                             {"reason", "reason"},
                             {"involvedObject", "regarding"},
                             {"related", "related"},
                             {"message", "note"},
                             {"type", "type"},
                             {"source", "deprecatedSource"},
                             {"firstTimestamp", "deprecatedFirstTimestamp"},
                             {"lastTimestamp", "deprecatedLastTimestamp"},
                             {"count", "deprecatedCount"}}};
constexpr Renames kToCore{{{"regarding", "involvedObject"},
                           {"reason", "reason"},
                           {"note", "message"},
                           {"deprecatedSource", "source"},
                           {"deprecatedFirstTimestamp", "firstTimestamp"},
                           {"deprecatedLastTimestamp", "lastTimestamp"},
                           {"deprecatedCount", "count"},
                           {"type", "type"},
                           {"eventTime", "eventTime"},
                           {"series", "series"},
                           {"action", "action"},
                           {"related", "related"},
                           {"reportingController", "reportingComponent"},
                           {"reportingInstance", "reportingInstance"}}};

void rename(json::object& object, const Renames& names) {
  json::object out;
  for (std::string_view key : {"apiVersion", "kind", "metadata"})
    if (json::value* value = object.if_contains(key)) out[key] = std::move(*value);
  for (const auto& [from, to] : names)
    if (json::value* value = object.if_contains(from)) out[to] = std::move(*value);
  object = std::move(out);
}

void convert_builtin(json::object& object, std::string_view from, std::string_view to) {
  if (from == "v1" && to == "events.k8s.io/v1") event_to_events(object);
  if (from == "events.k8s.io/v1" && to == "v1") event_to_core(object);
  if (from == "autoscaling/v1" && to == "autoscaling/v2") hpa_to_v2(object);
  if (from == "autoscaling/v2" && to == "autoscaling/v1") hpa_to_v1(object);
}

std::pair<std::string_view, std::string_view> group_and_version(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

}  // namespace

void event_to_events(json::object& object) { rename(object, kToEvents); }
void event_to_core(json::object& object) { rename(object, kToCore); }

bool needs_conversion(const Resource& resource) {
  return resource.coerce_on_read ||
         (!resource.storage_version.empty() && resource.api_version() != resource.storage_version);
}

Answer<void> convert(json::object& object, const Resource& resource, std::string_view api_version) {
  const std::string from(string_at(object, {"apiVersion"}));
  const bool same_version = from == api_version;
  if (!resource.custom) {
    if (same_version) return {};
    convert_builtin(object, from, api_version);
    object["apiVersion"] = api_version;
    const auto [group, version] = group_and_version(api_version);
    if (const Schema* schema = builtin_schema(group, version, resource.kind)) complete(object, *schema);
    return {};
  }
  if (!same_version && resource.webhook_conversion)
    return refuse(internal_error(fmt::format(
        "conversion of {} \"{}\" from {} to {}: the CustomResourceDefinition asks for a conversion webhook, which this "
        "embedded API server does not call; use the version in which the object is stored, or strategy None",
        resource.kind, string_at(object, {"metadata", "name"}), from, api_version)));
  object["apiVersion"] = api_version;
  const bool to_request = api_version == resource.api_version();
  const Schema* schema = to_request                                ? resource.schema.get()
                         : api_version == resource.storage_version ? resource.storage_schema
                                                                   : nullptr;
  if (schema && (!same_version || (to_request && resource.coerce_on_read))) {
    json::value whole(std::move(object));
    prune_custom(whole, *schema, nullptr);
    prune_custom_nulls(whole, *schema);
    apply_defaults(whole, *schema);
    object = std::move(whole.as_object());
  }
  return {};
}

Answer<std::string> convert_text(std::string_view text, const Resource& resource) {
  auto parsed = parse_text(text);
  if (!parsed || !parsed->is_object()) return refuse(internal_error("a stored object is not JSON"));
  json::object object = std::move(parsed->as_object());
  if (auto done = convert(object, resource, resource.api_version()); !done) return refuse(done.error());
  return to_text(object);
}

}  // namespace hookd::embedded
