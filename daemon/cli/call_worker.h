// `hookd call` for a hook of mode worker. Thread: main, with a loop of its own until the worker is gone.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hook/model.h"

namespace hookd::cli {

// Starts one worker, gives it `document` (a call as JSON; `id` where it has none), ends it. The answer's text.
// Errors: kHookFailed with what the daemon would log.
Result<std::string> call_worker(std::shared_ptr<const hook::Hook> hook, const std::string& id, std::string document,
                                const std::string& kubeconfig);

}  // namespace hookd::cli
