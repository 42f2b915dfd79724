// The seam for child processes. PosixLauncher is the real one (process/posix_launcher.h). Thread: loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::process {

struct Limits {  // of the child and what it starts; unset = inherited
  // A limit above the one that hookd itself has stays at hookd's.
  std::optional<uint64_t> memory_bytes;  // RLIMIT_AS, of each process
  std::optional<Duration> cpu;           // RLIMIT_CPU, of each process, whole seconds, rounded up
  std::optional<uint64_t> open_files;    // RLIMIT_NOFILE
  std::optional<uint64_t> processes;     // RLIMIT_NPROC: all processes of the user count, and root is exempt
  bool any() const { return memory_bytes || cpu || open_files || processes; }
};

struct ChildSpec {
  std::vector<std::string> command;  // argv; command[0] with a slash is a path, else looked up in PATH of `environment`
  std::string directory;             // working directory, "" = the daemon's
  std::vector<std::string> environment;  // whole environment, "NAME=value"
  std::string user;                      // name or uid, optionally ":group"; "" = the daemon's
  Limits limits;
  Duration timeout{0};  // 0 = none; then SIGTERM to the group, and after `grace` SIGKILL
  Duration grace = std::chrono::seconds(5);
  size_t stdout_limit_bytes = 32u << 20;  // over it the group is killed and the exit says so; 0 = none (the receiver's)
  // A folder of hookd's own, "" = none. With it the child gets a private temporary folder below (TMPDIR, mode 0700,
  // gone with the child), and what it leaves running outside of its process group is ended with it.
  std::string temp_parent;
  bool keep_tmpdir = false;  // TMPDIR stays as `environment` has it all the same
  // For children that stay: input that is "" means "nothing now", Child::more_input() asks again, and stdin ends with
  // Child::close_input().
  bool keep_stdin = false;
};

struct ChildExit {
  enum class Kind { kExited, kSignalled, kTimedOut, kTooMuchOutput };
  Kind kind = Kind::kExited;
  int code = 0;    // exit status, for kExited
  int signal = 0;  // for kSignalled (and what ended it after a timeout)
  bool core = false;
  Duration wall{0};
  Duration cpu{0};                  // user + system
  uint64_t max_rss_bytes = 0;       // 0 = unknown: not above hookd's own (see running_child.cc)
  bool out_of_memory = false;       // the kernel killed something of it for limits.memory (with a cgroup only)
  bool stdin_closed_early = false;  // it did not take all of its input; not an error by itself
  Duration timeout{0};              // for kTimedOut: the limit that was hit
  size_t stdout_limit_bytes = 0;    // for kTooMuchOutput: the limit that was hit
  // "" or why code and signal tell nothing of the command: `not started: cannot become user "x": …`. Never a success.
  std::string problem;
  // "exit code 3", "killed by SIGKILL", "timed out after 30s", `not started: cannot become user "x": …`
  std::string describe() const;
};

// Gives the next piece of the child's standard input, "" = end. Asked only when the pipe can take more (pull), so a
// call of any size needs little memory.
using InputSource = std::function<std::string()>;

struct ChildHandlers {
  InputSource input;  // empty function = nothing, stdin is an empty pipe
  // With keep_stdin: it closed its end while hookd's was open, so nothing more is pulled. Once. One that ended is told
  // of like this too if something it started holds its outputs open, and may be in any case, just before on_exit.
  std::function<void()> on_input_refused;
  std::function<void()> on_stdout_end;              // it (and what it started) closed its end; also just before on_exit
  std::function<void(std::string_view)> on_stdout;  // pieces, at most stdout_limit_bytes in all
  std::function<void(std::string_view)> on_stderr;  // pieces, unbounded: the receiver bounds lines
  // Once, last, after both outputs ended (or were given up: a grandchild that holds them open gets `grace`, then the
  // group is killed). Not called if the Child was destroyed before.
  std::function<void(ChildExit)> on_exit;
};

// A running child; destroying it kills its process group at once and no handler is called any more.
class Child {
 public:
  virtual ~Child() = default;
  virtual int pid() const = 0;
  // SIGTERM to the group now, SIGKILL after the spec's grace; on_exit still comes.
  virtual void terminate() = 0;
  // With ChildSpec::keep_stdin. Never pulls from inside the call.
  virtual void more_input() = 0;
  virtual void close_input() = 0;  // after what the source still gives and the pipe takes
  // Nothing of stdout is read until resumed, so the child blocks when its pipe (64 KiB) is full. What a paused child
  // left in it comes before on_exit all the same, and that within `grace`.
  virtual void pause_output() = 0;
  virtual void resume_output() = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Errors: kHookFailed, with which step failed and why ("./x.sh: no such file", "…: permission denied (is the run bit
  // set?)").
  [[nodiscard]] virtual Result<std::unique_ptr<Child>> start(ChildSpec spec, ChildHandlers handlers) = 0;
};

}  // namespace hookd::process
