#include "rehearsal/owner_uids.h"

#include "base/json_field.h"
#include "base/json_read.h"

namespace hookd::rehearsal {
namespace {

using boost::json::value;

boost::json::array* references(value& manifest) {
  auto* metadata = manifest.is_object() ? manifest.get_object().if_contains("metadata") : nullptr;
  auto* list = metadata && metadata->is_object() ? metadata->get_object().if_contains("ownerReferences") : nullptr;
  return list && list->is_array() ? &list->get_array() : nullptr;
}

}  // namespace

std::vector<OwnerName> owners_without_uid(const std::string& manifest) {
  std::vector<OwnerName> owners;
  if (!json_raw_at(manifest, {"metadata", "ownerReferences"})) return owners;
  auto parsed = parse_json(manifest);
  const auto* list = parsed ? references(*parsed) : nullptr;
  if (!list) return owners;
  for (const value& one : *list)
    if (one.is_object() && text_field(one.get_object(), "uid").empty())
      owners.push_back({text_field(one.get_object(), "apiVersion"), text_field(one.get_object(), "kind"),
                        text_field(one.get_object(), "name")});
  return owners;
}

std::string with_owner_uid(const std::string& manifest, const OwnerName& owner, const std::string& uid) {
  auto parsed = parse_json(manifest);
  auto* list = parsed ? references(*parsed) : nullptr;
  if (!list) return manifest;
  for (value& one : *list) {
    if (!one.is_object()) continue;
    auto& reference = one.get_object();
    if (text_field(reference, "uid").empty() && text_field(reference, "kind") == owner.kind &&
        text_field(reference, "name") == owner.name && text_field(reference, "apiVersion") == owner.api_version)
      reference["uid"] = uid;
  }
  return boost::json::serialize(*parsed);
}

void OwnerUids::fill(std::vector<apply::Operation> operations, Done done) {
  operations_ = std::move(operations);
  done_ = std::move(done);
  missing_.clear();
  for (size_t i = 0; i < operations_.size(); ++i)
    for (OwnerName& owner : owners_without_uid(operations_[i].object)) missing_.emplace_back(i, std::move(owner));
  next();
}

void OwnerUids::next() {
  if (missing_.empty()) {
    const Done done = std::move(done_);
    return done(std::move(operations_));
  }
  const auto [index, owner] = std::move(missing_.back());
  missing_.pop_back();
  discovery_.resolve(owner.api_version, owner.kind, [this, index, owner](Result<kube::ResourceType> type) {
    if (!type) return next();
    const std::string& given = operations_[index].ns;
    kube::ApiRequest request;
    request.path = type->object_path(!type->namespaced ? "" : given.empty() ? default_namespace_ : given, owner.name);
    call_ = api_.request(std::move(request), [this, index, owner](Result<kube::ApiResponse> response) {
      if (response)
        if (const auto uid = json_string_at(response->body, {"metadata", "uid"}))
          operations_[index].object = with_owner_uid(operations_[index].object, owner, *uid);
      next();
    });
  });
}

}  // namespace hookd::rehearsal
