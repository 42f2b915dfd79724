// `run` of a native hook: what is called, and how. Thread: any. Every key's meaning and default: config/README.md.
#pragma once

#include <cstdint>

#include "config/reader.h"
#include "hook/model.h"
#include "hook/native_loader.h"

namespace hookd::hook {

// Reports into the Reader's Problems. Returns the executable's identity, for Hook::content_hash.
uint64_t read_run(config::Reader& spec, const LoadOptions& options, Run& run);

// `path` as it is meant in a hook's file: from the folder of that file, unless it is absolute.
std::string from_folder(const std::string& folder, const std::string& path);

// `command`, under the reader's key of that name, is not empty: its program is made absolute against the hook's folder
// if it has a slash, and looked at. Returns the executable's identity.
uint64_t settle_command(config::Reader& r, const Run& run, const LoadOptions& options,
                        std::vector<std::string>& command);

}  // namespace hookd::hook
