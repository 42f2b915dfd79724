// What a hook gave up: kept, listed, retried or dropped by hand. Thread: loop only. Source: product.md `onGiveUp:
// park`.
//
//   add() ──► parked ──take()──► tried again ──settled()──► gone, also from the store
//             │ ▲                 │
//             │ └── the process ends before: it is there again after the restart
//             └── drop(), or too many: the oldest goes, counted and told
//
// In the store (table "parked", key: hook "\n" id) an item is one JSON object; objects' texts are strings in it, so
// that every byte stays.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"
#include "hook/event.h"
#include "metrics/registry.h"
#include "state/store.h"

namespace hookd::app {

struct Parked {
  std::string id;  // "p17": unique in the hook
  std::string key;
  std::vector<hook::Event> events;
  bool exclusive = false;
  int attempts = 0;
  std::string error;
  WallTime at{};
  size_t bytes = 0;  // of its JSON
};

class Parking {
 public:
  // `store` null: nothing outlives the process.
  Parking(std::string hook, state::Store* store, metrics::Registry* metrics);

  void load();            // what an earlier process left; rows that cannot be read are told and removed
  void add(Parked item);  // gives it its id
  // Out of here, to be tried again; in the store until settled(key). "" = all.
  std::vector<Parked> take(const std::string& key_or_id);
  void settled(const std::string& key);  // its item was done, or given up once more
  size_t drop(const std::string& key_or_id);
  const std::deque<Parked>& all() const { return items_; }  // oldest first

  static constexpr size_t kMaxItems = 1000;
  static constexpr size_t kMaxBytes = 32u << 20;  // of a hook's items
  static constexpr size_t kMaxRowBytes =
      4u << 20;  // above it what the object was before is not kept, then nothing on disk

 private:
  static bool covers(const Parked& next, const Parked& old);
  void erase_row(const std::string& id);
  void bound();

  std::string hook_;
  state::Store* store_;
  metrics::Registry* metrics_;
  std::deque<Parked> items_;
  std::multimap<std::string, std::string> retrying_;  // key -> id
  size_t bytes_ = 0;
  uint64_t last_id_ = 0;
};

// Errors of read_parked: kDecode.
std::string write_parked(const Parked& item);
Result<Parked> read_parked(std::string_view json);

}  // namespace hookd::app
