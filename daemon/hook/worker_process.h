// One worker: a process that takes calls as lines on stdin and answers them as lines on stdout, in any order.
// Thread: loop only. What happens to the calls of one that ends is the pool's (hook/worker_pool.h).
//
//   state       entered by                                   then
//   kStarting   start(), with `ready: line`                  {"ready":true} -> kReady; ready timeout -> kEnding
//   kReady      start(), or its ready line                   takes calls; retire() -> kRetiring
//   kRetiring   retire(): no new calls                       the last open call answered -> stdin closed; then it may
//                                                            end by itself; grace over -> kEnding
//   kEnding     end(), a call over its deadline, a closed    SIGTERM to the group, after grace SIGKILL
//               pipe
//
// Calls stay open until they are answered or the process is gone: what a hung worker still does for one must be over
// before the object's next call. Documents never interleave: the next call's begins where the last one's line ended.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/token_bucket.h"
#include "hook/caller.h"
#include "hook/worker_line.h"
#include "process/last_words.h"
#include "process/line_splitter.h"

namespace hookd::hook {

struct WorkerCall {
  CallRequest request;
  int ended_workers = 0;    // that had it open, where it may be the cause
  bool gone = false;        // nobody waits for it any more
  bool terminated = false;  // to be ended, not to be tried elsewhere
  bool timed_out = false;
  SteadyTime due{};  // in its worker
};
using WorkerCallPtr = std::shared_ptr<WorkerCall>;

class WorkerProcess;

struct WorkerEnd {
  std::string why;                   // one line for people, without the pid
  bool asked = false;                // it ended because it was retired
  std::vector<WorkerCallPtr> calls;  // that were open, in the order in which they were given
};

class WorkerOwner {
 public:
  virtual void worker_ready(WorkerProcess& worker) = 0;
  virtual void worker_answered(WorkerProcess& worker, const WorkerCallPtr& call, Reply reply) = 0;
  // It is being ended (kEnding) without having been retired: `why`. worker_ended() comes later.
  virtual void worker_failing(WorkerProcess& worker, const std::string& why) = 0;
  // Reaped. The last call; the owner destroys it in a later turn.
  virtual void worker_ended(WorkerProcess& worker, WorkerEnd end) = 0;
  // Something on stdout that is no answer. True once: then a hint is due.
  virtual bool worker_hint_due() = 0;

 protected:
  ~WorkerOwner() = default;
};

process::ChildSpec worker_spec(const Hook& hook, const CallerServices& services);
// JSON with the same meaning and without a line end.
void to_one_line(std::string& json);

class WorkerProcess {
 public:
  enum class State { kStarting, kReady, kRetiring, kEnding };

  // Errors: as Launcher::start.
  static Result<std::unique_ptr<WorkerProcess>> start(const Hook& hook, const CallerServices& services,
                                                      WorkerOwner& owner);
  WorkerProcess(const Hook& hook, const CallerServices& services, WorkerOwner& owner);
  ~WorkerProcess();

  bool accepts() const { return state_ == State::kReady && !hurt_ && open_.size() < at_once_ && !has_suspect(); }
  // A call that a worker ended with has this one to itself.
  bool has_suspect() const { return !open_.empty() && open_.begin()->second->ended_workers > 0; }
  void give(WorkerCallPtr call);  // accepts() must hold
  // Nobody waits for it: not written if its line has not begun; else its answer goes nowhere.
  void drop(const WorkerCallPtr& call);
  void retire();
  void end(std::string why);  // SIGTERM

  State state() const { return state_; }
  int pid() const { return pid_; }
  size_t open() const { return open_.size(); }
  bool has(const WorkerCallPtr& call) const { return by_id_.contains(call->request.call->id); }
  int64_t given() const { return given_; }
  int64_t answered() const { return answered_; }
  SteadyTime started() const { return started_; }
  bool was_ready() const { return was_ready_; }

  static constexpr size_t kLogLinesBurst = 500;     // of stderr and rubbish: lines let through at once,
  static constexpr double kLogLinesPerSecond = 50;  // and lastingly; the others are counted
  static constexpr size_t kStderrLineBytes = 16u << 10;
  static constexpr Duration kSettle = std::chrono::seconds(1);               // to end by itself after it closed a pipe
  static constexpr size_t kPauseAfterRubbish = 1000;                         // lines in a row: then it is read at
  static constexpr Duration kRubbishPause = std::chrono::milliseconds(100);  // one pipe's content in so long

 private:
  struct Sending {
    WorkerCallPtr call;
    std::unique_ptr<CallWriter> writer;  // null: not begun
  };
  Result<void> launch();
  std::string next_input();
  void heard(std::string_view bytes);
  bool line(std::string_view text);
  bool too_long(std::string_view beginning);
  bool answer(const std::string& id, Reply reply);
  void unknown(const std::string& id);
  void no_answer();
  void rubbish(std::string_view what, std::string_view text);
  void said(std::string_view line);
  bool may_log();
  void tell_left_out();
  void arm_deadline();
  void look_at_deadlines();
  void hurt(std::string why);
  void fail(std::string why);
  void close_when_done();
  void exited(process::ChildExit exit);

  const Hook& hook_;
  const CallerServices& services_;
  WorkerOwner& owner_;
  const size_t at_once_;
  std::unique_ptr<process::Child> child_;
  int pid_ = 0;
  State state_ = State::kReady;
  bool hurt_ = false;  // it closed a pipe: no more calls
  bool retired_ = false;
  bool was_ready_ = false;
  bool input_closed_ = false;
  std::string end_reason_;  // why it is being ended, "" = it is not
  SteadyTime started_{};
  int64_t given_ = 0;
  int64_t answered_ = 0;
  std::map<int64_t, WorkerCallPtr> open_;  // by the order in which they were given, which is that of their deadlines
  boost::unordered_flat_map<std::string, int64_t> by_id_;
  std::deque<Sending> sending_;         // not wholly written
  std::array<std::string, 32> recent_;  // ids answered last: a second answer is told from an unknown id
  size_t recent_at_ = 0;
  WorkerLines lines_;
  process::LineSplitter errors_;
  process::LastWords last_words_;
  TokenBucket log_lines_{kLogLinesPerSecond, kLogLinesBurst};
  size_t left_out_ = 0;
  size_t rubbish_in_a_row_ = 0;
  Timer deadline_, limit_, left_out_timer_, resume_;  // limit_: ready timeout, kSettle, or grace after closing stdin
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::hook
