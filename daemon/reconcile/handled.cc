#include "reconcile/handled.h"

#include <fmt/format.h>

#include "hook/content_hash.h"

namespace hookd::reconcile {
namespace {

constexpr std::string_view kTable = "handled";

}  // namespace

Digest::Digest(uint64_t hook, uint64_t parent) : hash_(hook::content_hash(fmt::format("{:x} {:x}", hook, parent))) {}

void Digest::add(std::string_view part) {
  hash_ = hook::content_hash(fmt::format("{}:", part.size()), hash_);
  hash_ = hook::content_hash(part, hash_);
}

void Digest::add(const cache::Identity& object) {
  add(object.uid);
  add(object.resource_version);
}

std::string Digest::text() const { return fmt::format("{:016x}", hash_); }

Handled::Handled(state::Store* store, Scheduler& scheduler, std::string hook)
    : store_(store && store->durable() && store->keeps(kTable) ? store : nullptr),
      scheduler_(scheduler),
      prefix_(std::move(hook) + "\n") {}

Handled::~Handled() { flush(); }

bool Handled::was_at_rest(const std::string& uid, const std::string& digest) const {
  if (!store_) return false;
  if (const auto waiting = waiting_.find(uid); waiting != waiting_.end()) return waiting->second == digest;
  return store_->get(kTable, row(uid)) == digest;
}

void Handled::at_rest(const std::string& uid, const std::string& digest) {
  if (!store_ || was_at_rest(uid, digest)) return;
  waiting_[uid] = digest;
  write_soon();
}

void Handled::not_at_rest(const std::string& uid) {
  if (!store_) return;
  const auto waiting = waiting_.find(uid);
  if (waiting == waiting_.end() ? !store_->get(kTable, row(uid)) : !waiting->second) return;
  waiting_[uid] = std::nullopt;
  write_soon();
}

void Handled::write_soon() {
  if (!timer_.pending()) timer_ = scheduler_.after(kWriteAfter, [this] { write_some(); });
}

void Handled::write_some() {
  for (size_t count = 0; count < kBatch && !waiting_.empty(); ++count) {
    const auto next = waiting_.extract(waiting_.begin());
    write(next.key(), next.mapped());
  }
  if (!waiting_.empty()) timer_ = scheduler_.after(Duration::zero(), [this] { write_some(); });
}

void Handled::write(const std::string& uid, const std::optional<std::string>& digest) {
  if (digest)
    store_->put(kTable, row(uid), *digest);
  else
    store_->erase(kTable, row(uid));
}

void Handled::flush() {
  timer_.cancel();
  for (const auto& [uid, digest] : std::exchange(waiting_, {})) write(uid, digest);
}

void Handled::sweep(std::unordered_set<std::string> uids) {
  if (!store_) return;
  sweep_.start(*store_, scheduler_, std::string(kTable), prefix_,
               [this, known = std::move(uids)](const std::string& uid) {
                 return known.contains(uid) || waiting_.contains(uid);
               });
}

}  // namespace hookd::reconcile
