#include "reconcile/cause.h"

namespace hookd::reconcile {

std::string_view type_of(cache::Change::Type type) {
  switch (type) {
    case cache::Change::Type::kAdded:
      return "Added";
    case cache::Change::Type::kModified:
      return "Modified";
    case cache::Change::Type::kDeleted:
      return "Deleted";
  }
  return "";
}

std::string kind_key(const kube::ResourceType& type) { return type.kind + "." + type.api_version(); }

std::string display_of(const kube::ResourceType& type, const cache::Identity& object) {
  return type.kind + " " + object.key();
}

hook::ReconcileCause cause_of(std::string binding, std::string_view type, const kube::ResourceType* kind,
                              const cache::Identity& object) {
  return {std::move(binding), std::string(type), kind ? kind_key(*kind) : "", object.ns, object.name};
}

}  // namespace hookd::reconcile
