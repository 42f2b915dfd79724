// How hooks are kept apart from hookd and from each other, once at the start of the daemon. Thread: loop only.
// Source: the issue "hook runtime", point 5. What holds for each hook (user, limits) is in its hook.yaml.
#pragma once

#include <string>

#include "process/posix_launcher.h"

namespace hookd::app {

// This process and whatever it starts from now on gains no rights by a set-uid program (no_new_privs); what a hook
// leaves behind comes to this process, which ends and reaps it (subreaper); hooks get cgroups where `cgroup` and the
// machine allow. Errors: kConfig: the folder named by `cgroup` cannot be used.
Result<void> isolate_hooks(process::PosixLauncher& launcher, const std::string& cgroup);

}  // namespace hookd::app
