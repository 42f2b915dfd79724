#include "embedded/resources/metadata.h"

#include <algorithm>
#include <set>

#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

Faulty name_faults(Strategy::NameRule rule, std::string_view name) {
  switch (rule) {
    case Strategy::NameRule::kDnsLabel:
      return dns_label(name);
    case Strategy::NameRule::kDns1035Label:
      return dns_1035_label(name);
    case Strategy::NameRule::kPathSegment:
      return path_segment(name);
    case Strategy::NameRule::kDnsSubdomain:
      break;
  }
  return dns_subdomain(name);
}

void check_owners(const json::array& owners, Complaints& complaints) {
  const std::string path = "metadata.ownerReferences";
  std::string controller;
  for (const json::value& item : owners) {
    const json::object& owner = as_object(item);
    const std::string_view api_version = string_at(owner, {"apiVersion"});
    const std::string_view kind = string_at(owner, {"kind"});
    const std::string_view name = string_at(owner, {"name"});
    if (api_version.empty() || api_version.ends_with('/') || std::ranges::count(api_version, '/') > 1)
      complaints.invalid(path + ".apiVersion", json::value(api_version), "version must not be empty");
    if (kind.empty()) complaints.invalid(path + ".kind", "", "must not be empty");
    if (name.empty()) complaints.invalid(path + ".name", "", "must not be empty");
    if (string_at(owner, {"uid"}).empty()) complaints.invalid(path + ".uid", "", "must not be empty");
    if (api_version == "v1" && kind == "Event")
      complaints.invalid(path, item, "/v1, Kind=Event is disallowed from being an owner");
    if (!bool_at(owner, {"controller"})) continue;
    const std::string current = fmt::format("{}/{}", kind, name);
    if (controller.empty()) {
      controller = current;
    } else {
      complaints.invalid(path, json::value(owners),
                         fmt::format("Only one reference can have Controller set to true. Found \"true\" in references "
                                     "for {} and {}",
                                     controller, current));
    }
  }
}

void check_common(const json::object& meta, Complaints& complaints) {
  check_labels(object_at(meta, {"labels"}), "metadata.labels", complaints);
  check_annotations(object_at(meta, {"annotations"}), "metadata.annotations", complaints);
  check_owners(array_at(meta, {"ownerReferences"}), complaints);
}

// `standard`: names without a domain must be those that Kubernetes itself uses; so for nearly every built-in kind.
void check_finalizers(const json::array& finalizers, bool standard, Complaints& complaints) {
  for (const json::value& finalizer : finalizers)
    complaints.invalid("metadata.finalizers", as_string(finalizer), label_key(as_string(finalizer)));
  for (size_t i = 0; standard && i < finalizers.size(); ++i) {
    const std::string_view name = as_string(finalizers[i]);
    if (name.find('/') != std::string_view::npos || name == "kubernetes" || name == "orphan" ||
        name == "foregroundDeletion")
      continue;
    complaints.invalid(at("metadata.finalizers", i), finalizers[i],
                       "name is neither a standard finalizer name nor is it fully qualified");
  }
  const auto contains = [&](std::string_view name) {
    return std::ranges::any_of(finalizers, [&](const json::value& item) { return as_string(item) == name; });
  };
  if (contains("orphan") && contains("foregroundDeletion"))
    complaints.invalid("metadata.finalizers", json::value(finalizers),
                       "finalizer orphan and foregroundDeletion cannot be both set");
}

}  // namespace

void validate_metadata(const json::object& object, const Resource& resource, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& meta = object_at(object, {"metadata"});
  const Strategy::NameRule rule = resource.strategy ? resource.strategy->name_rule : Strategy::NameRule::kDnsSubdomain;
  if (const std::string_view base = string_at(meta, {"generateName"}); !base.empty()) {
    std::string masked(base);
    if (masked.size() > 1 && masked.ends_with('-')) masked = masked.substr(0, masked.size() - 2) + "a";
    complaints.invalid("metadata.generateName", base, name_faults(rule, masked));
  }
  if (const std::string_view name = string_at(meta, {"name"}); name.empty()) {
    complaints.required("metadata.name", "name or generateName is required");
  } else {
    complaints.invalid("metadata.name", name, name_faults(rule, name));
  }
  const std::string_view ns = string_at(meta, {"namespace"});
  if (!resource.namespaced) {
    if (!ns.empty()) complaints.forbidden("metadata.namespace", "not allowed on this type");
  } else if (ns.empty()) {
    complaints.required("metadata.namespace");
  } else {
    complaints.invalid("metadata.namespace", ns, dns_label(ns));
  }
  complaints.not_negative("metadata.generation", integer_at(meta, {"generation"}));
  check_common(meta, complaints);
  const bool free = resource.custom || resource.group == "apiextensions.k8s.io" || resource.plural == "leases" ||
                    resource.plural == "events";
  check_finalizers(array_at(meta, {"finalizers"}), !free, complaints);
}

void validate_metadata_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& meta = object_at(next, {"metadata"});
  const json::object& old = object_at(live, {"metadata"});
  if (has(old, {"deletionTimestamp"})) {
    std::set<std::string_view> added;
    for (const json::value& item : array_at(meta, {"finalizers"})) added.insert(as_string(item));
    for (const json::value& item : array_at(old, {"finalizers"})) added.erase(as_string(item));
    if (!added.empty()) {
      std::string list;
      for (const std::string_view name : added) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
      complaints.forbidden("metadata.finalizers",
                           fmt::format("no new finalizers can be added if the object is being deleted, found new "
                                       "finalizers []string{{{}}}",
                                       list));
    }
  }
  if (string_at(meta, {"resourceVersion"}).empty())
    complaints.invalid("metadata.resourceVersion", "", "must be specified for an update");
  if (integer_at(meta, {"generation"}).value_or(0) < integer_at(old, {"generation"}).value_or(0))
    complaints.invalid("metadata.generation", integer_at(meta, {"generation"}).value_or(0), "must not be decremented");
  for (const char* key :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const json::value* value = value_at(meta, {key});
    if (same(value, value_at(old, {key}))) continue;
    const bool text =
        std::string_view(key) == "name" || std::string_view(key) == "namespace" || std::string_view(key) == "uid";
    complaints.invalid(fmt::format("metadata.{}", key),
                       value  ? *value
                       : text ? json::value("")
                              : json::value(nullptr),
                       "field is immutable");
  }
  check_common(meta, complaints);
}

std::string generated_name(std::string_view base, Random& random) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out(base.substr(0, 58));
  for (int i = 0; i < 5; ++i) out += kAlphabet[random.bits() % kAlphabet.size()];
  return out;
}

}  // namespace hookd::embedded
