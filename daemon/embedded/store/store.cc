#include "embedded/store/store.h"

#include <algorithm>

namespace hookd::embedded {
namespace {

std::string key_of(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  key.append(ns).append("/").append(name);
  return key;
}

}  // namespace

Store::Store(Scheduler& scheduler) : scheduler_(scheduler) {}

StoredPtr Store::get(std::string_view storage_key, std::string_view ns, std::string_view name) const {
  const auto kind = objects_.find(storage_key);
  if (kind == objects_.end()) return nullptr;
  const auto found = kind->second.find(key_of(ns, name));
  return found == kind->second.end() ? nullptr : found->second;
}

void Store::scan(std::string_view storage_key, std::string_view ns, std::string_view after,
                 const std::function<bool(const StoredPtr&)>& visit) const {
  const auto kind = objects_.find(storage_key);
  if (kind == objects_.end()) return;
  const auto prefix = ns.empty() ? std::string{} : std::string(ns) + "/";
  auto at = after.empty() || after < prefix ? kind->second.lower_bound(prefix) : kind->second.upper_bound(after);
  for (; at != kind->second.end(); ++at) {
    if (!prefix.empty() && !at->first.starts_with(prefix)) return;
    if (!visit(at->second)) return;
  }
}

size_t Store::count(std::string_view storage_key) const {
  const auto kind = objects_.find(storage_key);
  return kind == objects_.end() ? 0 : kind->second.size();
}

std::vector<std::string> Store::storage_keys() const {
  std::vector<std::string> out;
  for (const auto& [key, objects] : objects_)
    if (!objects.empty()) out.push_back(key);
  return out;
}

std::optional<Store::Past> Store::past(std::string_view storage_key, uint64_t revision) const {
  if (revision < compacted_) return std::nullopt;
  Past past;
  for (auto entry = log_.rbegin(); entry != log_.rend() && entry->second.revision > revision; ++entry) {
    const auto& event = entry->second;
    if (event.storage_key == storage_key) past[key_of(event.object->ns, event.object->name)] = event.previous;
  }
  return past;
}

StoredPtr Store::put(std::string_view storage_key, Stored object) {
  auto& objects = objects_.try_emplace(std::string(storage_key)).first->second;
  object.revision = ++revision_;
  auto stored = std::make_shared<const Stored>(std::move(object));
  auto& slot = objects[key_of(stored->ns, stored->name)];
  StoreEvent event{slot ? StoreEvent::Type::kModified : StoreEvent::Type::kAdded, revision_, std::string(storage_key),
                   stored, slot};
  slot = stored;
  publish(std::move(event));
  return stored;
}

void Store::remove(std::string_view storage_key, std::string_view ns, std::string_view name, std::string last_text) {
  const auto kind = objects_.find(storage_key);
  if (kind == objects_.end()) return;
  const auto found = kind->second.find(key_of(ns, name));
  if (found == kind->second.end()) return;
  auto previous = found->second;
  auto last = *previous;
  last.text = std::move(last_text);
  last.revision = ++revision_;
  kind->second.erase(found);
  publish({StoreEvent::Type::kDeleted, revision_, std::string(storage_key),
           std::make_shared<const Stored>(std::move(last)), std::move(previous)});
}

void Store::publish(StoreEvent event) {
  log_bytes_ += event.object->text.size();
  log_.emplace_back(scheduler_.now(), event);
  trim();
  telling_.push_back(std::move(event));
  if (publishing_) return;
  publishing_ = true;
  while (!telling_.empty()) {
    const auto now = std::move(telling_.front());
    telling_.pop_front();
    // A listener may come or go while one is called.
    std::vector<uint64_t> ids;
    for (const auto& [id, subscriber] : subscribers_)
      if (subscriber.storage_key.empty() || subscriber.storage_key == now.storage_key) ids.push_back(id);
    for (const auto id : ids) {
      const auto found = subscribers_.find(id);
      if (found == subscribers_.end()) continue;
      const auto listener = found->second.listener;  // outlives its own unsubscribing
      listener(now);
    }
  }
  publishing_ = false;
}

void Store::forget_oldest() {
  compacted_ = std::max(compacted_, log_.front().second.revision);
  log_bytes_ -= log_.front().second.object->text.size();
  log_.pop_front();
}

void Store::trim() {
  const auto oldest = scheduler_.now() - kLogAge;
  while (log_.size() > kLogEvents || log_bytes_ > kLogBytes || (log_.size() > kLogKept && log_.front().first < oldest))
    forget_oldest();
}

bool Store::replay(uint64_t revision, const std::function<void(const StoreEvent&)>& visit) const {
  if (revision < compacted_) return false;
  auto at = std::partition_point(log_.begin(), log_.end(),
                                 [&](const auto& entry) { return entry.second.revision <= revision; });
  for (; at != log_.end(); ++at) visit(at->second);
  return true;
}

void Store::compact(uint64_t revision) {
  revision = std::min(revision, revision_);
  while (!log_.empty() && log_.front().second.revision <= revision) forget_oldest();
  compacted_ = std::max(compacted_, revision);
}

Store::Subscription Store::subscribe(std::string storage_key, Listener listener) {
  Subscription subscription;
  subscription.store_ = this;
  subscription.id_ = ++last_subscriber_;
  subscription.alive_ = alive_;
  subscribers_.emplace(subscription.id_, Subscriber{std::move(storage_key), std::move(listener)});
  return subscription;
}

Store::Subscription::~Subscription() {
  if (store_ && !alive_.expired()) store_->subscribers_.erase(id_);
}

Store::Subscription::Subscription(Subscription&& other) noexcept { *this = std::move(other); }

Store::Subscription& Store::Subscription::operator=(Subscription&& other) noexcept {
  if (this == &other) return *this;
  if (store_ && !alive_.expired()) store_->subscribers_.erase(id_);
  store_ = std::exchange(other.store_, nullptr);
  id_ = other.id_;
  alive_ = std::move(other.alive_);
  return *this;
}

}  // namespace hookd::embedded
