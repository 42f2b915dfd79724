// One YAML document of a hook file -> a Hook. Thread: any.
#pragma once

#include <memory>
#include <string>

#include "config/problem.h"
#include "config/yaml_source.h"
#include "hook/model.h"
#include "hook/native_loader.h"

namespace hookd::hook {

// nullptr if anything was reported to `problems`.
std::shared_ptr<const Hook> read_hook_document(const config::Node& document, const std::string& file,
                                               const LoadOptions& options, config::Problems& problems);

}  // namespace hookd::hook
