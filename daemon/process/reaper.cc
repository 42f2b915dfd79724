#include "process/reaper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>

#include "process/proc.h"

namespace hookd::process {
namespace {

bool reap(int pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }

}  // namespace

Reaper::Reaper(AsioScheduler& scheduler, IsOurs is_ours)
    : scheduler_(scheduler), is_ours_(std::move(is_ours)), signals_(scheduler.context(), SIGCHLD) {
  wait_for_signal();
  reap_now();
}

void Reaper::wait_for_signal() {
  signals_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error, int) {
    if (error || alive.expired()) return;
    reap_now();
    wait_for_signal();
  });
}

void Reaper::reap_now() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid == 0) return;
    if (!is_ours_(info.si_pid)) {
      if (!reap(info.si_pid)) return;
      ++reaped_;
      continue;
    }
    // One of ours is a zombie for the moment, up to its grace. The kernel would name it again and again and hide the
    // orphans behind it.
    if (!reap_behind_ours()) again_ = scheduler_.after(std::chrono::seconds(1), [this] { reap_now(); });
    return;
  }
}

bool Reaper::reap_behind_ours() {
  const auto children = children_of(0);
  if (!children) return false;
  for (const int pid : *children)
    if (!is_ours_(pid) && reap(pid)) ++reaped_;
  return true;
}

Result<void> become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return fail(Errc::kInternal, "prctl(PR_SET_CHILD_SUBREAPER): {}", std::generic_category().message(errno));
}

}  // namespace hookd::process
