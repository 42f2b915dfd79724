#include "cache/object_store.h"

namespace hookd::cache {
namespace {

// One slice of telling listeners about changes; well under the 5 ms that a handler may take.
constexpr Duration kSlice = std::chrono::milliseconds(2);

ObjectPtr identity_only(const ObjectPtr& object) {
  auto bare = std::make_shared<Object>();
  static_cast<Identity&>(*bare) = *object;
  return bare;
}

}  // namespace

ObjectPtr ObjectStore::pack(Incoming& object) {
  auto packed = std::make_shared<Object>();
  static_cast<Identity&>(*packed) = static_cast<Identity&>(object);
  packed->text = packer_.pack(object.text);
  return packed;
}

void ObjectStore::put(const std::string& key, ObjectPtr object) {
  if (!options_.keep_text) object = identity_only(object);
  stored_bytes_ += object->text.stored_bytes();
  raw_bytes_ += object->text.raw_bytes();
  auto [it, inserted] = objects_.try_emplace(key, object);
  if (inserted) return;
  stored_bytes_ -= it->second->text.stored_bytes();
  raw_bytes_ -= it->second->text.raw_bytes();
  it->second = std::move(object);
}

void ObjectStore::take_out(const std::string& key) {
  const auto it = objects_.find(key);
  if (it == objects_.end()) return;
  stored_bytes_ -= it->second->text.stored_bytes();
  raw_bytes_ -= it->second->text.raw_bytes();
  objects_.erase(it);
}

void ObjectStore::begin_replace() { staged_.clear(); }

void ObjectStore::stage(Incoming object) {
  std::string key = object.key();
  const auto known = objects_.find(key);
  // A relist mostly brings what is here already: share it, so that a list does not double the memory.
  const bool same = known != objects_.end() && known->second->uid == object.uid &&
                    known->second->resource_version == object.resource_version;
  staged_.insert_or_assign(std::move(key), same ? known->second : pack(object));
}

// Both maps are in the same order, so that one walk through each is enough: 10,000 objects take a few ms.
void ObjectStore::finish_replace() {
  auto next = std::exchange(staged_, {});
  auto kept = next.begin();
  for (const auto& [key, object] : objects_) {  // all deletes first (R40)
    while (kept != next.end() && kept->first < key) ++kept;
    if (kept == next.end() || kept->first != key) emit({Change::Type::kDeleted, object, object, false, true, true}, {});
  }
  auto known = objects_.begin();
  stored_bytes_ = raw_bytes_ = 0;
  for (auto& [key, object] : next) {
    while (known != objects_.end() && known->first < key) ++known;
    const ObjectPtr old = known != objects_.end() && known->first == key ? known->second : nullptr;
    if (object != old) {  // else as it was: stage() shared it (R42)
      tell_difference(old, object);
      if (!options_.keep_text) object = identity_only(object);
    }
    stored_bytes_ += object->text.stored_bytes();
    raw_bytes_ += object->text.raw_bytes();
  }
  objects_ = std::move(next);
  first_list_ = false;
  drain_soon();  // also with nothing to tell: an empty list is news too
}

// The state of an object by a list; `old` null = it was not known.
void ObjectStore::tell_difference(const ObjectPtr& old, const ObjectPtr& object) {
  if (!old) return emit({Change::Type::kAdded, object, nullptr, first_list_, false, true}, {});
  if (old->uid == object->uid) {
    if (old->resource_version == object->resource_version) return;  // R42
    return emit({Change::Type::kModified, object, old, false, false, true}, {});
  }
  emit({Change::Type::kDeleted, old, old, false, true, true}, {});  // a delete and a create were missed (R41)
  emit({Change::Type::kAdded, object, nullptr, false, false, true}, {});
}

void ObjectStore::upsert(Incoming object) {
  const std::string key = object.key();
  const ObjectPtr old = find(key);
  if (old && old->uid == object.uid && old->resource_version == object.resource_version) return;
  ObjectPtr packed = pack(object);
  put(key, packed);
  if (!old) {
    emit({Change::Type::kAdded, std::move(packed), nullptr, false, false}, std::move(object.text));
  } else if (old->uid != packed->uid) {
    emit({Change::Type::kDeleted, old, old, false, true}, {});
    emit({Change::Type::kAdded, std::move(packed), nullptr, false, false}, std::move(object.text));
  } else {
    emit({Change::Type::kModified, std::move(packed), old, false, false}, std::move(object.text));
  }
}

void ObjectStore::remove(Incoming object) {
  const std::string key = object.key();
  const ObjectPtr old = find(key);
  if (!old) return;  // told already, or never known (R26)
  take_out(key);
  // A DELETED of an older namesake that was replaced unseen still means that the one we knew is gone.
  ObjectPtr last = old->uid == object.uid ? pack(object) : old;
  emit({Change::Type::kDeleted, last, old, false, old->uid != object.uid},
       old->uid == object.uid ? std::move(object.text) : std::string());
}

void ObjectStore::clear() {
  abandon_replace();
  auto objects = objects_;
  for (auto& [key, object] : objects) {
    take_out(key);
    emit({Change::Type::kDeleted, object, object, false, true, false, true}, {});
  }
}

void ObjectStore::replay(const Listener& listener) const {
  const auto objects = objects_;  // the listener may change the store
  for (const auto& [key, object] : objects)
    listener({Change::Type::kAdded, object, nullptr, true, false}, object->text.unpack());
}

ObjectPtr ObjectStore::find(std::string_view key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

void ObjectStore::emit(Change change, std::string text) {
  pending_.push_back({std::move(change), std::move(text)});
  drain_soon();
}

void ObjectStore::drain_soon() {
  if (std::exchange(drain_posted_, true)) return;
  scheduler_.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    drain_posted_ = false;
    drain(true);
  });
}

void ObjectStore::flush() {
  if (!telling_ && !pending_.empty()) drain(false);
}

void ObjectStore::drain(bool in_slices) {
  const auto alive = std::weak_ptr(alive_);
  const auto listener = listener_;  // it may destroy this store, but not itself
  const SteadyTime until = scheduler_.now() + kSlice;
  telling_ = true;
  while (!pending_.empty()) {
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    if (next.text.empty()) next.text = next.change.object->text.unpack();
    if (listener) listener(next.change, next.text);
    if (alive.expired()) return;
    if (in_slices && scheduler_.now() >= until && !pending_.empty()) {
      telling_ = false;
      return drain_soon();
    }
  }
  telling_ = false;
  const auto on_drained = on_drained_;
  if (on_drained) on_drained();
}

}  // namespace hookd::cache
