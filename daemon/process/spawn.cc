#include "process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "process/exec_shim.h"
#include "process/program.h"

namespace hookd::process {
namespace {

constexpr int kFirstFree = kShimStatusFd + 1;  // our descriptors must not lie where the child's are put

std::string errno_text(int error) { return std::generic_category().message(error); }

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void dup(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void close_from(int first) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
  void change_directory(const std::string& path) { ::posix_spawn_file_actions_addchdir_np(&actions_, path.c_str()); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);  // also what hookd ignores: a script's `head` must die of SIGPIPE as people expect
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

struct Pipe {
  Fd read;
  Fd write;
};

// errno of what could not be made, or 0.
int make_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  pipe.read = Fd(ends[0]);
  pipe.write = Fd(ends[1]);
  for (Fd* end : {&pipe.read, &pipe.write}) {  // a daemon started with stdin closed gets 0 here
    if (end->get() >= kFirstFree) continue;
    const int moved = ::fcntl(end->get(), F_DUPFD_CLOEXEC, kFirstFree);
    if (moved < 0) return errno;
    *end = Fd(moved);
  }
  return 0;
}

int make_nonblocking(const Fd& fd) { return ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0 ? 0 : errno; }

Result<void> check_directory(const std::string& directory) {
  if (directory.empty()) return {};
  struct stat status{};
  int error = 0;
  if (::stat(directory.c_str(), &status) != 0)
    error = errno;
  else if (!S_ISDIR(status.st_mode))
    error = ENOTDIR;
  else if (::faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) != 0)
    error = errno;
  if (error == 0) return {};
  return fail(Errc::kHookFailed, "working directory {}: {}", directory, errno_text(error));
}

Result<void> check_texts(const std::vector<std::string>& texts, std::string_view what) {
  for (const auto& text : texts)
    if (text.contains('\0'))
      return fail(Errc::kHookFailed, "{} holds a zero byte, which no process can be given", what);
  return {};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<Spawned> spawn(const ChildSpec& spec, const std::string& self_executable, const ShimExtras& extras) {
  if (spec.command.empty()) return fail(Errc::kHookFailed, "the command is empty");
  HOOKD_CHECK(check_texts(spec.command, "the command"));
  HOOKD_CHECK(check_texts(spec.environment, "the environment"));
  HOOKD_CHECK(check_directory(spec.directory));
  std::vector<std::string> environment = spec.environment;
  const std::vector<char*> envp = pointers(environment);
  HOOKD_TRY(const std::string program, find_program(spec.command[0], spec.directory, search_path(envp.data())));

  const bool shim = !spec.user.empty() || spec.limits.any() || !extras.cgroup_procs.empty();
  std::vector<std::string> arguments = shim ? shim_arguments(spec, extras) : spec.command;
  const std::vector<char*> argv = pointers(arguments);
  const std::string& executable = shim ? self_executable : program;

  Pipe in, out, err, status;
  for (Pipe* pipe : {&in, &out, &err, &status}) {
    if (pipe == &status && !shim) continue;
    if (const int error = make_pipe(*pipe))
      return fail(Errc::kHookFailed, "{}", explain_exec_error(program, {}, error));
  }
  for (const Fd* end : {&in.write, &out.read, &err.read})
    if (const int error = make_nonblocking(*end)) return fail(Errc::kHookFailed, "{}: {}", program, errno_text(error));

  FileActions actions;
  actions.dup(in.read.get(), 0);
  actions.dup(out.write.get(), 1);
  actions.dup(err.write.get(), 2);
  if (shim) actions.dup(status.write.get(), kShimStatusFd);
  actions.close_from(shim ? kFirstFree : 3);
  if (!spec.directory.empty()) actions.change_directory(spec.directory);

  Spawned child;
  const int error =
      ::posix_spawn(&child.pid, executable.c_str(), actions.get(), Attributes().get(), argv.data(), envp.data());
  if (error != 0)
    return fail(Errc::kHookFailed, "{}", explain_exec_error(executable, shim ? std::string() : spec.directory, error));

  // Not reaped before we do it, so the number is still its own.
  child.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.pidfd) {
    const int why = errno;
    ::kill(-child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    if (why == EMFILE || why == ENFILE) return fail(Errc::kHookFailed, "{}", explain_exec_error(program, {}, why));
    return fail(Errc::kHookFailed, "{}: pidfd_open: {} (needs Linux 5.3, and a seccomp profile that allows it)",
                program, errno_text(why));
  }
  child.stdin_pipe = std::move(in.write);
  child.stdout_pipe = std::move(out.read);
  child.stderr_pipe = std::move(err.read);
  child.status_pipe = std::move(status.read);
  if (child.status_pipe) make_nonblocking(child.status_pipe);
  return child;
}

}  // namespace hookd::process
