#include "embedded/server_writer.h"

#include <fmt/format.h>

#include "embedded/verbs/decode_object.h"
#include "embedded/verbs/remove.h"
#include "embedded/verbs/write.h"

namespace hookd::embedded {

Answer<ResourcePtr> ServerWriter::resource(std::string_view storage_key) const {
  ResourcePtr found;
  for (const auto& one : world_.registry.all())
    if (one->storage_key == storage_key) {
      found = one;
      if (one->api_version() == one->storage_version) break;
    }
  if (!found) return refuse(path_not_found());
  return found;
}

Answer<void> ServerWriter::create(std::string_view storage_key, json::object object, std::string_view manager) {
  auto kind = resource(storage_key);
  if (!kind) return refuse(kind.error());
  std::vector<std::string> unknown;
  if (auto done = decode_changed(object, **kind, unknown); !done) return refuse(bad_request(done.error()));
  WriteCall call{world_, *kind, std::string(string_at(object, {"metadata", "namespace"})),
                 std::string(string_at(object, {"metadata", "name"}))};
  call.user = fmt::format("system:{}", manager);
  call.manager = manager;
  auto created = create_object(call, std::move(object));
  if (!created) return refuse(created.error());
  return {};
}

Answer<void> ServerWriter::remove(const control::Target& target, const control::DeleteChoice& choice) {
  auto kind = resource(target.storage_key);
  if (!kind) return refuse(kind.error());
  WriteCall call{world_, *kind, target.ns, target.name};
  call.user = "system:kube-controller-manager";
  DeleteOptions options;
  if (!target.uid.empty()) options.uid = target.uid;
  if (choice.resource_version) options.resource_version = std::to_string(*choice.resource_version);
  options.grace_period_seconds = choice.grace_seconds;
  switch (choice.propagation) {
    case control::Propagation::kDefault:
      break;
    case control::Propagation::kBackground:
      options.propagation = "Background";
      break;
    case control::Propagation::kForeground:
      options.propagation = "Foreground";
      break;
    case control::Propagation::kOrphan:
      options.propagation = "Orphan";
      break;
  }
  auto removed = remove_object(call, options);
  if (!removed) return refuse(removed.error());
  return {};
}

Answer<void> ServerWriter::update(const control::Target& target, std::string_view subresource, std::string_view manager,
                                  const Edit& edit) {
  auto kind = resource(target.storage_key);
  if (!kind) return refuse(kind.error());
  WriteCall call{world_, *kind, target.ns, target.name, std::string(subresource)};
  call.user = fmt::format("system:{}", manager);
  call.manager = manager;
  const auto stored = world_.store.get(target.storage_key, (*kind)->namespaced ? target.ns : "", target.name);
  if (!stored) return refuse(not_found(call.about()));
  if (!target.uid.empty() && stored->uid != target.uid)
    return refuse(conflict(call.about(), fmt::format("the UID {} is expected, it is {}", target.uid, stored->uid)));
  bool wanted = true;
  Change change;
  change.make = [&](const json::object& live) -> Answer<json::object> {
    auto next = live;
    wanted = edit(next);
    if (!wanted) return live;
    std::vector<std::string> unknown;
    if (auto done = decode_changed(next, **kind, unknown); !done) return refuse(bad_request(done.error()));
    return next;
  };
  auto updated = update_object(call, change);
  if (!updated) return refuse(updated.error());
  return {};
}

}  // namespace hookd::embedded
