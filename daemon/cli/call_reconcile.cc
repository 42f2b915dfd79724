#include "cli/call_reconcile.h"

#include <algorithm>
#include <cstdio>

#include "apply/json_text.h"
#include "apply/plan.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/time.h"
#include "config/yaml_source.h"
#include "hook/call_writer.h"
#include "reconcile/cause.h"
#include "reconcile/finalizer.h"
#include "reconcile/native_answer.h"
#include "reconcile/owner.h"
#include "reconcile/related_index.h"
#include "rehearsal/known_types.h"

namespace hookd::cli {
namespace {

// Objects in files that people write have no uid; nothing is deleted without one.
std::string made_up_uid(size_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }
const std::string kMadeUpUid = made_up_uid(0);

std::string group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

std::string api_version_of(const cache::Incoming& object) {
  return json_string_at(object.text, {"apiVersion"}).value_or("");
}
std::string kind_of(const cache::Incoming& object) { return json_string_at(object.text, {"kind"}).value_or(""); }

cache::ObjectPtr packed(const cache::Incoming& incoming) {
  auto object = std::make_shared<cache::Object>();
  static_cast<cache::Identity&>(*object) = incoming;
  object->text = cache::PackedText(incoming.text, nullptr);
  return object;
}

cache::LabelSelector::Labels labels_of(std::string_view object) {
  cache::LabelSelector::Labels labels;
  const auto raw = json_raw_at(object, {"metadata", "labels"});
  if (!raw) return labels;
  if (const auto members = apply::json_members(*raw))
    for (const auto& [key, value] : *members) labels[key] = apply::json_text_of(value).value_or("");
  return labels;
}

bool is_of(const cache::Incoming& object, const kube::ResourceType& type) {
  return kind_of(object) == type.kind && group_of(api_version_of(object)) == type.group;
}

template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "note: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

void print_operation(const apply::Operation& op) {
  fmt::print("{}", op.describe());
  if (!op.uid.empty()) fmt::print(" uid={}", op.uid);
  if (op.grace_period_seconds) fmt::print(" gracePeriodSeconds={}", *op.grace_period_seconds);
  if (!op.propagation_policy.empty()) fmt::print(" propagationPolicy={}", op.propagation_policy);
  if (!op.reason.empty()) fmt::print(" reason={}", op.reason);
  fmt::print("\n");
  for (const std::string* text : {&op.message, &op.object, &op.patch, &op.jq_filter})
    if (!text->empty()) fmt::print("  {}\n", *text);
}

ReconcileCall::ReconcileCall(std::shared_ptr<const hook::Hook> hook)
    : hook_(std::move(hook)), types_(rehearsal::builtin_types()) {
  // A folder that cannot be read, or has no definitions: kinds are then what the rules say.
  [[maybe_unused]] const auto read = rehearsal::add_defined_types(hook_->run.directory, types_);
}

// Of a kind that nobody defined here: as the rule says.
std::shared_ptr<const kube::ResourceType> ReconcileCall::type_of(const std::string& api_version,
                                                                 const std::string& kind, bool namespaced) const {
  if (auto known = types_.find(api_version, kind)) return std::make_shared<kube::ResourceType>(*std::move(known));
  kube::ResourceType type;
  type.group = group_of(api_version);
  type.version = type.group.empty() ? api_version : api_version.substr(type.group.size() + 1);
  type.kind = kind;
  type.plural = kind;
  type.namespaced = namespaced;
  type.subresources = {"status"};
  return std::make_shared<kube::ResourceType>(std::move(type));
}

void ReconcileCall::tell_of_parent(const cache::Incoming& object) const {
  const hook::ParentRule& rule = hook_->reconcile->parent;
  if (rule.label_selector && !rule.label_selector->matches(labels_of(object.text)))
    note("the labelSelector of `for` does not select this object: the daemon would not call the hook");
  if (!rule.namespaces.names.empty() && !object.ns.empty() &&
      std::ranges::find(rule.namespaces.names, object.ns) == rule.namespaces.names.end())
    note("`for` does not name the namespace {}: the daemon would not call the hook", object.ns);
  if (!rule.when) return;
  const auto holds = rule.when->test(object.text);
  if (!holds)
    note("when: {}", holds.error().what);
  else if (!*holds)
    note("`when` does not hold for this object: the daemon would not call the hook");
}

void ReconcileCall::set_parent(cache::Incoming object) {
  const hook::Reconcile& rule = *hook_->reconcile;
  tell_of_parent(object);
  if (object.uid.empty()) {
    object.uid = kMadeUpUid;
    object.text = apply::with_metadata(object.text, {{"uid", fmt::format("\"{}\"", kMadeUpUid)}});
  }
  world_.finalizing = rule.finalizer && reconcile::is_ending(object.text);
  world_.parent = packed(object);
  for (const hook::ChildRule& child : rule.children) {
    auto type = type_of(child.api_version, child.kind, world_.type->namespaced);
    world_.children.push_back({reconcile::kind_key(*type), type, {}});
  }
  for (const hook::RelatedRule& related : rule.related)
    world_.related.push_back({related.name, type_of(related.api_version, related.kind, true), {}});
}

// Who writes files leaves the owner reference out, or its uid.
void ReconcileCall::add_child(const hook::ChildRule& rule, const cache::Incoming& incoming) {
  const size_t index = static_cast<size_t>(&rule - hook_->reconcile->children.data());
  auto& group = world_.children[index];
  if (rule.label_selector && !rule.label_selector->matches(labels_of(incoming.text)))
    return note("{} {}: the labelSelector of its rule does not select it: the daemon would not see it",
                group.type->kind, incoming.key());
  const auto owner = reconcile::controller_of(incoming.text);
  const cache::Object& parent = *world_.parent;
  const bool named = owner && owner->kind == world_.type->kind && owner->name == parent.name &&
                     (owner->uid.empty() || owner->uid == parent.uid || parent.uid == kMadeUpUid);
  if (owner && owner->uid != parent.uid && !named) {
    note("{} {} is controlled by {} {}: it is no child", group.type->kind, incoming.key(), owner->kind, owner->name);
    others_.push_back(packed(incoming));
    return;
  }
  cache::Incoming object = incoming;
  if (object.uid.empty()) {
    object.uid = made_up_uid(++made_up_);
    object.text = apply::with_metadata(object.text, {{"uid", fmt::format("\"{}\"", object.uid)}});
  }
  if (!owner || owner->uid != parent.uid)
    object.text = apply::with_metadata(
        object.text, {{"ownerReferences",
                       reconcile::with_owner(named ? reconcile::without_owner(object.text, owner->uid) : object.text,
                                             reconcile::owner_reference(*world_.type, parent), parent.uid)}});
  group.objects.push_back(packed(object));
}

bool ReconcileCall::add_related(const hook::RelatedRule& rule, size_t index, const cache::Incoming& object) {
  auto& group = world_.related[index];
  if (!is_of(object, *group.type)) return false;
  if (rule.label_selector && !rule.label_selector->matches(labels_of(object.text))) return false;
  const cache::Object& parent = *world_.parent;
  if (rule.map) {
    const auto output = rule.map->run(object.text);
    const auto names = output ? reconcile::names_of(*output) : fail(output.error());
    if (!names) {
      note("related {}: map: {}", rule.name, names.error().what);
      return false;
    }
    // A name alone is one of the object's own namespace.
    if (std::ranges::none_of(*names, [&](const std::string& name) {
          return name == parent.key() || (name == parent.name && (object.ns == parent.ns || object.ns.empty()));
        }))
      return false;
  }
  if (rule.select) {
    const auto output = rule.select->run(parent.text.unpack());
    const auto selector = output ? reconcile::selector_of(*output) : fail(output.error());
    if (!selector) {
      note("related {}: select: {}: the daemon would not call the hook", rule.name, selector.error().what);
      return false;
    }
    if (rule.namespaces.all() && !parent.ns.empty() && !object.ns.empty() && object.ns != parent.ns) return false;
    if (!*selector || !(*selector)->matches(labels_of(object.text))) return false;
  }
  group.objects.push_back(packed(object));
  return true;
}

void ReconcileCall::add(const cache::Incoming& object) {
  bool taken = false;
  for (size_t i = 0; i < world_.children.size(); ++i)
    if (is_of(object, *world_.children[i].type)) {
      add_child(hook_->reconcile->children[i], object);
      taken = true;
    }
  for (size_t i = 0; i < world_.related.size(); ++i) taken |= add_related(hook_->reconcile->related[i], i, object);
  if (!taken) note("{} {} is neither a child nor related: it is left out", kind_of(object), object.key());
}

Result<ReconcileCall> ReconcileCall::from_files(std::shared_ptr<const hook::Hook> hook, const CallOptions& options) {
  ReconcileCall call(std::move(hook));
  const hook::ParentRule& rule = call.hook_->reconcile->parent;
  std::vector<cache::Incoming> objects;
  for (const std::string& file : options.object_files) {
    HOOKD_TRY(const std::string text, read_named_file(file));
    HOOKD_TRY(const auto documents, config::yaml_to_json(text, file));
    for (const std::string& document : documents) {
      auto object = cache::read_object(document, "", "");
      if (!object) return fail(object.error().with(file));
      if (kind_of(*object) == "CustomResourceDefinition")
        for (auto& type : rehearsal::types_of_definition(object->text)) call.types_.entries.push_back({type, true});
      objects.push_back(*std::move(object));
    }
  }
  bool namespaced = true;
  for (const auto& object : objects)
    if (kind_of(object) == rule.kind) namespaced = !object.ns.empty();
  call.world_.type = call.type_of(rule.api_version, rule.kind, namespaced);
  const auto parent =
      std::ranges::find_if(objects, [&](const auto& object) { return is_of(object, *call.world_.type); });
  if (parent == objects.end())
    return fail(Errc::kConfig, "the hook {} reconciles {}: none is in {}", call.hook_->name,
                call.world_.type->display(), fmt::join(options.object_files, ", "));
  call.set_parent(*parent);
  for (auto object = objects.begin(); object != objects.end(); ++object)
    if (object != parent && kind_of(*object) != "CustomResourceDefinition") call.add(*object);
  call.world_.gone = options.event == "Deleted";
  call.world_.finalizing &= !call.world_.gone;
  call.world_.causes.push_back(
      {"for", options.event, reconcile::kind_key(*call.world_.type), call.world_.parent->ns, call.world_.parent->name});
  if (call.world_.gone)
    for (auto* groups : {&call.world_.children, &call.world_.related})
      for (auto& group : *groups) group.objects.clear();
  return call;
}

Result<ReconcileCall> ReconcileCall::from_document(std::shared_ptr<const hook::Hook> hook, std::string_view document) {
  ReconcileCall call(std::move(hook));
  const hook::ParentRule& rule = call.hook_->reconcile->parent;
  const auto raw = json_raw_at(document, {"object"});
  call.world_.gone = !raw || *raw == "null";
  // A parent that is gone is known by its key alone.
  const std::string text =
      call.world_.gone
          ? fmt::format(R"({{"apiVersion":{},"kind":{},"metadata":{{"name":{},"namespace":{},"uid":{}}}}})",
                        json_raw_at(document, {"key", "apiVersion"}).value_or("\"\""),
                        json_raw_at(document, {"key", "kind"}).value_or("\"\""),
                        json_raw_at(document, {"key", "name"}).value_or("\"\""),
                        json_raw_at(document, {"key", "namespace"}).value_or("\"\""),
                        json_raw_at(document, {"key", "uid"}).value_or("\"\""))
          : std::string(*raw);
  auto parent = cache::read_object(text, "", "", false);
  if (!parent)
    return fail(Errc::kConfig, "the call has neither an `object` nor a `key` that names one: {}", parent.error().what);
  call.world_.type = call.type_of(rule.api_version, rule.kind, !parent->ns.empty());
  if (!is_of(*parent, *call.world_.type))
    return fail(Errc::kConfig, "the hook {} reconciles {}, and the call's object is a {} of {}", call.hook_->name,
                call.world_.type->display(), kind_of(*parent), api_version_of(*parent));
  call.set_parent(*std::move(parent));
  const auto children = json_raw_at(document, {"children"});
  const auto groups = children ? apply::json_members(*children) : fail(Errc::kDecode, "");
  if (!groups) return call;
  for (const auto& group : *groups)
    if (const auto objects = apply::json_members(group.value))
      for (const auto& member : *objects)
        if (const auto object = cache::read_object(std::string(member.value), "", "", false))
          for (size_t i = 0; i < call.world_.children.size(); ++i)
            if (is_of(*object, *call.world_.children[i].type))
              call.add_child(call.hook_->reconcile->children[i], *object);
  return call;
}

std::string ReconcileCall::document(const std::string& id) const {
  auto call = std::make_shared<hook::Call>();
  call->hook = hook_->name;
  call->id = id;
  call->reason = "reconcile";
  call->time = std::chrono::system_clock::now();
  call->body = std::make_shared<reconcile::NativeBody>(std::make_shared<const reconcile::Gathered>(world_));
  hook::CallWriter writer(std::move(call));
  std::string text;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) text += piece;
  return text;
}

int ReconcileCall::report(std::string_view text) const {
  std::vector<reconcile::ChildKind> kinds;
  std::vector<reconcile::Observed> observed;
  for (size_t i = 0; i < world_.children.size(); ++i) {
    kinds.push_back({&hook_->reconcile->children[i], world_.children[i].type});
    for (const auto& object : world_.children[i].objects) observed.push_back({kinds.back(), object});
  }
  const auto answer = reconcile::read_native_answer(text, {kinds, *world_.type, *world_.parent, world_.gone});
  if (!answer) {
    fmt::print(stderr, "{}: the answer was not understood: {}\n", hook_->name, answer.error().what);
    return 1;
  }
  for (const std::string& line : answer->text)
    fmt::print(stderr, "text outside documents (logged, not applied): {}\n", line);
  for (const std::string& message : answer->messages) fmt::print("message: {}\n", message);
  if (world_.gone) {
    fmt::print("the object is gone: children and status of the answer are not looked at\n");
  } else if (!answer->children) {
    fmt::print("children: not in the answer, so none is touched\n");
  } else {
    const reconcile::WriteMemory memory;
    const auto other = [&](const reconcile::ChildKind& kind, std::string_view ns,
                           std::string_view name) -> cache::ObjectPtr {
      for (const auto& object : others_)
        if (object->ns == ns && object->name == name &&
            json_string_at(object->text.unpack(), {"kind"}).value_or("") == kind.type->kind)
          return object;
      return nullptr;
    };
    const auto plan = reconcile::plan_children({.parent_type = *world_.type,
                                                .parent = *world_.parent,
                                                .desired = *answer->children,
                                                .observed = observed,
                                                .other = other,
                                                .memory = memory});
    for (const auto& operation : plan.removals) print_operation(operation);
    for (const auto& operation : plan.writes) print_operation(operation);
    for (const auto& conflict : plan.conflicts) fmt::print("conflict: {}: {}\n", conflict.child, conflict.text);
    for (const auto& waiting : plan.waiting) fmt::print("the roll-out waits: {}\n", waiting);
    if (plan.removals.empty() && plan.writes.empty() && plan.conflicts.empty())
      fmt::print("children: {} as wanted, nothing to do\n", answer->children->size());
  }
  for (const auto& operation : answer->operations) print_operation(operation);
  if (answer->status && !world_.gone) fmt::print("status of the object\n  {}\n", *answer->status);
  if (world_.finalizing)
    fmt::print("{}\n", answer->finalized ? "finalized: the object may go" : "not finalized yet: the object is held");
  if (answer->requeue_after) fmt::print("call again after {}\n", format_duration(*answer->requeue_after));
  if (auto allowed = apply::check_allowed(answer->operations, hook_->allow, {}); !allowed) {
    fmt::print(stderr, "{}: {}\n", hook_->name, allowed.error().what);
    return 1;
  }
  return 0;
}

}  // namespace hookd::cli
