// Can this command be started at all? Asked when a hook is loaded, so that a typing mistake shows then and not at
// three in the morning. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::hook {

struct Executable {
  std::string path;       // found, absolute
  uint64_t identity = 0;  // of path, size, time of change and inode: a new one means that the file was exchanged
};

// `command` with a slash is an absolute path; without one it is looked up in `search_path` ("/usr/bin:/bin"; an empty
// entry means `directory`). Errors: kConfig: missing, a folder, empty, no run bit, no or wrong interpreter in the #!
// line.
Result<Executable> check_executable(const std::string& command, const std::string& directory,
                                    std::string_view search_path);

}  // namespace hookd::hook
