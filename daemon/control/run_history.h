// The last calls of each hook, kept in memory for `hookd runs`. Thread: loop only.
//
//   input    the Call itself, whose objects are shared with the store: nothing is copied. One that is large, or tells
//            of Secrets, is kept as a smaller copy of it (control/kept_call.h)
//   answer   operations, up to kAnswerBytes of text; more are counted
//   stderr   the last kStderrBytes
//
// The oldest calls go when a hook has more than `keep`, or all together hold more than `bytes`. Secrets are masked
// when something is shown, those of Kubernetes before it is kept.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/kept_call.h"
#include "control/mask.h"
#include "hook/call_observer.h"

namespace hookd::control {

struct OutcomeNote {
  std::string operation;  // "Delete Pod a/b"
  std::string outcome;    // "done"
  std::string text, reason, diff;
  int http_status = 0;
};

struct Run {
  uint64_t number = 0;  // in the order of their starts, over all hooks
  std::string hook, id, reason;
  int attempt = 1;
  WallTime started{};
  KeptCall input;
  bool only_operations = false;  // no call was made: what an earlier answer left undone is finished
  bool answered = false;
  std::string answer;  // of a hook that reconciles: what it printed, without the values of Secrets
  std::vector<apply::Operation> operations;
  size_t operations_left_out = 0;
  std::vector<std::string> messages;
  std::string said;  // standard error
  size_t said_left_out_bytes = 0;
  std::vector<OutcomeNote> outcomes;
  size_t outcomes_left_out = 0;
  bool ended = false;
  std::optional<process::ChildExit> exit;  // none: no process of its own, or it could not be started
  Duration wall{0};
  std::string result, error;
  hook::CallResult::Then then = hook::CallResult::Then::kDone;
  std::optional<Duration> requeue_after;
  std::shared_ptr<const Mask> mask;
  size_t bytes = 0;         // held for it, about
  size_t answer_bytes = 0;  // of them
};

struct RunTotals {  // of one hook since the start; later and ok are no failures
  uint64_t ok = 0, failed = 0;
  std::optional<WallTime> last;  // when the last call ended
  std::string last_result;
  std::string last_error;  // "" = there was none yet
  std::optional<WallTime> last_error_at;
};

class RunHistory final : public hook::CallObserver {
 public:
  struct Limits {
    size_t keep = 20;  // of each hook, 0 = none
    size_t bytes = size_t{8} << 20;
  };
  // `env_of`: `run.env` of a hook, for its mask; null where there is no such hook any more.
  using EnvOf = std::function<const std::map<std::string, std::string>*(const std::string& hook)>;

  RunHistory(Scheduler& scheduler, Limits limits) : scheduler_(scheduler), limits_(limits) {}
  void set_env_of(EnvOf env_of) { env_of_ = std::move(env_of); }
  void set_limits(Limits limits);

  void call_started(const hook::Call& call) override;
  void call_said(const hook::Call& call, std::string_view line) override;
  void call_replied(const hook::Call& call, std::string_view text) override;
  void call_answered(const hook::Call& call, const process::ChildExit* exit,
                     const std::vector<apply::Operation>& operations,
                     const std::vector<std::string>& messages) override;
  void operation_done(const hook::Call& call, const apply::Operation& operation,
                      const apply::Outcome& outcome) override;
  void call_ended(const hook::CallResult& result) override;

  struct Wanted {
    std::string hook{};  // "" = of all
    bool failed = false;
    size_t limit = 20;
  };
  // The newest first; also those that run.
  std::vector<const Run*> list(const Wanted& wanted) const;
  const Run* find(std::string_view id) const;  // by its id, or by a beginning of it that only one has; null = none
  const RunTotals* totals(const std::string& hook) const;
  size_t bytes() const { return bytes_; }

  static constexpr size_t kInputBytes = 64u << 10;
  static constexpr size_t kAnswerBytes = 64u << 10;
  static constexpr size_t kStderrBytes = 16u << 10;
  static constexpr size_t kOutcomes = 200;
  static constexpr size_t kTextBytes = 4u << 10;  // of one message, error or outcome
  static constexpr size_t kMostOpen = 4096;       // calls whose end never came are forgotten

 private:
  Run* open(const hook::Call& call, bool only_operations);
  Run* find_open(const hook::Call& call);
  void evict();

  Scheduler& scheduler_;
  Limits limits_;
  EnvOf env_of_;
  std::map<std::string, std::deque<std::unique_ptr<Run>>> ended_;  // by hook, the oldest first
  std::map<std::string, std::unique_ptr<Run>> open_;               // by id
  std::map<std::string, SteadyTime> begun_;                        // of those
  std::map<std::string, RunTotals> totals_;
  size_t bytes_ = 0;  // of those that ended
  uint64_t number_ = 0;
};

bool failed(const Run& run);  // ended, neither well nor with "later"

}  // namespace hookd::control
