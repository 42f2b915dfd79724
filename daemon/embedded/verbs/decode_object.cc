#include "embedded/verbs/decode_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "embedded/resources/fields.h"
#include "embedded/schema/builtin.h"
#include "embedded/schema/decode.h"
#include "embedded/schema/defaults.h"
#include "embedded/schema/protobuf.h"
#include "embedded/schema/prune.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

std::string go_type(const json::value& value) {
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return "number";
}

constexpr std::string_view kScheme = "in scheme \"pkg/runtime/scheme.go:111\"";

// "apps/v1" -> {"apps", "v1"}
std::pair<std::string, std::string> group_version(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

// Is the body what this path takes? Sets apiVersion and kind where they are missing.
Answer<void> check_kind(json::object& object, const Request& request, const Resource& resource,
                        const Registry& registry) {
  const auto unrecognized = [&](std::string why) {
    return refuse(bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                                          resource.kind, why, body_summary(request.body))));
  };
  for (const std::string_view key : {"apiVersion", "kind"}) {
    const auto* value = object.if_contains(key);
    if (value && !value->is_string() && !value->is_null())
      return unrecognized(
          fmt::format("couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field "
                      ".{} of type string",
                      value->is_object() ? "object" : go_type(*value), key));
  }
  std::string kind(string_at(object, {"kind"})), api_version(string_at(object, {"apiVersion"}));
  if (resource.custom) {
    if (kind.empty()) return unrecognized(fmt::format("Object 'Kind' is missing in '{}'", request.body));
    if (api_version.empty()) return unrecognized(fmt::format("Object 'apiVersion' is missing in '{}'", request.body));
  }
  if (kind.empty()) kind = resource.kind;
  if (api_version.empty()) api_version = resource.api_version();
  const auto [group, version] = group_version(api_version);
  const auto mismatch = [&] {
    return refuse(
        bad_request(fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                                api_version, resource.api_version())));
  };
  if (kind != resource.kind || api_version != resource.api_version()) {
    const auto other = registry.find_kind(group, version, kind);
    const auto cannot = [&](std::string_view why) {
      return refuse(bad_request(
          fmt::format("{} in version {} cannot be handled as a {}: {}", kind, go_quote(version), resource.kind, why)));
    };
    if (resource.custom) {
      if (api_version != resource.api_version()) return mismatch();
      return refuse(
          invalid({resource.group, resource.plural, kind, std::string(string_at(object, {"metadata", "name"}))},
                  {{FieldError::Type::kInvalid, "kind", "must be " + resource.kind, json::value(kind)}}));
    }
    if (!other || other->custom)
      return cannot(
          fmt::format("no kind {} is registered for version {} {}", go_quote(kind), go_quote(api_version), kScheme));
    if (other->storage_key != resource.storage_key)
      return cannot(
          fmt::format("converting ({}.{}) to ({}): unknown conversion", version, kind, internal_name(resource)));
    return mismatch();
  }
  object["kind"] = resource.kind;
  object["apiVersion"] = api_version;
  return {};
}

// A body in protobuf as the object that JSON would have brought. There are no unknown fields for field validation.
Answer<json::object> decode_protobuf_request(const Request& request, const Resource& resource,
                                             const Registry& registry) {
  const auto envelope = open_protobuf(request.body);
  if (!envelope)
    return refuse(bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                                          resource.kind, envelope.error(), body_summary(request.body))));
  json::object object{{"apiVersion", envelope->api_version}, {"kind", envelope->kind}};
  if (auto done = check_kind(object, request, resource, registry); !done) return refuse(done.error());
  const auto cannot = [&](std::string_view why) {
    return refuse(bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}", resource.kind,
                                          go_quote(resource.version), resource.kind, why)));
  };
  auto decoded = decode_protobuf(envelope->raw, *resource.schema);
  if (!decoded) return cannot(decoded.error());
  for (auto& entry : *decoded) object[entry.key()] = std::move(entry.value());
  std::vector<std::string> unknown;
  if (auto done = decode_changed(object, resource, unknown); !done) return cannot(done.error());
  return object;
}

}  // namespace

Answer<json::object> decode_protobuf_delete_options(std::string_view body) {
  const auto envelope = open_protobuf(body);
  if (!envelope) return refuse(bad_request(envelope.error()));
  const auto& kind = envelope->kind;
  if (!kind.empty() && kind != "DeleteOptions")
    return refuse(
        bad_request(fmt::format("no kind {} is registered for version {} {}", go_quote(kind),
                                go_quote(envelope->api_version.empty() ? "v1" : envelope->api_version), kScheme)));
  auto decoded = decode_protobuf(envelope->raw, *builtin_type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"));
  if (!decoded) return refuse(bad_request(decoded.error()));
  return *std::move(decoded);
}

void merge_strict(std::vector<std::string>& duplicates, std::vector<std::string> unknown, const Resource& resource) {
  if (!resource.custom) {
    std::erase_if(duplicates, [&](std::string_view duplicate) {
      return std::any_of(unknown.begin(), unknown.end(), [&](std::string_view text) {
        // `unknown field "a.b"` covers `duplicate field "a.b"`, "a.b.c" and "a.b[0]".
        text.remove_suffix(1);
        const auto path = text.substr(text.find('"')),
                   twice = duplicate.substr(std::min(duplicate.find('"'), duplicate.size()));
        return twice.starts_with(path) && twice.size() > path.size() &&
               std::string_view("\".[").find(twice[path.size()]) != std::string_view::npos;
      });
    });
  }
  for (auto& text : unknown) duplicates.push_back(std::move(text));
}

std::string internal_name(const Resource& resource) {
  auto group = resource.group.substr(0, resource.group.find('.'));
  if (group.empty() || group == "events") group = "core";
  return group + "." + resource.kind;
}

std::expected<void, std::string> decode_changed(json::object& object, const Resource& resource,
                                                std::vector<std::string>& unknown) {
  if (resource.custom) {
    json::value whole(std::move(object));
    std::vector<std::string> dropped, of_metadata;
    auto meta = coerce_custom_meta(whole, *resource.schema, false, &of_metadata);
    if (meta) {
      prune_custom(whole, *resource.schema, &dropped);
      prune_custom_nulls(whole, *resource.schema);
      apply_defaults(whole, *resource.schema);
    }
    // Told in the real server's order: of the object's own metadata, of the schema, of the metadata of objects inside.
    const auto inside = std::ranges::stable_partition(
        of_metadata, [](const std::string& path) { return path.starts_with("metadata."); });
    dropped.insert(dropped.begin(), of_metadata.begin(), inside.begin());
    dropped.insert(dropped.end(), inside.begin(), inside.end());
    object = std::move(whole.get_object());
    if (!meta) return std::unexpected(meta.error().message);
    for (const auto& path : dropped) unknown.push_back(fmt::format("unknown field {}", go_quote(path)));
    return {};
  }
  if (!resource.schema) return {};
  auto report = decode(object, *resource.schema);
  if (!report) return std::unexpected(report.error());
  for (auto& text : report->unknown) unknown.push_back(std::move(text));
  apply_builtin_defaults(object, resource.group, resource.version, resource.kind);
  if (resource.strategy->defaults) resource.strategy->defaults(object);
  return {};
}

Answer<json::object> decode_request(const Request& request, const Resource& resource, const Registry& registry,
                                    FieldValidation validation, std::vector<std::string>& warnings) {
  if (is_protobuf(request) && !resource.custom && resource.schema != nullptr)
    return decode_protobuf_request(request, resource, registry);
  const auto unrecognized = [&](std::string_view why) {
    return refuse(bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                                          resource.kind, why, body_summary(request.body))));
  };
  const auto format = body_format(request);
  if (!format) return refuse(format.error());
  auto body = read_body(request.body, *format);
  if (!body) {
    if (body.error().starts_with(kNumberTooLarge))
      return refuse(bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}", resource.kind,
                                            go_quote(resource.version), resource.kind, body.error())));
    if (*format == Format::kYaml) return unrecognized(body.error());
    return unrecognized("couldn't get version/kind; json parse error: " + body.error());
  }
  if (body->value.is_null()) body->value = json::object{};
  if (!body->value.is_object())
    return unrecognized(fmt::format(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ "
        "APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        go_type(body->value)));
  auto object = std::move(body->value.get_object());
  if (auto done = check_kind(object, request, resource, registry); !done) {
    // Another version of a CRD's kind has no schema, so nothing in it is known: told besides the error, or before it.
    if (resource.custom && validation != FieldValidation::kIgnore && string_at(object, {"kind"}) == resource.kind &&
        group_version(string_at(object, {"apiVersion"})).first == resource.group) {
      std::set<std::string> told;
      for (const auto& entry : object)
        if (const auto key = entry.key(); key != "apiVersion" && key != "kind" && key != "metadata")
          told.insert(fmt::format("unknown field {}", go_quote(key)));
      if (validation == FieldValidation::kStrict && !told.empty())
        return refuse(bad_request(fmt::format(
            "{} in version {} cannot be handled as a {}: strict decoding error: {}", resource.kind,
            go_quote(group_version(string_at(object, {"apiVersion"})).second), resource.kind, fmt::join(told, ", "))));
      warnings.insert(warnings.end(), told.begin(), told.end());
    }
    return refuse(done.error());
  }
  std::vector<std::string> strict, unknown;
  if (validation != FieldValidation::kIgnore)
    strict = *format == Format::kJson ? duplicate_fields(request.body) : std::move(body->duplicates);
  if (auto done = decode_changed(object, resource, unknown); !done)
    return refuse(bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}", resource.kind,
                                          go_quote(resource.version), resource.kind, done.error())));
  merge_strict(strict, std::move(unknown), resource);
  if (validation == FieldValidation::kStrict && !strict.empty())
    return refuse(
        bad_request(fmt::format("{} in version {} cannot be handled as a {}: strict decoding error: {}", resource.kind,
                                go_quote(resource.version), resource.kind, fmt::join(strict, ", "))));
  if (validation == FieldValidation::kWarn)
    for (auto& text : strict) warnings.push_back(std::move(text));
  return object;
}

}  // namespace hookd::embedded
