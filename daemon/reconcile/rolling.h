// Roll-outs: children that differ are moved one at a time, in the answer's order; the next only when all that were
// moved before are there and well. Level-triggered: what was moved is read off the children (kManifestHash), so that a
// restart in the middle changes nothing. Pure. Thread: any. Source: controllers.md 1.6 (the documented behaviour).
//
// Well is what the rule's `checks` say. Recommended, as hookd takes none for granted:
//   Pod                     {type: Ready, status: "True"}
//   Deployment              {type: Available, status: "True"} (and Progressing, reason NewReplicaSetAvailable, to wait
//   for
//                           the end of its own roll-out)
//   Job                     {type: Complete, status: "True"}
//   StatefulSet, DaemonSet  have no conditions: status.observedGeneration, which is always looked at, only says that
//                           their controller has seen the change
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/reconcile_model.h"

namespace hookd::reconcile {

// Why a child holds a roll-out: "condition Ready is False (ContainersNotReady), not True"; "" = it does not. Its
// controller must have seen it as it is (status.observedGeneration, if it has one), and all checks must hold; a missing
// condition does not hold.
std::string held_by(std::string_view object, const std::vector<hook::ConditionCheck>& checks);

// The children of one kind in a roll-out, in the answer's order.
class RollOut {
 public:
  // A child that is as it should be by now; `trouble` "" = there and well, else why it holds the others.
  void moved(const std::string& child, const std::string& trouble);
  // One that is to be moved, by number.
  void to_move(size_t number) { waiting_.push_back(number); }

  bool under_way() const { return !waiting_.empty(); }
  // Which goes now: the first, or none.
  std::vector<size_t> next() const;
  // Why none goes: "Pod a/web-2: …"; empty if one does.
  std::vector<std::string> holding() const;

  static constexpr size_t kTold = 10;  // of holding(), then "and N more"

 private:
  std::vector<std::string> troubles_;
  std::vector<size_t> waiting_;
};

}  // namespace hookd::reconcile
