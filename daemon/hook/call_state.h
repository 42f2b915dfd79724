// What the answers of one hook leave for its next calls: one JSON value for the hook, or one for each object. Thread:
// loop only. Source: product.md; config/answers.md.
//
// Table "state" of the store: `per: hook` under the hook's name: the value; `per: object` under hook "\n" item key:
// {"uid","value"}, so that a namesake made since begins without one.
// Kept when the whole answer was applied, and flushed before the queue forgets the item: a crash in between calls again
// with the state of before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/event.h"
#include "hook/model.h"
#include "state/store.h"

namespace hookd::hook {

class CallState {
 public:
  // `store` null: kept in memory, as with a MemoryStore.
  CallState(const Hook& hook, state::Store* store);
  ~CallState();

  struct Place {
    std::string key;
    std::string uid;  // `per: object`
  };
  bool on() const { return options_.has_value(); }
  bool per_object() const { return on() && options_->per == StateOptions::Per::kObject; }
  // Where the state of a call lies; nullopt: none is declared, or the call is about no object.
  std::optional<Place> place(const std::string& item_key, const std::vector<Event>& events) const;
  // Null = there is none. Errors: it cannot be read now, so that no call may be made.
  Result<std::shared_ptr<const std::string>> get(const Place& place) const;
  // May that answer be kept? `answered` unset: it says nothing of a state. Errors: kInvalid, kTooLarge.
  Result<void> check(const std::optional<std::string>& answered, const std::optional<Place>& place) const;
  void put(const Place& place, const std::string& answered);  // "null" takes it away; flushes
  void erase_object(const std::string& item_key);

  static constexpr size_t kMaxObjects = 100'000;  // of one hook

 private:
  std::string object_key(const std::string& item_key) const { return hook_ + "\n" + item_key; }
  bool has(const std::string& key) const;
  void count_some();
  bool counted(const std::string& key) const { return all_counted_ || key <= counted_to_; }

  std::string hook_;
  std::optional<StateOptions> options_;
  std::unique_ptr<state::Store> own_;
  state::Store& store_;
  // How many objects have one: what was there before is counted a slice with each put.
  size_t objects_ = 0;
  std::string counted_to_;
  bool all_counted_ = false;
};

// Of a text of state, to see whether it changed since a call was made; 0 = there was none.
uint64_t state_mark(const std::shared_ptr<const std::string>& state);

}  // namespace hookd::hook
