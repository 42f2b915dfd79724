// ChildSpec -> a started process with its pipes, by posix_spawn and never fork: fork copies the page tables of the
// whole heap and may deadlock in a threaded program (style.md 4.2 'child processes'). Thread: loop only.
//
// In the child: a process group of its own, default signal mask and dispositions, the spec's directory and
// environment, stdin/stdout/stderr on pipes, everything else closed. With user, limits or a cgroup set,
// `self_executable` is started as the shim of exec_shim.h, which sets them and then becomes the command.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "process/enclosure.h"
#include "process/launcher.h"

namespace hookd::process {

struct Spawned {
  int pid = -1;   // also the id of its process group
  Fd pidfd;       // readable when it ended
  Fd stdin_pipe;  // our ends, non-blocking
  Fd stdout_pipe;
  Fd stderr_pipe;
  Fd status_pipe;  // the shim's: its error text, or empty if the command was started; none without the shim
};

// Errors: kHookFailed, see explain_exec_error; "working directory …: …".
Result<Spawned> spawn(const ChildSpec& spec, const std::string& self_executable, const ShimExtras& extras = {});

}  // namespace hookd::process
