// Services with their addresses and node ports, Endpoints, EndpointSlices. Thread: loop only.
// Source: API docs "Service", "ClusterIP allocation". One IPv4 range, 10.96.0.0/16; node ports 30000-32767.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/json_read.h"
#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kRangePrefix = "10.96.";
constexpr std::string_view kRange = "10.96.0.0/16";
constexpr int64_t kFirstNodePort = 30000, kLastNodePort = 32767;

std::string_view type_of(const json::object& service) { return string_at(service, {"spec", "type"}); }
bool headless(const json::object& service) {
  const json::array& ips = array_at(service, {"spec", "clusterIPs"});
  return ips.size() == 1 && as_string(ips[0]) == "None";
}
bool external(const json::object& service) { return type_of(service) == "ExternalName"; }
bool has_node_ports(const json::object& service) {
  return type_of(service) == "NodePort" ||
         (type_of(service) == "LoadBalancer" && bool_at(service, {"spec", "allocateLoadBalancerNodePorts"}, true));
}
bool needs_health_check(const json::object& service) {
  return type_of(service) == "LoadBalancer" && string_at(service, {"spec", "externalTrafficPolicy"}) == "Local";
}

struct Taken {
  std::set<std::string, std::less<>> ips;
  std::set<int64_t> ports;
};

void note(Taken& out, const json::object& service) {
  for (const json::value& ip : array_at(service, {"spec", "clusterIPs"})) out.ips.emplace(as_string(ip));
  for (const json::value& port : array_at(service, {"spec", "ports"}))
    if (const auto number = integer_at(as_object(port), {"nodePort"})) out.ports.insert(*number);
  if (const auto number = integer_at(service, {"spec", "healthCheckNodePort"})) out.ports.insert(*number);
}

// By all services but the one of this name.
Taken taken_by_others(const json::object& service, const WriteContext& context) {
  Taken out;
  if (!context.lookup) return out;
  context.lookup->each("services", "", [&](std::string_view text) {
    const Result<json::value> value = parse_json(text);
    if (!value || !value->is_object()) return true;
    const json::object& other = value->get_object();
    if (string_at(other, {"metadata", "name"}) != string_at(service, {"metadata", "name"}) ||
        string_at(other, {"metadata", "namespace"}) != string_at(service, {"metadata", "namespace"}))
      note(out, other);
    return true;
  });
  return out;
}

Taken taken(const json::object& service, const WriteContext& context) {
  Taken out = taken_by_others(service, context);
  note(out, service);
  return out;
}

// What the client asks for must be free. Errors: 422, of the first thing that is not. A dry run does not look at
// addresses, as in the real server.
Answer<void> check_free(const json::object& service, const WriteContext& context) {
  if (external(service)) return {};
  const json::object& spec = object_at(service, {"spec"});
  json::array ips = array_at(spec, {"clusterIPs"});
  if (const std::string_view ip = string_at(spec, {"clusterIP"}); ips.empty() && !ip.empty())
    ips.push_back(json::value(ip));
  const json::array& ports = array_at(spec, {"ports"});
  const bool asks_port = std::ranges::any_of(
      ports, [](const json::value& port) { return integer_at(as_object(port), {"nodePort"}).value_or(0) != 0; });
  if (ips.empty() && !asks_port) return {};
  const Taken used = taken_by_others(service, context);
  const auto refused = [&](std::string field, json::value shown, std::string why) {
    return refuse(invalid({"", "services", "Service", std::string(string_at(service, {"metadata", "name"}))},
                          {{FieldError::Type::kInvalid, std::move(field), std::move(why), std::move(shown)}}));
  };
  for (const json::value& ip : ips)
    if (!context.dry_run && as_string(ip) != "None" && used.ips.contains(as_string(ip)))
      return refused("spec.clusterIPs", ips,
                     fmt::format("failed to allocate IP {}: provided IP is already allocated", as_string(ip)));
  if (!has_node_ports(service)) return {};
  for (size_t i = 0; i < ports.size(); ++i)
    if (const int64_t port = integer_at(as_object(ports[i]), {"nodePort"}).value_or(0);
        port != 0 && used.ports.contains(port))
      return refused(child(at("spec.ports", i), "nodePort"), port, "provided port is already allocated");
  return {};
}

std::string free_ip(Taken& used, Random& random) {
  for (int tries = 0; tries < 200'000; ++tries) {
    const uint64_t low = random.bits() % 65534 + 1;
    std::string ip = fmt::format("{}{}.{}", kRangePrefix, low >> 8, low & 255);
    if (used.ips.insert(ip).second) return ip;
  }
  return {};
}

int64_t free_port(Taken& used, Random& random) {
  for (int tries = 0; tries < 100'000; ++tries) {
    const int64_t port = kFirstNodePort + static_cast<int64_t>(random.bits() % (kLastNodePort - kFirstNodePort + 1));
    if (used.ports.insert(port).second) return port;
  }
  return 0;
}

// Fills in what the real server allocates.
void allocate(json::object& service, const WriteContext& context) {
  json::object& spec = ensure_object(service, {"spec"});
  if (external(service)) return;
  std::optional<Taken> used;
  const auto pool = [&]() -> Taken& {
    if (!used) used = taken(service, context);
    return *used;
  };
  if (!has(spec, {"ipFamilyPolicy"})) {
    // A headless service without selector is ready for both families.
    const bool both = headless(service) && object_at(spec, {"selector"}).empty();
    spec["ipFamilyPolicy"] = both ? "RequireDualStack" : "SingleStack";
    if (!has(spec, {"ipFamilies"}) && both) spec["ipFamilies"] = json::array{"IPv4", "IPv6"};
  }
  if (!has(spec, {"ipFamilies"})) spec["ipFamilies"] = json::array{"IPv4"};
  if (string_at(spec, {"clusterIP"}).empty()) {
    const std::string ip = free_ip(pool(), context.random);
    spec["clusterIP"] = ip;
    spec["clusterIPs"] = json::array{json::value(ip)};
  }
  if (has_node_ports(service) && has(spec, {"ports"}))
    for (json::value& port : spec["ports"].as_array())
      if (port.is_object() && integer_at(port.get_object(), {"nodePort"}).value_or(0) == 0)
        port.get_object()["nodePort"] = free_port(pool(), context.random);
  if (needs_health_check(service) && integer_at(spec, {"healthCheckNodePort"}).value_or(0) == 0)
    spec["healthCheckNodePort"] = free_port(pool(), context.random);
}

Answer<void> admit_service(json::object& service, const WriteContext& context) {
  const json::array& ips = array_at(service, {"spec", "clusterIPs"});
  if (!external(service) && string_at(service, {"spec", "clusterIP"}).empty() && !ips.empty())
    return refuse(invalid({"", "services", "Service", std::string(string_at(service, {"metadata", "name"}))},
                          {{FieldError::Type::kInvalid, "spec.clusterIPs",
                            "must be empty when `clusterIP` is not specified", json::value(ips)}}));
  return check_free(service, context);
}

void prepare_service(json::object& service, const WriteContext& context) {
  json::object& spec = ensure_object(service, {"spec"});
  if (!string_at(spec, {"clusterIP"}).empty() && array_at(spec, {"clusterIPs"}).empty())
    spec["clusterIPs"] = json::array{spec["clusterIP"]};
  service["status"] = json::object{{"loadBalancer", json::object()}};
  allocate(service, context);
}

void keep(json::object& spec, const json::object& old, const char* key) {
  if (!has(spec, {key}) && has(old, {key})) spec[key] = *value_at(old, {key});
}

// What the new type does not have goes, if the client left it as it was.
void drop_if_unchanged(json::object& spec, const json::object& old, const char* key) {
  if (same(value_at(spec, {key}), value_at(old, {key}))) spec.erase(key);
}

void prepare_service_update(json::object& next, const json::object& live, const WriteContext& context) {
  if (!context.subresource.empty()) return;
  ensure_object(next, {"status"});  // before the reference: a new field may move the others
  json::object& spec = ensure_object(next, {"spec"});
  const json::object& old = object_at(live, {"spec"});
  // clusterIP and clusterIPs[0] are one thing: the one that was changed wins.
  const json::value* ip = value_at(spec, {"clusterIP"});
  const json::value* ips = value_at(spec, {"clusterIPs"});
  const bool ip_changed = !same(ip, value_at(old, {"clusterIP"})),
             ips_changed = !same(ips, value_at(old, {"clusterIPs"}));
  if (ip_changed && !ips_changed) {
    if (ip && !as_string(*ip).empty()) {
      spec["clusterIPs"] = json::array{json::value(*ip)};
    } else {
      spec.erase("clusterIPs");
    }
  } else if (ips_changed && !ip_changed && ips && ips->is_array() && !ips->get_array().empty() && !ip) {
    spec["clusterIP"] = json::value(ips->get_array()[0]);
  }
  if (!external(next) && !external(live)) {
    if (!has(spec, {"clusterIP"}) && !has(spec, {"clusterIPs"})) {
      keep(spec, old, "clusterIP");
      keep(spec, old, "clusterIPs");
    }
    keep(spec, old, "ipFamilies");
    keep(spec, old, "ipFamilyPolicy");
  }
  if (external(next) && !external(live))
    for (const char* key : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"})
      drop_if_unchanged(spec, old, key);
  if (has_node_ports(next) && has_node_ports(live) && has(spec, {"ports"})) {
    for (json::value& port : spec["ports"].as_array()) {
      if (!port.is_object() || integer_at(port.get_object(), {"nodePort"}).value_or(0) != 0) continue;
      for (const json::value& before : array_at(old, {"ports"}))
        if (integer_at(as_object(before), {"port"}) == integer_at(port.get_object(), {"port"}) &&
            string_at(as_object(before), {"protocol"}) == string_at(port.get_object(), {"protocol"}) &&
            has(as_object(before), {"nodePort"}))
          port.get_object()["nodePort"] = *value_at(as_object(before), {"nodePort"});
    }
  } else if (!has_node_ports(next) && type_of(live) != type_of(next) && has(spec, {"ports"})) {
    for (json::value& port : spec["ports"].as_array())
      if (port.is_object()) port.get_object().erase("nodePort");
  }
  const bool outside = type_of(next) == "NodePort" || type_of(next) == "LoadBalancer";
  if (!outside && array_at(spec, {"externalIPs"}).empty() && type_of(live) != type_of(next))
    drop_if_unchanged(spec, old, "externalTrafficPolicy");
  if (type_of(next) != "LoadBalancer" && type_of(live) == "LoadBalancer") {
    for (const char* key : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) drop_if_unchanged(spec, old, key);
    next["status"] = json::object{{"loadBalancer", json::object()}};
  }
  if (needs_health_check(next)) {
    keep(spec, old, "healthCheckNodePort");
  } else {
    drop_if_unchanged(spec, old, "healthCheckNodePort");
  }
  allocate(next, context);
}

void check_port(const json::object& port, const std::string& path, bool named, std::set<std::string_view>& names,
                Complaints& complaints) {
  const std::string_view name = string_at(port, {"name"});
  if (name.empty()) {
    if (named) complaints.required(child(path, "name"));
  } else {
    complaints.invalid(child(path, "name"), name, dns_label(name));
    if (!names.insert(name).second) complaints.duplicate(child(path, "name"), json::value(name));
  }
  const int64_t number = integer_at(port, {"port"}).value_or(0);
  for (const std::string& fault : port_number(number)) complaints.invalid(child(path, "port"), number, fault);
  complaints.one_of(child(path, "protocol"), string_at(port, {"protocol"}), {"SCTP", "TCP", "UDP"});
  check_port_or_name(value_at(port, {"targetPort"}), child(path, "targetPort"), complaints);
  if (const std::string_view protocol = string_at(port, {"appProtocol"}); !protocol.empty())
    check_label_key(protocol, child(path, "appProtocol"), complaints);
}

void check_addresses(const json::object& spec, bool created, Complaints& complaints) {
  const std::string path = "spec.clusterIPs";
  const json::array& ips = array_at(spec, {"clusterIPs"});
  const std::string_view ip = string_at(spec, {"clusterIP"});
  if (!ip.empty() && !ips.empty() && as_string(ips[0]) != ip)
    complaints.invalid(path, json::value(ips), "first value must match `clusterIP`");
  const json::array& families = array_at(spec, {"ipFamilies"});
  for (size_t i = 0; i < families.size(); ++i)
    complaints.one_of(at("spec.ipFamilies", i), as_string(families[i]), {"IPv4", "IPv6"});
  const std::string_view policy = string_at(spec, {"ipFamilyPolicy"});
  complaints.one_of("spec.ipFamilyPolicy", policy, {"PreferDualStack", "RequireDualStack", "SingleStack"}, false);
  bool valid = true;
  for (size_t i = 0; i < ips.size(); ++i) {
    if (i == 0 && as_string(ips[i]) == "None") continue;
    if (is_ip(as_string(ips[i]))) continue;
    valid = false;
    complaints.invalid(at(path, i), ips[i], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  }
  if (!valid || ips.empty() || as_string(ips[0]) == "None") return;
  if (policy == "RequireDualStack")
    complaints.invalid("spec.ipFamilyPolicy", json::value(policy),
                       "this cluster is not configured for dual-stack services");
  if (!created) return;
  for (const json::value& address : ips)
    if (!as_string(address).starts_with(kRangePrefix))
      complaints.invalid(path, json::value(ips),
                         fmt::format("failed to allocate IP {0}: the provided IP ({0}) is not in the valid range. The "
                                     "range of valid IPs is {1}",
                                     as_string(address), kRange));
}

void check_external_name(const json::object& spec, Complaints& complaints) {
  if (!array_at(spec, {"clusterIPs"}).empty())
    complaints.forbidden("spec.clusterIPs", "may not be set for ExternalName services");
  if (!array_at(spec, {"ipFamilies"}).empty())
    complaints.forbidden("spec.ipFamilies", "may not be set for ExternalName services");
  if (has(spec, {"ipFamilyPolicy"}))
    complaints.forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services");
  std::string_view name = string_at(spec, {"externalName"});
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) {
    complaints.required("spec.externalName");
  } else {
    complaints.invalid("spec.externalName", name, dns_subdomain(name));
  }
}

void validate_service(const json::object& service, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(service, {"spec"});
  const std::string_view type = type_of(service);
  const json::array& ports = array_at(spec, {"ports"});
  if (ports.empty() && !headless(service) && !external(service)) complaints.required("spec.ports");
  if (headless(service) && (type == "LoadBalancer" || type == "NodePort"))
    complaints.invalid("spec.clusterIPs[0]", "None", fmt::format("may not be set to 'None' for {} services", type));
  if (external(service)) check_external_name(spec, complaints);
  std::set<std::string_view> names;
  for (size_t i = 0; i < ports.size(); ++i)
    check_port(as_object(ports[i]), at("spec.ports", i), ports.size() > 1, names, complaints);
  check_labels(object_at(spec, {"selector"}), "spec.selector", complaints);
  const std::string_view affinity = string_at(spec, {"sessionAffinity"});
  complaints.one_of("spec.sessionAffinity", affinity, {"ClientIP", "None"});
  if (affinity == "None" && has(spec, {"sessionAffinityConfig"}))
    complaints.forbidden("spec.sessionAffinityConfig", "must not be set when session affinity is None");
  if (affinity == "ClientIP") {
    const auto timeout = integer_at(spec, {"sessionAffinityConfig", "clientIP", "timeoutSeconds"});
    if (timeout && (*timeout <= 0 || *timeout > 86400))
      complaints.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", *timeout,
                         "must be greater than 0 and less than 86400");
  }
  if (!external(service)) check_addresses(spec, !has(service, {"metadata", "resourceVersion"}), complaints);
  const json::array& outside = array_at(spec, {"externalIPs"});
  for (size_t i = 0; i < outside.size(); ++i)
    if (!is_ip(as_string(outside[i])))
      complaints.invalid(at("spec.externalIPs", i), outside[i],
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  complaints.one_of("spec.type", type, {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  std::set<std::string> node_ports, numbers;
  for (size_t i = 0; i < ports.size(); ++i) {
    const int64_t port = integer_at(as_object(ports[i]), {"nodePort"}).value_or(0);
    const std::string here = child(at("spec.ports", i), "nodePort");
    if (port == 0) continue;
    if (type == "ClusterIP") complaints.forbidden(here, "may not be used when `type` is 'ClusterIP'");
    if (!node_ports.insert(fmt::format("{}/{}", string_at(as_object(ports[i]), {"protocol"}), port)).second)
      complaints.duplicate(here, port);
    if (type != "ClusterIP" && (port < kFirstNodePort || port > kLastNodePort))
      complaints.invalid(here, port,
                         fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}",
                                     kFirstNodePort, kLastNodePort));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string_view protocol = string_at(as_object(ports[i]), {"protocol"});
    const int64_t port = integer_at(as_object(ports[i]), {"port"}).value_or(0);
    if (!numbers.insert(fmt::format("{}/{}", protocol, port)).second)
      complaints.duplicate(at("spec.ports", i), json::object{{"Name", ""},
                                                             {"Protocol", protocol},
                                                             {"AppProtocol", nullptr},
                                                             {"Port", port},
                                                             {"TargetPort", 0},
                                                             {"NodePort", 0}});
  }
  if (has(spec, {"allocateLoadBalancerNodePorts"}) && type != "LoadBalancer")
    complaints.forbidden("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'");
  if (!array_at(spec, {"loadBalancerSourceRanges"}).empty() && type != "LoadBalancer")
    complaints.forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'");
  if (has(spec, {"loadBalancerClass"}) && type != "LoadBalancer")
    complaints.forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'");
  const std::string_view traffic = string_at(spec, {"externalTrafficPolicy"});
  if (type == "NodePort" || type == "LoadBalancer" || (type == "ClusterIP" && !outside.empty())) {
    complaints.one_of("spec.externalTrafficPolicy", traffic, {"Cluster", "Local"});
  } else if (!traffic.empty()) {
    complaints.invalid("spec.externalTrafficPolicy", json::value(traffic),
                       "may only be set for externally-accessible services");
  }
  if (const auto port = integer_at(spec, {"healthCheckNodePort"}); port && *port != 0 && !needs_health_check(service))
    complaints.invalid("spec.healthCheckNodePort", *port,
                       "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  complaints.one_of("spec.internalTrafficPolicy", string_at(spec, {"internalTrafficPolicy"}), {"Cluster", "Local"},
                    type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer");
  if (const std::string_view distribution = string_at(spec, {"trafficDistribution"}); !distribution.empty())
    complaints.one_of("spec.trafficDistribution", distribution, {"PreferClose", "PreferSameZone", "PreferSameNode"});
}

void validate_service_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  if (external(next) || external(live) || (headless(next) && headless(live))) return;
  Complaints complaints(errors);
  const json::array& ips = array_at(next, {"spec", "clusterIPs"});
  for (size_t i = 0; i < ips.size() && i < array_at(next, {"spec", "ipFamilies"}).size(); ++i) {
    const std::string_view family = as_string(array_at(next, {"spec", "ipFamilies"})[i]);
    if (is_ip(as_string(ips[i])) && is_ip_v6(as_string(ips[i])) != (family == "IPv6"))
      return complaints.invalid(at("spec.clusterIPs", i), ips[i],
                                fmt::format("expected an {} value as indicated by `ipFamilies[{}]`", family, i));
  }
  const json::array& old = array_at(live, {"spec", "clusterIPs"});
  for (size_t i = 0; i < std::min(ips.size(), old.size()); ++i)
    if (ips[i] != old[i]) complaints.invalid(at("spec.clusterIPs", i), json::value(ips), "may not change once set");
  if (ips.empty() && !old.empty())
    complaints.invalid("spec.clusterIPs[0]", json::value(ips), "primary clusterIP can not be unset");
  if (headless(next) != headless(live)) return;
  const json::array& families = array_at(next, {"spec", "ipFamilies"});
  const json::array& before = array_at(live, {"spec", "ipFamilies"});
  if (!families.empty() && !before.empty() && families[0] != before[0])
    complaints.invalid("spec.ipFamilies[0]", json::value(families), "may not change once set");
}

void validate_endpoints(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::array& subsets = array_at(object, {"subsets"});
  for (size_t i = 0; i < subsets.size(); ++i) {
    const json::object& subset = as_object(subsets[i]);
    const std::string here = at("subsets", i);
    if (array_at(subset, {"addresses"}).empty() && array_at(subset, {"notReadyAddresses"}).empty())
      complaints.required(here, "must specify `addresses` or `notReadyAddresses`");
    for (const char* list : {"addresses", "notReadyAddresses"}) {
      const json::array& addresses = array_at(subset, {list});
      for (size_t k = 0; k < addresses.size(); ++k)
        if (const std::string_view ip = string_at(as_object(addresses[k]), {"ip"}); !is_ip(ip))
          for (const char* why :
               {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)", "must be a valid IP address"})
            complaints.invalid(child(at(child(here, list), k), "ip"), json::value(ip), why);
    }
    const json::array& ports = array_at(subset, {"ports"});
    for (size_t k = 0; k < ports.size(); ++k) {
      const json::object& port = as_object(ports[k]);
      const std::string path = at(child(here, "ports"), k);
      const std::string_view name = string_at(port, {"name"});
      if (name.empty() && ports.size() > 1) complaints.required(child(path, "name"));
      if (!name.empty()) complaints.invalid(child(path, "name"), name, dns_label(name));
      const int64_t number = integer_at(port, {"port"}).value_or(0);
      for (const std::string& fault : port_number(number)) complaints.invalid(child(path, "port"), number, fault);
      complaints.one_of(child(path, "protocol"), string_at(port, {"protocol"}), {"SCTP", "TCP", "UDP"});
    }
  }
}

void validate_endpoint_slice(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const std::string_view type = string_at(object, {"addressType"});
  if (type.empty()) {
    complaints.required("addressType");
  } else {
    complaints.one_of("addressType", type, {"FQDN", "IPv4", "IPv6"});
  }
  const json::array& endpoints = array_at(object, {"endpoints"});
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const json::array& addresses = array_at(as_object(endpoints[i]), {"addresses"});
    const std::string here = child(at("endpoints", i), "addresses");
    if (addresses.empty()) complaints.required(here, "must contain at least 1 address");
    for (size_t k = 0; k < addresses.size(); ++k) {
      const std::string_view address = as_string(addresses[k]);
      if ((type == "IPv4" || type == "IPv6") && !is_ip(address)) {
        complaints.invalid(at(here, k), addresses[k], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
      } else if (type == "IPv4" && is_ip_v6(address)) {
        complaints.invalid(at(here, k), addresses[k], "must be an IPv4 address");
      } else if (type == "IPv6" && !is_ip_v6(address)) {
        complaints.invalid(at(here, k), addresses[k], "must be an IPv6 address");
      }
    }
  }
}

}  // namespace

const Strategy& service_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.admit = admit_service;
    s.admit_update = [](json::object& next, const json::object&, const WriteContext& context) {
      return check_free(next, context);
    };
    s.prepare_create = prepare_service;
    s.prepare_update = prepare_service_update;
    s.validate = validate_service;
    s.validate_update = validate_service_update;
    s.name_rule = Strategy::NameRule::kDnsLabel;
    s.selectable.emplace("spec.clusterIP", field_at({"spec", "clusterIP"}));
    s.selectable.emplace("spec.type", field_at({"spec", "type"}));
    s.allow_create_on_update = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& endpoints_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = validate_endpoints;
    s.allow_create_on_update = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& endpoint_slice_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = validate_endpoint_slice;
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints(errors).immutable("addressType", value_at(next, {"addressType"}), value_at(live, {"addressType"}));
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
