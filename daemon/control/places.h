// Where the control socket of a daemon is, for it and for the commands that look for it. Thread: any.
//
//   asked for   config `control`, HOOKD_CONTROL, --control; commands: --socket, HOOKD_CONTROL, `control` of the file in
//               HOOKD_CONFIG
//   else        $XDG_RUNTIME_DIR/hookd, /run/hookd: the first that can be written; hookd.sock, or hookd-PID.sock where
//               another daemon listens there
//   else        hookd.sock in the daemon's runtime folder (app/runtime_dir.h: below TMPDIR, /tmp or /dev/shm)
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/daemon_config.h"

namespace hookd::control {

// Of a daemon without a wish: folders that are there (or were made, mode 0700) and can be written.
std::vector<std::string> default_folders(const config::EnvLookup& env);

// Takes away what killed daemons left there.
void remove_dead_sockets(const std::string& folder);

// Sockets at the default places on which somebody listens; those of other users than root and us only for root.
std::vector<std::string> live_sockets(const config::EnvLookup& env);
// Where live_sockets() looks, for messages.
std::string places_text(const config::EnvLookup& env);

// For a command; `asked` "" = not said. Errors: kNotFound: no daemon, and where was looked; kConflict: several, all
// named; kConfig: HOOKD_CONTROL is off, HOOKD_CONFIG cannot be read.
Result<std::string> find_socket(const std::string& asked, const config::EnvLookup& env);

}  // namespace hookd::control
