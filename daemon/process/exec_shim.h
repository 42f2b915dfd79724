// What posix_spawn cannot set: the user and the limits of a child. hookd starts itself as
//   hookd __exec --cgroup FILE --own FOLDER --user U --memory BYTES --cpu SECONDS --files N --processes N -- command
//   arguments…
// which enters the cgroup (FILE is its cgroup.procs), gives FOLDER to U, sets them and becomes the command. main()
// calls run_exec_shim first of all, before any thread or global state.
//
// U is NAME or UID, with optional :GROUP (name or gid); :GROUP alone changes the group only. Without :GROUP the user's
// own group and supplementary groups hold; a UID that is in no user list gets the gid of the same number, never
// hookd's. no_new_privs is set, so sudo and other set-uid programs do nothing for the command. Exit: 127 command not
// found, 126 whatever else failed; "hookd: cannot become user "x": …" on stderr, and the same without "hookd: " on
// descriptor --status-fd, if given, which is closed unused when the command starts.
#pragma once

#include <string>
#include <vector>

#include "process/enclosure.h"
#include "process/launcher.h"

namespace hookd::process {

inline constexpr std::string_view kShimCommand = "__exec";
inline constexpr int kShimStatusFd = 3;

// argv is main's, argv[1] == kShimCommand. Returns only on failure, with the exit code.
int run_exec_shim(int argc, char** argv);

// The argv for `spec`, of whatever executable ends in run_exec_shim.
std::vector<std::string> shim_arguments(const ChildSpec& spec, const ShimExtras& extras = {});

}  // namespace hookd::process
