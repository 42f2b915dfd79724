#include "app/isolation.h"

#include <sys/prctl.h>

#include "base/log.h"
#include "process/cgroup.h"
#include "process/reaper.h"

namespace hookd::app {

Result<void> isolate_hooks(process::PosixLauncher& launcher, const std::string& cgroup) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // since Linux 3.5, cannot fail
  if (auto subreaper = process::become_subreaper(); !subreaper)
    log::warn("what hooks leave running is not ended", {{"error", subreaper.error().what}});
  std::string why_not;
  HOOKD_TRY(auto cgroups, process::Cgroups::open(cgroup, why_not));
  if (cgroups)
    log::info("each call gets a cgroup", {{"folder", cgroups->path()},
                                          {"limitsMemory", cgroups->limits_memory()},
                                          {"limitsProcesses", cgroups->limits_processes()}});
  else
    log::debug("calls get no cgroup", {{"why", why_not}});
  launcher.use_cgroups(std::move(cgroups));
  return {};
}

}  // namespace hookd::app
