// Carries one pass of a reconciler through: its calls by the callers, its writes by the applier, under the hook's guard
// and `allow`. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/answer_safety.h"
#include "hook/guard.h"
#include "hook/reconciler.h"
#include "hook/runner.h"

namespace hookd::hook {

class PassRun {
 public:
  using Done = std::function<void(PassRun* self, Queue::Item item, const Pass::Over& over)>;

  // `guard` may be null. `done` comes once, in a turn of its own; this may be destroyed in it.
  PassRun(const Hook& hook, RunnerServices& services, Reconciler& reconciler, GuardFuse* guard, Caller& caller,
          Queue::Item item, Done done);
  ~PassRun();
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  void start();
  void terminate();
  const Queue::Item& item() const { return item_; }

 private:
  void proceed();
  void ask(Pass::Ask ask);
  void replied(Reply reply);
  void write(Pass::Write write);
  void written(std::vector<apply::Outcome> outcomes);
  void guarded(const GuardFuse::Trip& trip, bool halfway);
  void end(Pass::Over over);
  std::shared_ptr<const Call> bare_call() const;

  const Hook& hook_;
  RunnerServices& services_;
  GuardFuse* guard_;
  Caller& caller_;
  Queue::Item item_;
  Done done_;
  std::string id_;
  std::shared_ptr<const Call> call_;  // the last one asked, or one that names the key, for log and history
  std::unique_ptr<Pass> pass_;
  bool asked_ = false;
  bool answer_told_ = false;  // to the observer
  SteadyTime started_{};
  std::unique_ptr<OpenCall> open_;
  std::optional<process::ChildExit> exit_;
  std::vector<apply::Operation> operations_;
  std::unique_ptr<AnswerSafety> safety_;  // before run_, which calls it
  std::unique_ptr<apply::Run> run_;
  bool proceeding_ = false, again_ = false, waiting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::hook
