#include "compat/metacontroller/etag_cache.h"

namespace hookd::metacontroller {

std::shared_ptr<const TaggedAnswer> EtagCache::get(const std::string& key, SteadyTime now, Duration most) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  if (most > Duration::zero() && now - found->second->second->at > most) {
    forget(key);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  return found->second->second;
}

void EtagCache::put(const std::string& key, TaggedAnswer answer) {
  forget(key);
  const size_t more = answer.body.size() + answer.etag.size() + key.size();
  if (more > kMaxBytes) return;
  while (!order_.empty() && (order_.size() >= kMaxEntries || bytes_ + more > kMaxBytes))
    forget(std::string(order_.back().first));
  order_.emplace_front(key, std::make_shared<const TaggedAnswer>(std::move(answer)));
  index_[key] = order_.begin();
  bytes_ += more;
}

void EtagCache::forget(const std::string& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  const TaggedAnswer& answer = *found->second->second;
  bytes_ -= answer.body.size() + answer.etag.size() + found->second->first.size();
  const auto place = found->second;
  index_.erase(found);
  order_.erase(place);
}

}  // namespace hookd::metacontroller
