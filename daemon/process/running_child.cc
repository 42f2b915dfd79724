#include "process/running_child.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

// Boost.Process v2 is not used for waiting, though it waits on a pidfd too: its wait reaps at once, which loses the
// resource usage (waitpid, not wait4) and frees the number while the group may still have to be signalled.

namespace hookd::process {
namespace {

constexpr size_t kWriteBytes = 64u << 10;
constexpr size_t kDrainReads = 64;  // 64 * 64 KiB: more than any pipe holds

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void close(boost::asio::posix::stream_descriptor& descriptor) {
  boost::system::error_code ignored;
  descriptor.close(ignored);
}

Duration to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

uint64_t peak_rss_bytes(const rusage& usage) { return static_cast<uint64_t>(usage.ru_maxrss) << 10; }

uint64_t own_peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return peak_rss_bytes(usage);
}

}  // namespace

RunningChild::RunningChild(AsioScheduler& scheduler, std::shared_ptr<Children> children, const ChildSpec& spec,
                           ChildHandlers handlers, Spawned spawned, std::shared_ptr<Enclosure> enclosure)
    : scheduler_(scheduler),
      children_(std::move(children)),
      timeout_(spec.timeout),
      grace_(spec.grace),
      stdout_limit_(spec.stdout_limit_bytes),
      keep_stdin_(spec.keep_stdin),
      handlers_(std::move(handlers)),
      enclosure_(std::move(enclosure)),
      pid_(spawned.pid),
      pidfd_(scheduler.context(), spawned.pidfd.release()),
      stdin_(scheduler.context(), spawned.stdin_pipe.release()),
      stdout_{.pipe{scheduler.context(), spawned.stdout_pipe.release()}, .is_stdout = true},
      stderr_{.pipe{scheduler.context(), spawned.stderr_pipe.release()}, .is_stdout = false},
      status_(std::move(spawned.status_pipe)),
      started_(scheduler.now()),
      own_rss_bytes_(own_peak_rss_bytes()) {
  children_->pids.insert(pid_);
}

RunningChild::~RunningChild() {
  // Only when the io_context goes while we wait: nothing will run any more, but no process may be left behind.
  if (reaped_) return;
  signal_group(SIGKILL);
  reap(nullptr);
}

void RunningChild::begin() {
  wait_for_end();
  read(stdout_);
  read(stderr_);
  if (handlers_.input)
    feed_stdin();
  else
    close_stdin();
  if (timeout_ > Duration::zero()) arm_timer(timeout_);
}

// ---- handlers -------------------------------------------------------------------------------------------------

// A handler may destroy the Child, that is call abandon(), while its own function object is being run.
template <class Function, class... Args>
auto RunningChild::call(const Function& function, Args&&... args) {
  struct Guard {
    RunningChild& child;
    ~Guard() {
      child.in_handler_ = false;
      if (child.abandoned_) child.handlers_ = {};
    }
  } guard{*this};
  in_handler_ = true;
  return function(std::forward<Args>(args)...);
}

// ---- stdin ----------------------------------------------------------------------------------------------------

void RunningChild::feed_stdin() {
  stdin_.async_wait(stdin_.wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
    if (error || !self->stdin_.is_open()) return;
    if (self->write_some()) self->feed_stdin();
  });
}

// One piece, then back to the loop. False = stdin is closed.
bool RunningChild::write_some() {
  if (input_at_ == input_.size()) {
    input_ = call(handlers_.input);
    input_at_ = 0;
    if (abandoned_ || !stdin_.is_open()) return false;
    if (input_.empty()) {
      input_idle_ = keep_stdin_ && !input_closing_;
      if (!input_idle_) close_stdin();
      return false;
    }
  }
  const ssize_t put =
      ::write(stdin_.native_handle(), input_.data() + input_at_, std::min(kWriteBytes, input_.size() - input_at_));
  if (put >= 0) {
    input_at_ += static_cast<size_t>(put);
    return true;
  }
  if (would_block(errno)) return true;
  exit_.stdin_closed_early = true;  // EPIPE: it closed its end, as `head` does
  close_stdin();
  if (keep_stdin_ && !input_closing_ && handlers_.on_input_refused) call(handlers_.on_input_refused);
  return false;
}

void RunningChild::more_input() {
  if (std::exchange(input_idle_, false)) feed_stdin();
}

void RunningChild::close_input() {
  input_closing_ = true;
  if (std::exchange(input_idle_, false)) feed_stdin();
}

void RunningChild::close_stdin() {
  close(stdin_);
  input_ = {};
  input_at_ = 0;
}

// ---- stdout, stderr -------------------------------------------------------------------------------------------

void RunningChild::read(Output& output) {
  output.waiting = true;
  output.pipe.async_wait(output.pipe.wait_read,
                         [self = shared_from_this(), &output](const boost::system::error_code& error) {
                           output.waiting = false;
                           if (error || !output.pipe.is_open() || self->paused(output)) return;
                           self->read_some(output);
                           if (output.pipe.is_open() && !self->paused(output) && !output.waiting) self->read(output);
                           self->outputs_may_be_over();
                         });
}

bool RunningChild::paused(const Output& output) const { return output.is_stdout && stdout_paused_; }

void RunningChild::pause_output() { stdout_paused_ = true; }

void RunningChild::resume_output() {
  if (!std::exchange(stdout_paused_, false)) return;
  if (stdout_.pipe.is_open() && !stdout_.waiting) read(stdout_);
}

// One piece, then back to the loop. False = there was none; the pipe is closed if there will be none.
bool RunningChild::read_some(Output& output) {
  auto& buffer = children_->buffer;
  const ssize_t got = ::read(output.pipe.native_handle(), buffer.data(), buffer.size());
  if (got > 0) {
    deliver(output, std::string_view(buffer.data(), static_cast<size_t>(got)));
    return true;
  }
  if (got < 0 && would_block(errno)) return false;
  close(output.pipe);
  if (output.is_stdout && handlers_.on_stdout_end) call(handlers_.on_stdout_end);
  return false;
}

void RunningChild::deliver(const Output& output, std::string_view piece) {
  if (!output.is_stdout) {
    if (handlers_.on_stderr) call(handlers_.on_stderr, piece);
    return;
  }
  const size_t room = stdout_limit_ == 0 ? std::string_view::npos : stdout_limit_ - stdout_bytes_;
  const bool over = piece.size() > room;
  if (over) piece = piece.substr(0, room);
  stdout_bytes_ += piece.size();
  if (handlers_.on_stdout && !piece.empty()) call(handlers_.on_stdout, piece);
  if (!over || abandoned_) return;
  exit_.kind = ChildExit::Kind::kTooMuchOutput;
  close(stdout_.pipe);
  kill();
}

void RunningChild::outputs_may_be_over() {
  if (phase_ == Phase::kDone || abandoned_ || !ended_) return;
  if (phase_ == Phase::kKilled || (!stdout_.pipe.is_open() && !stderr_.pipe.is_open())) finish();
}

// ---- the main process -----------------------------------------------------------------------------------------

void RunningChild::wait_for_end() {
  pidfd_.async_wait(pidfd_.wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->ended_) return;
    if (!self->look_for_end()) return self->wait_for_end();
    self->main_process_ended();
  });
}

// Reads the exit without reaping. Waits for our own number only: other people's children are not touched.
bool RunningChild::look_for_end() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0) {
    if (errno != ECHILD) return false;
    // Someone else in this program waited for any child. The number is not ours any more: signal nothing.
    reaped_ = true;
    exit_.code = -1;
    exit_.problem = "exit status lost: something else in hookd reaped the process";
    return true;
  }
  if (info.si_pid == 0) return false;
  const bool exited = info.si_code == CLD_EXITED;
  exit_.code = exited ? info.si_status : 0;
  exit_.signal = exited ? 0 : info.si_status;
  exit_.core = info.si_code == CLD_DUMPED;
  if (exit_.kind == ChildExit::Kind::kExited && !exited) exit_.kind = ChildExit::Kind::kSignalled;
  return true;
}

void RunningChild::main_process_ended() {
  ended_ = true;
  close(pidfd_);
  if (abandoned_) {
    signal_group(SIGKILL);  // what it started since the last one
    return reap(nullptr);
  }
  exit_.wall = scheduler_.now() - started_;
  const bool was_open = stdin_.is_open();
  if (was_open) {
    // All may be written, only the source has not said yet that this was all.
    exit_.stdin_closed_early = input_at_ < input_.size() || (!keep_stdin_ && !call(handlers_.input).empty());
    close_stdin();
    if (abandoned_) return;
  }
  if (phase_ == Phase::kRunning) arm_timer(grace_);  // a descendant may hold the outputs open
  outputs_may_be_over();
  // One does, perhaps: nobody reads any more what would be written until it has let go.
  if (was_open && keep_stdin_ && !input_closing_ && phase_ != Phase::kDone && !abandoned_ && handlers_.on_input_refused)
    call(handlers_.on_input_refused);
}

// ---- ending it ------------------------------------------------------------------------------------------------

void RunningChild::arm_timer(Duration delay) {
  timer_ = scheduler_.after(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->timer_fired();
  });
}

void RunningChild::timer_fired() {
  if (phase_ == Phase::kDone) return;
  if (phase_ == Phase::kStopping || ended_) {
    kill();
    return outputs_may_be_over();
  }
  // It may have ended in the meantime, and only the news of it is still waiting for its turn.
  if (look_for_end()) return main_process_ended();
  exit_.kind = ChildExit::Kind::kTimedOut;
  exit_.timeout = timeout_;
  stop();
}

void RunningChild::terminate() {
  if (phase_ == Phase::kRunning) stop();
}

void RunningChild::stop() {
  phase_ = Phase::kStopping;
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // a stopped process sees the first only when it runs again
  arm_timer(grace_);
}

void RunningChild::kill() {
  phase_ = Phase::kKilled;
  timer_.cancel();
  signal_group(SIGKILL);
}

void RunningChild::signal_group(int signal) {
  if (reaped_) return;  // the number may be another's by now
  ::kill(-pid_, signal);
  if (signal == SIGKILL) ::kill(pid_, signal);  // if it moved itself to another group
}

void RunningChild::drain(Output& output) {
  for (size_t reads = 0; reads < kDrainReads && output.pipe.is_open(); ++reads)
    if (!read_some(output)) break;
  close(output.pipe);
}

void RunningChild::finish() {
  signal_group(SIGKILL);  // whoever is left of the group, while the zombie still keeps its number
  end_enclosure(&exit_);
  // The processes are gone or outside the group; what they wrote before is still in the pipes.
  drain(stdout_);
  drain(stderr_);
  if (abandoned_) return;  // by a handler, which has done the rest
  phase_ = Phase::kDone;
  timer_.cancel();
  exit_.stdout_limit_bytes = exit_.kind == ChildExit::Kind::kTooMuchOutput ? stdout_limit_ : 0;
  if (status_) {
    char text[1024];
    const ssize_t got = ::read(status_.get(), text, sizeof text);
    if (got > 0) exit_.problem = fmt::format("not started: {}", std::string_view(text, static_cast<size_t>(got)));
    status_.reset();
  }
  reap(&exit_);
  const auto on_exit = std::move(handlers_.on_exit);
  handlers_ = {};
  if (on_exit) on_exit(exit_);
}

void RunningChild::end_enclosure(ChildExit* exit) {
  enclosure_->end(pid_, [this](int pid) { return children_->pids.contains(pid); }, exit);
}

void RunningChild::reap(ChildExit* exit) {
  end_enclosure(nullptr);
  if (!std::exchange(reaped_, true)) {
    rusage usage{};
    pid_t got = 0;
    do got = ::wait4(pid_, nullptr, WNOHANG, &usage);
    while (got < 0 && errno == EINTR);
    if (exit && got == pid_) {
      exit->cpu = to_duration(usage.ru_utime) + to_duration(usage.ru_stime);
      // Linux counts the memory of the process that exec replaced, and after posix_spawn that is hookd's own: a smaller
      // child cannot be told from it. 1 MiB is the slack of the kernel's counters.
      const uint64_t peak = peak_rss_bytes(usage);
      if (exit->max_rss_bytes == 0) exit->max_rss_bytes = peak > own_rss_bytes_ + (1u << 20) ? peak : 0;
    }
  }
  children_->pids.erase(pid_);
}

void RunningChild::abandon() {
  if (phase_ == Phase::kDone || abandoned_) return;
  abandoned_ = true;
  timer_.cancel();
  signal_group(SIGKILL);
  close_stdin();
  close(stdout_.pipe);
  close(stderr_.pipe);
  status_.reset();
  if (!in_handler_) handlers_ = {};
  if (ended_) reap(nullptr);  // else wait_for_end does
}

}  // namespace hookd::process
