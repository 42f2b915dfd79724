#include "process/posix_launcher.h"

#include <signal.h>
#include <sys/wait.h>

#include <boost/system/system_error.hpp>

#include "process/running_child.h"
#include "process/spawn.h"

namespace hookd::process {
namespace {

class PosixChild final : public Child {
 public:
  explicit PosixChild(std::shared_ptr<RunningChild> running) : running_(std::move(running)) {}
  ~PosixChild() override { running_->abandon(); }
  int pid() const override { return running_->pid(); }
  void terminate() override { running_->terminate(); }

 private:
  std::shared_ptr<RunningChild> running_;
};

}  // namespace

PosixLauncher::PosixLauncher(AsioScheduler& scheduler, std::string self_executable)
    : scheduler_(scheduler), self_executable_(std::move(self_executable)), children_(std::make_shared<Children>()) {
  ::signal(SIGPIPE, SIG_IGN);
  struct sigaction action{};
  ::sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0) ::signal(SIGCHLD, SIG_DFL);
}

Result<std::unique_ptr<Child>> PosixLauncher::start(ChildSpec spec, ChildHandlers handlers) {
  HOOKD_TRY(Spawned spawned, spawn(spec, self_executable_));
  const int pid = spawned.pid;
  try {
    auto running = std::make_shared<RunningChild>(scheduler_, children_, spec, std::move(handlers), std::move(spawned));
    running->begin();
    return std::make_unique<PosixChild>(std::move(running));
  } catch (const boost::system::system_error& error) {  // epoll has no room (fs.epoll.max_user_watches)
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(Errc::kHookFailed, "{}: cannot watch its pipes: {}", spec.command[0], error.what());
  }
}

bool PosixLauncher::owns(int pid) const { return children_->pids.contains(pid); }
size_t PosixLauncher::running() const { return children_->pids.size(); }

}  // namespace hookd::process
