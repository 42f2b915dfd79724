#include "compat/metacontroller/child_writes.h"

#include <map>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "compat/metacontroller/merge.h"
#include "compat/metacontroller/names.h"
#include "hook/content_hash.h"
#include "hook/own_writes.h"
#include "reconcile/finalizer.h"
#include "reconcile/owner.h"

namespace hookd::metacontroller {
namespace {

using Key = std::pair<std::string, std::string>;  // resource, ns/name

apply::Operation about(apply::Verb verb, const kube::ResourceType& type, std::string_view ns, std::string_view name) {
  apply::Operation op;
  op.verb = verb;
  op.api_version = type.api_version();
  op.kind = type.kind;
  op.ns = ns;
  op.name = name;
  op.keep_object = true;
  return op;
}

apply::Operation removal(const kube::ResourceType& type, const cache::Identity& object) {
  auto op = about(apply::Verb::kDeleteInBackground, type, object.ns, object.name);
  op.uid = object.uid;
  return op;
}

class Planner {
 public:
  explicit Planner(const ChildWritesInput& input)
      : in_(input), owner_(reconcile::owner_reference(input.parent_type, input.parent)) {}

  ChildWrites plan() {
    std::map<Key, const ObservedChild*> observed;
    for (const auto& child : in_.observed)
      observed.emplace(Key{hook::resource_of(*child.kind.type), child.key()}, &child);
    std::map<Key, size_t> wanted;
    for (size_t i = 0; i < in_.wanted.size(); ++i)
      wanted.emplace(Key{hook::resource_of(*in_.wanted[i].kind.type), in_.wanted[i].key()}, i);
    for (const auto& [key, child] : observed)
      if (!wanted.contains(key)) remove(*child);
    for (const auto& [key, index] : wanted) {
      const auto found = observed.find(key);
      found == observed.end() ? make(index) : update(*found->second, index);
    }
    return std::move(out_);
  }

 private:
  static std::string display(const ObservedChild& child) {
    return fmt::format("{} {}", child.kind.type->kind, child.key());
  }

  void remove(const ObservedChild& child) {
    if (reconcile::is_ending(child.text)) return;
    out_.removals.push_back({removal(*child.kind.type, *child.object), SIZE_MAX, display(child), child.text});
  }

  void make(size_t index) {
    const Wanted& wanted = in_.wanted[index];
    if (const auto other = wanted.kind.rule ? in_.other(wanted.kind, wanted.ns, wanted.name) : nullptr) {
      const auto whose = reconcile::controller_of(other->text.unpack());
      out_.errors.push_back(fmt::format(
          "{} exists already and is not this parent's ({}), it is left alone; delete it or let the hook use another "
          "name",
          wanted.display(), whose ? fmt::format("{} {} controls it", whose->kind, whose->name) : "nobody controls it"));
      return;
    }
    if (in_.options.server_side && wanted.kind.rule) return apply(index, nullptr);
    // What is not declared is not looked at: it is made when it is missing.
    auto op = about(wanted.kind.rule ? apply::Verb::kCreate : apply::Verb::kCreateIfNotExists, *wanted.kind.type,
                    wanted.ns, wanted.name);
    op.object = owned(with_last_applied(wanted.object), "").to_json();
    out_.writes.push_back({std::move(op), index, wanted.display(), ""});
  }

  // `before` "" = it is not there; other owners are kept.
  Value owned(Value object, std::string_view before) const {
    auto owners = Value::parse(reconcile::with_owner(before.empty() ? "{}" : before, owner_, in_.parent.uid));
    if (owners) object.at("metadata").set("ownerReferences", *std::move(owners));
    return object;
  }

  void update(const ObservedChild& child, size_t index) {
    if (reconcile::is_ending(child.text)) return;
    const UpdateMethod method = method_of(in_.controller, child.kind);
    if (method == UpdateMethod::kOnDelete) return;
    const bool anew = method == UpdateMethod::kRecreate || method == UpdateMethod::kRollingRecreate;
    if (in_.options.server_side) {
      const Wanted& wanted = in_.wanted[index];
      if (in_.memory.as_written(memory_key(wanted), child.object->uid, child.text)) return;
      return anew ? probe(index, child) : apply(index, &child);
    }
    const auto patch = difference(child, index);
    if (!patch) return;
    if (anew) {
      out_.writes.push_back({removal(*child.kind.type, *child.object), index, display(child), child.text});
      return;
    }
    auto op = about(apply::Verb::kMergePatch, *child.kind.type, child.object->ns, child.object->name);
    op.uid = child.object->uid;
    op.resource_version = child.object->resource_version;
    op.patch = patch->to_json();
    out_.writes.push_back({std::move(op), index, display(child), child.text});
  }

  std::optional<Value> difference(const ObservedChild& child, size_t index) {
    const auto observed = Value::parse(child.text);
    const auto merged =
        observed ? apply_update(*observed, in_.wanted[index].object) : Result<Value>(Failure(observed.error()));
    if (!merged) {
      out_.errors.push_back(fmt::format("{}: {}", display(child), merged.error().what));
      return std::nullopt;
    }
    return merge_patch(*observed, *merged);
  }

  apply::Operation apply_operation(size_t index, const ObservedChild* child) const {
    const Wanted& wanted = in_.wanted[index];
    auto op = about(apply::Verb::kApply, *wanted.kind.type, wanted.ns, wanted.name);
    Value object = for_server_side_apply(wanted.object);
    // Only ours: an apply of the others' references would take them over.
    if (auto owner = Value::parse(owner_)) {
      Value owners = Value::array();
      owners.items().push_back(*std::move(owner));
      object.at("metadata").set("ownerReferences", std::move(owners));
    }
    // Another object: 409. And one that nobody has told of yet is never taken over.
    if (child)
      object.at("metadata").set("uid", Value::string(child->object->uid));
    else
      object.at("metadata").set("resourceVersion", Value::string(apply::kMustNotExist));
    op.object = object.to_json();
    op.force = true;
    return op;
  }

  void apply(size_t index, const ObservedChild* child) {
    if (child && json_raw_at(child->text, {"metadata", "annotations", kLastApplied})) {
      auto op = about(apply::Verb::kMergePatch, *child->kind.type, child->object->ns, child->object->name);
      op.uid = child->object->uid;
      op.patch = fmt::format(R"({{"metadata":{{"annotations":{{{}:null}}}}}})", json_string(kLastApplied));
      out_.writes.push_back({std::move(op), index, display(*child), child->text});
    }
    out_.writes.push_back(
        {apply_operation(index, child), index, in_.wanted[index].display(), child ? child->text : "", true});
  }

  void probe(size_t index, const ObservedChild& child) {
    auto op = apply_operation(index, &child);
    op.dry_run = true;
    ChildWrite write{std::move(op), index, display(child), child.text, true};
    write.operation.resource_version.clear();
    out_.probes.push_back(std::move(write));
  }

  const ChildWritesInput& in_;
  const std::string owner_;
  ChildWrites out_;
};

}  // namespace

UpdateMethod method_of(const ControllerSpec&, const ChildKind& kind) {
  return kind.rule ? kind.rule->method : UpdateMethod::kOnDelete;
}

ChildWrites plan_child_writes(const ChildWritesInput& input) { return Planner(input).plan(); }

std::optional<ChildWrite> recreate(const ChildWrite& probe, std::string_view after) {
  if (after.empty() || reconcile::essence_of(after) == reconcile::essence_of(probe.before)) return std::nullopt;
  ChildWrite write = probe;
  write.operation.verb = apply::Verb::kDeleteInBackground;
  write.operation.uid = json_string_at(probe.before, {"metadata", "uid"}).value_or("");
  write.operation.object.clear();
  write.operation.dry_run = write.operation.force = write.remember = false;
  return write;
}

reconcile::WriteMemory::Key memory_key(const Wanted& wanted) {
  return {hook::resource_of(*wanted.kind.type), wanted.key(), hook::content_hash(wanted.object.to_json(true))};
}

bool is_up_to_date(std::string_view observed, const Wanted& wanted, const ApplyOptions& options) {
  const auto before = Value::parse(observed);
  if (!before) return false;
  if (!options.server_side) {
    const auto after = apply_update(*before, wanted.object);
    return after && *after == *before;
  }
  const auto after = merge(*before, Value::object(), for_server_side_apply(wanted.object));
  return after && *after == *before;
}

}  // namespace hookd::metacontroller
