#include "reconcile/own_versions.h"

#include <charconv>

#include "base/log.h"
#include "hook/content_hash.h"

namespace hookd::reconcile {

OwnVersions::Seen OwnVersions::state_of(const cache::Identity& object) {
  Seen state;
  const std::string& text = object.resource_version;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), state.version);
  state.number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!state.number) state.version = hook::content_hash(text);
  state.uid = hook::content_hash(object.uid);
  return state;
}

bool OwnVersions::fulfils(const Seen& now, const Seen& wanted) {
  if (wanted.gone) return now.gone || now.uid != wanted.uid;
  if (!wanted.number || !now.number) return now.version == wanted.version || now.gone;
  return now.version >= wanted.version;
}

namespace {

uint64_t id_of(const std::string& resource, const cache::Identity& object) {
  return hook::content_hash(object.name, hook::content_hash(object.ns, hook::content_hash(resource)));
}

}  // namespace

void OwnVersions::wrote(const std::string& key, const std::string& resource, const cache::Identity& object) {
  if (object.resource_version.empty()) return;  // not known: nothing to wait for
  const Id id = id_of(resource, object);
  const Seen wanted = state_of(object);
  const auto known = seen_.find(id);
  if (known != seen_.end() && fulfils(known->second, wanted)) return;
  wish(key, id, wanted);
}

void OwnVersions::deleted(const std::string& key, const std::string& resource, const cache::Identity& object) {
  const Id id = id_of(resource, object);
  Seen wanted = state_of(object);
  wanted.gone = true;
  const auto known = seen_.find(id);
  if (known == seen_.end() || fulfils(known->second, wanted)) return;
  wish(key, id, wanted);
}

void OwnVersions::wish(const std::string& key, Id id, const Seen& wanted) {
  Waiting& waiting = waiting_[key];
  waiting.wishes[id] = wanted;  // the last one of an object counts
  waiting_for_[id].insert(key);
  waiting.until = scheduler_.now() + kPatience;
  waiting.timer = scheduler_.at(waiting.until, [this, key] {
    const auto late = waiting_.find(key);
    if (late == waiting_.end()) return;
    ++timeouts_;
    log::debug("the watch has not told of what was written, going on without", {{"key", key}});
    over(late);
  });
}

void OwnVersions::seen(const std::string& resource, const cache::Identity& object) {
  const Id id = id_of(resource, object);
  const Seen now = state_of(object);
  seen_[id] = now;
  tell(id, now);
}

void OwnVersions::gone(const std::string& resource, const cache::Identity& object) {
  const Id id = id_of(resource, object);
  Seen now = state_of(object);
  now.gone = true;
  // Kept for a while: the answer of the write that did it may be on its way.
  seen_[id] = now;
  gone_.emplace_back(scheduler_.now(), id);
  tell(id, now);
  sweep();
}

void OwnVersions::sweep() {
  while (!gone_.empty() && gone_.front().first + kGoneKept <= scheduler_.now()) {
    const auto known = seen_.find(gone_.front().second);
    if (known != seen_.end() && known->second.gone) seen_.erase(known);
    gone_.pop_front();
  }
}

void OwnVersions::tell(Id id, const Seen& now) {
  const auto keys = waiting_for_.find(id);
  if (keys == waiting_for_.end()) return;
  for (const std::string& key : std::set(keys->second)) {
    const auto waiting = waiting_.find(key);
    if (waiting == waiting_.end()) continue;
    const auto wish = waiting->second.wishes.find(id);
    if (wish == waiting->second.wishes.end() || !fulfils(now, wish->second)) continue;
    waiting->second.wishes.erase(wish);
    const auto others = waiting_for_.find(id);
    others->second.erase(key);
    if (others->second.empty()) waiting_for_.erase(others);
    if (waiting->second.wishes.empty()) over(waiting);
  }
}

void OwnVersions::over(std::map<std::string, Waiting>::iterator waiting) {
  const std::string key = waiting->first;
  for (const auto& [id, wish] : waiting->second.wishes) {
    const auto keys = waiting_for_.find(id);
    if (keys == waiting_for_.end()) continue;
    keys->second.erase(key);
    if (keys->second.empty()) waiting_for_.erase(keys);
  }
  waiting_.erase(waiting);
  if (const auto look = looks_.find(key); look != looks_.end()) look_soon(key, look->second);
}

void OwnVersions::when_clear(const std::string& key, std::function<void()> look) {
  const auto shared = std::make_shared<std::function<void()>>(std::move(look));
  looks_[key] = shared;
  if (clear(key)) look_soon(key, shared);
}

// Forgotten before its turn, or replaced: nothing is called. (The weak pointer also tells whether `this` lives.)
void OwnVersions::look_soon(const std::string& key, const std::shared_ptr<std::function<void()>>& look) {
  scheduler_.post([weak = std::weak_ptr(look), this, key] {
    const auto alive = weak.lock();
    if (!alive) return;
    const auto known = looks_.find(key);
    if (known == looks_.end() || known->second != alive || !clear(key)) return;
    looks_.erase(known);
    (*alive)();
  });
}

void OwnVersions::forget(const std::string& key) {
  looks_.erase(key);
  if (const auto waiting = waiting_.find(key); waiting != waiting_.end()) over(waiting);
}

}  // namespace hookd::reconcile
