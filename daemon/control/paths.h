// The paths of the control socket; the server and the commands both use them. Source: README.md of this room.
#pragma once

namespace hookd::control {

inline constexpr char kStatusPath[] = "/v1/status";

}  // namespace hookd::control
