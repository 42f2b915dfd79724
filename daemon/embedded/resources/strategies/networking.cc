// Ingresses, their classes, network policies.
#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

void check_backend(const json::object& backend, const std::string& path, Complaints& complaints) {
  const bool resource = has(backend, {"resource"}), service = has(backend, {"service"});
  if (resource && service) return complaints.invalid(path, "", "cannot set both resource and service backends");
  if (!resource && !service) return complaints.invalid(path, "", "resource or service backend is required");
  if (resource) {
    for (const char* key : {"kind", "name"})
      if (string_at(backend, {"resource", key}).empty()) complaints.required(child(path + ".resource", key));
    return;
  }
  const std::string_view name = string_at(backend, {"service", "name"});
  if (name.empty()) {
    complaints.required(path + ".service.name");
  } else {
    complaints.invalid(path + ".service.name", name, dns_label(name));
  }
  const std::string_view port = string_at(backend, {"service", "port", "name"});
  const int64_t number = integer_at(backend, {"service", "port", "number"}).value_or(0);
  if (!port.empty() && number != 0) {
    complaints.invalid(path, "", "cannot set both port name & port number");
  } else if (!port.empty()) {
    complaints.invalid(path + ".service.port.name", port, port_name(port));
  } else if (number != 0) {
    for (const std::string& fault : port_number(number))
      complaints.invalid(path + ".service.port.number", number, fault);
  } else {
    complaints.required(path, "port name or number is required");
  }
}

void check_path(const json::object& item, const std::string& here, Complaints& complaints) {
  if (!has(item, {"pathType"})) return complaints.required(here + ".pathType", "pathType must be specified");
  const std::string_view type = string_at(item, {"pathType"}), path = string_at(item, {"path"});
  if (type == "Exact" || type == "Prefix") {
    if (!path.starts_with('/')) complaints.invalid(here + ".path", json::value(path), "must be an absolute path");
    for (const char* bad : {"//", "/./", "/../", "%2f", "%2F"})
      if (path.find(bad) != std::string_view::npos)
        complaints.invalid(here + ".path", json::value(path), fmt::format("must not contain '{}'", bad));
    for (const char* bad : {"/..", "/."})
      if (path.ends_with(bad))
        complaints.invalid(here + ".path", json::value(path), fmt::format("cannot end with '{}'", bad));
  } else if (type == "ImplementationSpecific") {
    if (!path.empty() && !path.starts_with('/'))
      complaints.invalid(here + ".path", json::value(path), "must be an absolute path");
  } else {
    complaints.unsupported(here + ".pathType", json::value(type), {"Exact", "ImplementationSpecific", "Prefix"});
  }
  check_backend(object_at(item, {"backend"}), here + ".backend", complaints);
}

void check_host(std::string_view host, const std::string& path, Complaints& complaints) {
  const bool wild = host.find('*') != std::string_view::npos;
  complaints.invalid(path, host, wild ? wildcard_subdomain(host) : dns_subdomain(host));
}

void validate_ingress(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  const json::array& rules = array_at(spec, {"rules"});
  if (rules.empty() && !has(spec, {"defaultBackend"}))
    complaints.invalid("spec", nullptr, "either `defaultBackend` or `rules` must be specified");
  if (has(spec, {"defaultBackend"}))
    check_backend(object_at(spec, {"defaultBackend"}), "spec.defaultBackend", complaints);
  for (size_t i = 0; i < rules.size(); ++i) {
    const json::object& rule = as_object(rules[i]);
    const std::string here = at("spec.rules", i);
    if (const std::string_view host = string_at(rule, {"host"}); !host.empty()) {
      if (is_ip(host)) complaints.invalid(here + ".host", json::value(host), "must be a DNS name, not an IP address");
      check_host(host, here + ".host", complaints);
    }
    if (!has(rule, {"http"})) continue;
    const json::array& paths = array_at(rule, {"http", "paths"});
    if (paths.empty()) complaints.required(here + ".http.paths");
    for (size_t k = 0; k < paths.size(); ++k) check_path(as_object(paths[k]), at(here + ".http.paths", k), complaints);
  }
  const json::array& certificates = array_at(spec, {"tls"});
  for (size_t i = 0; i < certificates.size(); ++i) {
    const json::object& tls = as_object(certificates[i]);
    const json::array& hosts = array_at(tls, {"hosts"});
    for (size_t k = 0; k < hosts.size(); ++k)
      check_host(as_string(hosts[k]), at(at("spec.tls", i) + ".hosts", k), complaints);
    if (const std::string_view name = string_at(tls, {"secretName"}); !name.empty())
      complaints.invalid(at("spec.tls", i) + ".secretName", name, dns_subdomain(name));
  }
  const std::string_view name = string_at(spec, {"ingressClassName"});
  if (has(spec, {"ingressClassName"})) complaints.invalid("spec.ingressClassName", name, dns_subdomain(name));
  const std::string_view annotation = string_at(object, {"metadata", "annotations", "kubernetes.io/ingress.class"});
  if (!annotation.empty() && !name.empty() && annotation != name && !has(object, {"metadata", "resourceVersion"}))
    complaints.invalid("annotations.kubernetes.io/ingress.class", json::value(annotation),
                       "must match `ingressClassName` when both are specified");
}

void check_domain_path(std::string_view text, const std::string& path, Complaints& complaints) {
  if (text.empty()) return complaints.required(path);
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
    return complaints.invalid(path, json::value(text), "must be a domain-prefixed path (such as \"acme.io/foo\")");
  complaints.invalid(path, text.substr(0, slash), dns_subdomain(text.substr(0, slash)));
}

void check_policy_rules(const json::object& spec, const char* direction, const char* side, Complaints& complaints) {
  const json::array& rules = array_at(spec, {direction});
  for (size_t i = 0; i < rules.size(); ++i) {
    const json::object& rule = as_object(rules[i]);
    const std::string here = at(child("spec", direction), i);
    const json::array& ports = array_at(rule, {"ports"});
    for (size_t k = 0; k < ports.size(); ++k) {
      const json::object& port = as_object(ports[k]);
      const std::string path = at(here + ".ports", k);
      complaints.one_of(path + ".protocol", string_at(port, {"protocol"}), {"TCP", "UDP", "SCTP"}, false);
      if (const json::value* number = value_at(port, {"port"})) {
        check_port_or_name(number, path + ".port", complaints);
        const auto last = integer_at(port, {"endPort"});
        if (last && number->is_int64() && *last < number->get_int64())
          complaints.invalid(path + ".endPort", *number, "must be greater than or equal to `port`");
        if (last && number->is_string())
          complaints.invalid(path + ".endPort", *last, "may not be specified when `port` is non-numeric");
      } else if (const auto last = integer_at(port, {"endPort"})) {
        complaints.invalid(path + ".endPort", *last, "may not be specified when `port` is not specified");
      }
    }
    const json::array& peers = array_at(rule, {side});
    for (size_t k = 0; k < peers.size(); ++k) {
      const json::object& peer = as_object(peers[k]);
      const std::string path = at(child(here, side), k);
      size_t count = 0;
      for (const char* key : {"podSelector", "namespaceSelector"}) {
        count += has(peer, {key}) ? 1 : 0;
        check_label_selector(object_at(peer, {key}), child(path, key), complaints);
      }
      if (has(peer, {"ipBlock"})) {
        ++count;
        const std::string_view range = string_at(peer, {"ipBlock", "cidr"});
        if (range.empty()) {
          complaints.required(path + ".ipBlock.cidr");
        } else if (!is_cidr(range)) {
          complaints.invalid(path + ".ipBlock.cidr", json::value(range),
                             "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        }
      }
      if (count == 0) complaints.required(path, "must specify a peer");
      if (count > 1 && has(peer, {"ipBlock"}))
        complaints.forbidden(path, "may not specify both ipBlock and another peer");
    }
  }
}

// As the admission plugin DefaultIngressClass.
Answer<void> admit_ingress(json::object& ingress, const WriteContext& context) {
  if (has(ingress, {"spec", "ingressClassName"}) ||
      object_at(ingress, {"metadata", "annotations"}).contains("kubernetes.io/ingress.class"))
    return {};
  const std::string name =
      default_class("ingressclasses.networking.k8s.io", {"ingressclass.kubernetes.io/is-default-class"}, context);
  if (!name.empty()) ensure_object(ingress, {"spec"})["ingressClassName"] = name;
  return {};
}

}  // namespace

const Strategy& ingress_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.admit = admit_ingress;
    s.validate = validate_ingress;
    s.warnings = [](const json::object& object) {
      std::vector<std::string> out;
      if (has(object, {"metadata", "annotations", "kubernetes.io/ingress.class"}))
        out.emplace_back(
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
            "'spec.ingressClassName' instead");
      return out;
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& ingress_class_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_domain_path(string_at(object, {"spec", "controller"}), "spec.controller", complaints);
      if (!has(object, {"spec", "parameters"})) return;
      for (const char* key : {"kind", "name"})
        if (string_at(object, {"spec", "parameters", key}).empty()) complaints.required(child("spec.parameters", key));
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints(errors).immutable("spec.controller", value_at(next, {"spec", "controller"}),
                                   value_at(live, {"spec", "controller"}));
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& network_policy_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const json::object& spec = object_at(object, {"spec"});
      check_label_selector(object_at(spec, {"podSelector"}), "spec.podSelector", complaints);
      check_policy_rules(spec, "ingress", "from", complaints);
      check_policy_rules(spec, "egress", "to", complaints);
      const json::array& types = array_at(spec, {"policyTypes"});
      if (types.size() > 2)
        return complaints.invalid("spec.policyTypes", json::value(types), "may not specify more than two policyTypes");
      for (size_t i = 0; i < types.size(); ++i)
        complaints.one_of(at("spec.policyTypes", i), as_string(types[i]), {"Ingress", "Egress"}, false);
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
