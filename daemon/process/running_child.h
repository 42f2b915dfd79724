// One started process from its first byte to its reaping. Thread: loop only.
// Owns: the pipes, the pidfd, the timer. Kept alive by its pending waits, so that it reaps its process also when the
// Child handle is gone.
//
//   phase      entered by                         then
//   kRunning   begin()                            timeout or terminate() -> kStopping; too much output -> kKilled
//   kStopping  SIGTERM to the group               grace over -> kKilled
//   kKilled    SIGKILL to the group               main process ended -> kDone
//   kDone      reaped, pipes closed, on_exit called
//
// The main process may end in any of them (`ended_`). It stays a zombie until both outputs ended too or `grace` is
// over: as long as it is not reaped, its number cannot be given to another process or group, so signals to the group
// are safe.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/scheduler.h"
#include "process/launcher.h"
#include "process/spawn.h"

namespace hookd::process {

// Shared by all children of one launcher.
struct Children {
  std::unordered_set<int> pids;        // started and not reaped yet
  std::array<char, 64u << 10> buffer;  // reading is one handler at a time, so one buffer serves all
};

class RunningChild : public std::enable_shared_from_this<RunningChild> {
 public:
  RunningChild(AsioScheduler& scheduler, std::shared_ptr<Children> children, const ChildSpec& spec,
               ChildHandlers handlers, Spawned spawned, std::shared_ptr<Enclosure> enclosure);
  ~RunningChild();

  void begin();
  void terminate();  // SIGTERM now, SIGKILL after grace
  void more_input();
  void close_input();
  void pause_output();
  void resume_output();
  void abandon();  // SIGKILL now, no handler any more, reaps in the background; the Scheduler is not used after it
  int pid() const { return pid_; }

 private:
  enum class Phase { kRunning, kStopping, kKilled, kDone };
  struct Output {
    boost::asio::posix::stream_descriptor pipe;
    bool is_stdout;
    bool waiting = false;  // for bytes
  };

  void feed_stdin();
  bool write_some();
  void close_stdin();
  void read(Output& output);
  bool paused(const Output& output) const;
  bool read_some(Output& output);
  void deliver(const Output& output, std::string_view piece);
  void outputs_may_be_over();
  void wait_for_end();
  bool look_for_end();
  void main_process_ended();
  void arm_timer(Duration delay);
  void timer_fired();
  void stop();
  void kill();
  void signal_group(int signal);
  void drain(Output& output);
  void finish();
  void reap(ChildExit* exit);
  void end_enclosure(ChildExit* exit);
  template <class Function, class... Args>
  auto call(const Function& function, Args&&... args);

  AsioScheduler& scheduler_;
  std::shared_ptr<Children> children_;
  const Duration timeout_;
  const Duration grace_;
  const size_t stdout_limit_;  // 0 = none
  const bool keep_stdin_;
  ChildHandlers handlers_;
  std::shared_ptr<Enclosure> enclosure_;
  const int pid_;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::posix::stream_descriptor stdin_;
  Output stdout_;
  Output stderr_;
  Fd status_;
  Timer timer_;
  const SteadyTime started_;
  const uint64_t own_rss_bytes_;  // hookd's peak at the start
  ChildExit exit_;
  std::string input_;  // pulled, not written yet
  size_t input_at_ = 0;
  bool input_idle_ = false;     // with keep_stdin_: the source had nothing, nothing is waited for
  bool input_closing_ = false;  // "" is the end from now on
  bool stdout_paused_ = false;
  size_t stdout_bytes_ = 0;
  Phase phase_ = Phase::kRunning;
  bool ended_ = false;
  bool reaped_ = false;
  bool abandoned_ = false;
  bool in_handler_ = false;
};

}  // namespace hookd::process
