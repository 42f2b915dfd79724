// Read your own writes: what a key wrote last must have come back through the watch before its next pass looks at the
// world. Thread: loop only. Source: product.md section 6 ("no stale read after its own change"); resource versions of
// one kind are comparable numbers (KEP-5504).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

// -1, 0, 1 for whole numbers; nullopt where one is none.
std::optional<int> compare_versions(std::string_view one, std::string_view other);

class OwnVersions {
 public:
  explicit OwnVersions(Scheduler& scheduler) : scheduler_(scheduler) {}

  // The key wrote that version of an object, or deleted that uid for good; `resource` as hook::resource_of() says.
  void wrote(const std::string& key, const std::string& resource, const cache::Identity& object);
  void deleted(const std::string& key, const std::string& resource, const cache::Identity& object);
  // The watch told of that version, or that the object is no more.
  void seen(const std::string& resource, const cache::Identity& object);
  void gone(const std::string& resource, const cache::Identity& object);

  // May the key's next pass look? `look` is called in a turn of its own once it may, at the latest kPatience after the
  // write (a watch that is down is told by the reconciler's ready(), not waited out here).
  bool clear(const std::string& key) const;
  void when_clear(const std::string& key, std::function<void()> look);
  void forget(const std::string& key);

  static constexpr Duration kPatience = std::chrono::seconds(10);

 private:
  Scheduler& scheduler_;
};

}  // namespace hookd::reconcile
