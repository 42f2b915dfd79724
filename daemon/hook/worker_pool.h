// `run.mode: worker`: processes that stay, and the calls among them. Thread: loop only. Source: product.md section 2;
// config/README.md.
//
//   start(call) ──► the least loaded worker with room, else waiting in order
//   answered              replied
//   its worker ended      once more, before all that wait, in another worker that has nothing else meanwhile, so that
//                         a call that ends workers does not fail others; the second time it failed
//   its worker hung       the call that was over its time failed (when that process is gone), the others as above
//   no worker for now     waiting calls fail with the reason (the queue tries them again); ready() says no
//
// A worker that ends is started again: at once, or after a back-off when it did so before it was ready, or quickly
// (kQuick) without having answered a call. It is replaced (given nothing more, ended when its calls are answered) after
// `maxCalls` or above `maxMemory`. close(): stdin ends, after `grace` SIGTERM, after `grace` SIGKILL.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "hook/caller.h"
#include "hook/worker_process.h"

namespace hookd::hook {

// Resident memory of a process by /proc/PID/statm; 0 = it is not there.
uint64_t resident_bytes(int pid);

class WorkerPool final : public Caller, private WorkerOwner {
 public:
  using MemoryLook = std::function<uint64_t(int pid)>;

  WorkerPool(std::shared_ptr<const Hook> hook, CallerServices services, MemoryLook memory = resident_bytes);
  ~WorkerPool() override;

  std::unique_ptr<OpenCall> start(CallRequest request) override;
  void close() override;
  size_t lingering() const override { return closing_ ? leaving_.size() : 0; }
  void terminate() override;
  std::optional<std::string> trouble() const override;
  std::map<std::string, size_t> processes() const override;
  size_t at_work() const override;
  // Has a worker room? One that starts, or that is started again later, takes calls when it is there: until then they
  // wait in the queue, where they hold none of the daemon's slots and no attempt of theirs is used up.
  bool ready() const override;
  void on_ready(std::function<void()> look) override { look_ = std::move(look); }

  static constexpr Duration kQuick = std::chrono::seconds(10);
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(200);  // after the second quick end; doubles
  static constexpr Duration kMaxDelay = std::chrono::seconds(30);
  static constexpr Duration kMemoryTimer = std::chrono::seconds(10);  // looked at also when it answers nothing
  static constexpr Duration kMemoryPause = std::chrono::seconds(1);   // between looks after answers
  static constexpr Duration kHeld = std::chrono::seconds(1);          // calls wait for a start that is so near
  static constexpr size_t kLeavingForEach = 2;  // ended ones that may not be gone yet, for each of `workers`

 private:
  class Handle;
  struct Slot {
    std::unique_ptr<WorkerProcess> process;
    std::unique_ptr<Backoff> backoff;
    int quick_ends = 0;
    bool blocked = false;  // too many are leaving
    Timer restart;
    SteadyTime restart_at{};
    SteadyTime memory_seen{};
    std::string trouble;  // why it last ended or was not started, "" once it answered
  };

  void launch(Slot& slot);
  void launch_later(Slot& slot);
  void start_again(Slot& slot, const WorkerProcess& ended, std::string why);
  void dispatch();
  void replace(Slot& slot, std::string_view reason, std::string_view label);
  void look_at_memory();
  void look_at_memory(Slot& slot);
  void fail_if_hopeless();
  bool has_room() const;
  void tell_room();
  void reply_failed(const WorkerCallPtr& call, std::string why, std::string_view result = "failed");
  void take_back(std::vector<WorkerCallPtr> calls, int pid, const std::string& why);
  void dropped(const WorkerCallPtr& call);
  void end_call(const WorkerCallPtr& call);
  Slot* slot_of(const WorkerProcess& worker);
  void count_restart(std::string_view reason);

  void worker_ready(WorkerProcess& worker) override;
  void worker_answered(WorkerProcess& worker, const WorkerCallPtr& call, Reply reply) override;
  void worker_failing(WorkerProcess& worker, const std::string& why) override;
  void worker_ended(WorkerProcess& worker, WorkerEnd end) override;
  bool worker_hint_due() override { return !std::exchange(hinted_, true); }

  std::shared_ptr<const Hook> hook_;
  CallerServices services_;
  MemoryLook memory_;
  std::deque<WorkerCallPtr> waiting_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<WorkerProcess>> leaving_;  // replaced or failing, not gone yet
  Timer memory_timer_;
  std::function<void()> look_;
  mutable bool said_no_ = false;  // ready() did, and look_ was not called since
  bool closing_ = false;
  bool hinted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::hook
