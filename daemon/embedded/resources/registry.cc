#include <algorithm>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

ResourcePtr Registry::find(std::string_view group, std::string_view version, std::string_view plural) const {
  for (const ResourcePtr& resource : resources_)
    if (resource->plural == plural && resource->version == version && resource->group == group) return resource;
  return nullptr;
}

ResourcePtr Registry::find_kind(std::string_view group, std::string_view version, std::string_view kind) const {
  for (const ResourcePtr& resource : resources_)
    if (resource->kind == kind && resource->version == version && resource->group == group) return resource;
  return nullptr;
}

ResourcePtr Registry::stored(std::string_view storage_key) const {
  for (const ResourcePtr& resource : resources_)
    if (resource->storage_key == storage_key && !resource->create_only) return resource;
  return nullptr;
}

void Registry::add(Resource resource) {
  ++changes_;
  resources_.push_back(std::make_shared<const Resource>(std::move(resource)));
}

void Registry::remove_group_resource(std::string_view group, std::string_view plural) {
  ++changes_;
  std::erase_if(resources_,
                [&](const ResourcePtr& resource) { return resource->group == group && resource->plural == plural; });
}

}  // namespace hookd::embedded
