// Containers: names, images, ports, environment, mounts, resources, probes, lifecycle.
#include <algorithm>
#include <map>
#include <set>

#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {
namespace {

std::string quantity_text(const json::value& value) {
  return value.is_string() ? std::string(as_string(value)) : json::serialize(value);
}

void check_ports(const json::array& ports, const std::string& path, Complaints& complaints) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    const json::object& port = as_object(ports[i]);
    const std::string here = at(path, i);
    if (const std::string_view name = string_at(port, {"name"}); !name.empty()) {
      if (const Faulty faults = port_name(name); !faults.empty()) {
        complaints.invalid(child(here, "name"), name, faults);
      } else if (!names.insert(name).second) {
        complaints.duplicate(child(here, "name"), json::value(name));
      }
    }
    const int64_t number = integer_at(port, {"containerPort"}).value_or(0);
    if (number == 0) {
      complaints.required(child(here, "containerPort"));
    } else {
      for (const std::string& fault : port_number(number))
        complaints.invalid(child(here, "containerPort"), number, fault);
    }
    if (const int64_t host = integer_at(port, {"hostPort"}).value_or(0); host != 0)
      for (const std::string& fault : port_number(host)) complaints.invalid(child(here, "hostPort"), host, fault);
    complaints.one_of(child(here, "protocol"), string_at(port, {"protocol"}), {"SCTP", "TCP", "UDP"});
  }
}

void check_key_reference(const json::object& reference, const std::string& path, Complaints& complaints) {
  const std::string_view name = string_at(reference, {"name"});
  const std::string_view key = string_at(reference, {"key"});
  complaints.invalid(child(path, "name"), name, dns_subdomain(name));
  if (key.empty()) {
    complaints.required(child(path, "key"));
  } else {
    complaints.invalid(child(path, "key"), key, config_key(key));
  }
}

void check_field_reference(const json::object& reference, const std::string& path, Complaints& complaints) {
  if (string_at(reference, {"apiVersion"}).empty()) return complaints.required(child(path, "apiVersion"));
  const std::string_view field = string_at(reference, {"fieldPath"});
  if (field.empty()) return complaints.required(child(path, "fieldPath"));
  static const std::vector<std::string> kKnown{
      "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
      "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
  if (std::ranges::find(kKnown, field) != kKnown.end()) return;
  for (const std::string_view map : {"metadata.annotations", "metadata.labels"}) {
    if (!field.starts_with(map)) continue;
    const std::string_view rest = field.substr(map.size());
    if (rest.size() > 3 && rest.starts_with("['") && rest.ends_with("']")) {
      const std::string_view key = rest.substr(2, rest.size() - 4);
      return complaints.invalid(path, key, label_key(key));
    }
    if (rest.empty()) return complaints.unsupported(child(path, "fieldPath"), json::value(field), kKnown);
  }
  complaints.invalid(child(path, "fieldPath"), json::value(field),
                     fmt::format("error converting fieldPath: field label not supported: {}", field));
}

void check_resource_reference(const json::object& reference, const std::string& path, Complaints& complaints) {
  const std::string_view resource = string_at(reference, {"resource"});
  static const std::vector<std::string> kKnown{"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                               "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
  if (resource.empty()) {
    complaints.required(child(path, "resource"));
  } else if (std::ranges::find(kKnown, resource) == kKnown.end() && !resource.starts_with("limits.hugepages-") &&
             !resource.starts_with("requests.hugepages-")) {
    complaints.unsupported(child(path, "resource"), json::value(resource), kKnown);
  }
}

void check_environment(const json::object& container, const std::string& path, Complaints& complaints) {
  const json::array& variables = array_at(container, {"env"});
  for (size_t i = 0; i < variables.size(); ++i) {
    const json::object& variable = as_object(variables[i]);
    const std::string here = at(child(path, "env"), i);
    const std::string_view name = string_at(variable, {"name"});
    if (name.empty()) {
      complaints.required(child(here, "name"));
    } else {
      complaints.invalid(child(here, "name"), name, env_name(name));
    }
    const json::value* from = value_at(variable, {"valueFrom"});
    if (!from) continue;
    const std::string source = child(here, "valueFrom");
    const json::object& sources = as_object(*from);
    size_t count = 0;
    for (const char* key : {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}) {
      if (!has(sources, {key})) continue;
      ++count;
      const json::object& reference = object_at(sources, {key});
      const std::string_view kind = key;
      if (kind == "fieldRef") check_field_reference(reference, child(source, key), complaints);
      if (kind == "resourceFieldRef") check_resource_reference(reference, child(source, key), complaints);
      if (kind == "configMapKeyRef" || kind == "secretKeyRef")
        check_key_reference(reference, child(source, key), complaints);
    }
    if (count == 0) {
      complaints.invalid(source, "",
                         "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                         "`fileKeyRef`");
    } else if (!string_at(variable, {"value"}).empty()) {
      complaints.invalid(source, "", "may not be specified when `value` is not empty");
    } else if (count > 1) {
      complaints.invalid(source, "", "may not have more than one field specified at a time");
    }
  }
  const json::array& sources = array_at(container, {"envFrom"});
  for (size_t i = 0; i < sources.size(); ++i) {
    const json::object& from = as_object(sources[i]);
    const std::string all = child(path, "envFrom");
    const std::string here = at(all, i);
    if (const std::string_view prefix = string_at(from, {"prefix"}); !prefix.empty())
      complaints.invalid(child(here, "prefix"), prefix, env_name(prefix));
    size_t count = 0;
    for (const char* key : {"configMapRef", "secretRef"}) {
      if (!has(from, {key})) continue;
      ++count;
      const std::string_view name = string_at(from, {key, "name"});
      if (name.empty()) {
        complaints.required(child(child(here, key), "name"));
      } else {
        complaints.invalid(child(child(here, key), "name"), name, dns_subdomain(name));
      }
    }
    if (count == 0) complaints.invalid(all, "", "must specify one of: `configMapRef` or `secretRef`");
    if (count > 1) complaints.invalid(all, "", "may not have more than one field specified at a time");
  }
}

void check_mounts(const json::object& container, const Volumes& volumes, const std::string& path,
                  Complaints& complaints) {
  const json::array& mounts = array_at(container, {"volumeMounts"});
  const std::string all = child(path, "volumeMounts");
  std::set<std::string_view> points;
  for (size_t i = 0; i < mounts.size(); ++i) {
    const json::object& mount = as_object(mounts[i]);
    const std::string here = at(all, i);
    const std::string_view name = string_at(mount, {"name"});
    const std::string_view point = string_at(mount, {"mountPath"});
    if (name.empty()) complaints.required(child(here, "name"));
    if (!volumes.contains(name)) complaints.not_found(child(here, "name"), json::value(name));
    if (point.empty()) complaints.required(child(here, "mountPath"));
    if (!points.insert(point).second)
      complaints.invalid(child(here, "mountPath"), json::value(point), "must be unique");
    const std::string_view sub = string_at(mount, {"subPath"});
    if (!sub.empty()) check_relative_path(sub, child(all, "subPath"), complaints);
    if (const std::string_view expression = string_at(mount, {"subPathExpr"}); !expression.empty()) {
      if (!sub.empty())
        complaints.invalid(child(here, "subPathExpr"), json::value(expression),
                           "subPathExpr and subPath are mutually exclusive");
      check_relative_path(expression, child(all, "subPathExpr"), complaints);
    }
    if (const std::string_view mode = string_at(mount, {"mountPropagation"}); !mode.empty()) {
      complaints.one_of(child(all, "mountPropagation"), mode, {"Bidirectional", "HostToContainer", "None"});
      if (mode == "Bidirectional" && !bool_at(container, {"securityContext", "privileged"}))
        complaints.forbidden(child(all, "mountPropagation"),
                             "Bidirectional mount propagation is available only to privileged containers");
    }
  }
  const json::array& devices = array_at(container, {"volumeDevices"});
  for (size_t i = 0; i < devices.size(); ++i) {
    const json::object& device = as_object(devices[i]);
    const std::string here = at(child(path, "volumeDevices"), i);
    const std::string_view name = string_at(device, {"name"});
    if (name.empty()) complaints.required(child(here, "name"));
    const auto volume = volumes.find(name);
    if (volume == volumes.end()) {
      complaints.not_found(child(here, "name"), json::value(name));
    } else if (!has(*volume->second, {"persistentVolumeClaim"}) && !has(*volume->second, {"ephemeral"})) {
      complaints.invalid(child(here, "name"), json::value(name),
                         "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    }
    if (string_at(device, {"devicePath"}).empty()) complaints.required(child(here, "devicePath"));
  }
}

void check_handler(const json::object& handler, const std::string& path, std::optional<int64_t> grace,
                   Complaints& complaints) {
  size_t count = 0;
  for (const char* key : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    if (!has(handler, {key})) continue;
    const std::string here = child(path, key);
    if (count++ > 0) {
      complaints.forbidden(here, "may not specify more than 1 handler type");
      continue;
    }
    const std::string_view kind = key;
    const json::object& action = object_at(handler, {key});
    if (kind == "exec" && array_at(action, {"command"}).empty()) complaints.required(child(here, "command"));
    if (kind == "httpGet") {
      if (string_at(action, {"path"}).empty()) complaints.required(child(here, "path"));
      check_port_or_name(value_at(action, {"port"}), child(here, "port"), complaints);
      complaints.one_of(child(here, "scheme"), string_at(action, {"scheme"}), {"HTTP", "HTTPS"});
      for (const json::value& header : array_at(action, {"httpHeaders"})) {
        const std::string_view name = string_at(as_object(header), {"name"});
        complaints.invalid(child(here, "httpHeaders"), name, http_header_name(name));
      }
    }
    if (kind == "tcpSocket" || kind == "grpc")
      check_port_or_name(value_at(action, {"port"}), child(here, "port"), complaints);
    if (kind == "sleep" && grace) {
      const int64_t seconds = integer_at(action, {"seconds"}).value_or(0);
      if (seconds < 0 || seconds > *grace)
        complaints.invalid(
            here, seconds,
            fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})", *grace));
    }
  }
  if (count == 0) complaints.required(path, "must specify a handler type");
}

void check_probe(const json::object& container, const char* which, const std::string& container_path,
                 std::optional<int64_t> grace, Complaints& complaints) {
  if (!has(container, {which})) return;
  const json::object& probe = object_at(container, {which});
  const std::string path = child(container_path, which);
  check_handler(probe, path, grace, complaints);
  for (const char* key :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"})
    complaints.not_negative(child(path, key), integer_at(probe, {key}));
  complaints.positive(child(path, "terminationGracePeriodSeconds"),
                      integer_at(probe, {"terminationGracePeriodSeconds"}));
  const std::string_view name = which;
  if (name != "readinessProbe") {
    if (const int64_t threshold = integer_at(probe, {"successThreshold"}).value_or(1); threshold != 1)
      complaints.invalid(child(path, "successThreshold"), threshold, "must be 1");
  } else if (has(probe, {"terminationGracePeriodSeconds"})) {
    complaints.invalid(child(path, "terminationGracePeriodSeconds"),
                       integer_at(probe, {"terminationGracePeriodSeconds"}).value_or(0),
                       "must not be set for readinessProbes");
  }
}

void check_lifecycle(const json::object& container, const std::string& path, std::optional<int64_t> grace,
                     Complaints& complaints) {
  for (const char* key : {"postStart", "preStop"})
    if (has(container, {"lifecycle", key}))
      check_handler(object_at(container, {"lifecycle", key}), child(child(path, "lifecycle"), key), grace, complaints);
}

void check_security(const json::object& context, const std::string& path, Complaints& complaints) {
  const auto shown = [&] {
    return go_struct(context, {{"capabilities", "Capabilities"},
                               {"privileged", "Privileged"},
                               {"seLinuxOptions", "SELinuxOptions"},
                               {"windowsOptions", "WindowsOptions"},
                               {"runAsUser", "RunAsUser"},
                               {"runAsGroup", "RunAsGroup"},
                               {"runAsNonRoot", "RunAsNonRoot"},
                               {"readOnlyRootFilesystem", "ReadOnlyRootFilesystem"},
                               {"allowPrivilegeEscalation", "AllowPrivilegeEscalation"},
                               {"procMount", "ProcMount"},
                               {"seccompProfile", "SeccompProfile"},
                               {"appArmorProfile", "AppArmorProfile"}});
  };
  const bool privileged = bool_at(context, {"privileged"});
  for (const char* key : {"runAsUser", "runAsGroup"})
    if (const auto id = integer_at(context, {key}); id && (*id < 0 || *id > 2147483647))
      complaints.invalid(child(path, key), *id, "must be between 0 and 2147483647, inclusive");
  if (has(context, {"allowPrivilegeEscalation"}) && !bool_at(context, {"allowPrivilegeEscalation"})) {
    if (privileged)
      complaints.invalid(path, shown(), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (const json::value& capability : array_at(context, {"capabilities", "add"}))
      if (as_string(capability) == "CAP_SYS_ADMIN")
        complaints.invalid(path, shown(),
                           "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
}

void check_common(const json::object& container, const Volumes& volumes, const std::string& path,
                  Complaints& complaints) {
  const std::string_view name = string_at(container, {"name"});
  if (name.empty()) {
    complaints.required(child(path, "name"));
  } else {
    complaints.invalid(child(path, "name"), name, dns_label(name));
  }
  if (string_at(container, {"image"}).empty()) complaints.required(child(path, "image"));
  complaints.one_of(child(path, "terminationMessagePolicy"), string_at(container, {"terminationMessagePolicy"}),
                    {"File", "FallbackToLogsOnError"});
  check_ports(array_at(container, {"ports"}), child(path, "ports"), complaints);
  check_environment(container, path, complaints);
  check_mounts(container, volumes, path, complaints);
  complaints.one_of(child(path, "imagePullPolicy"), string_at(container, {"imagePullPolicy"}),
                    {"Always", "IfNotPresent", "Never"});
  check_resources(object_at(container, {"resources"}), child(path, "resources"), complaints);
  check_security(object_at(container, {"securityContext"}), child(path, "securityContext"), complaints);
}

void check_own_restart_policy(const json::object& container, const std::string& path, Complaints& complaints) {
  const json::array& rules = array_at(container, {"restartPolicyRules"});
  if (has(container, {"restartPolicy"})) {
    complaints.one_of(child(path, "restartPolicy"), string_at(container, {"restartPolicy"}),
                      {"Always", "Never", "OnFailure"}, false);
  } else if (!rules.empty()) {
    complaints.required(child(path, "restartPolicy"), "must specify restartPolicy when restart rules are used");
  }
}

void check_host_ports(std::span<const json::value> containers, size_t first, const std::string& path,
                      Complaints& complaints) {
  std::set<std::string> used;
  for (size_t i = 0; i < containers.size(); ++i) {
    const json::array& ports = array_at(as_object(containers[i]), {"ports"});
    for (size_t k = 0; k < ports.size(); ++k) {
      const json::object& port = as_object(ports[k]);
      const int64_t number = integer_at(port, {"hostPort"}).value_or(0);
      if (number == 0) continue;
      std::string key = fmt::format("{}/{}/{}", string_at(port, {"protocol"}), string_at(port, {"hostIP"}), number);
      if (!used.insert(key).second)
        complaints.duplicate(child(at(child(at(path, first + i), "ports"), k), "hostPort"), json::value(key));
    }
  }
}

}  // namespace

void check_port_or_name(const json::value* port, const std::string& path, Complaints& complaints) {
  if (port && port->is_string()) {
    complaints.invalid(path, as_string(*port), port_name(as_string(*port)));
    return;
  }
  const int64_t number = port && port->is_int64() ? port->get_int64() : 0;
  for (const std::string& fault : port_number(number)) complaints.invalid(path, number, fault);
}

void check_resources(const json::object& resources, const std::string& path, Complaints& complaints) {
  const json::object& limits = object_at(resources, {"limits"});
  const auto check_name = [&](std::string_view name, const std::string& here) {
    if (const Faulty faults = label_key(name); !faults.empty()) return complaints.invalid(here, name, faults);
    if (name.find('/') != std::string_view::npos) return;
    const bool standard =
        name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    if (standard) return;
    if (name != "storage" && name != "pods" && name != "services")
      complaints.invalid(here, json::value(name), "must be a standard resource type or fully qualified");
    complaints.invalid(here, json::value(name), "must be a standard resource for containers");
  };
  for (const char* which : {"limits", "requests"}) {
    for (const auto& entry : object_at(resources, {which})) {
      const std::string_view name = entry.key();
      const std::string here = keyed(child(path, which), name);
      check_name(name, here);
      const std::string amount = quantity_text(entry.value());
      if (compare_quantities(amount, "0") < 0)
        complaints.invalid(here, json::value(amount), "must be greater than or equal to 0");
      if (name.find('/') != std::string_view::npos && amount.ends_with('m'))
        complaints.invalid(here, json::value(amount), "must be an integer");
      if (std::string_view(which) == "limits") continue;
      const bool overcommit = name.find('/') == std::string_view::npos && !name.starts_with("hugepages-");
      const json::value* limit = limits.if_contains(name);
      if (!limit) {
        if (!overcommit)
          complaints.required(child(path, "limits"), "Limit must be set for non overcommitable resources");
        continue;
      }
      const std::string bound = quantity_text(*limit);
      const int order = compare_quantities(amount, bound);
      if (order != 0 && !overcommit) {
        complaints.invalid(child(path, "requests"), json::value(amount),
                           fmt::format("must be equal to {} limit of {}", name, bound));
      } else if (order > 0) {
        complaints.invalid(child(path, "requests"), json::value(amount),
                           fmt::format("must be less than or equal to {} limit of {}", name, bound));
      }
    }
  }
}

void check_containers(const json::object& spec, const Volumes& volumes, const std::string& path,
                      Complaints& complaints) {
  const std::optional<int64_t> grace = integer_at(spec, {"terminationGracePeriodSeconds"});

  const json::array& containers = array_at(spec, {"containers"});
  const std::string all = child(path, "containers");
  std::set<std::string_view> names;
  if (containers.empty()) complaints.required(all);
  for (size_t i = 0; i < containers.size(); ++i) {
    const json::object& container = as_object(containers[i]);
    const std::string here = at(all, i);
    check_common(container, volumes, here, complaints);
    const std::string_view name = string_at(container, {"name"});
    if (!names.insert(name).second) complaints.duplicate(child(here, "name"), json::value(name));
    check_lifecycle(container, here, grace, complaints);
    for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
      check_probe(container, probe, here, grace, complaints);
    check_own_restart_policy(container, here, complaints);
  }
  check_host_ports({containers.data(), containers.size()}, 0, all, complaints);

  const json::array& first = array_at(spec, {"initContainers"});
  for (size_t i = 0; i < first.size(); ++i) {
    const json::object& container = as_object(first[i]);
    const std::string here = at(child(path, "initContainers"), i);
    check_common(container, volumes, here, complaints);
    check_own_restart_policy(container, here, complaints);
    const std::string_view name = string_at(container, {"name"});
    if (!name.empty() && !names.insert(name).second) complaints.duplicate(child(here, "name"), json::value(name));
    check_host_ports({&first[i], 1}, i, child(path, "initContainers"), complaints);
    if (string_at(container, {"restartPolicy"}) == "Always") {
      check_lifecycle(container, here, grace, complaints);
      for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
        check_probe(container, probe, here, grace, complaints);
      continue;
    }
    for (const char* key : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
      if (has(container, {key}))
        complaints.forbidden(child(here, key), "may not be set for init containers without restartPolicy=Always");
  }

  const json::array& guests = array_at(spec, {"ephemeralContainers"});
  for (size_t i = 0; i < guests.size(); ++i) {
    const json::object& container = as_object(guests[i]);
    const std::string here = at(child(path, "ephemeralContainers"), i);
    check_common(container, volumes, here, complaints);
    const std::string_view name = string_at(container, {"name"});
    if (!names.insert(name).second) complaints.duplicate(child(here, "name"), json::value(name));
    for (const char* key : {"ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources"})
      if (const json::value* value = value_at(container, {key}); value && !same(value, nullptr))
        complaints.forbidden(child(here, key), "cannot be set for an Ephemeral Container");
  }
}

}  // namespace hookd::embedded
