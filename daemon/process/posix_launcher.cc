#include "process/posix_launcher.h"

#include <signal.h>
#include <sys/wait.h>

#include <boost/system/system_error.hpp>

#include "base/log.h"
#include "process/enclosure.h"
#include "process/running_child.h"
#include "process/spawn.h"

namespace hookd::process {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(20);
constexpr int kMostLooks = 500;  // 10 s

class PosixChild final : public Child {
 public:
  explicit PosixChild(std::shared_ptr<RunningChild> running) : running_(std::move(running)) {}
  ~PosixChild() override { running_->abandon(); }
  int pid() const override { return running_->pid(); }
  void terminate() override { running_->terminate(); }
  void more_input() override { running_->more_input(); }
  void close_input() override { running_->close_input(); }
  void pause_output() override { running_->pause_output(); }
  void resume_output() override { running_->resume_output(); }

 private:
  std::shared_ptr<RunningChild> running_;
};

}  // namespace

PosixLauncher::PosixLauncher(AsioScheduler& scheduler, std::string self_executable)
    : scheduler_(scheduler),
      self_executable_(std::move(self_executable)),
      children_(std::make_shared<Children>()),
      remover_(std::make_shared<TempRemover>()) {
  ::signal(SIGPIPE, SIG_IGN);
  struct sigaction action{};
  ::sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0) ::signal(SIGCHLD, SIG_DFL);
}

PosixLauncher::~PosixLauncher() { use_cgroups(nullptr); }

void PosixLauncher::use_cgroups(std::shared_ptr<Cgroups> cgroups) {
  if (cgroups_) cgroups_->on_dying({});
  cgroups_ = std::move(cgroups);
  if (!cgroups_) return;
  const auto look = [this] {
    dying_looks_ = 0;
    if (!dying_timer_.pending()) dying_timer_ = scheduler_.after(kLookAgain, [this] { look_at_dying(); });
  };
  cgroups_->on_dying(look);
  if (cgroups_->dying() > 0) look();
}

void PosixLauncher::look_at_dying() {
  if (!cgroups_ || cgroups_->remove_dying()) return;
  if (++dying_looks_ < kMostLooks)
    dying_timer_ = scheduler_.after(kLookAgain, [this] { look_at_dying(); });
  else
    log::warn("cgroups of hooks that ended cannot be removed yet",
              {{"folder", cgroups_->path()}, {"count", cgroups_->dying()}});
}

Result<std::unique_ptr<Child>> PosixLauncher::start(ChildSpec spec, ChildHandlers handlers) {
  HOOKD_TRY(auto enclosure, Enclosure::make(spec, cgroups_, remover_));
  HOOKD_TRY(Spawned spawned, spawn(spec, self_executable_, enclosure->extras()));
  const int pid = spawned.pid;
  try {
    auto running = std::make_shared<RunningChild>(scheduler_, children_, spec, std::move(handlers), std::move(spawned),
                                                  std::move(enclosure));
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
