// What earlier attempts at one item achieved, so that a new answer does not do it once more. Thread: loop only.
// Source: product.md section 3: "a retry after a partial failure does not repeat what succeeded unless the hook asks
// for it".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "apply/outcome.h"
#include "cache/object.h"

namespace hookd::hook {

class DoneOperations {
 public:
  // The object that an operation means as the call shows it; null if it does not.
  using Seen = std::function<cache::ObjectPtr(const apply::Operation&)>;

  // `outcome` is ok() and of `op`, just as it was sent.
  void note(const apply::Operation& op, const apply::Outcome& outcome);

  // Takes out what was done before. Kept are operations with `repeat`, and those that say what should be (Apply,
  // patches, Scale, …) about an object that the call shows in another state than they left it in: somebody changed it
  // since.
  void leave_out(std::vector<apply::Operation>& operations, const Seen& seen) const;

  // What `other` knows is known here too; the same operation counts once.
  void join(const DoneOperations& other);

  // Sent, and its answer lost: the guard counts it once.
  void note_sent(const apply::Operation& op);
  bool was_sent(const apply::Operation& op) const;

  bool empty() const { return done_.empty(); }

 private:
  struct Done {
    int times = 0;                 // as often as it was done it is left out
    std::string resource_version;  // of the object after it, "" = not known
  };
  std::map<uint64_t, Done> done_;  // by a hash of all that the operation says
  std::set<uint64_t> sent_;
};

}  // namespace hookd::hook
