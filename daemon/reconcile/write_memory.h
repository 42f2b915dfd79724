// Which manifest a child was last written from, and what it looked like then: a child is only written again when what
// is wanted changed, or when somebody changed the child. Thread: loop only.
// Source: controllers.md section 4 (SSA drift blind spots: compare the observed object, not its generation).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cache/object.h"
#include "reconcile/row_sweep.h"
#include "state/store.h"

namespace hookd::reconcile {

// A hash of all of an object but status and what the server counts (uid, resourceVersion, generation, managedFields,
// creationTimestamp): equal = nobody changed anything that a manifest could say. The order of keys does not count.
// `with_status`: of kinds whose status is a field like others.
uint64_t essence_of(std::string_view object, bool with_status = false);

class WriteMemory {
 public:
  // It is kept in `store` (table "written": hook "\n" resource " " child), so that after a restart a child that nobody
  // changed costs no call; but not of children that are recreated (`wanted`): nothing is deleted for what an older
  // process made of an object. Null, or one that forgets: nothing outlives the process.
  explicit WriteMemory(state::Store* store = nullptr, std::string_view hook = "");

  struct Key {
    std::string resource;      // hook::resource_of()
    std::string child;         // ns/name; "" = not to be remembered
    uint64_t manifest = 0;     // hash of what was wanted
    bool with_status = false;  // see essence_of()
    // The manifest itself where it is to be known later whether others changed what it sets (drifted()); else "".
    std::string wanted{};
  };
  enum class Drift { kNone, kDrifted, kUnknown };

  // After a write: the object as the server answered it. A child without name, or an object that cannot be read ("":
  // the answer was not kept), is forgotten instead.
  void wrote(const Key& key, const std::string& uid, std::string_view object);
  // Is the child just as it was after it was last written from that manifest?
  bool as_written(const Key& key, const std::string& uid, std::string_view object) const;
  // The same, surely, by its resourceVersion alone.
  bool as_written(const Key& key, const cache::Identity& object) const;
  // Was it last written from another manifest, or from that one? nullopt: not known.
  std::optional<bool> from_this(const Key& key, const std::string& uid) const;
  // Did others change what the manifest sets, since it was written? Compared is what the server made of it then, so
  // that defaults and other spellings (1000m = 1) count for nothing. kUnknown: not written from it, or without
  // `wanted`.
  Drift drifted(const Key& key, const std::string& uid, std::string_view object) const;
  void forget(const std::string& resource, const std::string& child);

  // Rows of the store that are of no child any more go, in slices; `there`: "resource ns/name" of a child.
  void sweep(Scheduler& scheduler, std::function<bool(const std::string& name)> there);

  size_t size() const { return entries_.size(); }
  // About 200 bytes each. Children beyond are not remembered: they are applied once more in each pass, which changes
  // nothing.
  static constexpr size_t kMaxEntries = 500'000;

 private:
  struct Entry {
    uint64_t manifest = 0, essence = 0;
    uint64_t wanted = 0;  // what the manifest sets as the server had it; 0 = not known
    std::string uid, version;
  };
  const Entry* find(const Key& key, const std::string& uid) const;

  state::Store* store_;  // null: nothing is kept
  std::string prefix_;
  std::unordered_map<std::string, Entry> entries_;  // by "resource child"
  RowSweep sweep_;
};

}  // namespace hookd::reconcile
