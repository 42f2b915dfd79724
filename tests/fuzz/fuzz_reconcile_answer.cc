// Any answer of a hook that reconciles is refused, or every child in it is of a declared kind, named, in the parent's
// namespace, and JSON.
#include <cstdlib>
#include <set>

#include "base/json_read.h"
#include "reconcile/native_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd;
  static const hook::ChildRule maps, deployments;
  kube::ResourceType map_type, deployment_type, parent_type;
  map_type.version = deployment_type.version = parent_type.version = "v1";
  map_type.kind = "ConfigMap";
  map_type.plural = "configmaps";
  deployment_type.group = "apps";
  deployment_type.kind = "Deployment";
  deployment_type.plural = "deployments";
  parent_type.group = "example.com";
  parent_type.kind = "Thing";
  parent_type.plural = "things";
  static const std::vector<reconcile::ChildKind> kinds{
      {&maps, std::make_shared<const kube::ResourceType>(map_type)},
      {&deployments, std::make_shared<const kube::ResourceType>(deployment_type)}};
  cache::Identity parent;
  parent.ns = "a";
  parent.name = "x";
  parent.uid = "u";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto answer = reconcile::read_native_answer(text, {kinds, parent_type, parent, false});
  if (!answer) {
    if (answer.error().what.empty()) std::abort();
    return 0;
  }
  if (answer->status && !validate_json(*answer->status)) std::abort();
  if (!answer->children) return 0;
  std::set<std::string> names;
  for (const auto& child : *answer->children) {
    if (child.name.empty() || child.ns != "a" || !validate_json(child.text)) std::abort();
    if (!names.insert(child.kind.type->kind + " " + child.key()).second) std::abort();
  }
  return 0;
}
