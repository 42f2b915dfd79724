// Namespaces, nodes, quotas and ranges (which are stored, but have no effect).
#include <set>

#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/strategies.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {
namespace {

void check_taints(const json::array& taints, Complaints& complaints) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    const json::object& taint = as_object(taints[i]);
    const std::string here = at("metadata.taints", i);  // the real server's path
    const std::string_view key = string_at(taint, {"key"}), value = string_at(taint, {"value"}),
                           effect = string_at(taint, {"effect"});
    check_label_key(key, child(here, "key"), complaints);
    if (const Faulty faults = label_value(value); !faults.empty())
      complaints.invalid(child(here, "value"), json::value(value), fmt::format("{}", fmt::join(faults, ";")));
    complaints.one_of(child(here, "effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (!seen.emplace(key, effect).second) {
      json::object shown{{"Key", key}, {"Value", value}, {"Effect", effect}, {"TimeAdded", nullptr}};
      if (const json::value* time = value_at(taint, {"timeAdded"})) shown["TimeAdded"] = *time;
      complaints.duplicate(here, std::move(shown));
      complaints.errors().back().detail = "taints must be unique by key and effect pair";
    }
  }
}

void validate_node(const json::object& node, FieldErrors& errors) {
  Complaints complaints(errors);
  check_taints(array_at(node, {"spec", "taints"}), complaints);
  for (const char* map : {"capacity", "allocatable"})
    for (const auto& entry : object_at(node, {"status", map})) {
      const std::string_view amount = as_string(entry.value());
      if (compare_quantities(amount, "0") < 0)
        complaints.invalid(child(child("status", map), entry.key()), json::value(amount),
                           "must be greater than or equal to 0");
    }
  const json::array& ranges = array_at(node, {"spec", "podCIDRs"});
  for (size_t i = 0; i < ranges.size(); ++i)
    if (!is_cidr(as_string(ranges[i])))
      complaints.invalid(at("spec.podCIDRs", i), ranges[i],
                         "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
}

void validate_node_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  if (const json::array& old = array_at(live, {"spec", "podCIDRs"});
      !old.empty() && old != array_at(next, {"spec", "podCIDRs"}))
    complaints.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
  if (const std::string_view old = string_at(live, {"spec", "providerID"});
      !old.empty() && old != string_at(next, {"spec", "providerID"}))
    complaints.forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
}

void check_quantities(const json::object& amounts, const std::string& path, Complaints& complaints) {
  for (const auto& entry : amounts) {
    const std::string here = keyed(path, entry.key());
    check_label_key(entry.key(), here, complaints);
    if (const std::string_view amount = as_string(entry.value()); compare_quantities(amount, "0") < 0)
      complaints.invalid(here, json::value(amount), "must be greater than or equal to 0");
  }
}

}  // namespace

const Strategy& namespace_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.defaults = [](json::object& object) {
      const std::string name(string_at(object, {"metadata", "name"}));
      if (!name.empty()) ensure_object(object, {"metadata", "labels"})["kubernetes.io/metadata.name"] = name;
    };
    s.prepare_create = [](json::object& object, const WriteContext&) {
      // A copy: a new labels object may move the others.
      const std::string name(string_at(object, {"metadata", "name"}));
      ensure_object(object, {"metadata", "labels"})["kubernetes.io/metadata.name"] = name;
      json::array& finalizers = [&]() -> json::array& {
        json::value& list = ensure_object(object, {"spec"})["finalizers"];
        return list.is_array() ? list.get_array() : list.emplace_array();
      }();
      if (std::ranges::find(finalizers, json::value("kubernetes")) == finalizers.end())
        finalizers.emplace_back("kubernetes");
      object["status"] = json::object{{"phase", "Active"}};
    };
    s.prepare_update = [](json::object& next, const json::object& live, const WriteContext& context) {
      if (context.subresource != "finalize")
        ensure_object(next, {"spec"})["finalizers"] = array_at(live, {"spec", "finalizers"});
    };
    s.admit_delete = [](const json::object& live, const WriteContext&) -> Answer<void> {
      const std::string_view name = string_at(live, {"metadata", "name"});
      if (name == "default" || name == "kube-system" || name == "kube-public")
        return refuse(
            forbidden({"", "namespaces", "Namespace", std::string(name)}, "this namespace may not be deleted"));
      return {};
    };
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      for (const json::value& item : array_at(object, {"spec", "finalizers"})) {
        const std::string_view name = as_string(item);
        check_label_key(name, "spec.finalizers", complaints);
        if (name.find('/') == std::string_view::npos && name != "kubernetes" && name != "orphan" &&
            name != "foregroundDeletion")
          complaints.invalid("spec.finalizers", item,
                             "name is neither a standard finalizer name nor is it fully qualified");
      }
    };
    s.validate_status = [](const json::object& next, const json::object&, FieldErrors& errors) {
      const std::string_view phase = string_at(next, {"status", "phase"});
      const bool ending = has(next, {"metadata", "deletionTimestamp"});
      if (phase != (ending ? "Terminating" : "Active"))
        Complaints(errors).invalid("status.Phase", json::value(phase),
                                   ending ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                                          : "may only be 'Active' if `deletionTimestamp` is empty");
    };
    s.name_rule = Strategy::NameRule::kDnsLabel;
    s.selectable.emplace("status.phase", field_at({"status", "phase"}));
    return s;
  }();
  return kStrategy;
}

const Strategy& node_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    // A new node is tainted until it says that it is ready (TaintNodesByCondition).
    s.admit = [](json::object& object, const WriteContext&) -> Answer<void> {
      const char* const key = "node.kubernetes.io/not-ready";
      json::value& list = ensure_object(object, {"spec"})["taints"];
      if (!list.is_array()) list.emplace_array();
      for (const json::value& taint : list.get_array())
        if (string_at(as_object(taint), {"key"}) == key && string_at(as_object(taint), {"effect"}) == "NoSchedule")
          return {};
      list.get_array().push_back(json::object{{"key", key}, {"effect", "NoSchedule"}});
      return {};
    };
    s.validate = validate_node;
    s.validate_update = validate_node_update;
    s.status_on_create = true;
    s.selectable.emplace("spec.unschedulable", field_at({"spec", "unschedulable"}, "false"));
    return s;
  }();
  return kStrategy;
}

const Strategy& resource_quota_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_quantities(object_at(object, {"spec", "hard"}), "spec.hard", complaints);
      for (const json::value& scope : array_at(object, {"spec", "scopes"})) {
        const std::string_view name = as_string(scope);
        if (name != "BestEffort" && name != "NotBestEffort" && name != "Terminating" && name != "NotTerminating" &&
            name != "PriorityClass" && name != "CrossNamespacePodAffinity")
          complaints.invalid("spec.scopes", *value_at(object, {"spec", "scopes"}), "unsupported scope");
      }
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints(errors).immutable("spec.scopes", value_at(next, {"spec", "scopes"}),
                                   value_at(live, {"spec", "scopes"}));
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& limit_range_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const json::array& limits = array_at(object, {"spec", "limits"});
      std::set<std::string_view> types;
      for (size_t i = 0; i < limits.size(); ++i) {
        const json::object& limit = as_object(limits[i]);
        const std::string here = at("spec.limits", i);
        const std::string_view type = string_at(limit, {"type"});
        if (!types.insert(type).second) complaints.duplicate(child(here, "type"), json::value(type));
        for (const char* map : {"max", "min", "default", "defaultRequest"})
          check_quantities(object_at(limit, {map}), child(here, map), complaints);
        for (const auto& entry : object_at(limit, {"min"}))
          if (const std::string_view most = string_at(limit, {"max", entry.key()});
              !most.empty() && compare_quantities(as_string(entry.value()), most) > 0)
            complaints.invalid(
                keyed(child(here, "min"), entry.key()), entry.value(),
                fmt::format("min value {} is greater than max value {}", as_string(entry.value()), most));
      }
    };
    s.allow_create_on_update = true;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
