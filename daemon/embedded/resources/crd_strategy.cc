#include "embedded/resources/crd_strategy.h"

#include <algorithm>
#include <cctype>

#include "embedded/resources/crd_schema_rules.h"
#include "embedded/resources/crd_validate.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded {

namespace {

std::string_view storage_version(const json::object& crd) {
  for (const json::value& version : array_at(crd, {"spec", "versions"}))
    if (bool_at(as_object(version), {"storage"})) return string_at(as_object(version), {"name"});
  return "";
}

void add_stored_version(json::object& crd) {
  const std::string_view storage = storage_version(crd);
  if (storage.empty()) return;
  json::value& stored = ensure_object(crd, {"status"})["storedVersions"];
  if (!stored.is_array()) stored = json::array();
  if (std::ranges::find(stored.get_array(), json::value(storage)) == stored.get_array().end())
    stored.get_array().push_back(json::value(storage));
}

void set_defaults(json::object& crd) {
  json::object& spec = ensure_object(crd, {"spec"});
  json::object& names = ensure_object(spec, {"names"});
  const std::string kind(string_at(names, {"kind"}));
  if (string_at(names, {"singular"}).empty()) {
    std::string singular = kind;
    std::ranges::transform(singular, singular.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    names["singular"] = singular;
  }
  if (string_at(names, {"listKind"}).empty() && !kind.empty()) names["listKind"] = kind + "List";
  if (!has(spec, {"conversion"})) spec["conversion"] = json::object{{"strategy", "None"}};
  if (has(spec, {"conversion", "webhook", "clientConfig", "service"})) {
    json::object& service = ensure_object(spec, {"conversion", "webhook", "clientConfig", "service"});
    if (!has(service, {"port"})) service["port"] = 443;
  }
  if (array_at(crd, {"status", "storedVersions"}).empty()) add_stored_version(crd);
}

void validate(const json::object& crd, FieldErrors& errors) {
  const std::string wanted =
      fmt::format("{}.{}", string_at(crd, {"spec", "names", "plural"}), string_at(crd, {"spec", "group"}));
  // Of one that is there neither may change, which validate_crd_update() tells.
  const bool create = !has(crd, {"metadata", "resourceVersion"});
  if (const std::string_view name = string_at(crd, {"metadata", "name"}); create && name != wanted)
    Complaints(errors).invalid("metadata.name", json::value(name), "must be spec.names.plural+\".\"+spec.group");
  validate_crd(crd, errors);
}

std::vector<std::string> warnings(const json::object& crd) {
  std::vector<std::string> out;
  // Told when it is created; an update that brings no new format is not to repeat it.
  const bool create = !has(crd, {"metadata", "resourceVersion"});
  std::string with_rules;
  for (const json::value& version : array_at(crd, {"spec", "versions"})) {
    const json::object& schema = object_at(as_object(version), {"schema", "openAPIV3Schema"});
    if (create)
      for (const std::string& format : unrecognized_formats(schema))
        out.push_back(fmt::format("unrecognized format \"{}\"", format));
    if (has_rules(schema))
      with_rules += (with_rules.empty() ? "" : ", ") + std::string(string_at(as_object(version), {"name"}));
  }
  if (!with_rules.empty())
    out.push_back(
        fmt::format("x-kubernetes-validations of {} ({}) are not evaluated: this embedded API server has no "
                    "CEL; a cluster may refuse objects that are accepted here",
                    string_at(crd, {"metadata", "name"}), with_rules));
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Strategy make_strategy() {
  Strategy out;
  out.defaults = set_defaults;
  out.prepare_create = [](json::object& crd, const WriteContext&) {
    crd["status"] = json::object{
        {"conditions", nullptr}, {"acceptedNames", {{"plural", ""}, {"kind", ""}}}, {"storedVersions", json::array()}};
    add_stored_version(crd);
  };
  out.prepare_update = [](json::object& next, const json::object&, const WriteContext& context) {
    if (context.subresource.empty()) add_stored_version(next);
  };
  out.validate = validate;
  out.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
    validate_crd_update(next, live, errors);
  };
  out.validate_status = [](const json::object& next, const json::object&, FieldErrors& errors) {
    validate_crd_status(next, errors);
  };
  out.warnings = warnings;
  out.generation = true;
  out.allow_unconditional_update = false;
  return out;
}

}  // namespace

bool mark_crd_ending(json::object& crd, const std::string& now) {
  json::object& metadata = ensure_object(crd, {"metadata"});
  if (has(metadata, {"deletionTimestamp"})) return false;
  metadata["deletionTimestamp"] = now;
  json::value& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) finalizers = json::array();
  if (std::ranges::find(finalizers.get_array(), json::value(kCrdFinalizer)) == finalizers.get_array().end())
    finalizers.get_array().push_back(json::value(kCrdFinalizer));
  json::value& conditions = ensure_object(crd, {"status"})["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  conditions.get_array().push_back(json::object{
      {"type", "Terminating"},
      {"status", "True"},
      {"lastTransitionTime", now},
      {"reason", "InstanceDeletionPending"},
      {"message", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"}});
  return true;
}

const Strategy& crd_strategy() {
  static const Strategy kStrategy = make_strategy();
  return kStrategy;
}

}  // namespace hookd::embedded
