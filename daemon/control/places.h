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

// Everybody may make a /tmp/hookd-x/hookd.sock: who asks it would believe what it says and tell it what to do.
struct Folder {
  bool there = false;  // a folder, and no link to one
  uid_t owner = 0;
  bool others_write = false;
};
// May the user `me` (root 0) take a socket in `folder` for a daemon's without having named it? Folder and socket must
// be root's or ours, for root the socket may also be that of a user to whom root gave the folder; and nobody else may
// write in the folder. `above`: the folder around it.
bool can_be_trusted(uid_t socket_owner, const Folder& folder, const Folder& above, uid_t me);

// Sockets at the default places on which somebody listens.
struct LiveSockets {
  std::vector<std::string> trusted, others;
  std::vector<std::string> closed;  // folders that this user may not look into
};
LiveSockets live_sockets(const config::EnvLookup& env);
// Where live_sockets() looks, for messages.
std::string places_text(const config::EnvLookup& env);

// For a command; `asked` "" = not said. Errors: kNotFound: no daemon, and where was looked; kConflict: several, all
// named; kForbidden: only such as cannot be trusted, all named, or where they might be is closed to this user; kConfig:
// HOOKD_CONTROL is off, HOOKD_CONFIG cannot be read.
Result<std::string> find_socket(const std::string& asked, const config::EnvLookup& env);

}  // namespace hookd::control
