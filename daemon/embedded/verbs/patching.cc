#include "embedded/verbs/patching.h"

#include <fmt/format.h>

#include "embedded/merge/managed_fields.h"
#include "embedded/merge/patch.h"
#include "embedded/schema/decode.h"
#include "embedded/verbs/decode_object.h"
#include "embedded/wire/body.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

std::string go_type(const json::value& value) {
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_null() ? "null" : "number";
}

// fmt's %v of a decoded JSON value: map[a:1 b:[x y]].
std::string go_value(const json::value& value) {
  if (const auto* object = value.if_object()) {
    std::map<std::string, const json::value*> sorted;
    for (const auto& [key, item] : *object) sorted.emplace(std::string(key), &item);
    std::string out = "map[";
    for (const auto& [key, item] : sorted) out += (out.size() > 4 ? " " : "") + key + ":" + go_value(*item);
    return out + "]";
  }
  if (const auto* array = value.if_array()) {
    std::string out = "[";
    for (const auto& item : *array) out += (out.size() > 1 ? " " : "") + go_value(item);
    return out + "]";
  }
  if (const auto* text = value.if_string()) return std::string(*text);
  return value.is_null() ? "<nil>" : to_text(value);
}

// 422 about the patch itself; it names no kind.
StatusError patch_invalid(json::value shown, std::string why) {
  return invalid({}, {{FieldError::Type::kInvalid, "patch", std::move(why), std::move(shown)}});
}

// A strategic patch's result is not decoded from JSON but converted; other words for the same.
std::string converter_error(const std::string& text) {
  constexpr std::string_view kStart = "json: cannot unmarshal ", kType = " of type ";
  const auto type_at = text.rfind(kType);
  if (!text.starts_with(kStart) || type_at == std::string::npos) return text;
  const auto kind = text.substr(kStart.size(), text.find(' ', kStart.size()) - kStart.size());
  const auto type = text.substr(type_at + kType.size());
  const auto number = text.substr(kStart.size(), text.find(" into ") - kStart.size());  // "number 1.5"
  const std::string go = kind == "number"   ? number.find_first_of(".eE", 6) == std::string::npos ? "int64" : "float64"
                         : kind == "array"  ? "slice"
                         : kind == "object" ? "map"
                                            : kind;
  if (type.starts_with("[]")) return fmt::format("cannot restore slice from {}", go);
  if (type.starts_with("map[")) return fmt::format("cannot restore map from {}", go);
  if (type.starts_with("v1.") || type.starts_with("v2.")) return fmt::format("cannot restore struct from: {}", go);
  return fmt::format("cannot convert {} to {}",
                     kind == "array"    ? "[]interface {}"
                     : kind == "object" ? "map[string]interface {}"
                                        : go,
                     type);
}

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod"
std::string kind_text(const Resource& resource) {
  return fmt::format("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
}

// The document with its first level in order, as the real server's patch library writes it.
std::string patched_text(const json::object& object) {
  std::map<std::string, const json::value*> sorted;
  for (const auto& [key, value] : object) sorted.emplace(std::string(key), &value);
  std::string out = "{";
  for (const auto& [key, value] : sorted) {
    if (out.size() > 1) out += ',';
    append_text(out, json::value(key));
    out += ':';
    append_text(out, *value);
  }
  return out + "}";
}

// `shown`: the value that an error about the result shows.
Answer<json::object> decoded(const WriteCall& call, const PatchInput& input, json::object object,
                             std::vector<std::string> strict, const std::function<json::value()>& shown) {
  const auto& resource = *call.resource;
  if (input.type == PatchType::kStrategic) {  // never looks at these
    object["kind"] = resource.kind;
    object["apiVersion"] = resource.api_version();
  }
  const auto kind = string_at(object, {"kind"}), version = string_at(object, {"apiVersion"});
  if (kind != resource.kind || version != resource.api_version()) {
    if (resource.custom)
      return refuse(bad_request(fmt::format("{} in version {} cannot be handled as a {}: expected kind: {}", kind,
                                            go_quote(version), resource.kind, resource.kind)));
    return refuse(patch_invalid(shown(), fmt::format("no kind {} is registered for version {} in scheme "
                                                     "\"pkg/runtime/scheme.go:111\"",
                                                     go_quote(kind), go_quote(version))));
  }
  std::vector<std::string> unknown;
  if (auto done = decode_changed(object, resource, unknown); !done)
    return refuse(
        patch_invalid(shown(), input.type == PatchType::kStrategic ? converter_error(done.error()) : done.error()));
  merge_strict(strict, std::move(unknown), resource);
  if (input.options.validation == FieldValidation::kStrict && !strict.empty())
    return refuse(patch_invalid(shown(), fmt::format("strict decoding error: {}", fmt::join(strict, ", "))));
  if (input.options.validation == FieldValidation::kWarn)
    for (auto& text : strict) call.warn(std::move(text));
  return object;
}

Answer<json::object> apply_config(const WriteCall& call, const PatchInput& input, const json::object& live) {
  const auto& resource = *call.resource;
  auto body = read_body(input.body, Format::kYaml);
  if (!body) return refuse(bad_request("error decoding YAML: error converting YAML to JSON: " + body.error()));
  if (!body->value.is_object())
    return refuse(
        bad_request(fmt::format("error decoding YAML: error unmarshaling JSON: while decoding JSON: json: "
                                "cannot unmarshal {} into Go value of type map[string]interface {{}}",
                                go_type(body->value))));
  json::object base = live;
  if (base.empty()) base = {{"apiVersion", resource.api_version()}, {"kind", resource.kind}};
  auto merged = apply_patch(base, body->value.get_object(), *resource.schema, writer_of(call),
                            input.options.force.value_or(false), reset_fields(resource, call.subresource));
  if (!merged) return refuse(merged.error());
  if (!body->duplicates.empty() && input.options.validation != FieldValidation::kIgnore) {
    if (input.options.validation == FieldValidation::kStrict)
      return refuse(bad_request(
          fmt::format("error strict decoding YAML: error unmarshaling JSON: {}", fmt::join(body->duplicates, ", "))));
    for (auto& text : body->duplicates) call.warn(std::move(text));
  }
  std::vector<std::string> unknown;
  if (auto done = decode_changed(*merged, resource, unknown); !done)
    return refuse(plain_error(
        500, fmt::format("failed to convert new object ({}/{}; {}) to proper version: unable to convert unstructured "
                         "object to {}: {}",
                         string_at(*merged, {"metadata", "namespace"}), string_at(*merged, {"metadata", "name"}),
                         kind_text(resource), kind_text(resource), converter_error(done.error()))));
  return merged;
}

}  // namespace

Change patch_change(const WriteCall& call, const PatchInput& input) {
  Change change;
  change.owns_fields = input.type == PatchType::kApply;
  change.allow_create = change.owns_fields && call.subresource.empty();
  change.make = [&call, input](const json::object& live) -> Answer<json::object> {
    if (input.type == PatchType::kApply) return apply_config(call, input, live);
    if (live.empty()) return refuse(not_found(call.about()));
    const bool strict = input.options.validation != FieldValidation::kIgnore;
    const std::string_view prefix = input.type == PatchType::kStrategic || !strict ? "" : "error decoding patch: ";
    auto patch = parse_text(input.body);
    if (!patch) return refuse(bad_request(std::string(prefix) + patch.error()));
    auto duplicates = strict ? duplicate_fields(input.body) : std::vector<std::string>{};
    if (input.type == PatchType::kJson) {
      if (!patch->is_array())
        return refuse(bad_request(fmt::format(
            "{}json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp", prefix, go_type(*patch))));
      if (strict) {
        size_t index = 0;
        for (const auto& operation : patch->get_array()) {
          if (operation.is_object())
            for (const auto& [key, value] : operation.get_object())
              if (key != "op" && key != "path" && key != "from" && key != "value")
                duplicates.push_back(fmt::format("unknown field \"[{}].{}\"", index, std::string_view(key)));
          ++index;
        }
      }
      for (auto& text : duplicates) text = "json patch " + text;
      auto done = json_patch(json::value(live), *patch);
      if (!done) return refuse(done.error());
      if (!done->is_object())
        return refuse(patch_invalid(json::value(to_text(*done)),
                                    "couldn't get version/kind; json parse error: json: cannot unmarshal " +
                                        go_type(*done) + " into Go value"));
      const auto whole = done->get_object();
      return decoded(call, input, std::move(done->get_object()), std::move(duplicates),
                     [&] { return json::value(patched_text(whole)); });
    }
    if (patch->is_null() && input.type == PatchType::kStrategic) *patch = json::object{};
    if (patch->is_null()) return refuse(bad_request("Invalid JSON Patch"));
    if (!patch->is_object())
      return refuse(bad_request(fmt::format(
          "{}json: cannot unmarshal {} into Go value of type map[string]interface {{}}", prefix, go_type(*patch))));
    if (input.type == PatchType::kMerge) {
      auto done = merge_patch(json::value(live), *patch);
      const auto whole = done.as_object();
      return decoded(call, input, std::move(done.as_object()), std::move(duplicates),
                     [&] { return json::value(patched_text(whole)); });
    }
    if (!call.resource->schema) return refuse(unsupported_media_type("415: Unsupported Media Type"));
    auto done = strategic_patch(live, patch->get_object(), *call.resource->schema);
    if (!done) return refuse(done.error());
    return decoded(call, input, *std::move(done), std::move(duplicates), [&] { return json::value(go_value(*patch)); });
  };
  return change;
}

}  // namespace hookd::embedded
