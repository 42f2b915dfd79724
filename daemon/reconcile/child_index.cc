#include "reconcile/child_index.h"

namespace hookd::reconcile {

ChildIndex::ChildIndex(kube::InformerPool& pool, Selection selection, std::function<void(const ChildChange&)> changed,
                       std::function<void()> ready)
    : on_changed_(std::move(changed)),
      followed_(pool,
                {std::move(selection.api_version),
                 std::move(selection.kind),
                 {std::move(selection.namespaces), std::nullopt},
                 std::move(selection.label_selector)},
                {[this](const std::string& key, const cache::Change& change, std::string_view text) {
                   this->changed(key, change, text);
                 },
                 std::move(ready)}) {}

ChildIndex::~ChildIndex() = default;
void ChildIndex::start() { followed_.start(); }
void ChildIndex::stop() { followed_.stop(); }

void ChildIndex::changed(const std::string& key, const cache::Change& change, std::string_view text) {
  const std::string& ns = change.object->ns;
  ChildChange told{change, text, std::nullopt, std::nullopt};
  if (change.type != cache::Change::Type::kAdded) told.before = take_out(key, ns);
  if (change.type == cache::Change::Type::kDeleted) {
    told.owner = text.empty() ? told.before : controller_of(text);
  } else {
    told.owner = controller_of(text);
    put(key, ns, told.owner);
  }
  if (const auto on_changed = on_changed_) on_changed(told);
}

void ChildIndex::put(std::string_view key, std::string_view ns, std::optional<Owner> owner) {
  if (!owner) {
    orphans_[std::string(ns)].insert(key);
    return;
  }
  auto group = groups_.find(owner->uid);
  if (group == groups_.end()) {
    std::string uid = owner->uid;
    group = groups_.emplace(std::move(uid), Group{*std::move(owner), {}}).first;
  } else if (group->second.owner != *owner) {
    // The uid is the owner; what else a reference says of it (its version) is the newest word.
    group->second.owner = *std::move(owner);
  }
  group->second.children.insert(key);
  group_of_[key] = &group->second;
}

std::optional<Owner> ChildIndex::take_out(std::string_view key, std::string_view ns) {
  const auto grouped = group_of_.find(key);
  if (grouped == group_of_.end()) {
    const auto orphans = orphans_.find(ns);
    if (orphans != orphans_.end() && orphans->second.erase(key) > 0 && orphans->second.empty()) orphans_.erase(orphans);
    return std::nullopt;
  }
  Group& group = *grouped->second;
  Owner owner = group.owner;
  group_of_.erase(grouped);
  group.children.erase(key);
  if (group.children.empty()) groups_.erase(owner.uid);
  return owner;
}

// ---------------------------------------------------------------- looks

std::vector<cache::ObjectPtr> ChildIndex::objects(const Keys& keys) const {
  std::vector<cache::ObjectPtr> all;
  all.reserve(keys.size());
  for (const std::string_view key : keys)
    if (auto object = followed_.find(key)) all.push_back(std::move(object));
  return all;
}

std::vector<cache::ObjectPtr> ChildIndex::owned_by(std::string_view uid) const {
  const auto group = groups_.find(uid);
  return group == groups_.end() ? std::vector<cache::ObjectPtr>() : objects(group->second.children);
}

std::vector<cache::ObjectPtr> ChildIndex::orphans(std::string_view ns) const {
  if (!ns.empty()) {
    const auto found = orphans_.find(ns);
    return found == orphans_.end() ? std::vector<cache::ObjectPtr>() : objects(found->second);
  }
  Keys keys;
  for (const auto& [of, some] : orphans_) keys.insert(some.begin(), some.end());
  return objects(keys);
}

cache::ObjectPtr ChildIndex::find(std::string_view ns, std::string_view name) const {
  if (ns.empty()) return followed_.find(name);
  return followed_.find(std::string(ns).append("/").append(name));
}

std::optional<Owner> ChildIndex::owner_of(std::string_view ns, std::string_view name) const {
  const std::string key = ns.empty() ? std::string(name) : std::string(ns).append("/").append(name);
  const auto group = group_of_.find(key);
  return group == group_of_.end() ? std::nullopt : std::optional(group->second->owner);
}

std::vector<cache::ObjectPtr> ChildIndex::all() const {
  std::vector<cache::ObjectPtr> all;
  all.reserve(size());
  for (const auto& [key, object] : followed_.objects()) all.push_back(object);
  return all;
}

}  // namespace hookd::reconcile
