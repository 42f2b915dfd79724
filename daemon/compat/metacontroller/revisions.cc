#include "compat/metacontroller/revisions.h"

#include <algorithm>

#include "base/json_writer.h"
#include "compat/metacontroller/merge.h"
#include "compat/metacontroller/names.h"
#include "compat/metacontroller/sha1.h"
#include "reconcile/followed_kind.h"
#include "reconcile/owner.h"

namespace hookd::metacontroller {
namespace {

constexpr size_t kMaxName = 253;
constexpr std::string_view kGroupLabel = "metacontroller.k8s.io/apiGroup";
constexpr std::string_view kResourceLabel = "metacontroller.k8s.io/resource";

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    if (end > 0) steps.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return steps;
}

const Value* value_at(const Value& from, const std::vector<std::string>& steps) {
  const Value* value = &from;
  for (const auto& step : steps)
    if (!(value = value->find(step))) return nullptr;
  return steps.empty() ? nullptr : value;
}

void put_at(Value& into, const std::vector<std::string>& steps, Value value) {
  Value* place = &into;
  for (const auto& step : steps) place = &place->at(step);
  *place = std::move(value);
}

void erase_at(Value& from, const std::vector<std::string>& steps) {
  Value* place = &from;
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    if (!(place = place->find(steps[i]))) return;
  place->erase(steps.back());
}

// "StatefulSet": records of before 4.10.3 and after it differ in whether the name has the namespace.
std::string bare(std::string_view name) { return std::string(name.substr(name.rfind('/') + 1)); }

}  // namespace

bool Revision::claims_child(const Group& group, std::string_view child) const {
  const auto found = claims.find(group);
  return found != claims.end() && std::ranges::find(found->second, child) != found->second.end();
}

void Revision::take(const Group& group, const std::string& child) {
  if (!claims_child(group, child)) claims[group].push_back(child);
}

void Revision::drop(const Group& group, std::string_view child) {
  const auto found = claims.find(group);
  if (found == claims.end()) return;
  std::erase(found->second, child);
  if (found->second.empty()) claims.erase(found);
}

Value revision_patch(const Value& parent, const std::vector<std::string>& field_paths) {
  Value patch = Value::object();
  for (const auto& path : field_paths) {
    const auto steps = steps_of(path);
    if (const Value* value = value_at(parent, steps)) put_at(patch, steps, *value);
  }
  return patch;
}

Value parent_at(const Value& parent, const Value& patch, const std::vector<std::string>& field_paths) {
  Value out = parent;
  for (const auto& path : field_paths) {
    const auto steps = steps_of(path);
    if (steps.empty()) continue;
    if (const Value* value = value_at(patch, steps))
      put_at(out, steps, *value);
    else
      erase_at(out, steps);
  }
  return out;
}

std::string revision_name(const kube::ResourceType& parent_type, std::string_view parent_uid, const Value& patch) {
  const std::string hash = sha1_hex(std::string(parent_uid) + patch.to_json(true));
  std::string prefix = fmt::format("{}.{}", parent_type.plural, parent_type.group.empty() ? "core" : parent_type.group);
  prefix.resize(std::min(prefix.size(), kMaxName - 1 - hash.size()));
  return prefix + "-" + hash;
}

bool is_revision_of(const cache::Identity& identity, std::string_view text, const kube::ResourceType& parent_type,
                    std::string_view parent_uid, const cache::LabelSelector& selector) {
  const auto labels = reconcile::labels_of(text);
  const auto is = [&labels](std::string_view label, const std::string& value) {
    const auto found = labels.find(std::string(label));
    return found != labels.end() && found->second == value;
  };
  if (!is(kGroupLabel, parent_type.group) || !is(kResourceLabel, parent_type.plural)) return false;
  if (selector.matches(labels)) return true;
  const auto revision = read_revision(identity, text);
  return revision && identity.name == revision_name(parent_type, parent_uid, revision->patch);
}

Result<Revision> read_revision(const cache::Identity& identity, std::string_view text) {
  HOOKD_TRY(const Value object, Value::parse(text));
  Revision revision;
  revision.name = identity.name;
  revision.identity = identity;
  const Value* patch = object.find("parentPatch");
  revision.patch = patch && patch->is_object() ? *patch : Value::object();
  if (const Value* children = object.find("children"))
    for (const Value& one : children->items())
      if (const Value* names = one.find("names"))
        for (const Value& name : names->items())
          if (name.is_string())
            revision.claims[{one.text_at({"apiGroup"}), one.text_at({"kind"})}].push_back(bare(name.text()));
  revision.stored = revision.claims;
  return revision;
}

std::vector<Revision> revisions_of(std::vector<Revision> stored, const Value& parent,
                                   const kube::ResourceType& parent_type, std::string_view parent_uid,
                                   const std::vector<std::string>& field_paths) {
  std::ranges::sort(stored, {}, &Revision::name);
  const Value patch = revision_patch(parent, field_paths);
  const auto found = std::ranges::find(stored, patch, &Revision::patch);
  if (found != stored.end()) {
    found->newest = true;
    std::rotate(stored.begin(), found, found + 1);
    return stored;
  }
  Revision newest;
  newest.name = revision_name(parent_type, parent_uid, patch);
  newest.patch = patch;
  newest.newest = true;
  stored.insert(stored.begin(), std::move(newest));
  return stored;
}

std::vector<apply::Operation> revision_writes(const std::vector<Revision>& revisions,
                                              const kube::ResourceType& revision_type,
                                              const kube::ResourceType& parent_type, const cache::Identity& parent,
                                              const ControllerSpec& controller, const Value& parent_object) {
  std::vector<apply::Operation> all;
  for (const Revision& revision : revisions) {
    apply::Operation op;
    op.api_version = revision_type.api_version();
    op.kind = revision_type.kind;
    op.ns = parent.ns;
    op.name = revision.name;
    op.uid = revision.identity.uid;
    op.keep_object = true;
    Value children = Value::array();
    for (const auto& [group, names] : revision.claims) {
      Value list = Value::array();
      for (const auto& name : names) list.items().push_back(Value::string(name));
      Value one = Value::object();
      one.set("apiGroup", Value::string(group.first));
      one.set("kind", Value::string(group.second));
      one.set("names", std::move(list));
      children.items().push_back(std::move(one));
    }
    if (revision.identity.uid.empty()) {
      if (revision.empty()) continue;
      Value object = Value::object();
      object.set("apiVersion", Value::string(op.api_version));
      object.set("kind", Value::string(op.kind));
      Value& metadata = object.at("metadata");
      metadata.set("name", Value::string(revision.name));
      metadata.set("namespace", Value::string(parent.ns));
      Value labels = Value::object();
      if (controller.generate_selector)
        labels.set(kControllerUid, Value::string(parent.uid));
      else if (const Value* own = parent_object.at_path({"spec", "template", "metadata", "labels"});
               own && own->is_object())
        labels = *own;
      labels.set(kGroupLabel, Value::string(parent_type.group));
      labels.set(kResourceLabel, Value::string(parent_type.plural));
      metadata.set("labels", std::move(labels));
      Value owners = Value::array();
      if (auto owner = Value::parse(reconcile::owner_reference(parent_type, parent)))
        owners.items().push_back(*std::move(owner));
      metadata.set("ownerReferences", std::move(owners));
      object.set("parentPatch", revision.patch);
      object.set("children", std::move(children));
      op.verb = apply::Verb::kCreate;
      op.object = object.to_json();
    } else if (revision.empty()) {
      op.verb = apply::Verb::kDeleteInBackground;
    } else if (revision.claims != revision.stored) {
      op.verb = apply::Verb::kMergePatch;
      op.resource_version = revision.identity.resource_version;
      op.patch = fmt::format(R"({{"children":{}}})", children.to_json());
    } else {
      continue;
    }
    all.push_back(std::move(op));
  }
  return all;
}

Value with_updated_condition(Value status, const RollOut& roll_out) {
  Value condition = Value::object();
  condition.set("type", Value::string("Updated"));
  condition.set("status", Value::string(roll_out.status));
  condition.set("reason", Value::string(roll_out.reason));
  condition.set("message", Value::string(roll_out.message));
  Value& conditions = status.at("conditions");
  if (!conditions.is_array()) conditions = Value::array();
  for (Value& one : conditions.items())
    if (one.text_at({"type"}) == "Updated") {
      one = std::move(condition);
      return status;
    }
  conditions.items().push_back(std::move(condition));
  return status;
}

}  // namespace hookd::metacontroller
