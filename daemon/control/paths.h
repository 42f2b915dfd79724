// The paths of the control socket; the server and the commands both use them. Source: README.md of this room.
#pragma once

namespace hookd::control {

inline constexpr char kStatusPath[] = "/v1/status";
inline constexpr char kHookPath[] = "/v1/hook";          // ?hook=
inline constexpr char kQueuePath[] = "/v1/queue";        // ?hook=&limit=
inline constexpr char kRunsPath[] = "/v1/runs";          // ?hook=&failed=1&limit=
inline constexpr char kRunPath[] = "/v1/run";            // ?id=
inline constexpr char kInputPath[] = "/v1/run/input";    // ?id=
inline constexpr char kSnapshotPath[] = "/v1/snapshot";  // ?hook=&binding=
inline constexpr char kLogsPath[] = "/v1/logs";          // ?hook=&lines=&follow=1
inline constexpr char kRetryPath[] = "/v1/retry";        // POST ?hook=&what=KEY|ID or &all=1
inline constexpr char kDropPath[] = "/v1/drop";          // as retry
inline constexpr char kPausePath[] = "/v1/pause";        // POST ?hook=&reason=
inline constexpr char kResumePath[] = "/v1/resume";      // POST ?hook=
inline constexpr char kFinalizersPath[] = "/v1/finalizers";
inline constexpr char kDropFinalizersPath[] = "/v1/finalizers/drop";  // POST ?hook=&object=NS/NAME
inline constexpr char kReloadPath[] = "/v1/reload";                   // POST

}  // namespace hookd::control
