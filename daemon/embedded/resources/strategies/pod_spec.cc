// Volumes, placement and the rest of a pod's spec.
#include "embedded/resources/strategies/pod_spec.h"

#include <algorithm>
#include <set>

#include "embedded/schema/quantity.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kModes = "must be a number between 0 and 0777 (octal), both inclusive";

void check_mode(const json::object& source, const char* key, const std::string& path, Complaints& complaints) {
  if (const auto mode = integer_at(source, {key}); mode && (*mode < 0 || *mode > 0777))
    complaints.invalid(child(path, key), *mode, std::string(kModes));
}

void check_items(const json::object& source, const std::string& path, Complaints& complaints) {
  const json::array& items = array_at(source, {"items"});
  for (size_t i = 0; i < items.size(); ++i) {
    const json::object& item = as_object(items[i]);
    const std::string here = at(child(path, "items"), i);
    if (string_at(item, {"key"}).empty()) complaints.required(child(here, "key"));
    const std::string_view target = string_at(item, {"path"});
    if (target.empty()) complaints.required(child(here, "path"));
    check_relative_path(target, child(here, "path"), complaints);
    if (target.starts_with("..") && !target.starts_with("../"))
      complaints.invalid(child(here, "path"), json::value(target), "must not start with '..'");
    check_mode(item, "mode", here, complaints);
  }
}

void check_required(const json::object& source, Keys keys, const std::string& path, Complaints& complaints) {
  for (const std::string_view key : keys)
    if (string_at(source, {key}).empty()) complaints.required(child(path, key));
}

void check_source(std::string_view kind, const json::object& source, const std::string& path, Complaints& complaints) {
  if (kind == "emptyDir") {
    if (compare_quantities(string_at(source, {"sizeLimit"}), "0") < 0)
      complaints.forbidden(child(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity");
  } else if (kind == "hostPath") {
    const std::string_view where = string_at(source, {"path"});
    if (where.empty()) return complaints.required(child(path, "path"));
    check_no_backsteps(where, child(path, "path"), complaints);
    complaints.one_of(
        child(path, "type"), string_at(source, {"type"}),
        {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"}, false);
  } else if (kind == "secret") {
    check_required(source, {"secretName"}, path, complaints);
    check_mode(source, "defaultMode", path, complaints);
    check_items(source, path, complaints);
  } else if (kind == "configMap") {
    check_required(source, {"name"}, path, complaints);
    check_mode(source, "defaultMode", path, complaints);
    check_items(source, path, complaints);
  } else if (kind == "persistentVolumeClaim") {
    check_required(source, {"claimName"}, path, complaints);
  } else if (kind == "nfs") {
    check_required(source, {"server", "path"}, path, complaints);
    if (!string_at(source, {"path"}).starts_with('/'))
      complaints.invalid(child(path, "path"), json::value(string_at(source, {"path"})), "must be an absolute path");
  } else if (kind == "csi") {
    check_required(source, {"driver"}, path, complaints);
  } else if (kind == "ephemeral") {
    if (!has(source, {"volumeClaimTemplate"})) complaints.required(child(path, "volumeClaimTemplate"));
  } else if (kind == "projected") {
    check_mode(source, "defaultMode", path, complaints);
    const json::array& sources = array_at(source, {"sources"});
    for (size_t i = 0; i < sources.size(); ++i) {
      const json::object& part = as_object(sources[i]);
      const std::string here = at(child(path, "sources"), i);
      for (const char* key : {"secret", "configMap"}) {
        if (!has(part, {key})) continue;
        check_required(object_at(part, {key}), {"name"}, child(here, key), complaints);
        check_items(object_at(part, {key}), child(here, key), complaints);
      }
      if (has(part, {"serviceAccountToken"}))
        check_required(object_at(part, {"serviceAccountToken"}), {"path"}, child(here, "serviceAccountToken"),
                       complaints);
    }
  }
}

void check_requirements(const json::object& term, const std::string& path, Complaints& complaints) {
  const json::array& expressions = array_at(term, {"matchExpressions"});
  for (size_t i = 0; i < expressions.size(); ++i) {
    const json::object& item = as_object(expressions[i]);
    const std::string here = at(child(path, "matchExpressions"), i);
    const std::string_view verb = string_at(item, {"operator"});
    const json::array& values = array_at(item, {"values"});
    if (verb == "In" || verb == "NotIn") {
      if (values.empty())
        complaints.required(child(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (verb == "Exists" || verb == "DoesNotExist") {
      if (!values.empty())
        complaints.forbidden(child(here, "values"),
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (verb == "Gt" || verb == "Lt") {
      if (values.size() != 1)
        complaints.required(child(here, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
      complaints.invalid(child(here, "operator"), json::value(verb), "not a valid selector operator");
    }
    check_label_key(string_at(item, {"key"}), child(here, "key"), complaints);
    for (size_t k = 0; k < values.size(); ++k)
      complaints.invalid(at(child(here, "values"), k), as_string(values[k]), label_value(as_string(values[k])));
  }
}

void check_affinity_term(const json::object& term, const std::string& path, Complaints& complaints) {
  check_label_selector(object_at(term, {"labelSelector"}), child(path, "labelSelector"), complaints);
  check_label_selector(object_at(term, {"namespaceSelector"}), child(path, "namespaceSelector"), complaints);
  for (const json::value& ns : array_at(term, {"namespaces"}))
    complaints.invalid(child(path, "namespace"), as_string(ns), dns_label(as_string(ns)));
  const std::string_view key = string_at(term, {"topologyKey"});
  if (key.empty()) complaints.required(child(path, "topologyKey"), "can not be empty");
  check_label_key(key, child(path, "topologyKey"), complaints);
}

void check_pod_affinity(const json::object& affinity, const std::string& path, Complaints& complaints) {
  const json::array& required = array_at(affinity, {"requiredDuringSchedulingIgnoredDuringExecution"});
  for (size_t i = 0; i < required.size(); ++i)
    check_affinity_term(as_object(required[i]), at(child(path, "requiredDuringSchedulingIgnoredDuringExecution"), i),
                        complaints);
  const json::array& preferred = array_at(affinity, {"preferredDuringSchedulingIgnoredDuringExecution"});
  for (size_t i = 0; i < preferred.size(); ++i) {
    const std::string here = at(child(path, "preferredDuringSchedulingIgnoredDuringExecution"), i);
    const int64_t weight = integer_at(as_object(preferred[i]), {"weight"}).value_or(0);
    if (weight <= 0 || weight > 100) complaints.invalid(child(here, "weight"), weight, "must be in the range 1-100");
    check_affinity_term(object_at(as_object(preferred[i]), {"podAffinityTerm"}), child(here, "podAffinityTerm"),
                        complaints);
  }
}

void check_spread(const json::array& constraints, const std::string& path, Complaints& complaints) {
  for (size_t i = 0; i < constraints.size(); ++i) {
    const json::object& constraint = as_object(constraints[i]);
    const std::string here = at(path, i);
    if (const int64_t skew = integer_at(constraint, {"maxSkew"}).value_or(0); skew <= 0)
      complaints.invalid(child(here, "maxSkew"), skew, "must be greater than zero");
    const std::string_view key = string_at(constraint, {"topologyKey"});
    const std::string_view otherwise = string_at(constraint, {"whenUnsatisfiable"});
    if (key.empty()) complaints.required(child(here, "topologyKey"), "can not be empty");
    if (otherwise != "DoNotSchedule" && otherwise != "ScheduleAnyway")
      complaints.unsupported(child(here, "whenUnsatisfiable"), json::value(otherwise),
                             {"DoNotSchedule", "ScheduleAnyway"});
    for (size_t k = i + 1; k < constraints.size(); ++k) {
      const json::object& other = as_object(constraints[k]);
      if (string_at(other, {"topologyKey"}) != key || string_at(other, {"whenUnsatisfiable"}) != otherwise) continue;
      complaints.duplicate(child(here, "{topologyKey, whenUnsatisfiable}"),
                           json::value(fmt::format("{{{}, {}}}", key, otherwise)));
      break;
    }
    check_label_selector(object_at(constraint, {"labelSelector"}), child(here, "labelSelector"), complaints);
  }
}

void check_dns(const json::object& spec, const std::string& path, Complaints& complaints) {
  const std::string here = child(path, "dnsConfig");
  const json::array& servers = array_at(spec, {"dnsConfig", "nameservers"});
  if (string_at(spec, {"dnsPolicy"}) == "None") {
    if (!has(spec, {"dnsConfig"}))
      return complaints.required(here, "must provide `dnsConfig` when `dnsPolicy` is None");
    if (servers.empty())
      return complaints.required(child(here, "nameservers"),
                                 "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  if (servers.size() > 3)
    complaints.invalid(child(here, "nameservers"), json::value(servers), "must not have more than 3 nameservers");
  for (size_t i = 0; i < servers.size(); ++i)
    if (!is_ip(as_string(servers[i])))
      complaints.invalid(at(child(here, "nameservers"), i), servers[i],
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
}

}  // namespace

void check_no_backsteps(std::string_view text, const std::string& path, Complaints& complaints) {
  for (size_t start = 0; start <= text.size();) {
    const size_t slash = std::min(text.find('/', start), text.size());
    if (text.substr(start, slash - start) == "..")
      return complaints.invalid(path, json::value(text), "must not contain '..'");
    start = slash + 1;
  }
}

void check_relative_path(std::string_view text, const std::string& path, Complaints& complaints) {
  if (text.starts_with('/')) complaints.invalid(path, json::value(text), "must be a relative path");
  check_no_backsteps(text, path, complaints);
}

Volumes check_volumes(const json::array& volumes, const std::string& path, Complaints& complaints) {
  Volumes good;
  for (size_t i = 0; i < volumes.size(); ++i) {
    const json::object& volume = as_object(volumes[i]);
    const std::string here = at(path, i);
    const size_t before = complaints.errors().size();
    const std::string_view name = string_at(volume, {"name"});
    size_t sources = 0;
    for (const auto& entry : volume) {
      if (entry.key() == "name" || entry.value().is_null()) continue;
      if (sources++ > 0) {
        complaints.forbidden(child(here, entry.key()), "may not specify more than 1 volume type");
      } else {
        check_source(entry.key(), as_object(entry.value()), child(here, entry.key()), complaints);
      }
    }
    if (sources == 0) complaints.required(here, "must specify a volume type");
    if (name.empty()) {
      complaints.required(child(here, "name"));
    } else {
      complaints.invalid(child(here, "name"), name, dns_label(name));
    }
    if (good.contains(name)) complaints.duplicate(child(here, "name"), json::value(name));
    if (complaints.errors().size() == before) good.emplace(name, &volume);
  }
  return good;
}

void check_node_selector(const json::object& selector, const std::string& path, Complaints& complaints) {
  const json::array& terms = array_at(selector, {"nodeSelectorTerms"});
  if (terms.empty())
    return complaints.required(child(path, "nodeSelectorTerms"), "must have at least one node selector term");
  for (size_t i = 0; i < terms.size(); ++i)
    check_requirements(as_object(terms[i]), at(child(path, "nodeSelectorTerms"), i), complaints);
}

void check_tolerations(const json::array& tolerations, const std::string& path, Complaints& complaints) {
  for (size_t i = 0; i < tolerations.size(); ++i) {
    const json::object& toleration = as_object(tolerations[i]);
    const std::string here = at(path, i);
    const std::string_view key = string_at(toleration, {"key"});
    const std::string_view verb = string_at(toleration, {"operator"});
    const std::string_view value = string_at(toleration, {"value"});
    const std::string_view effect = string_at(toleration, {"effect"});
    if (!key.empty()) check_label_key(key, child(here, "key"), complaints);
    if (key.empty() && verb != "Exists")
      complaints.invalid(child(here, "operator"), json::value(verb),
                         "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (has(toleration, {"tolerationSeconds"}) && effect != "NoExecute")
      complaints.invalid(child(here, "effect"), json::value(effect),
                         "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (verb == "Equal" || verb.empty()) {
      if (const Faulty faults = label_value(value); !faults.empty())
        complaints.invalid(child(here, "operator"), json::value(value), fmt::format("{}", fmt::join(faults, ";")));
    } else if (verb == "Exists") {
      if (!value.empty())
        complaints.invalid(child(here, "operator"), json::value(value),
                           "value must be empty when `operator` is 'Exists'");
    } else {
      complaints.unsupported(child(here, "operator"), json::value(verb), {"Equal", "Exists"});
    }
    complaints.one_of(child(here, "effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, false);
  }
}

void check_placement(const json::object& spec, const std::string& path, Complaints& complaints) {
  const std::string affinity = child(path, "affinity");
  const json::object& node = object_at(spec, {"affinity", "nodeAffinity"});
  const std::string node_path = child(affinity, "nodeAffinity");
  if (has(node, {"requiredDuringSchedulingIgnoredDuringExecution"}))
    check_node_selector(object_at(node, {"requiredDuringSchedulingIgnoredDuringExecution"}),
                        child(node_path, "requiredDuringSchedulingIgnoredDuringExecution"), complaints);
  const json::array& preferred = array_at(node, {"preferredDuringSchedulingIgnoredDuringExecution"});
  for (size_t i = 0; i < preferred.size(); ++i) {
    const std::string here = at(child(node_path, "preferredDuringSchedulingIgnoredDuringExecution"), i);
    const int64_t weight = integer_at(as_object(preferred[i]), {"weight"}).value_or(0);
    if (weight <= 0 || weight > 100) complaints.invalid(child(here, "weight"), weight, "must be in the range 1-100");
    check_requirements(object_at(as_object(preferred[i]), {"preference"}), child(here, "preference"), complaints);
  }
  for (const char* key : {"podAffinity", "podAntiAffinity"})
    check_pod_affinity(object_at(spec, {"affinity", key}), child(affinity, key), complaints);
}

void check_pod_spec(const json::object& spec, const std::string& path, PodOwner owner, Complaints& complaints) {
  const Volumes volumes = check_volumes(array_at(spec, {"volumes"}), child(path, "volumes"), complaints);
  check_containers(spec, volumes, path, complaints);
  if (bool_at(spec, {"hostNetwork"})) {
    const json::array& containers = array_at(spec, {"containers"});
    for (size_t i = 0; i < containers.size(); ++i) {
      const json::array& ports = array_at(as_object(containers[i]), {"ports"});
      for (size_t k = 0; k < ports.size(); ++k) {
        const int64_t host = integer_at(as_object(ports[k]), {"hostPort"}).value_or(0);
        const int64_t inside = integer_at(as_object(ports[k]), {"containerPort"}).value_or(0);
        if ((owner == PodOwner::kPod || host != 0) && host != inside)
          complaints.invalid(child(at(child(at(child(path, "containers"), i), "ports"), k), "hostPort"), host,
                             "must match `containerPort` when `hostNetwork` is true");
      }
    }
  }
  complaints.one_of(child(path, "restartPolicy"), string_at(spec, {"restartPolicy"}), {"Always", "OnFailure", "Never"});
  complaints.one_of(child(path, "dnsPolicy"), string_at(spec, {"dnsPolicy"}),
                    {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check_labels(object_at(spec, {"nodeSelector"}), child(path, "nodeSelector"), complaints);
  for (const char* key : {"runAsUser", "runAsGroup", "fsGroup"})
    if (const auto id = integer_at(spec, {"securityContext", key}); id && (*id < 0 || *id > 2147483647))
      complaints.invalid(child(child(path, "securityContext"), key), *id,
                         "must be between 0 and 2147483647, inclusive");
  check_placement(spec, path, complaints);
  check_dns(spec, path, complaints);
  const json::array& readiness = array_at(spec, {"readinessGates"});
  for (size_t i = 0; i < readiness.size(); ++i)
    check_label_key(string_at(as_object(readiness[i]), {"conditionType"}),
                    child(at(child(path, "readinessGates"), i), "conditionType"), complaints);
  std::set<std::string_view> gates;
  const json::array& scheduling = array_at(spec, {"schedulingGates"});
  for (size_t i = 0; i < scheduling.size(); ++i) {
    const std::string_view name = string_at(as_object(scheduling[i]), {"name"});
    const std::string here = at(child(path, "schedulingGates"), i);
    check_label_key(name, here, complaints);
    if (!gates.insert(name).second) complaints.duplicate(here, json::value(name));
  }
  check_spread(array_at(spec, {"topologySpreadConstraints"}), child(path, "topologySpreadConstraints"), complaints);
  const auto check_name = [&](const char* key, Faulty (*rule)(std::string_view)) {
    if (const std::string_view name = string_at(spec, {key}); !name.empty())
      complaints.invalid(child(path, key), name, rule(name));
  };
  check_name("serviceAccountName", dns_subdomain);
  check_name("nodeName", dns_subdomain);
  if (const auto deadline = integer_at(spec, {"activeDeadlineSeconds"});
      deadline && (*deadline < 1 || *deadline > 2147483647))
    complaints.invalid(child(path, "activeDeadlineSeconds"), *deadline, "must be between 1 and 2147483647, inclusive");
  check_name("hostname", dns_label);
  check_name("subdomain", dns_label);
  check_tolerations(array_at(spec, {"tolerations"}), child(path, "tolerations"), complaints);
  const json::array& aliases = array_at(spec, {"hostAliases"});
  for (size_t i = 0; i < aliases.size(); ++i) {
    const json::object& alias = as_object(aliases[i]);
    if (!is_ip(string_at(alias, {"ip"})))
      complaints.invalid(child(at(child(path, "hostAliases"), i), "ip"), json::value(string_at(alias, {"ip"})),
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    for (const json::value& name : array_at(alias, {"hostnames"}))
      complaints.invalid(child(at(child(path, "hostAliases"), i), "hostnames"), as_string(name),
                         dns_subdomain(as_string(name)));
  }
  check_name("priorityClassName", dns_subdomain);
  check_name("runtimeClassName", dns_subdomain);
  complaints.one_of(child(path, "preemptionPolicy"), string_at(spec, {"preemptionPolicy"}),
                    {"PreemptLowerPriority", "Never"}, false);
}

void check_pod_template(const json::object& pod_template, const std::string& path, Complaints& complaints) {
  check_labels(object_at(pod_template, {"metadata", "labels"}), child(path, "labels"), complaints);
  check_annotations(object_at(pod_template, {"metadata", "annotations"}), child(path, "annotations"), complaints);
  check_pod_spec(object_at(pod_template, {"spec"}), child(path, "spec"), PodOwner::kTemplate, complaints);
  if (!array_at(pod_template, {"spec", "ephemeralContainers"}).empty())
    complaints.forbidden(child(path, "spec.ephemeralContainers"), "ephemeral containers not allowed in pod template");
}

}  // namespace hookd::embedded
