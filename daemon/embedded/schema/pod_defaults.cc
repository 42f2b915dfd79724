// Pods and what they are made of: the rules that look at more than one field. Thread: any.
#include <algorithm>
#include <cctype>
#include <string>

#include "embedded/schema/builtin_defaults.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {

namespace {

// "" for a digest without a tag and for what is no image name; "latest" if neither is there.
std::string_view image_tag(std::string_view image) {
  const std::string_view whole = image;
  const size_t digest = image.find('@');
  image = image.substr(0, digest);
  const size_t slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const size_t colon = last.find(':');
  const std::string_view name = last.substr(0, colon);
  const auto allowed = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (whole.empty() || name.empty() || !std::all_of(name.begin(), name.end(), allowed)) return "";
  if (colon != std::string_view::npos) return last.substr(colon + 1);
  return digest == std::string_view::npos ? "latest" : "";
}

void pull_policy(json::object& object, std::string_view image, std::string_view policy) {
  if (!has(object, policy))
    object[policy] = image_tag(string_at(object, image)) == "latest" ? "Always" : "IfNotPresent";
}

void container(json::object& container) { pull_policy(container, "image", "imagePullPolicy"); }

void image_volume(json::object& image) { pull_policy(image, "reference", "pullPolicy"); }

// What a container may use at most it asks for too, unless told otherwise.
void limits_to_requests(json::object& owner) {
  json::object* resources = object_at(owner, "resources");
  json::object* limits = resources ? object_at(*resources, "limits") : nullptr;
  if (limits == nullptr || limits->empty()) return;
  const json::object copy = *limits;
  json::object& requests = make_object(*resources, "requests");
  for (const auto& limit : copy) {
    if (!requests.contains(limit.key())) requests.emplace(limit.key(), limit.value());
  }
}

void add(json::object& sums, const json::object* more) {
  if (more == nullptr) return;
  for (const auto& entry : *more) {
    if (!entry.value().is_string()) continue;
    json::value& sum = sums[entry.key()];
    sum = sum.is_string() ? json::value(add_quantities(sum.get_string(), entry.value().get_string())) : entry.value();
  }
}

void raise(json::object& sums, const json::object& floor) {
  for (const auto& entry : floor) {
    json::value& sum = sums[entry.key()];
    if (!sum.is_string() || compare_quantities(sum.get_string(), entry.value().get_string()) < 0) sum = entry.value();
  }
}

json::object* requests_of(json::object& container) {
  json::object* resources = object_at(container, "resources");
  return resources ? object_at(*resources, "requests") : nullptr;
}

// KEP-753: side cars (init containers that restart) count for the whole life, other init containers while they run.
json::object sum_of_requests(json::object& spec) {
  json::object sums, sidecars, highest;
  each(spec, "containers", [&](json::object& one) { add(sums, requests_of(one)); });
  each(spec, "initContainers", [&](json::object& one) {
    json::object while_it_runs = sidecars;
    add(while_it_runs, requests_of(one));
    if (string_at(one, "restartPolicy") == "Always") {
      add(sums, requests_of(one));
      add(sidecars, requests_of(one));
    }
    raise(highest, while_it_runs);
  });
  raise(sums, highest);
  return sums;
}

// KEP-2837: a pod with limits of its own asks for what its containers ask for, or else for its limits.
void pod_requests(json::object& spec) {
  json::object* resources = object_at(spec, "resources");
  json::object* limits = resources ? object_at(*resources, "limits") : nullptr;
  if (limits == nullptr || limits->empty()) return;
  const auto counts = [](std::string_view name) { return name == "cpu" || name == "memory"; };
  const json::object own = *limits;
  json::object& requests = make_object(*resources, "requests");
  for (const auto& sum : sum_of_requests(spec)) {
    if (counts(sum.key()) && !requests.contains(sum.key())) requests.emplace(sum.key(), sum.value());
  }
  for (const auto& limit : own) {
    const bool known = counts(limit.key()) || limit.key().starts_with("hugepages-");
    if (known && !requests.contains(limit.key())) requests.emplace(limit.key(), limit.value());
  }
}

void host_ports(json::object& container) {
  each(container, "ports", [](json::object& port) {
    if (!has(port, "hostPort") && has(port, "containerPort")) copy_field(port, "hostPort", "containerPort");
  });
}

// Of pods only, not of the templates of pods.
void pod(json::object& pod) {
  json::object& spec = make_object(pod, "spec");
  each(spec, "containers", limits_to_requests);
  each(spec, "initContainers", limits_to_requests);
  pod_requests(spec);
  set_if_absent(spec, "enableServiceLinks", true);
  if (has(spec, "hostNetwork")) {
    each(spec, "containers", host_ports);
    each(spec, "initContainers", host_ports);
  }
  json::value* grace = spec.if_contains("terminationGracePeriodSeconds");
  if (grace && grace->is_int64() && grace->get_int64() < 0) *grace = 1;
}

// The old name of the field always says the same.
void pod_spec(json::object& spec) {
  if (!has(spec, "serviceAccountName")) {
    if (!has(spec, "serviceAccount")) return;
    copy_field(spec, "serviceAccountName", "serviceAccount");
  }
  copy_field(spec, "serviceAccount", "serviceAccountName");
}

// podIP is the first of podIPs.
void pod_status(json::object& status) {
  const std::string ip(string_at(status, "podIP"));
  json::value* list = status.if_contains("podIPs");
  const bool some = list && list->is_array() && !list->get_array().empty() && list->get_array()[0].is_object();
  const std::string first(some ? string_at(list->get_array()[0].get_object(), "ip") : "");
  if (ip.empty() && some) {
    status["podIP"] = first;
  } else if (!ip.empty() && ip != first) {
    json::array ips;
    ips.push_back(json::object{{"ip", ip}});
    status["podIPs"] = std::move(ips);
  }
}

// A volume without a source is an empty folder.
void volume(json::object& volume) {
  const bool sourced = std::any_of(volume.begin(), volume.end(), [](const json::key_value_pair& field) {
    return field.key() != "name" && !field.value().is_null();
  });
  if (!sourced) volume["emptyDir"] = json::object();
}

constexpr DefaultRule kRules[] = {
    {"core.v1.Pod", pod},
    {"core.v1.PodSpec", pod_spec},
    {"core.v1.PodStatus", pod_status},
    {"core.v1.Container", container},
    {"core.v1.EphemeralContainer", container},
    {"core.v1.ImageVolumeSource", image_volume},
    {"core.v1.Volume", volume},
};

}  // namespace

std::span<const DefaultRule> pod_default_rules() { return kRules; }

}  // namespace hookd::embedded
