#include "app/parking.h"

#include <charconv>

#include "base/log.h"

namespace hookd::app {
namespace {

constexpr char kTable[] = "parked";

uint64_t number_of(std::string_view id) {
  uint64_t number = 0;
  if (id.starts_with('p')) std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return number;
}

bool meant(const Parked& item, const std::string& key_or_id) {
  return key_or_id.empty() || item.id == key_or_id || item.key == key_or_id;
}

}  // namespace

Parking::Parking(std::string hook, state::Store* store, metrics::Registry* metrics)
    : hook_(std::move(hook)), store_(store && store->keeps(kTable) ? store : nullptr), metrics_(metrics) {}

void Parking::load() {
  if (!store_) return;
  std::vector<std::string> broken;
  const auto read = store_->each(kTable, hook_ + "\n", [&](std::string_view row, std::string_view value) {
    const std::string id(row.substr(hook_.size() + 1));
    last_id_ = std::max(last_id_, number_of(id));
    auto item = read_parked(value);
    if (!item) {
      log::error("a parked item cannot be read, it is dropped",
                 {{"hook", hook_}, {"id", id}, {"error", item.error().what}});
      return broken.push_back(id);
    }
    item->id = id;
    item->bytes = value.size();
    bytes_ += item->bytes;
    items_.push_back(*std::move(item));
  });
  if (!read) {
    log::error("parked items of an earlier run cannot be read; what is parked from now on is in memory only",
               {{"hook", hook_}, {"error", read.error().what}});
    store_ = nullptr;  // ids that were not read must not be given out again
  }
  for (const std::string& id : broken) erase_row(id);
  std::ranges::sort(items_, {}, [](const Parked& item) { return number_of(item.id); });
  if (!items_.empty())
    log::warn("parked items of an earlier run: see `hookd queue`", {{"hook", hook_}, {"items", items_.size()}});
  bound();
}

// Does `next` say all that `old` says, as both are brought up to date when they are tried again? After a restart the
// same object fails once more.
bool Parking::covers(const Parked& next, const Parked& old) {
  using Type = hook::Event::Type;
  const auto about_now = [](const hook::Event& event) {
    return event.object && event.coalesce && (event.type == Type::kAdded || event.type == Type::kModified);
  };
  return next.key == old.key && std::ranges::all_of(old.events, [&](const hook::Event& event) {
           return about_now(event) && std::ranges::any_of(next.events, [&](const hook::Event& other) {
                    return about_now(other) && other.binding == event.binding && other.object->uid == event.object->uid;
                  });
         });
}

void Parking::add(Parked item) {
  std::erase_if(items_, [&](const Parked& old) {
    if (!covers(item, old)) return false;
    bytes_ -= old.bytes;
    erase_row(old.id);
    return true;
  });
  item.id = "p" + std::to_string(++last_id_);
  for (hook::Event& event : item.events) event.ticket.reset();  // its source goes on
  std::string row = write_parked(item);
  if (row.size() > kMaxRowBytes) {
    for (hook::Event& event : item.events) {
      event.old = nullptr;
      event.old_data = nullptr;
    }
    row = write_parked(item);
  }
  item.bytes = row.size();
  if (store_ && row.size() <= kMaxRowBytes)
    store_->put(kTable, hook_ + "\n" + item.id, row);
  else if (store_ && store_->durable())
    log::warn("a parked item is too large to outlive a restart",
              {{"hook", hook_}, {"id", item.id}, {"key", item.key}, {"bytes", row.size()}, {"limit", kMaxRowBytes}});
  bytes_ += item.bytes;
  items_.push_back(std::move(item));
  if (metrics_) metrics_->count("hookd_parked_total", {{"hook", hook_}});
  bound();
}

void Parking::bound() {
  while (items_.size() > kMaxItems || (bytes_ > kMaxBytes && items_.size() > 1)) {
    log::error("too many parked items, the oldest is dropped", {{"hook", hook_},
                                                                {"id", items_.front().id},
                                                                {"key", items_.front().key},
                                                                {"limit", kMaxItems},
                                                                {"limit_bytes", kMaxBytes}});
    if (metrics_) metrics_->count("hookd_parked_dropped_total", {{"hook", hook_}});
    bytes_ -= items_.front().bytes;
    erase_row(items_.front().id);
    items_.pop_front();
  }
}

std::vector<Parked> Parking::take(const std::string& key_or_id) {
  std::vector<Parked> taken;
  std::deque<Parked> rest;
  for (Parked& item : items_) {
    if (!meant(item, key_or_id)) {
      rest.push_back(std::move(item));
      continue;
    }
    bytes_ -= item.bytes;
    retrying_.emplace(item.key, item.id);
    taken.push_back(std::move(item));
  }
  items_ = std::move(rest);
  return taken;
}

void Parking::settled(const std::string& key) {
  const auto [from, to] = retrying_.equal_range(key);
  for (auto it = from; it != to; ++it) erase_row(it->second);
  retrying_.erase(from, to);
}

size_t Parking::drop(const std::string& key_or_id) {
  const size_t dropped = std::erase_if(items_, [&](const Parked& item) {
    if (!meant(item, key_or_id)) return false;
    bytes_ -= item.bytes;
    erase_row(item.id);
    return true;
  });
  return dropped;
}

void Parking::erase_row(const std::string& id) {
  if (store_) store_->erase(kTable, hook_ + "\n" + id);
}

}  // namespace hookd::app
