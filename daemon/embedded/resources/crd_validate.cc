#include "embedded/resources/crd_validate.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/ascii.h"
#include "embedded/resources/crd_schema_rules.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded {

namespace {

std::string joined(const Faulty& faults) {
  std::string out;
  for (const std::string& fault : faults) out += (out.empty() ? "" : ",") + fault;
  return out;
}

class CrdRules {
 public:
  CrdRules(const json::object& crd, FieldErrors& errors)
      : crd_(crd), spec_(object_at(crd, {"spec"})), errors_(errors), complain_(errors) {}

  void run() {
    group();
    complain_.one_of("spec.scope", string_at(spec_, {"scope"}), {"Cluster", "Namespaced"});
    versions();
    names_required();
    names(object_at(spec_, {"names"}), "spec.names");
    shared_parts();
    conversion();
    accepted_names();
    stored_versions();
    approval();
    if (bool_at(spec_, {"preserveUnknownFields"}))
      complain_.invalid("spec.preserveUnknownFields", true,
                        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                        "spec.versions[*].schema instead");
  }

  void accepted_names() { names(object_at(crd_, {"status", "acceptedNames"}), "status.acceptedNames"); }

 private:
  const json::array& list() const { return array_at(spec_, {"versions"}); }

  // All versions have the same value of this field (or none has it).
  bool alike(std::string_view key) const {
    const json::array& all = list();
    return std::ranges::all_of(all, [&](const json::value& version) {
      return same(value_at(as_object(version), {key}), value_at(as_object(all.front()), {key}));
    });
  }

  void group() {
    const std::string_view group = string_at(spec_, {"group"});
    if (group.empty()) return complain_.required("spec.group");
    if (const Faulty faults = dns_subdomain(group); !faults.empty())
      complain_.invalid("spec.group", json::value(group), joined(faults));
    else if (group.find('.') == std::string_view::npos)
      complain_.invalid("spec.group", json::value(group), "should be a domain with at least one dot");
  }

  void versions() {
    const json::array& all = list();
    const bool schemas_alike = alike("schema");
    // A schema that all have counts as one of the spec.
    if (!(schemas_alike && !all.empty() && has(as_object(all.front()), {"schema", "openAPIV3Schema"})))
      for (size_t i = 0; i < all.size(); ++i)
        if (!has(as_object(all[i]), {"schema", "openAPIV3Schema"}))
          complain_.required(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i));
    int storage = 0;
    bool unique = true;
    std::set<std::string_view> seen;
    for (size_t i = 0; i < all.size(); ++i) {
      const json::object& version = as_object(all[i]);
      const std::string where = at("spec.versions", i);
      storage += bool_at(version, {"storage"}) ? 1 : 0;
      const std::string_view name = string_at(version, {"name"});
      unique = seen.insert(name).second && unique;
      if (const Faulty faults = dns_1035_label(name); !faults.empty())
        complain_.invalid(child(where, "name"), json::value(name), joined(faults));
      deprecation(version, where);
      version_parts(version, where, schemas_alike);
    }
    if (!unique) complain_.invalid("spec.versions", shown_versions(), "must contain unique version names");
    if (storage != 1)
      complain_.invalid("spec.versions", shown_versions(), "must have exactly one version marked as storage version");
    // The real server keeps the first version's name a second time, for v1beta1.
    if (all.empty()) return;
    const std::string_view first = string_at(as_object(all.front()), {"name"});
    if (const Faulty faults = dns_1035_label(first); !faults.empty())
      complain_.invalid("spec.version", json::value(first), joined(faults));
  }

  // As the real server shows them: in its inner form, without what it tells of the spec.
  json::array shown_versions() const {
    json::array out;
    for (const json::value& entry : list()) {
      const json::object& version = as_object(entry);
      const json::value* warning = value_at(version, {"deprecationWarning"});
      out.push_back(json::object{{"Name", string_at(version, {"name"})},
                                 {"Served", bool_at(version, {"served"})},
                                 {"Storage", bool_at(version, {"storage"})},
                                 {"Deprecated", bool_at(version, {"deprecated"})},
                                 {"DeprecationWarning", warning ? *warning : json::value(nullptr)},
                                 {"Schema", nullptr},
                                 {"Subresources", nullptr},
                                 {"AdditionalPrinterColumns", nullptr},
                                 {"SelectableFields", nullptr}});
    }
    return out;
  }

  void deprecation(const json::object& version, const std::string& where) {
    const json::value* warning = value_at(version, {"deprecationWarning"});
    if (!warning) return;
    const std::string_view text = as_string(*warning);
    auto wrong = [&](std::string why) {
      complain_.invalid(child(where, "deprecationWarning"), *warning, std::move(why));
    };
    if (!bool_at(version, {"deprecated"})) return wrong("can only be set for deprecated versions");
    if (text.size() > 256) wrong("must be <= 256 characters long");
    if (text.empty()) wrong("must not be an empty string");
    for (size_t i = 0; i < text.size(); ++i)
      if (static_cast<unsigned char>(text[i]) < ' ' || text[i] == 0x7f)
        return wrong(
            fmt::format("must only contain printable UTF-8 characters; non-printable character found at index {}", i));
  }

  // What is written in a version, as far as it is not told of the spec.
  void version_parts(const json::object& version, const std::string& where, bool schemas_alike) {
    if (!schemas_alike) schema(version, child(where, "schema"));
    if (!alike("subresources")) subresources(version, child(where, "subresources"));
    if (!alike("additionalPrinterColumns")) columns(version, child(where, "additionalPrinterColumns"));
    if (!alike("selectableFields")) selectable(version, child(where, "selectableFields"));
  }

  void shared_parts() {
    if (list().empty()) return;
    const json::object& version = as_object(list().front());
    if (alike("schema")) schema(version, "spec.validation");
    if (alike("subresources")) subresources(version, "spec.subresources");
    if (alike("additionalPrinterColumns")) columns(version, "spec.additionalPrinterColumns");
    if (alike("selectableFields")) selectable(version, "spec.selectableFields");
  }

  void schema(const json::object& version, const std::string& where) {
    if (const json::value* found = value_at(version, {"schema", "openAPIV3Schema"}))
      check_crd_schema(as_object(*found), child(where, "openAPIV3Schema"), has(version, {"subresources", "status"}),
                       errors_);
  }

  void json_path(std::string_view path, const std::string& where, std::initializer_list<std::string_view> below,
                 std::string_view outside) {
    if (path.front() != '.')
      return complain_.invalid(where, json::value(path), "must be a simple json path starting with .");
    if (below.size() && std::ranges::none_of(below, [&](std::string_view root) { return path.starts_with(root); }))
      complain_.invalid(where, json::value(path), fmt::format("should be a json path under {}", outside));
  }

  void subresources(const json::object& version, const std::string& where) {
    const json::value* found = value_at(version, {"subresources", "scale"});
    if (!found) return;
    const json::object& scale = as_object(*found);
    for (auto [key, root, outside] :
         {std::tuple{"specReplicasPath", ".spec.", ".spec"}, {"statusReplicasPath", ".status.", ".status"}}) {
      const std::string_view path = string_at(scale, {key});
      const std::string at_key = fmt::format("{}.scale.{}", where, key);
      if (path.empty())
        complain_.required(at_key);
      else
        json_path(path, at_key, {root}, outside);
    }
    if (const std::string_view path = string_at(scale, {"labelSelectorPath"}); !path.empty())
      json_path(path, where + ".scale.labelSelectorPath", {".spec.", ".status."}, "either .spec or .status");
  }

  void columns(const json::object& version, const std::string& where) {
    const json::array& all = array_at(version, {"additionalPrinterColumns"});
    auto one_of = [&](const std::string& field, std::string_view value, std::initializer_list<std::string_view> known,
                      std::string_view names) {
      if (std::ranges::find(known, value) == known.end())
        complain_.invalid(field, json::value(value), fmt::format("must be one of {}", names));
    };
    for (size_t i = 0; i < all.size(); ++i) {
      const json::object& column = as_object(all[i]);
      const std::string at_column = at(where, i);
      constexpr std::string_view kTypes = "boolean,date,integer,number,string";
      if (string_at(column, {"name"}).empty()) complain_.required(child(at_column, "name"));
      const std::string_view type = string_at(column, {"type"}), format = string_at(column, {"format"});
      if (type.empty())
        complain_.required(child(at_column, "type"), fmt::format("must be one of {}", kTypes));
      else
        one_of(child(at_column, "type"), type, {"boolean", "date", "integer", "number", "string"}, kTypes);
      if (!format.empty())
        one_of(child(at_column, "format"), format,
               {"byte", "date", "date-time", "double", "float", "int32", "int64", "password"},
               "byte,date,date-time,double,float,int32,int64,password");
      if (const std::string_view path = string_at(column, {"jsonPath"}); path.empty())
        complain_.required(child(at_column, "JSONPath"));
      else
        json_path(path, child(at_column, "JSONPath"), {}, "");
    }
  }

  void selectable(const json::object& version, const std::string& where) {
    constexpr size_t kMost = 8;
    const json::array& all = array_at(version, {"selectableFields"});
    if (all.empty()) return;
    const json::value* schema = value_at(version, {"schema", "openAPIV3Schema"});
    if (!schema) return complain_.invalid(where, "", "may only be set when validations.schema is included");
    std::set<std::string_view> seen;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string_view path = string_at(as_object(all[i]), {"jsonPath"});
      const std::string at_path = child(at(where, i), "jsonPath");
      if (path.empty()) {
        complain_.required(at_path);
        continue;
      }
      const auto found = schema_at_path(as_object(*schema), path);
      if (!found) {
        complain_.invalid(at_path, json::value(path), fmt::format("is an invalid path: {}", found.error()));
        continue;
      }
      if (path == ".metadata" || path.starts_with(".metadata."))
        complain_.invalid(at_path, json::value(path), "must not point to fields in metadata");
      const std::string_view type = string_at(**found, {"type"});
      if (type != "string" && type != "boolean" && type != "integer")
        complain_.invalid(at_path, json::value(path),
                          "must point to a field of type string, boolean or integer. Enum string fields and strings "
                          "with formats are allowed.");
      if (!seen.insert(path).second) complain_.duplicate(at_path, json::value(path));
    }
    if (seen.size() > kMost) complain_.too_many(where, seen.size(), kMost);
  }

  void names_required() {
    for (std::string_view name : {"plural", "singular", "kind", "listKind"})
      if (string_at(spec_, {"names", name}).empty()) complain_.required(fmt::format("spec.names.{}", name));
  }

  void names(const json::object& names, const std::string& where) {
    auto label = [&](std::string_view key, bool mixed_case) {
      const std::string_view text = string_at(names, {key});
      if (text.empty()) return;
      if (const Faulty faults = dns_1035_label(mixed_case ? lower(text) : std::string(text)); !faults.empty())
        complain_.invalid(child(where, key), json::value(text),
                          (mixed_case ? "may have mixed case, but should otherwise match: " : "") + joined(faults));
    };
    label("plural", false);
    label("singular", false);
    label("kind", true);
    label("listKind", true);
    auto labels = [&](std::string_view key) {
      const json::array& all = array_at(names, {key});
      for (size_t i = 0; i < all.size(); ++i)
        if (const Faulty faults = dns_1035_label(as_string(all[i])); !faults.empty())
          complain_.invalid(at(child(where, key), i), all[i], joined(faults));
    };
    labels("shortNames");
    const std::string_view kind = string_at(names, {"kind"});
    if (!kind.empty() && kind == string_at(names, {"listKind"}))
      complain_.invalid(child(where, "listKind"), json::value(kind), "kind and listKind may not be the same");
    labels("categories");
  }

  void conversion() {
    const json::object& conversion = object_at(spec_, {"conversion"});
    if (conversion.empty()) return;
    complain_.one_of("spec.conversion.strategy", string_at(conversion, {"strategy"}), {"None", "Webhook"});
    const json::value* client = value_at(conversion, {"webhook", "clientConfig"});
    const json::array& reviews = array_at(conversion, {"webhook", "conversionReviewVersions"});
    if (string_at(conversion, {"strategy"}) != "Webhook") {
      if (client)
        complain_.forbidden("spec.conversion.webhookClientConfig",
                            "should not be set when strategy is not set to Webhook");
      if (!reviews.empty())
        complain_.forbidden("spec.conversion.conversionReviewVersions",
                            "should not be set when strategy is not set to Webhook");
      return;
    }
    if (!client)
      complain_.required("spec.conversion.webhookClientConfig", "required when strategy is set to Webhook");
    else if (has(as_object(*client), {"url"}) == has(as_object(*client), {"service"}))
      complain_.required("spec.conversion.webhookClientConfig", "exactly one of url or service is required");
    review_versions(reviews);
  }

  void review_versions(const json::array& reviews) {
    const std::string where = "spec.conversion.conversionReviewVersions";
    if (reviews.empty()) return complain_.required(where);
    std::set<std::string_view> seen;
    for (size_t i = 0; i < reviews.size(); ++i) {
      const std::string_view name = as_string(reviews[i]);
      if (!seen.insert(name).second)
        complain_.invalid(at(where, i), reviews[i], "duplicate version");
      else
        complain_.invalid(at(where, i), name, dns_1035_label(name));
    }
    if (!seen.contains("v1") && !seen.contains("v1beta1"))
      complain_.invalid(where, reviews, "must include at least one of v1, v1beta1");
  }

  void stored_versions() {
    const json::array& stored = array_at(crd_, {"status", "storedVersions"});
    const std::string where = "status.storedVersions";
    if (stored.empty()) return complain_.invalid(where, nullptr, "must have at least one stored version");
    std::map<std::string_view, size_t> missing;
    for (size_t i = 0; i < stored.size(); ++i) missing[as_string(stored[i])] = i;
    for (const json::value& version : list()) {
      const std::string_view name = string_at(as_object(version), {"name"});
      if (!missing.erase(name) && bool_at(as_object(version), {"storage"}))
        complain_.invalid(where, stored, fmt::format("must have the storage version {}", name));
    }
    for (const auto& [name, index] : missing)
      complain_.invalid(
          at(where, index), json::value(name),
          fmt::format("missing from spec.versions; {0} was previously a storage version, and must remain in "
                      "spec.versions until a storage migration ensures no data remains persisted in {0} and removes "
                      "{0} from status.storedVersions",
                      name));
  }

  // Groups of Kubernetes itself want an approval (KEP "API approval", kubernetes/enhancements#1111).
  void approval() {
    constexpr std::string_view kAnnotation = "api-approved.kubernetes.io";
    const std::string_view group = string_at(spec_, {"group"});
    if (group != "k8s.io" && group != "kubernetes.io" && !group.ends_with(".k8s.io") &&
        !group.ends_with(".kubernetes.io"))
      return;
    enum class State { kMissing, kApproved, kInvalid };
    auto state_of = [&](const json::object& crd) {
      const std::string_view text = string_at(crd, {"metadata", "annotations", kAnnotation});
      if (text.empty()) return State::kMissing;
      const bool url = text.find("://") != std::string_view::npos && !text.ends_with("://");
      return url || text.starts_with("unapproved") ? State::kApproved : State::kInvalid;
    };
    const State state = state_of(crd_);
    if (state == State::kApproved) return;
    const std::string where = keyed("metadata.annotations", kAnnotation);
    const std::string need = fmt::format("protected groups must have approval annotation \"{}\"", kAnnotation);
    const std::string see = ", see https://github.com/kubernetes/enhancements/pull/1111";
    if (state == State::kMissing)
      complain_.required(where, need + see);
    else
      complain_.invalid(where, json::value(string_at(crd_, {"metadata", "annotations", kAnnotation})),
                        need + " with either a URL or a reason starting with \"unapproved\"" + see);
  }

  const json::object& crd_;
  const json::object& spec_;
  FieldErrors& errors_;
  Complaints complain_;
};

}  // namespace

void validate_crd(const json::object& crd, FieldErrors& errors) { CrdRules(crd, errors).run(); }

void validate_crd_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complain(errors);
  auto fixed = [&](Keys path, std::string_view field) {
    complain.immutable(std::string(field), value_at(next, path), value_at(live, path));
  };
  if (crd_condition_true(live, "Established")) {
    fixed({"spec", "scope"}, "spec.scope");
    fixed({"spec", "names", "kind"}, "spec.names.kind");
  }
  fixed({"spec", "group"}, "spec.group");
  fixed({"spec", "names", "plural"}, "spec.names.plural");
}

void validate_crd_status(const json::object& next, FieldErrors& errors) { CrdRules(next, errors).accepted_names(); }

bool crd_condition_true(const json::object& crd, std::string_view type) {
  for (const json::value& condition : array_at(crd, {"status", "conditions"}))
    if (string_at(as_object(condition), {"type"}) == type) return string_at(as_object(condition), {"status"}) == "True";
  return false;
}

}  // namespace hookd::embedded
