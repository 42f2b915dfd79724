// Which file a command means, and why the kernel refused to run it, in words for people. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::process {

// What to hand to exec for `command` in a process whose working directory is `directory` ("" = this one's): `command`
// itself if it has a slash, else the first runnable file of that name in `path` (as PATH; empty entry = directory).
// Errors: kHookFailed, "./x.sh: no such file", "./x.sh: permission denied: it has no run bit …", "jq: not found in PATH
// …".
Result<std::string> find_program(const std::string& command, const std::string& directory, std::string_view path);

// The text for exec's or posix_spawn's `error` (an errno) for `program`, a result of find_program: the missing
// interpreter of a script, a script without '#!', too many processes, too many open files, …
std::string explain_exec_error(const std::string& program, const std::string& directory, int error);

// The value of PATH in an environment of "NAME=value", or a default where there is none.
std::string_view search_path(char* const* environment);

inline constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

}  // namespace hookd::process
