// What a pod, and a template of pods, may look like. Thread: any.
// Source: API reference "PodSpec"; the real server's checks in their order, those that people meet. Left out: Windows
// options, resource claims, inline volumes of clouds (only "one type" is checked), seccomp and AppArmor profiles.
#pragma once

#include <map>

#include "embedded/resources/fields.h"

namespace hookd::embedded {

enum class PodOwner { kPod, kTemplate };  // a pod itself, or a spec inside another kind

void check_pod_spec(const json::object& spec, const std::string& path, PodOwner owner, Complaints& complaints);
// labels, annotations and the spec of a PodTemplateSpec.
void check_pod_template(const json::object& pod_template, const std::string& path, Complaints& complaints);

// Parts of it.
using Volumes = std::map<std::string_view, const json::object*>;  // by name, those without fault
Volumes check_volumes(const json::array& volumes, const std::string& path, Complaints& complaints);
void check_containers(const json::object& spec, const Volumes& volumes, const std::string& path,
                      Complaints& complaints);
void check_placement(const json::object& spec, const std::string& path, Complaints& complaints);
void check_tolerations(const json::array& tolerations, const std::string& path, Complaints& complaints);
void check_node_selector(const json::object& selector, const std::string& path, Complaints& complaints);
void check_resources(const json::object& resources, const std::string& path, Complaints& complaints);
void check_port_or_name(const json::value* port, const std::string& path, Complaints& complaints);
void check_relative_path(std::string_view text, const std::string& path, Complaints& complaints);
void check_no_backsteps(std::string_view text, const std::string& path, Complaints& complaints);

// Warning headers for a pod spec at `path`; `meta` of the pod or template.
std::vector<std::string> pod_warnings(const json::object& meta, const json::object& spec, const std::string& meta_path,
                                      const std::string& path);

}  // namespace hookd::embedded
