// What stands between one answer and the API server besides `allow`: the hook's guard, and the record of who made which
// version. One for each answer that is applied. Thread: loop only. Source: issue 5 point 10.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "apply/applier.h"
#include "hook/call_writer.h"
#include "hook/done_operations.h"
#include "hook/guard.h"
#include "hook/own_writes.h"

namespace hookd::hook {

class AnswerSafety {
 public:
  struct Parts {
    Scheduler& scheduler;
    GuardFuse* fuse = nullptr;                                     // null: the hook has no guard
    OwnWrites* writes = nullptr;                                   // null: nobody asks who wrote
    std::function<bool(const kube::ResourceType&)> ignores_own{};  // has the hook such a binding? may be empty
  };
  AnswerSafety(std::shared_ptr<const Call> call, SteadyTime call_started, Parts parts);
  ~AnswerSafety();  // what is under way counts as lost
  AnswerSafety(const AnswerSafety&) = delete;
  AnswerSafety& operator=(const AnswerSafety&) = delete;

  // May they be sent? Those that an earlier try of the same item may have carried out were counted then.
  std::optional<GuardFuse::Trip> take(const std::vector<apply::Operation>& operations, const DoneOperations& done);
  void follow(apply::Request& request);
  void settled(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes,
               DoneOperations& done);

 private:
  void sending(size_t index, const apply::Operation& op, const kube::ResourceType& type);
  std::optional<std::string> version_of(const apply::Operation& op, const kube::ResourceType& type) const;

  std::shared_ptr<const Call> call_;
  SteadyTime call_started_;
  Parts parts_;
  std::vector<Spending> taken_;  // by operation
  SteadyTime taken_at_{};
  std::shared_ptr<const std::vector<Event>> because_;
  std::map<size_t, uint64_t> tickets_;  // of writes under way, by operation
};

}  // namespace hookd::hook
