// What every cluster has from the beginning.
#include <tuple>

#include "embedded/server_state.h"
#include "embedded/verbs/decode_object.h"
#include "embedded/verbs/write.h"

namespace hookd::embedded {
namespace {

void add(World& world, std::string_view group, std::string_view version, std::string_view plural, json::object object) {
  const auto resource = world.registry.find(group, version, plural);
  if (!resource) return;
  object["apiVersion"] = resource->api_version();
  object["kind"] = resource->kind;
  std::vector<std::string> unknown;
  if (!decode_changed(object, *resource, unknown)) return;
  WriteCall call{world, resource, std::string(string_at(object, {"metadata", "namespace"})),
                 std::string(string_at(object, {"metadata", "name"}))};
  call.user = "system:apiserver";
  call.manager = "kube-apiserver";
  (void)create_object(call, std::move(object));
}

}  // namespace

void add_startup_objects(World& world) {
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"})
    add(world, "", "v1", "namespaces", {{"metadata", {{"name", name}}}});
  add(world, "", "v1", "services",
      {{"metadata",
        {{"name", "kubernetes"},
         {"namespace", "default"},
         {"labels", {{"component", "apiserver"}, {"provider", "kubernetes"}}}}},
       {"spec",
        {{"clusterIP", "10.96.0.1"},
         {"type", "ClusterIP"},
         {"ports",
          json::array{json::object{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", 6443}}}}}}});
  for (const auto& [name, value, description] :
       {std::tuple("system-cluster-critical", 2000000000,
                   "Used for system critical pods that must run in the cluster, but can be moved to another node if "
                   "necessary."),
        std::tuple("system-node-critical", 2000001000,
                   "Used for system critical pods that must not be moved from their current node.")})
    add(world, "scheduling.k8s.io", "v1", "priorityclasses",
        {{"metadata", {{"name", name}}}, {"value", value}, {"description", description}});
  for (auto& one : builtin_rbac()) add(world, "rbac.authorization.k8s.io", "v1", one.plural, std::move(one.object));
}

}  // namespace hookd::embedded
