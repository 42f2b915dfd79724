// What earlier attempts at one item achieved, so that a new answer does not do it once more. Thread: loop only.
// Source: product.md section 3: "a retry after a partial failure does not repeat what succeeded unless the hook asks
// for it".
//
// "What succeeded" is an effect that the same events asked for. Where news came since, the hook decided anew, in a
// world in which the effect may be undone: then it goes as if the call before had gone well and this were the next one;
// only what would add once more stays out, as the old events are still in the call.
//
//   an operation that was done           by a retry of the same events      with news since
//   says what should be: Apply, patches  left out, unless the call shows    done again, unless the call shows
//   but JSON and JQ, CreateOrUpdate, …   the object in another state        the object as it left it
//   Create of a name                     left out                           done again; what it made is fine
//   Delete, Evict without uid            left out                           done again; gone is fine
//   JSONPatch, JQPatch that changed      left out                           done again where the call shows it newer
//   something; else                      done again                         done again
//   Requeue, Metric set or of a group    done again                         done again
//   all else: generateName, Event,       left out                           left out
//   Metric add, deletions with uid
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

  // What was done so far was done for other events than those of the call that begins.
  void events_changed();

  // `outcome` is ok() and of `op`, just as it was sent.
  void note(const apply::Operation& op, const apply::Outcome& outcome);

  // Takes out what was done before, as the table above says; what has `repeat` stays.
  void leave_out(std::vector<apply::Operation>& operations, const Seen& seen) const;

  // What `other` knows is known here too; the same operation counts once.
  void join(const DoneOperations& other);

  // Sent, and its answer lost: the guard counts it once.
  void note_sent(const apply::Operation& op);
  bool was_sent(const apply::Operation& op) const;

  bool empty() const { return done_.empty(); }

  // An answer that says something else at each attempt would fill the memory; what is not known here is done again.
  static constexpr size_t kMost = 100'000;

 private:
  struct Done {
    int times = 0;                 // as often as it was done it is left out
    std::string resource_version;  // of the object after it, "" = not known
    std::string uid;               // of that object, "" = not known
    bool older = false;            // for other events than those of now
  };
  bool stays(apply::Operation& op, const Done& done, const Seen& seen) const;

  std::map<uint64_t, Done> done_;  // by a hash of all that the operation says
  std::set<uint64_t> sent_;
};

}  // namespace hookd::hook
