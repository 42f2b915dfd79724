// `hookd call` for a hook with a URL. Thread: main, with a loop of its own until the answer is there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hook/model.h"

namespace hookd::cli {

// The answer's text. Errors: kHookFailed with what the daemon would log.
Result<std::string> call_url(std::shared_ptr<const hook::Hook> hook, const std::string& id, std::string document);

}  // namespace hookd::cli
