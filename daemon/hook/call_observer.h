// Who wants to see what hooks are called with and what comes of it: the account of `hookd play`, the expectations of
// `hookd test`. Thread: loop only; the functions are called in the middle of the runner's work and must not call back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "apply/outcome.h"
#include "base/scheduler.h"
#include "hook/call_writer.h"
#include "process/launcher.h"

namespace hookd::hook {

struct CallResult {
  const Call& call;
  const process::ChildExit* exit = nullptr;  // null: no process was started (it could not be)
  std::string_view result;                   // "ok", "failed", "timeout", "later", "refused"
  std::string_view error;                    // "" where it went well
  enum class Then { kDone, kRetry, kGiveUp } then = Then::kDone;
  std::optional<Duration> requeue_after;
};

class CallObserver {
 public:
  virtual ~CallObserver() = default;

  // A process is about to be started for it.
  virtual void call_started(const Call& call) = 0;
  // A line of its standard error, which is in the log too.
  virtual void call_said(const Call& call, std::string_view line) = 0;
  // The answer of a hook that reconciles, as it was read; before call_answered.
  virtual void call_replied(const Call& call, std::string_view text) {
    static_cast<void>(call);
    static_cast<void>(text);
  }
  // What the hook answered, before anything of it is sent; `messages` are its `message`s. `exit` null: no process of
  // its own (worker, URL). Of a hook that reconciles it comes in parts, one for each step that writes.
  virtual void call_answered(const Call& call, const process::ChildExit* exit,
                             const std::vector<apply::Operation>& operations,
                             const std::vector<std::string>& messages) = 0;
  // Once for each try at an operation. Also after a call that only finishes what an earlier answer left undone, for
  // which call_started was not called.
  virtual void operation_done(const Call& call, const apply::Operation& operation, const apply::Outcome& outcome) = 0;
  virtual void call_ended(const CallResult& result) = 0;
};

// Several of them as one. Those added must outlive it, or its last call.
class CallObservers final : public CallObserver {
 public:
  void add(CallObserver& observer) { all_.push_back(&observer); }

  void call_started(const Call& call) override {
    for (auto* one : all_) one->call_started(call);
  }
  void call_said(const Call& call, std::string_view line) override {
    for (auto* one : all_) one->call_said(call, line);
  }
  void call_replied(const Call& call, std::string_view text) override {
    for (auto* one : all_) one->call_replied(call, text);
  }
  void call_answered(const Call& call, const process::ChildExit* exit, const std::vector<apply::Operation>& operations,
                     const std::vector<std::string>& messages) override {
    for (auto* one : all_) one->call_answered(call, exit, operations, messages);
  }
  void operation_done(const Call& call, const apply::Operation& operation, const apply::Outcome& outcome) override {
    for (auto* one : all_) one->operation_done(call, operation, outcome);
  }
  void call_ended(const CallResult& result) override {
    for (auto* one : all_) one->call_ended(result);
  }

 private:
  std::vector<CallObserver*> all_;
};

}  // namespace hookd::hook
