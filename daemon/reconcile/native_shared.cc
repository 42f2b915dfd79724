#include "reconcile/native_shared.h"

#include <algorithm>

#include "hook/content_hash.h"
#include "hook/own_writes.h"
#include "reconcile/warning.h"

namespace hookd::reconcile {

bool NativeShared::ready() const {
  return parents->ready() && std::ranges::all_of(children, [](const auto& one) { return one.index->ready(); }) &&
         std::ranges::all_of(related, [](const auto& one) { return one.index->ready(); });
}

std::optional<std::string> NativeShared::unknown_related(const std::string& key) const {
  for (const auto& one : related)
    if (auto failure = one.index->failure_of(key)) return failure;
  return std::nullopt;
}

std::string NativeShared::digest_of(const std::string& key) const {
  const auto parent = parents->find(key);
  if (!parent) return "";
  Digest digest(hook->content_hash, parents->mark_of(key));
  for (const auto& [rule_of, index] : children) {
    digest.add(rule_of->kind);
    for (const auto& object : index->owned_by(parent->object->uid)) digest.add(*object);
  }
  for (const auto& [rule_of, index] : related) {
    digest.add(rule_of->name);
    for (const auto& object : index->of(key)) digest.add(*object);
  }
  return digest.text();
}

void NativeShared::look_for_status() {
  const SteadyTime now = services.scheduler.now();
  if (status_looked_ && now - *status_looked_ < kStatusLook) return;
  status_looked_ = now;
  services.discovery.invalidate();
  services.discovery.resolve(rule().parent.api_version, rule().parent.kind, [](const Result<kube::ResourceType>&) {});
}

std::string NativeShared::blocker(const kube::ResourceType& type, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", hook::resource_of(type), ns, name);
}

void NativeShared::warn(const std::string& key, const kube::ResourceType& type, const cache::Identity& parent,
                        std::string_view reason, std::string message, bool whatever) {
  if (services.dry_run) return;
  Told& told = told_[{key, std::string(reason)}];
  const SteadyTime now = services.scheduler.now();
  const uint64_t hash = hook::content_hash(message) | 1;
  if ((told.message == hash || (whatever && told.message != 0)) && now - told.at < kToldEach) return;
  told = {hash, now};
  services.events.record(warning(hook->name, type, parent, reason, std::move(message)));
}

void NativeShared::untell(const std::string& key, bool also_lasting) {
  for (auto it = told_.lower_bound({key, ""}); it != told_.end() && it->first.first == key;) {
    const bool lasting = it->first.second == "RepeatedWrites" || it->first.second == "NoStatus";
    it = lasting && !also_lasting ? std::next(it) : told_.erase(it);
  }
}

void NativeShared::block(const std::string& key, std::string blocker) {
  blocked_[blocker].insert(key);
  blockers_[key].insert(std::move(blocker));
}

void NativeShared::unblock(const std::string& key) {
  const auto found = blockers_.extract(key);
  if (found.empty()) return;
  for (const std::string& blocker : found.mapped()) {
    const auto keys = blocked_.find(blocker);
    keys->second.erase(key);
    if (keys->second.empty()) blocked_.erase(keys);
  }
}

std::vector<std::string> NativeShared::blocked_by(const kube::ResourceType& type, const cache::Identity& object) const {
  if (blocked_.empty()) return {};
  const auto found = blocked_.find(blocker(type, object.ns, object.name));
  if (found == blocked_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void NativeShared::forget(const std::string& key, const std::string& uid) {
  unblock(key);
  waiting.erase(key);
  not_asked.erase(key);
  slow.forget(key);
  statuses.forget(uid);
  handled.not_at_rest(uid);
  untell(key, true);
}

}  // namespace hookd::reconcile
