#include "embedded/control/garbage.h"

#include <algorithm>

#include "base/json_read.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded::control {

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

bool mentions(const Stored& stored, std::string_view key) { return stored.text.find(key) != std::string::npos; }

bool has_finalizer(const json::object& object, std::string_view name) {
  return std::ranges::any_of(array_at(object, {"metadata", "finalizers"}),
                             [&](const json::value& entry) { return as_string(entry) == name; });
}

}  // namespace

Garbage::Garbage(const Context& context)
    : context_(context), queue_(context.scheduler, [this](const std::string& uid) { attempt(uid); }) {
  events_ = context_.store.subscribe("", [this](const StoreEvent& event) { on_event(event); });
  for (const std::string& key : context_.store.storage_keys())
    context_.store.scan(key, "", "", [&](const StoredPtr& stored) {
      on_event({StoreEvent::Type::kAdded, stored->revision, key, stored, nullptr});
      return true;
    });
}

void Garbage::on_event(const StoreEvent& event) {
  kinds_may_have_changed();
  if (event.storage_key == "events") return;  // they follow nobody
  const Stored& stored = *event.object;
  if (event.type == StoreEvent::Type::kDeleted) {
    orphaning_.erase(stored.uid);
    forget(stored.uid);
    add_dependents(stored.uid);
    return;
  }
  const bool owned = mentions(stored, "\"ownerReferences\""), ending = mentions(stored, "\"deletionTimestamp\"");
  if (!owned && !ending) return forget(stored.uid);

  const json::object object = parse(stored);
  std::vector<Owner> owners;
  for (const json::value& entry : array_at(object, {"metadata", "ownerReferences"})) {
    const json::object& owner = as_object(entry);
    owners.push_back({std::string(string_at(owner, {"apiVersion"})), std::string(string_at(owner, {"kind"})),
                      std::string(string_at(owner, {"name"})), std::string(string_at(owner, {"uid"})),
                      bool_at(owner, {"blockOwnerDeletion"})});
  }
  const bool marked = has(object, {"metadata", "deletionTimestamp"});
  const bool foreground = marked && has_finalizer(object, kForeground);
  const Target target{event.storage_key, stored.ns, stored.name, stored.uid};
  if (marked && has_finalizer(object, kOrphan)) {
    orphaning_[stored.uid] = target;
    queue_.add(stored.uid);
  }
  if (owners.empty() && !foreground) return forget(stored.uid);

  Node& node = nodes_[stored.uid];
  const bool is_new = node.target.uid.empty(), now_foreground = foreground && !node.foreground;
  if (is_new) node.order = ++seen_;
  node.target = target;
  node.ending = marked;
  node.foreground = foreground;
  if (now_foreground) {
    add_dependents(stored.uid);
    queue_.add(stored.uid);
  }
  if (is_new || node.owners != owners) {
    set_owners(node, std::move(owners));
    queue_.add(stored.uid);
  }
}

void Garbage::set_owners(Node& node, std::vector<Owner> owners) {
  for (const Owner& owner : node.owners) {
    dependents_[owner.uid].erase(node.target.uid);
    if (dependents_[owner.uid].empty()) dependents_.erase(owner.uid);
    // One that waits for its dependents may wait for one fewer.
    if (auto waiting = nodes_.find(owner.uid); waiting != nodes_.end() && waiting->second.foreground)
      queue_.add(owner.uid);
  }
  node.owners = std::move(owners);
  for (const Owner& owner : node.owners) dependents_[owner.uid].insert(node.target.uid);
}

void Garbage::forget(const std::string& uid) {
  auto found = nodes_.find(uid);
  if (found == nodes_.end()) return;
  set_owners(found->second, {});
  unresolved_.erase(uid);
  nodes_.erase(found);
}

std::vector<Garbage::Node> Garbage::dependents_of(const std::string& uid) const {
  std::vector<Node> out;
  if (auto found = dependents_.find(uid); found != dependents_.end())
    for (const std::string& dependent : found->second)
      if (auto node = nodes_.find(dependent); node != nodes_.end()) out.push_back(node->second);
  std::ranges::sort(out, {}, &Node::order);
  return out;
}

void Garbage::add_dependents(const std::string& uid) {
  for (const Node& node : dependents_of(uid)) queue_.add(node.target.uid);
}

void Garbage::kinds_may_have_changed() {
  if (registry_changes_ == context_.registry.changes()) return;
  registry_changes_ = context_.registry.changes();
  for (const std::string& uid : unresolved_) queue_.add(uid);
  unresolved_.clear();
}

Garbage::Verdict Garbage::judge(const Node& node) {
  Verdict out;
  for (const Owner& owner : node.owners) {
    const size_t slash = owner.api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : owner.api_version.substr(0, slash);
    const std::string version = slash == std::string::npos ? owner.api_version : owner.api_version.substr(slash + 1);
    const ResourcePtr resource = context_.registry.find_kind(group, version, owner.kind);
    if (!resource || (resource->namespaced && node.target.ns.empty())) {
      out.unknown = true;
      continue;
    }
    const StoredPtr stored =
        context_.store.get(resource->storage_key, resource->namespaced ? node.target.ns : "", owner.name);
    if (!stored || stored->uid != owner.uid) {
      out.absent.push_back(owner.uid);
      continue;
    }
    auto waiting = nodes_.find(owner.uid);
    (waiting != nodes_.end() && waiting->second.foreground ? out.waiting : out.solid).push_back(owner.uid);
  }
  return out;
}

void Garbage::attempt(const std::string& uid) {
  if (auto orphaning = orphaning_.find(uid); orphaning != orphaning_.end()) {
    const Target owner = orphaning->second;
    orphaning_.erase(orphaning);
    orphan_dependents(owner);
  }
  auto found = nodes_.find(uid);
  if (found == nodes_.end()) return;
  const Node node = found->second;
  if (node.ending && !node.foreground) return;
  const StoredPtr stored = context_.store.get(node.target.storage_key, node.target.ns, node.target.name);
  if (!stored || stored->uid != uid) return forget(uid);
  if (node.foreground) return finish_foreground(node);
  if (node.owners.empty()) return;

  const Verdict verdict = judge(node);
  if (verdict.unknown) {
    unresolved_.insert(uid);
    return;
  }
  DeleteChoice choice{.propagation = Propagation::kBackground, .grace_seconds = {}, .resource_version = {}};
  if (!verdict.solid.empty()) {
    std::vector<std::string> gone = verdict.absent;
    gone.insert(gone.end(), verdict.waiting.begin(), verdict.waiting.end());
    if (!gone.empty()) drop_owners(node, gone);
    return;
  }
  const auto dependents = dependents_.find(uid);
  if (!verdict.waiting.empty() && dependents != dependents_.end()) {
    // Two that wait for each other would wait for ever.
    const bool circle = std::ranges::any_of(dependents->second, [&](const std::string& dependent) {
      auto other = nodes_.find(dependent);
      return other != nodes_.end() && other->second.foreground;
    });
    if (circle && unblock(node)) return;  // the change brings it back here
    choice.propagation = Propagation::kForeground;
  } else {
    const json::object object = parse(*stored);
    if (has_finalizer(object, kOrphan))
      choice.propagation = Propagation::kOrphan;
    else if (has_finalizer(object, kForeground))
      choice.propagation = Propagation::kForeground;
  }
  if (const auto done = context_.writer.remove(node.target, choice); !done)
    tell("garbage collector", node.target, done.error());
}

void Garbage::finish_foreground(const Node& node) {
  bool blocked = false;
  for (const Node& dependent : dependents_of(node.target.uid)) {
    const bool blocks = std::ranges::any_of(
        dependent.owners, [&](const Owner& owner) { return owner.uid == node.target.uid && owner.blocks; });
    if (!blocks) continue;
    blocked = true;
    if (!dependent.foreground && !dependent.ending) queue_.add(dependent.target.uid);
  }
  if (!blocked) remove_finalizer(node.target, kForeground);
}

void Garbage::orphan_dependents(const Target& owner) {
  for (const Node& node : dependents_of(owner.uid)) drop_owners(node, {owner.uid});
  remove_finalizer(owner, kOrphan);
}

void Garbage::drop_owners(const Node& node, const std::vector<std::string>& uids) {
  const auto done = context_.writer.update(node.target, "", kManager, [&](json::object& object) {
    json::object& metadata = ensure_object(object, {"metadata"});
    json::value* owners = metadata.if_contains("ownerReferences");
    if (!owners || !owners->is_array()) return false;
    erase_where(owners->get_array(), [&](const json::value& owner) {
      return std::ranges::find(uids, string_at(as_object(owner), {"uid"})) != uids.end();
    });
    if (owners->get_array().empty()) metadata.stable_erase("ownerReferences");
    return true;
  });
  if (!done) tell("garbage collector", node.target, done.error());
}

bool Garbage::unblock(const Node& node) {
  bool changed = false;
  const auto done = context_.writer.update(node.target, "", kManager, [&](json::object& object) {
    json::value* owners = ensure_object(object, {"metadata"}).if_contains("ownerReferences");
    if (!owners || !owners->is_array()) return false;
    for (json::value& owner : owners->get_array()) {
      if (!bool_at(as_object(owner), {"blockOwnerDeletion"})) continue;
      owner.as_object()["blockOwnerDeletion"] = false;
      changed = true;
    }
    return changed;
  });
  if (!done) tell("garbage collector", node.target, done.error());
  return done && changed;
}

void Garbage::remove_finalizer(const Target& target, std::string_view finalizer) {
  const auto done = context_.writer.update(target, "", kManager, [&](json::object& object) {
    json::object& metadata = ensure_object(object, {"metadata"});
    json::value* finalizers = metadata.if_contains("finalizers");
    if (!finalizers || !finalizers->is_array() || !erase_text(finalizers->get_array(), finalizer)) return false;
    if (finalizers->get_array().empty()) metadata.stable_erase("finalizers");
    return true;
  });
  if (!done) tell("garbage collector", target, done.error());
}

}  // namespace hookd::embedded::control
