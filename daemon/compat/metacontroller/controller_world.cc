#include "compat/metacontroller/controller_world.h"

#include "compat/metacontroller/value.h"
#include "reconcile/warning.h"

namespace hookd::metacontroller {
namespace {

std::string prefix_of(const ParentResource& rule) {
  const std::string_view version = rule.api_version;
  const size_t slash = version.find('/');
  return slash == std::string_view::npos ? rule.resource + ".:"
                                         : fmt::format("{}.{}:", rule.resource, version.substr(0, slash));
}

}  // namespace

std::string ControllerWorld::key_of(const Parents& of, std::string_view parent_key) const {
  return parents.size() == 1 ? std::string(parent_key) : prefix_of(*of.rule) + std::string(parent_key);
}

std::optional<ControllerWorld::Found> ControllerWorld::find(std::string_view key) const {
  for (const Parents& one : parents) {
    std::string_view rest = key;
    if (parents.size() > 1) {
      const std::string prefix = prefix_of(*one.rule);
      if (!key.starts_with(prefix)) continue;
      rest.remove_prefix(prefix.size());
    }
    if (auto parent = one.set->find(rest)) return Found{&one, *std::move(parent)};
  }
  return std::nullopt;
}

std::optional<std::string> ControllerWorld::key_of_uid(std::string_view uid) const {
  for (const Parents& one : parents)
    if (const auto key = one.set->key_of(uid)) return key_of(one, *key);
  return std::nullopt;
}

std::vector<std::string> ControllerWorld::keys() const {
  std::vector<std::string> all;
  for (const Parents& one : parents)
    for (const std::string& key : one.set->keys()) all.push_back(key_of(one, key));
  return all;
}

uint64_t ControllerWorld::reason_of(const std::string& key, std::string_view parent) const {
  const auto ours = decorated.find(key);
  auto value = ours == decorated.end() ? Result<Value>(fail(Errc::kNotFound, "it puts nothing on its parent"))
                                       : Value::parse(parent);
  if (!value) return reconcile::essence_of(parent);
  const auto take_out = [metadata = value->find("metadata")](std::string_view field, const auto& keys) {
    Value* entries = metadata ? metadata->find(field) : nullptr;
    if (!entries) return;
    for (const std::string& one : keys) entries->erase(one);
    if (entries->members().empty()) metadata->erase(field);  // as if there had never been any
  };
  take_out("labels", ours->second.labels);
  take_out("annotations", ours->second.annotations);
  return reconcile::essence_of(value->to_json());
}

void ControllerWorld::warn(const kube::ResourceType& type, const cache::Identity& parent, std::string_view reason,
                           std::string message) {
  if (services.dry_run) return;
  services.events.record(reconcile::warning(hook->name, type, parent, reason, std::move(message)));
}

void ControllerWorld::forget(const std::string& key) {
  related->forget(key);
  customized.erase(key);
  waiting.erase(key);
  decorated.erase(key);
  slow.forget(key);
  // Not `own`: a pass may wait there, which nobody else would wake; what it waits for comes or is given up.
}

}  // namespace hookd::metacontroller
