// The objects of one list-and-watch stream, and what changed between two states of it. The store, not the wire, decides
// what is an addition, a change or a deletion (k8s-client.md R26). Thread: loop only.
//
//   reflector -> begin_replace(), stage()*, finish_replace()   a complete list, all at once or not at all
//             -> upsert(), remove()                            single watch events
//   store     -> listeners, one Change at a time, in order, in slices of a few ms (a long list must not hold the loop)
//
// Source: k8s-client.md R26, R40-R42, R44.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/scheduler.h"
#include "cache/object.h"

namespace hookd::cache {

struct Change {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  ObjectPtr object;                  // the new state; for kDeleted the last one known
  ObjectPtr old;                     // the state before, null for kAdded
  bool initial = false;              // part of the first list
  bool final_state_unknown = false;  // found gone by a list, so the last state was not seen
  bool listed = false;               // found by a list: states between `old` and this one may have been missed
  bool cleared = false;              // the kind is no longer served: nobody looked whether the object is gone
};

class ObjectStore {
 public:
  // `text` is the change's object as text (of the old one for a deletion that came without); valid during the call.
  using Listener = std::function<void(const Change& change, std::string_view text)>;
  struct Options {
    bool keep_text = true;  // false: only identities stay in memory once the listeners saw a change
  };

  ObjectStore(Scheduler& scheduler, Options options) : scheduler_(scheduler), options_(options) {}

  void set_listener(Listener listener) { listener_ = std::move(listener); }
  // Called whenever everything that was put in so far has been told to the listener, and after each list; never from
  // inside the calls below.
  void set_on_drained(std::function<void()> callback) { on_drained_ = std::move(callback); }

  void begin_replace();
  void stage(Incoming object);
  void finish_replace();
  void abandon_replace() { staged_.clear(); }
  size_t staged() const { return staged_.size(); }

  void upsert(Incoming object);
  void remove(Incoming object);
  // The resource type is gone: everything counts as deleted, last state unknown (R47).
  void clear();

  // Tells `listener` alone every object as an initial addition. Changes not told yet follow for everybody, so that it
  // may hear of some states twice, with the same resource version.
  void replay(const Listener& listener) const;

  // Tells what is still to tell now, in one go; nothing if called by a listener.
  void flush();

  ObjectPtr find(std::string_view key) const;
  size_t size() const { return objects_.size(); }
  bool drained() const { return pending_.empty(); }
  size_t stored_bytes() const { return stored_bytes_; }
  size_t raw_bytes() const { return raw_bytes_; }

 private:
  struct Pending {
    Change change;
    std::string text;  // "" = unpack the object's
  };
  void put(const std::string& key, ObjectPtr object);
  void take_out(const std::string& key);
  void tell_difference(const ObjectPtr& old, const ObjectPtr& object);
  void emit(Change change, std::string text);
  void drain_soon();
  void drain(bool in_slices);
  ObjectPtr pack(Incoming& object);

  Scheduler& scheduler_;
  Options options_;
  Listener listener_;
  std::function<void()> on_drained_;
  Packer packer_;
  std::map<std::string, ObjectPtr, std::less<>> objects_;  // ordered: snapshots are told in a stable order
  std::map<std::string, ObjectPtr, std::less<>> staged_;
  std::deque<Pending> pending_;
  bool drain_posted_ = false;
  bool telling_ = false;
  bool first_list_ = true;
  size_t stored_bytes_ = 0;
  size_t raw_bytes_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::cache
