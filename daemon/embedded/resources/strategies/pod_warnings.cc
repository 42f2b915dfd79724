// The Warning headers for pods and templates that Kubernetes 1.36 gives most.
#include <map>
#include <set>

#include "embedded/resources/strategies/pod_spec.h"

namespace hookd::embedded {
namespace {

struct Deprecated {
  const char* name;
  const char* message;
};

constexpr Deprecated kVolumes[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

constexpr Deprecated kNodeLabels[] = {
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
};

constexpr Deprecated kAnnotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
};

class Warner {
 public:
  Warner(const json::object& spec, const std::string& path) : spec_(spec), path_(path) {}

  void annotations(const json::object& meta, const std::string& path) {
    for (const Deprecated& entry : kAnnotations)
      if (has(meta, {"annotations", entry.name})) tell(keyed(child(path, "annotations"), entry.name), entry.message);
  }

  void nodes() {
    for (const auto& entry : object_at(spec_, {"nodeSelector"}))
      for (const Deprecated& label : kNodeLabels)
        if (entry.key() == label.name) tell(keyed(child(path_, "nodeSelector"), label.name), label.message);
    const json::array& constraints = array_at(spec_, {"topologySpreadConstraints"});
    for (size_t i = 0; i < constraints.size(); ++i) {
      const std::string here = at(child(path_, "topologySpreadConstraints"), i);
      const std::string_view key = string_at(as_object(constraints[i]), {"topologyKey"});
      for (const Deprecated& label : kNodeLabels)
        if (key == label.name) tell(child(here, "topologyKey"), fmt::format("{} is {}", key, label.message));
      null_selector(as_object(constraints[i]), here);
    }
  }

  void volumes() {
    const json::array& volumes = array_at(spec_, {"volumes"});
    for (size_t i = 0; i < volumes.size(); ++i)
      for (const Deprecated& entry : kVolumes)
        if (has(as_object(volumes[i]), {entry.name}))
          tell(child(at(child(path_, "volumes"), i),
                     std::string_view(entry.name) == "storageos" ? "storageOS" : entry.name),
               entry.message);
  }

  void repeated(const char* list, const char* key, const char* word) {
    std::set<std::string_view> seen;
    const json::array& items = array_at(spec_, {list});
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string_view value = string_at(as_object(items[i]), {key});
      const std::string here = child(at(child(path_, list), i), key);
      if (!seen.insert(value).second) tell(here, fmt::format("duplicate {} \"{}\"", word, value));
      if (value.empty() && std::string_view(list) == "imagePullSecrets") tell(here, "invalid empty name \"\"");
    }
  }

  void containers() {
    each_container([&](const json::object& container, const std::string& here) {
      for (const char* which : {"limits", "requests"})
        for (const char* resource : {"memory", "ephemeral-storage"}) {
          const std::string_view value = string_at(container, {"resources", which, resource});
          if (value.ends_with('m') || value.ends_with('u') || value.ends_with('n'))
            tell(keyed(child(here, fmt::format("resources.{}", which)), resource),
                 fmt::format("fractional byte value \"{}\" is invalid, must be an integer", value));
        }
      std::set<std::string_view> names;
      const json::array& variables = array_at(container, {"env"});
      for (size_t i = 0; i < variables.size(); ++i) {
        const json::object& variable = as_object(variables[i]);
        const std::string_view name = string_at(variable, {"name"}), value = string_at(variable, {"value"});
        if (names.insert(name).second) continue;
        const std::string reference = fmt::format("$({})", name);
        if (has(variable, {"valueFrom"}) || value == reference || value.find(reference) == std::string_view::npos)
          tell(at(child(here, "env"), i),
               fmt::format("hides previous definition of \"{}\", which may be dropped when using apply", name));
      }
    });
  }

  void ports() {
    struct Known {
      std::string field;
      std::string_view ip;
      int64_t host;
    };
    std::map<std::string, std::vector<Known>> known;
    each_port([&](const json::object& port, const std::string& here) {
      const Known mine{here, string_at(port, {"hostIP"}), integer_at(port, {"hostPort"}).value_or(0)};
      std::vector<Known>& others =
          known[fmt::format("{}/{}", integer_at(port, {"containerPort"}).value_or(0), string_at(port, {"protocol"}))];
      for (const Known& other : others) {
        if (mine.ip == other.ip && mine.host == other.host) {
          tell(here, fmt::format("duplicate port definition with {}", other.field));
        } else if (mine.host == 0 || other.host == 0) {
          tell(here, fmt::format("overlapping port definition with {}", other.field));
        } else if (mine.host == other.host && mine.ip.empty() != other.ip.empty()) {
          tell(here, fmt::format("dangerously ambiguous port definition with {}", other.field));
        }
      }
      others.push_back(mine);
    });
    std::map<std::string_view, std::string> names;
    each_port([&](const json::object& port, const std::string& here) {
      const std::string_view name = string_at(port, {"name"});
      if (name.empty()) return;
      const auto [found, fresh] = names.emplace(name, here);
      if (!fresh)
        tell(here, fmt::format("duplicate port name \"{0}\" with {1}, services and probes that select ports by name "
                               "will use {1}",
                               name, found->second));
    });
  }

  void rest() {
    if (integer_at(spec_, {"terminationGracePeriodSeconds"}).value_or(0) < 0)
      tell(child(path_, "terminationGracePeriodSeconds"),
           "must be >= 0; negative values are invalid and will be treated as 1");
    for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
      const std::string base = child(child(path_, "affinity"), kind);
      const char* const required = "requiredDuringSchedulingIgnoredDuringExecution";
      const char* const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
      const json::array& hard = array_at(spec_, {"affinity", kind, required});
      for (size_t i = 0; i < hard.size(); ++i) null_selector(as_object(hard[i]), at(child(base, required), i));
      const json::array& soft = array_at(spec_, {"affinity", kind, preferred});
      for (size_t i = 0; i < soft.size(); ++i)
        null_selector(object_at(as_object(soft[i]), {"podAffinityTerm"}),
                      child(at(child(base, preferred), i), "podAffinityTerm"));
    }
  }

  std::vector<std::string> take() { return std::move(warnings_); }

 private:
  void tell(const std::string& field, std::string_view what) {
    warnings_.push_back(fmt::format("{}: {}", field, what));
  }
  void null_selector(const json::object& term, const std::string& path) {
    if (!has(term, {"labelSelector"}))
      tell(child(path, "labelSelector"), "a null labelSelector results in matching no pod");
  }
  template <class F>
  void each_container(F visit) {
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
      const json::array& containers = array_at(spec_, {list});
      for (size_t i = 0; i < containers.size(); ++i) visit(as_object(containers[i]), at(child(path_, list), i));
    }
  }
  template <class F>
  void each_port(F visit) {
    each_container([&](const json::object& container, const std::string& here) {
      const json::array& ports = array_at(container, {"ports"});
      for (size_t i = 0; i < ports.size(); ++i) visit(as_object(ports[i]), at(child(here, "ports"), i));
    });
  }

  const json::object& spec_;
  const std::string& path_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> pod_warnings(const json::object& meta, const json::object& spec, const std::string& meta_path,
                                      const std::string& path) {
  Warner warner(spec, path);
  warner.nodes();
  warner.annotations(meta, meta_path);
  warner.volumes();
  warner.repeated("hostAliases", "ip", "ip");
  warner.repeated("imagePullSecrets", "name", "name");
  warner.containers();
  warner.ports();
  warner.rest();
  return warner.take();
}

}  // namespace hookd::embedded
