#include "reconcile/followed_kind.h"

#include <algorithm>

#include "base/json_read.h"

namespace hookd::reconcile {

using Type = cache::Change::Type;

cache::LabelSelector::Labels labels_of(std::string_view object) {
  cache::LabelSelector::Labels labels;
  const auto raw = json_raw_at(object, {"metadata", "labels"});
  if (!raw || *raw == "{}" || *raw == "null") return labels;
  const auto value = parse_json(*raw);
  if (!value || !value->is_object()) return labels;
  for (const auto& [key, label] : value->get_object())
    if (label.is_string()) labels.emplace(std::string(key), std::string(label.get_string()));
  return labels;
}

FollowedKind::FollowedKind(kube::InformerPool& pool, Selection selection, Hear hear)
    : pool_(pool), selection_(std::move(selection)), hear_(std::move(hear)) {}

void FollowedKind::start() {
  kube::CollectionKey key;
  key.api_version = selection_.api_version;
  key.kind = selection_.kind;
  key.label_selector = selection_.label_selector;
  const auto alive = std::weak_ptr(alive_);
  if (selection_.namespaces.label_selector)
    namespaces_ = std::make_unique<trigger::NamespaceSet>(
        pool_, *selection_.namespaces.label_selector,
        [this](const std::string& name, bool in) { namespace_changed(name, in); }, [this] { tell_ready(); });
  // Named namespaces are streams of their own, so that a Role in each of them is right enough (R4).
  std::vector<std::string> scopes = selection_.namespaces.names;
  if (scopes.empty()) scopes.emplace_back();
  std::ranges::sort(scopes);
  scopes.erase(std::ranges::unique(scopes).begin(), scopes.end());
  for (const std::string& scope : scopes) {
    key.ns = scope;
    streams_.emplace_back().informer = pool_.get(key);
  }
  for (Stream& stream : streams_) {
    stream.subscription = stream.informer->subscribe(
        {[this, &stream](const cache::Change& change, std::string_view text) { take_in(stream, change, text); },
         [this] { tell_ready(); }, [this, &stream] { health_changed(stream); }});
    if (alive.expired()) return;
  }
  tell_ready();
}

void FollowedKind::stop() {
  for (Stream& stream : streams_) stream.subscription.reset();
  // The set's informer may be shared: what it tells changes nothing any more.
  hear_.changed = nullptr;
  hear_.namespace_changed = nullptr;
  hear_.ready = nullptr;
}

bool FollowedKind::ready() const {
  if (streams_.empty() || (namespaces_ && !namespaces_->synced())) return false;
  return std::ranges::all_of(streams_, [](const Stream& stream) { return stream.informer->serving(); });
}

bool FollowedKind::in_namespace(const std::string& ns) const {
  if (namespaces_) return namespaces_->contains(ns);
  const auto& names = selection_.namespaces.names;
  return names.empty() || std::ranges::find(names, ns) != names.end();
}

std::optional<Error> FollowedKind::error() const {
  for (const Stream& stream : streams_)
    if (auto error = stream.informer->error()) return error;
  return namespaces_ ? namespaces_->informer()->error() : std::nullopt;
}

std::vector<std::shared_ptr<kube::Informer>> FollowedKind::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  for (const Stream& stream : streams_) all.push_back(stream.informer);
  if (namespaces_) all.push_back(namespaces_->informer());
  return all;
}

cache::ObjectPtr FollowedKind::find(std::string_view key) const {
  const auto known = objects_.find(key);
  return known == objects_.end() ? nullptr : known->second;
}

// A CRD may go and come back with other versions; while it is away the last one is the best that is known.
void FollowedKind::note_type(const kube::Informer& informer) {
  const auto& type = informer.type();
  if (type && (!type_ || *type_ != *type)) type_ = std::make_shared<const kube::ResourceType>(*type);
}

void FollowedKind::tell_ready() {
  if (!streams_.empty()) note_type(*streams_.front().informer);
  if (const auto ready = hear_.ready) ready();
}

// ---------------------------------------------------------------- changes

void FollowedKind::take_in(const Stream& stream, const cache::Change& change, std::string_view text) {
  note_type(*stream.informer);
  const std::string key = change.object->key();
  const auto known = objects_.find(key);
  if (change.cleared) {
    if (known != objects_.end()) lost_.try_emplace(key, &stream);
    return;
  }
  if (known != objects_.end() && !lost_.contains(key)) {
    // A replay tells the newest state; what the store had not told before that comes after it and must not turn back
    // time.
    const cache::Object& newest = *known->second;
    const cache::ObjectPtr stored = stream.informer->store().find(key);
    const bool up_to_date = stored && stored->uid == newest.uid && stored->resource_version == newest.resource_version;
    if (up_to_date && (change.object->uid != newest.uid || change.object->resource_version != newest.resource_version))
      return;
  }
  if (change.type == Type::kDeleted) {
    // By uid: a late subscriber may know the namesake already.
    if (known != objects_.end() && known->second->uid == change.object->uid) drop(known, change, text);
    return;
  }
  if (!selection_.outside_too && !in_namespace(change.object->ns)) {
    if (known != objects_.end()) drop(known, {Type::kDeleted, change.object, known->second}, text);
    return;
  }
  put(key, change, text);
}

void FollowedKind::put(const std::string& key, const cache::Change& change, std::string_view text) {
  const auto alive = std::weak_ptr(alive_);
  lost_.erase(key);
  if (const auto known = objects_.find(key); known != objects_.end() && known->second->uid != change.object->uid) {
    drop(known, {Type::kDeleted, known->second, known->second, false, true, change.listed}, "");
    if (alive.expired()) return;
  }
  cache::Change told = change;
  const auto [known, fresh] = objects_.try_emplace(key, change.object);
  told.type = fresh ? Type::kAdded : Type::kModified;
  told.old = fresh ? nullptr : std::exchange(known->second, change.object);
  told.initial = fresh && change.initial;
  if (!fresh && told.old->resource_version == change.object->resource_version) return;
  if (const auto changed = hear_.changed) changed(known->first, told, text);
}

void FollowedKind::drop(Objects::iterator known, const cache::Change& change, std::string_view text) {
  lost_.erase(known->first);
  const auto node = objects_.extract(known);  // its key lives on during the call
  cache::Change told = change;
  told.old = node.mapped();
  if (const auto changed = hear_.changed) changed(node.key(), told, text);
}

// ---------------------------------------------------------------- the kind goes and comes

void FollowedKind::health_changed(const Stream& stream) {
  note_type(*stream.informer);
  const auto alive = std::weak_ptr(alive_);
  if (stream.informer->serving()) {
    std::vector<std::string> gone;
    for (const auto& [key, by] : lost_)
      if (by == &stream) gone.push_back(key);
    for (const std::string& key : gone) {
      if (!lost_.contains(key)) continue;
      const auto known = objects_.find(key);
      if (known != objects_.end()) drop(known, {Type::kDeleted, known->second, known->second, false, true, true}, "");
      if (alive.expired()) return;
    }
  }
  tell_ready();
}

void FollowedKind::namespace_changed(const std::string& name, bool in) {
  if (!hear_.changed) return;  // stopped: who listened holds keys of what is known
  const auto alive = std::weak_ptr(alive_);
  if (selection_.outside_too) {
    if (const auto tell = hear_.namespace_changed) tell(name, in);
    return;
  }
  if (!in) {
    const std::string prefix = name + "/";
    std::vector<std::string> gone;
    for (auto it = objects_.lower_bound(prefix); it != objects_.end() && it->first.starts_with(prefix); ++it)
      gone.push_back(it->first);
    for (const std::string& key : gone) {
      const auto known = objects_.find(key);
      if (known != objects_.end()) drop(known, {Type::kDeleted, known->second, known->second}, "");
      if (alive.expired()) return;
    }
    return;
  }
  for (Stream& stream : streams_) {
    if (!stream.subscription) continue;
    stream.informer->store().replay([&](const cache::Change& change, std::string_view text) {
      if (alive.expired() || change.object->ns != name) return;
      cache::Change seen = change;
      seen.initial = !ready();
      seen.listed = true;  // the namespace is the news
      take_in(stream, seen, text);
    });
    if (alive.expired()) return;
  }
}

}  // namespace hookd::reconcile
