// Which manifest a child was last written from, and what it looked like then: a child is only written again when what
// is wanted changed, or when somebody changed the child. Thread: loop only.
// Source: controllers.md section 4 (SSA drift blind spots: compare the observed object, not its generation).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cache/object.h"

namespace hookd::reconcile {

// A hash of all of an object but status and what the server counts (resourceVersion, generation, managedFields):
// equal = nobody changed anything that a manifest could say.
uint64_t essence_of(std::string_view object);

class WriteMemory {
 public:
  struct Key {
    std::string resource;  // hook::resource_of()
    std::string child;     // ns/name
    uint64_t manifest = 0;  // hash of what was wanted
  };

  // After a write: the object as the server answered it.
  void wrote(const Key& key, const std::string& uid, std::string_view object);
  // Is the child just as it was after it was last written from that manifest?
  bool as_written(const Key& key, const std::string& uid, std::string_view object) const;
  void forget(const std::string& resource, const std::string& child);

 private:
  struct Entry {
    uint64_t manifest = 0, essence = 0;
    std::string uid;
  };
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace hookd::reconcile
